//! The composition root: reads the command line and the configuration, wires the other modules up,
//! starts and stops them. Imported by nobody.

mod cli;
pub mod config;
mod daemon_file;
mod failure;
mod logging;
mod serve;

use std::process::ExitCode;

use failure::{Exit, Failure};

/// Runs the program with the arguments it was given.
pub fn run() -> ExitCode {
    let cli = match cli::Cli::read() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help and version come this way too. Whoever closed the pipe has seen enough.
            let printed = usage.print();
            drop(printed);
            return if usage.use_stderr() { Exit::CouldNotRun } else { Exit::Ok }.into();
        }
    };
    let default =
        if cli.tells_life_cycle() { logging::Default::LifeCycle } else { logging::Default::Quiet };
    let filter = std::env::var("MEDDLER_LOG").ok();
    let result = logging::start(default, cli.verbosity(), filter.as_deref())
        .map_err(Failure::new)
        .and_then(|()| cli.run());
    match result {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Ok.into(),
        Err(failure) => {
            cli::output::complain(&format!("error: {failure}"));
            Exit::CouldNotRun.into()
        }
    }
}
