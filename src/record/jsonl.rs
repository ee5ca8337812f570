//! Recordings as files: `*.a2a.jsonl`, one JSON object a line, and `*.a2a.jsonl.zst`.
//!
//! This is the one description of the format, version 1. Members are only ever added to it, readers leave
//! out what they do not know, and a file of a newer version is read as far as it is understood.
//!
//! The first line is `{"a2a_recording": 1, "tool", "instance", "created"}`. Every other line has a `type`:
//!
//! | `type` | what |
//! |---|---|
//! | `session` | `name`, `instance`, `started` |
//! | `event` | something that is no exchange: `name`, `at`, `session`, `agent`, `text` |
//! | `gap` | what was not recorded: `at`, `instance`, `exchange`, `bytes`, `exchanges`, `reason` |
//! | `exchange` | a request and its answer, below |
//! | `card` | a card as an agent sent it: `agent`, `exchange`, `card`. Derived from exchanges |
//! | `delegation` | a message and all that answered it. Derived from exchanges |
//!
//! What is derived is written for people and scripts; a reader works it out anew.
//!
//! An exchange stands alone: `id`, `session`, `instance`, `agent`, `orchestrator`, `binding`, `version`,
//! `declared_version`, `operation`, `wire_name`, `ids`, `started`, `timings_ms` (`request`, `head`,
//! `first_event`, `end`: after `started`), `request`, `response`, `delivered` (the answer that the
//! orchestrator got, where it differs), `upstream`, `faults`, `edits`, `problems`, `redactions`,
//! `outcome`, `upstream_error`.
//!
//! A request has `method`, `target`, `http`, `headers`, `body`, `trailers`; an answer `status`, `http`,
//! `headers`, `body`, `events`, `trailers`, `grpc_status`. Headers are `[[name, value], ...]`. A body is
//! `{"text"}` or `{"base64"}`, content coding undone and secrets masked, with `bytes` (on the wire),
//! `truncated`, `sha256` (of the octets on the wire; `hmac_sha256` where a plain digest would tell a
//! secret: HMAC-SHA-256 of the plain digest under the store's key), `encoding` and `gap` where there
//! was one; an empty body is absent. An event has `at_ms` (after `started`), its place in the body
//! (`start`, `len`) and its `data` (`base64` where it is no text).
//!
//! Times are RFC 3339 in UTC with microseconds, durations milliseconds with decimals.

mod line;
mod reader;
mod writer;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::id::InstanceId;
use crate::record::exchange::Exchange;
use crate::record::query::QueryError;
use crate::record::redact::Redactor;
use crate::record::store::{Entry, EventRecord, GapRecord, SessionRecord, Store};

pub use self::reader::Lines;
pub use self::writer::{Exported, Writer, export, save};

/// The version of the format that is written.
pub const VERSION: u32 = 1;
/// What one import gives the store at once.
const BATCH_ENTRIES: usize = 64;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub a2a_recording: u32,
    /// Who wrote the file: `meddler 0.1.0`.
    #[serde(default)]
    pub tool: String,
    /// The run of the daemon that recorded it, or the newest of them.
    #[serde(default)]
    pub instance: Option<InstanceId>,
    /// When the file was written.
    #[serde(default, serialize_with = "line::time_or_null")]
    pub created: Option<Timestamp>,
}

/// Any other line.
#[derive(Clone, Debug)]
pub enum Line {
    /// A request and its answer.
    Exchange(Box<Exchange>),
    /// A session.
    Session(SessionRecord),
    /// Something that is no exchange.
    Event(EventRecord),
    /// What was not recorded.
    Gap(GapRecord),
    /// What is derived from other lines, or what this program does not know.
    Other,
}

/// What an import has taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Exchanges that are new to the store.
    pub exchanges: u64,
    /// Exchanges that it had already.
    pub known: u64,
    /// Sessions, events and gaps.
    pub others: u64,
}

impl Header {
    /// The header of a file that is written now by this program.
    pub fn new(instance: Option<InstanceId>, created: Timestamp) -> Self {
        let tool = concat!("meddler ", env!("CARGO_PKG_VERSION")).to_owned();
        Self { a2a_recording: VERSION, tool, instance, created: Some(created) }
    }
}

/// An exchange as a line has it.
pub fn exchange(exchange: &Exchange) -> Value {
    line::exchange(exchange)
}

/// Reads a file into a store. Whoever wrote it may have masked less than we do, so it is redacted again;
/// exchanges that the store has are left as they are.
pub fn import(
    lines: Lines<'_>,
    redactor: &mut Redactor,
    store: &dyn Store,
) -> Result<Imported, QueryError> {
    let mut imported = Imported::default();
    let mut batch = Vec::new();
    for line in lines {
        let entry = match line? {
            Line::Exchange(exchange) => {
                if store.exchange(exchange.id)?.is_some() {
                    imported.known += 1;
                    continue;
                }
                imported.exchanges += 1;
                Entry::Exchange(Box::new(redactor.redact(*exchange, |_| {})))
            }
            Line::Session(session) => other(&mut imported, Entry::Session(session)),
            Line::Event(mut event) => {
                redactor.mask_text(&mut event.text);
                other(&mut imported, Entry::Event(event))
            }
            Line::Gap(gap) => other(&mut imported, Entry::Gap(gap)),
            Line::Other => continue,
        };
        batch.push(entry);
        if batch.len() >= BATCH_ENTRIES {
            store.append(&batch)?;
            batch.clear();
        }
    }
    store.append(&batch)?;
    store.flush()?;
    Ok(imported)
}

const fn other(imported: &mut Imported, entry: Entry) -> Entry {
    imported.others += 1;
    entry
}
