//! `suite`: what is wrong with a suite, before it judges anything.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Context, assert, output};
use crate::app::failure::{Exit, Failure};
use crate::assertion::packs::{PACKS, Pack};
use crate::assertion::{Suite as Tests, SuiteError, reference};

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
    /// Print a pack, to read it or to copy it into a suite; without a name, list them
    Pack {
        /// The pack
        #[arg(value_name = "NAME", value_parser = Pack::named)]
        name: Option<&'static Pack>,
    },
    /// Print the reference of the language: assertions, packs, metrics, events, rules
    Reference,
}

impl Suite {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        match self.command {
            Command::Check { files } => check(files, context),
            Command::Pack { name: Some(pack) } => print(pack.text),
            Command::Pack { name: None } => {
                let lines: Vec<String> = PACKS
                    .iter()
                    .map(|pack| format!("{:22} {}\n", pack.name, pack.summary()))
                    .collect();
                print(&lines.concat())
            }
            Command::Reference => print(&reference::page()),
        }
    }
}

fn print(text: &str) -> Result<Exit, Failure> {
    let mut out = output::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Ok)
}

fn check(files: Vec<PathBuf>, context: &Context) -> Result<Exit, Failure> {
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
