//! `agents`: the remote agents, where each is served, and where the addresses of its card lead.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::columns::{Cell, Columns};
use super::daemon::DaemonArgs;
use super::output::{self, Lines, Tint, clean};
use super::{Context, block_on};
use crate::admin::AgentInfo;
use crate::app::failure::{Exit, Failure};

/// What stands for the address of an agent that has none.
const PLAYED: &str = "(played by Meddler)";

/// List the remote agents, and where the addresses of their cards lead
///
/// Asks the daemon that is named, or that writes into the configured store. For an agent whose card has
/// not passed yet it asks the agent, and does not record that. When no daemon runs, the configuration
/// tells where each agent is served, and nothing is known of cards.
///
/// An address that calls would reach without passing Meddler is marked `around`, with the reason on
/// standard error.
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
            Format::Text => table(&agents, &mut out, context)?,
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

/// The agents, then the addresses of their cards, then (on standard error) what leads around Meddler.
fn table(agents: &[AgentInfo], out: &mut dyn Write, context: &Context) -> std::io::Result<()> {
    let cell = |text: &str| Cell::new(clean(text, Lines::Joined));
    let mut columns = Columns::new(&["AGENT", "ORCHESTRATORS CALL", "MEDDLER CALLS"]);
    for agent in agents {
        let forward = agent.forward.as_deref().unwrap_or(PLAYED);
        columns.push(vec![cell(&agent.name), cell(&agent.url), cell(forward)]);
    }
    columns.write(out, context.style)?;
    let with_card: Vec<_> = agents.iter().filter(|agent| !agent.interfaces.is_empty()).collect();
    if with_card.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let headings =
        ["CARD OF", "BINDING", "VERSION", "TENANT", "LEADS", "ORCHESTRATORS CALL", "MEDDLER CALLS"];
    let mut columns = Columns::new(&headings);
    for agent in &with_card {
        for interface in &agent.interfaces {
            let (leads, tint) = match interface.bypass {
                None => ("through", Tint::Plain),
                Some(_) => ("around", Tint::Bad),
            };
            let calls = match (&interface.bypass, &agent.forward) {
                (Some(_), _) => "-",
                (None, Some(_)) => &interface.written,
                (None, None) => PLAYED,
            };
            columns.push(vec![
                cell(&agent.name),
                cell(&interface.binding),
                cell(or_dash(&interface.version)),
                cell(or_dash(&interface.tenant)),
                cell(leads).tinted(tint),
                cell(&interface.delivered),
                cell(calls),
            ]);
        }
    }
    columns.write(out, context.style)?;
    for (agent, interface) in
        with_card.iter().flat_map(|agent| agent.interfaces.iter().map(move |one| (agent, one)))
    {
        if let Some(why) = &interface.bypass {
            let url = clean(&interface.written, Lines::Joined);
            let (name, at) = (clean(&agent.name, Lines::Joined), &interface.at);
            context.style.say(&format!("warning: {name}: `{url}` ({at}): {why}"));
        }
    }
    Ok(())
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}
