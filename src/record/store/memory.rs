//! A recording that is gone with the process: for tests, and for `store: { kind: memory }`.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;

use crate::base::id::ExchangeId;
use crate::record::exchange::Exchange;
use crate::record::redact::{DigestKey, Redacted};
use crate::record::store::state::{MemoryState, State};
use crate::record::store::{Entry, Kind, Scanned, Store, StoreError, layout};

/// The row of `STORES`.
pub(super) const KIND: Kind = Kind {
    name: "memory",
    summary: "Kept in memory, gone when Meddler stops",
    open: |_, _, _| Ok(Arc::new(MemoryStore::new())),
};

/// Keeps everything in memory. Has no bound: it is for runs that end.
pub struct MemoryStore {
    entries: RwLock<Vec<Entry>>,
    state: MemoryState,
    key: DigestKey,
    is_closed: AtomicBool,
}

impl MemoryStore {
    /// An empty recording.
    pub fn new() -> Self {
        Self {
            entries: RwLock::default(),
            state: MemoryState::default(),
            key: layout::random_key(),
            is_closed: AtomicBool::new(false),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(StoreError::NotWritable { path: "in memory".into(), why: "it is closed" });
        }
        let mut kept = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(entries);
        Ok(())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn scan(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        // Copied, so that a visitor may append.
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut scanned = Scanned::default();
        let is_early = |entry: &Entry| since.is_some_and(|since| time(entry) < since);
        for entry in entries.into_iter().skip_while(is_early) {
            scanned.entries += 1;
            if visit(entry).is_break() {
                break;
            }
        }
        Ok(scanned)
    }

    fn exchange(&self, id: ExchangeId) -> Result<Option<Redacted<Exchange>>, StoreError> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let found = entries.iter().rev().find_map(|entry| match entry {
            Entry::Exchange(exchange) if exchange.get().id == id => Some((**exchange).clone()),
            Entry::Exchange(_) | Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => None,
        });
        Ok(found)
    }

    fn state(&self) -> Option<&dyn State> {
        Some(&self.state)
    }

    fn digest_key(&self) -> Option<DigestKey> {
        Some(self.key.clone())
    }

    fn close(&self) -> Result<(), StoreError> {
        self.is_closed.store(true, Ordering::Release);
        Ok(())
    }
}

fn time(entry: &Entry) -> Timestamp {
    match entry {
        Entry::Exchange(exchange) => exchange.get().started,
        Entry::Session(session) => session.started,
        Entry::Event(event) => event.at,
        Entry::Gap(gap) => gap.at,
    }
}
