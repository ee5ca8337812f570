//! `export`: a recording as one file, to keep with a bug report or in git.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::filter::FilterArgs;
use super::recording::RecordingArgs;
use super::{Context, output};
use crate::app::failure::{Exit, Explain, Failure};
use crate::record::jsonl::{self, Header};

/// Write a recording as JSON Lines
///
/// One line an exchange, secrets masked; the format is documented and stable. With filters, whole
/// delegations are written that match.
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    recording: RecordingArgs,
    /// The file; compressed when its name ends in .zst. Without it, standard output
    #[arg(short, long, value_name = "FILE", env = "MEDDLER_OUTPUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let filter = self.filter.filter(context)?;
        let recording = self.recording.open(context)?;
        let instance = recording.sessions().last().map(|session| session.instance);
        let header = Header::new(instance, context.clock.now());
        let Some(path) = &self.output else {
            let mut out = output::stdout();
            jsonl::export(&recording, &filter, &header, &mut out)?;
            out.flush()?;
            return Ok(Exit::Ok);
        };
        let exported = jsonl::save(&recording, &filter, &header, path)
            .doing(|| format!("cannot write {}", path.display()))?;
        context.style.say(&format!(
            "{}: {} delegations, {} exchanges",
            path.display(),
            exported.delegations,
            exported.exchanges
        ));
        Ok(Exit::Ok)
    }
}
