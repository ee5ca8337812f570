//! `agents`: the remote agents, and where each is served.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::columns::{Cell, Columns};
use super::daemon::DaemonArgs;
use super::output::{self, Lines, clean};
use super::{Context, block_on};
use crate::admin::AgentInfo;
use crate::app::failure::{Exit, Failure};

/// List the remote agents and where each is served
///
/// Asks the daemon that is named, or that writes into the configured store. When none runs, the
/// configuration tells.
#[derive(Debug, Args)]
pub(super) struct Agents {
    #[command(flatten)]
    daemon: DaemonArgs,
    /// How to print: a table, or one JSON object a line
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "MEDDLER_FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

impl Agents {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let agents = self.agents(context)?;
        let mut out = output::stdout();
        match self.format {
            Format::Json => {
                for agent in &agents {
                    serde_json::to_writer(&mut out, agent)?;
                    writeln!(out)?;
                }
            }
            Format::Text => {
                let mut columns = Columns::new(&["AGENT", "ORCHESTRATORS CALL", "MEDDLER CALLS"]);
                for agent in &agents {
                    let forward = agent.forward.as_deref().unwrap_or("(played by Meddler)");
                    columns.push(vec![
                        Cell::new(clean(&agent.name, Lines::Joined)),
                        Cell::new(clean(&agent.url, Lines::Joined)),
                        Cell::new(clean(forward, Lines::Joined)),
                    ]);
                }
                columns.write(&mut out, context.style)?;
            }
        }
        out.flush()?;
        Ok(Exit::Ok)
    }

    fn agents(&self, context: &Context) -> Result<Vec<AgentInfo>, Failure> {
        if let Some(client) = self.daemon.living(context)? {
            return Ok(block_on(client.agents())??);
        }
        let Some(config) = context.config()? else {
            return Err(Failure::new("no daemon runs here, and there is no configuration")
                .with_hint("name a daemon with --daemon, or a configuration with -c"));
        };
        context.style.say("no daemon runs; this is what the configuration says");
        Ok(config.agents.iter().map(|agent| agent.info(agent.proxy.listen.0)).collect())
    }
}
