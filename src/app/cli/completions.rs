//! `completions`: the shell's knowledge of our options.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, output};
use crate::app::failure::{Exit, Failure};

/// Print completions for a shell
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        // Made in memory first: the generator panics when it cannot write, and a pipe may close.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "meddler", &mut script);
        let mut out = output::stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
