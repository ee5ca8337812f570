//! `session`: the named spans of a recording.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};

use super::columns::{Cell, Columns};
use super::daemon::DaemonArgs;
use super::output::{self, Lines, clean};
use super::recording::RecordingArgs;
use super::{Context, block_on, words};
use crate::app::failure::{Exit, Failure};
use crate::record::query::Filter;

/// List sessions, or make one the default of a running daemon
#[derive(Debug, Args)]
pub(super) struct Session {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the sessions of a recording, oldest first
    List {
        #[command(flatten)]
        recording: RecordingArgs,
        /// How to print: a table, or one JSON object a line
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "MEDDLER_FORMAT")]
        format: Format,
    },
    /// Make a session the default for exchanges that begin from now on; an existing one goes on
    Start {
        /// `[A-Za-z0-9._-]`, 1 to 64 of them
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        daemon: DaemonArgs,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

impl Session {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        match self.command {
            Command::List { recording, format } => list(&recording, format, context),
            Command::Start { name, daemon } => {
                let client = daemon.required(context)?;
                let session = block_on(client.start_session(&name))??;
                context.style.say(&format!("new exchanges belong to session {}", session.name));
                Ok(Exit::Ok)
            }
        }
    }
}

fn list(from: &RecordingArgs, format: Format, context: &Context) -> Result<Exit, Failure> {
    let recording = from.open(context)?;
    let mut out = output::stdout();
    let mut columns = Columns::new(&["SESSION", "STARTED", "DELEGATIONS"]);
    for session in recording.sessions() {
        match format {
            Format::Json => {
                serde_json::to_writer(&mut out, session)?;
                writeln!(out)?;
            }
            Format::Text => {
                let filter = Filter { session: Some(session.name.clone()), ..Filter::default() };
                let count = recording.delegations(&filter).len();
                columns.push(vec![
                    Cell::new(clean(&session.name, Lines::Joined)),
                    Cell::new(words::time(session.started)),
                    Cell::new(count.to_string()),
                ]);
            }
        }
    }
    if format == Format::Text {
        columns.write(&mut out, context.style)?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
