//! The log: standard error, as much of it as was asked for.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// How much is logged when nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Default {
    /// Warnings: for commands that come and go.
    Quiet,
    /// The life cycle too: for the daemon.
    LifeCycle,
}

/// Starts logging. `filter` (of `MEDDLER_LOG`) goes before the number of `-v`.
pub(crate) fn start(default: Default, verbosity: u8, filter: Option<&str>) -> Result<(), String> {
    let level = match (default, verbosity) {
        (Default::Quiet, 0) => "warn",
        (Default::LifeCycle, 0) | (Default::Quiet, 1) => "info",
        (Default::LifeCycle, 1) | (Default::Quiet, 2) => "debug",
        (Default::LifeCycle | Default::Quiet, _) => "trace",
    };
    // Libraries only speak up when something is wrong: their debug logs may hold header fields.
    let directives = match filter {
        Some(filter) => filter.to_owned(),
        None => format!("warn,meddler={level}"),
    };
    let filter = EnvFilter::try_new(&directives)
        .map_err(|error| format!("MEDDLER_LOG: `{directives}` is no log filter: {error}"))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())
}
