//! `show`: one delegation or exchange, in full.

mod body;
mod markdown;
mod story;
mod text;

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::recording::RecordingArgs;
use super::{Context, output};
use crate::admin::whole;
use crate::app::failure::{Exit, Failure};
use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;
use crate::record::query::{QueryError, Recording};
use std::sync::Arc;
use story::Story;

/// Show one delegation or exchange in full
///
/// ID is what `log` prints, any unique end of it, or the whole id. With d- (or nothing) a delegation is
/// meant, or the one that an exchange belongs to; with x- the exchange alone.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// What to show
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    recording: RecordingArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "MEDDLER_FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
    /// To paste into an issue, with a sequence diagram
    Markdown,
}

/// What an id named.
enum Found {
    Delegation(Arc<Delegation>),
    Exchange(Arc<Exchange>),
}

impl Show {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let recording = self.recording.open(context)?;
        let found = find(&recording, &self.id)?;
        let mut out = output::stdout();
        match self.format {
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, &json(&recording, &found)?)?;
                writeln!(out)?;
            }
            Format::Text => text::write(&mut out, &story(&recording, &found)?, context.style)?,
            Format::Markdown => markdown::write(&mut out, &story(&recording, &found)?)?,
        }
        out.flush()?;
        Ok(Exit::Ok)
    }
}

fn find(recording: &Recording, id: &str) -> Result<Found, Failure> {
    if !id.starts_with("x-") {
        match recording.delegation(id) {
            Ok(delegation) => return Ok(Found::Delegation(delegation)),
            // A card, a list, or something that is no A2A: it belongs to no delegation.
            Err(QueryError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    recording.exchange(id).map(Found::Exchange).map_err(|error| {
        let failure = Failure::from(error);
        failure.with_hint("`meddler log` lists delegations, `meddler log --exchanges` everything")
    })
}

fn exchanges(
    recording: &Recording,
    delegation: &Delegation,
) -> Result<Vec<Arc<Exchange>>, Failure> {
    let ids = delegation.exchanges.iter();
    ids.map(|id| Ok(recording.exchange(&id.to_string())?)).collect()
}

fn json(recording: &Recording, found: &Found) -> Result<Value, Failure> {
    match found {
        Found::Exchange(exchange) => Ok(whole::exchange(exchange)),
        Found::Delegation(delegation) => {
            let mut value = whole::delegation(delegation)?;
            let parts = exchanges(recording, delegation)?;
            if let Some(members) = value.as_object_mut() {
                let parts = parts.iter().map(|exchange| whole::exchange(exchange)).collect();
                members.insert("exchanges".to_owned(), Value::Array(parts));
            }
            Ok(value)
        }
    }
}

fn story(recording: &Recording, found: &Found) -> Result<Story, Failure> {
    Ok(match found {
        Found::Exchange(exchange) => Story::of_exchange(recording, exchange),
        Found::Delegation(delegation) => {
            Story::of_delegation(recording, delegation, &exchanges(recording, delegation)?)
        }
    })
}
