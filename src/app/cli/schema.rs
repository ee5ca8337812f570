//! `schema`: JSON Schemas of our files, for editors and for other readers.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::output;
use crate::app::config;
use crate::app::failure::{Exit, Failure};
use crate::assertion::schema;

/// Print a JSON Schema
///
/// For editors put `# yaml-language-server: $schema=./meddler-suite.schema.json` on a file's first line.
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Of which file
    #[arg(value_name = "WHAT")]
    what: What,
}

/// Which file.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A suite
    Suite,
    /// The configuration
    Config,
    /// One line of a recording, `.a2a.jsonl`
    Recording,
}

/// The lines of an exported recording.
const RECORDING: &str = include_str!("schema/recording.json");

impl Schema {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let schema = match self.what {
            What::Suite => schema::suite(),
            What::Config => config::schema(),
            What::Recording => serde_json::from_str(RECORDING)?,
        };
        let mut out = output::stdout();
        serde_json::to_writer_pretty(&mut out, &schema)?;
        writeln!(out)?;
        out.flush()?;
        Ok(Exit::Ok)
    }
}
