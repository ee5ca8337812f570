//! `config`: what is wrong with a configuration, before it is used.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, output};
use crate::app::config::{Config, FileErrors, Tests};
use crate::app::failure::{Exit, Failure};

/// Check configurations
#[derive(Debug, Args)]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read a configuration and say everything that is wrong with it; nothing is started
    Check {
        /// The file; without it that of --config, else meddler.yaml
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl ConfigCommand {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let Command::Check { files } = self.command;
        let files = if files.is_empty() { vec![context.config_path().to_owned()] } else { files };
        let mut exit = Exit::Ok;
        for file in files {
            match Config::load(&file) {
                Ok(config) => {
                    context.style.say(&format!("{}: {}", file.display(), summary(&config)));
                }
                Err(failure) => match failure.downcast::<FileErrors>() {
                    Ok(errors) => {
                        output::complain(&errors.to_string());
                        exit = Exit::Findings;
                    }
                    Err(failure) => return Err(failure),
                },
            }
        }
        Ok(exit)
    }
}

fn summary(config: &Config) -> String {
    let agents = output::count(config.agents.len(), "remote agent");
    let faults = output::count(config.faults.len(), "fault rule");
    match config.tests {
        Tests::Absent => format!("ok, {agents}, {faults}"),
        Tests::Present => format!("ok, {agents}, {faults}; `meddler suite check` reads its tests"),
    }
}
