//! `suite`: what is wrong with a suite, before it judges anything.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, assert, output};
use crate::app::failure::{Exit, Failure};
use crate::assertion::{Suite as Tests, SuiteError};

/// Check suites
#[derive(Debug, Args)]
pub(super) struct Suite {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read suites and say everything that is wrong with them; nothing is evaluated
    Check {
        /// Files of tests
        #[arg(required = true, value_name = "SUITE")]
        files: Vec<PathBuf>,
    },
}

impl Suite {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let Command::Check { files } = self.command;
        let mut exit = Exit::Ok;
        for file in files {
            match assert::read(&file) {
                Ok(suite) => {
                    context.style.say(&format!("{}: {}", file.display(), summary(&suite)));
                }
                Err(failure) => {
                    output::complain(&failure.downcast::<SuiteError>()?.to_string());
                    exit = Exit::Findings;
                }
            }
        }
        Ok(exit)
    }
}

fn summary(suite: &Tests) -> String {
    let checks: usize = suite.tests.iter().map(|test| test.checks.len()).sum();
    let mut text = format!(
        "ok, {}, {}",
        output::count(suite.tests.len(), "test"),
        output::count(checks + suite.invariants.len() * suite.tests.len(), "assertion")
    );
    if !suite.not_driven.is_empty() {
        text.push_str("; not driven: ");
        text.push_str(&suite.not_driven.join(", "));
    }
    text
}
