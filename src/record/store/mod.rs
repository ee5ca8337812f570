//! Where a recording is kept: one file a store, one row in [`STORES`].
//!
//! [`disk`] is the real one: append-only segments that are the truth, sidecars to find things by, sled
//! for the daemon's own state. [`memory`] is for those who need no disk. Both pass [`conformance`].

pub mod conformance;
pub mod disk;
pub mod media;
pub mod memory;
pub mod sample;
pub mod select;
pub mod state;

mod bodies;
mod catalog;
mod layout;
mod lock;
mod logged;
mod queue;
mod reader;
mod recovery;
mod segment;
mod sessions;
mod sidecar;
mod view;
mod walk;
mod writer;

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::base::clock::WallClock;
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::exchange::Exchange;
use crate::record::redact::{DigestKey, Redacted};
use crate::record::store::select::Select;
use crate::record::store::state::State;

pub use crate::record::format::head::{Head, Marks};

/// The stores there are.
pub const STORES: &[Kind] = &[disk::KIND, memory::KIND];

/// A kind of store: what the configuration may name.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it is good for.
    pub summary: &'static str,
    open: Open,
}

type Open = fn(&Path, disk::Options, WallClock) -> Result<Arc<dyn Store>, StoreError>;

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STORES.iter().find(|kind| kind.name == name)
    }

    /// Opens the store at `path` to write to it, and makes it when it is not there.
    pub fn open(
        &self,
        path: &Path,
        options: disk::Options,
        clock: WallClock,
    ) -> Result<Arc<dyn Store>, StoreError> {
        (self.open)(path, options, clock)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kind").field("name", &self.name).finish_non_exhaustive()
    }
}

/// One thing that a recording holds.
#[derive(Clone, Debug)]
pub enum Entry {
    /// An exchange that has ended (or was open at the stop).
    Exchange(Box<Redacted<Exchange>>),
    /// A session was opened, or renamed.
    Session(SessionRecord),
    /// Something worth telling that is no exchange.
    Event(EventRecord),
    /// Exchanges or octets that were not recorded.
    Gap(GapRecord),
}

/// A named span of recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// `[A-Za-z0-9._-]{1,64}`
    pub name: String,
    /// The run of the daemon that opened it.
    pub instance: InstanceId,
    /// When.
    pub started: Timestamp,
}

/// Something worth telling that is no exchange: `card_changed`, `webhook_not_intercepted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Its name.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// The session.
    pub session: String,
    /// The agent, if it concerns one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// In words.
    pub text: String,
}

/// What was not recorded, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRecord {
    /// When it began.
    pub at: Timestamp,
    /// The run of the daemon.
    pub instance: InstanceId,
    /// The exchange that lost octets; `None`: whole exchanges were lost.
    pub exchange: Option<ExchangeId>,
    /// Octets lost.
    pub bytes: u64,
    /// Exchanges lost.
    pub exchanges: u64,
    /// `queue_full`, `store_error`.
    pub reason: String,
}

/// A place where a recording is kept. Blocking on purpose: its caller owns a thread.
pub trait Store: Send + Sync {
    /// Takes entries in order, all of them or (on an error) none. They are visible to readers and durable
    /// after [`flush`](Self::flush) or within the store's own interval.
    ///
    /// While the disk refuses to be written, entries are taken as long as there is room to keep them;
    /// then the error says why, and it is for the caller to count them as a gap. Only where an append
    /// waits for the disk ([`disk::Durability::Each`]) may entries have been taken although there is an
    /// error: then they are not durable yet, and are tried again.
    fn append(&self, entries: &[Entry]) -> Result<(), StoreError>;

    /// Returns when all that was appended before is durable and visible to readers of other processes.
    fn flush(&self) -> Result<(), StoreError>;

    /// Visits the entries in the order they were appended, from the oldest (or from the first whose
    /// time is not before `since`), until `visit` breaks.
    fn scan(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError>;

    /// The exchange of this id.
    fn exchange(&self, id: ExchangeId) -> Result<Option<Redacted<Exchange>>, StoreError>;

    /// Visits what is known without their bodies of the exchanges that match, until `visit` breaks. The
    /// second argument reads the whole exchange, when the head alone does not decide.
    ///
    /// The order is that in which they were appended, or the reverse. What an index knows (task,
    /// context, message, session, agent) is looked up, not searched for.
    fn heads(&self, select: &Select, visit: &mut VisitHead<'_>) -> Result<Scanned, StoreError> {
        select::heads_by_scan(self, select, visit)
    }

    /// Visits the ids of all exchanges, in no particular order, until `visit` breaks.
    fn ids(&self, visit: &mut dyn FnMut(ExchangeId) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.heads(&Select::default(), &mut |head, _| visit(head.id)).map(drop)
    }

    /// Visits what is no exchange (sessions, events, gaps), in the order it was appended, until `visit`
    /// breaks.
    fn notes(
        &self,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.scan(None, &mut |entry| match entry {
            Entry::Exchange(_) => ControlFlow::Continue(()),
            Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => visit(entry),
        })
    }

    /// The sessions, in the order of their records: of a name that was opened more than once the first
    /// record and the last.
    fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        let mut sessions = sessions::Sessions::default();
        self.notes(&mut |entry| {
            match entry {
                Entry::Session(session) => sessions.add(session),
                Entry::Exchange(_) | Entry::Event(_) | Entry::Gap(_) => {}
            }
            ControlFlow::Continue(())
        })?;
        Ok(sessions.into_list())
    }

    /// The daemon's own state; `None` for a store that was opened for reading.
    fn state(&self) -> Option<&dyn State> {
        None
    }

    /// The key of the digests of what was masked; `None` when the store keeps none.
    fn digest_key(&self) -> Option<DigestKey> {
        None
    }

    /// Whether what is appended reaches its place.
    fn health(&self) -> Health {
        Health::Well
    }

    /// Flushes, and ends the use of the store: whatever is appended later is refused. Asked twice it
    /// does nothing.
    fn close(&self) -> Result<(), StoreError> {
        self.flush()
    }
}

/// What [`Store::heads`] calls: with a head, and a way to read the rest.
pub type VisitHead<'v> = dyn FnMut(&Head<'_>, ReadBody<'_>) -> ControlFlow<()> + 'v;

/// Reads the exchange whose head is being visited.
pub type ReadBody<'r> = &'r dyn Fn() -> Result<Redacted<Exchange>, StoreError>;

/// Whether what is appended reaches its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Well,
    /// It does not. The store goes on trying, and what it has taken is kept until it succeeds.
    Failing {
        /// What the last attempt said.
        why: String,
        /// Entries that were taken and wait.
        waiting: u64,
    },
}

/// How a scan went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Entries visited.
    pub entries: u64,
    /// Octets at damaged places that had to be left out.
    pub damaged_bytes: u64,
    /// Octets behind the last commit: being written just now, or never finished.
    pub unfinished_bytes: u64,
}

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("cannot {doing} {path}")]
    Io {
        /// What was being done: `write`, `open`.
        doing: &'static str,
        /// To which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another daemon writes here.
    #[error("the store {path} is in use by {holder}; stop it, or choose another `store.path`")]
    InUse {
        /// The store's directory.
        path: String,
        /// `process 4711`, from its lock file.
        holder: String,
    },
    /// The format is newer than this program.
    #[error(
        "the store {path} has format {found}, this program writes {known}; it can be read, not written"
    )]
    Newer {
        /// The store's directory.
        path: String,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// No store at all.
    #[error("{path} is no recording: {why}")]
    NotAStore {
        /// What was opened.
        path: String,
        /// What was missing.
        why: String,
    },
    /// One entry is more than a record can hold.
    #[error("cannot record {what}: {why}")]
    Unfit {
        /// `an exchange`, `a change of state`.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// A record is there and cannot be read.
    #[error("the record at octet {at} of {path} is damaged: {why}")]
    Damaged {
        /// The segment.
        path: String,
        /// Where in it.
        at: u64,
        /// What is wrong with it.
        why: String,
    },
    /// It was opened for reading, or closed.
    #[error("the store {path} cannot be written: {why}")]
    NotWritable {
        /// The store's directory.
        path: String,
        /// `it was opened for reading`, `it is closed`.
        why: &'static str,
    },
}

/// An error of the file system, with what was being done and to what.
fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.display().to_string(), source }
}
