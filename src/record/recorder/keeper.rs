//! Writes to the store, and lives with a store that does not take it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::{error, info};

use super::live::Listeners;
use crate::base::clock::WallClock;
use crate::base::id::InstanceId;
use crate::record::exchange::Exchange;
use crate::record::store::{Entry, GapRecord, Store, StoreError};

/// Entries of one append, as the store groups them for its syncs.
const BATCH_ENTRIES: usize = 64;
/// ... and their octets.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Counts for those who watch the recorder.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) stored: AtomicU64,
    pub(super) unstored: AtomicU64,
}

/// The recorder's side of the store.
pub(super) struct Keeper {
    store: Arc<dyn Store>,
    instance: InstanceId,
    clock: WallClock,
    listeners: Arc<Listeners>,
    counters: Arc<Counters>,
    batch: Vec<Entry>,
    batch_bytes: usize,
    /// What is to be written down as lost.
    lost: Option<GapRecord>,
    is_failing: bool,
}

impl Keeper {
    pub(super) fn new(
        store: Arc<dyn Store>,
        instance: InstanceId,
        clock: WallClock,
        listeners: Arc<Listeners>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            store,
            instance,
            clock,
            listeners,
            counters,
            batch: Vec::new(),
            batch_bytes: 0,
            lost: None,
            is_failing: false,
        }
    }

    pub(super) const fn instance(&self) -> InstanceId {
        self.instance
    }

    /// Takes an entry; it is appended with others, at the latest by [`append`](Self::append).
    pub(super) fn add(&mut self, entry: Entry) {
        self.batch_bytes += match &entry {
            Entry::Exchange(exchange) => kept_bytes(exchange.get()),
            Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => 0,
        };
        self.batch.push(entry);
        if self.batch.len() >= BATCH_ENTRIES || self.batch_bytes >= BATCH_BYTES {
            // The failure is counted, and told once; there is nobody here to tell it to.
            drop(self.append());
        }
    }

    /// Counts exchanges that could not be written for a reason of ours.
    pub(super) fn lose(&mut self, exchanges: u64, bytes: u64, reason: &str) {
        self.counters.unstored.fetch_add(exchanges, Ordering::Relaxed);
        let lost = self.lost.get_or_insert_with(|| GapRecord {
            at: self.clock.now(),
            instance: self.instance,
            exchange: None,
            bytes: 0,
            exchanges: 0,
            reason: reason.to_owned(),
        });
        lost.exchanges += exchanges;
        lost.bytes += bytes;
    }

    /// Writes down that whole exchanges were lost before they came here.
    pub(super) fn gap(&mut self, exchanges: u64, reason: &str) {
        self.add(Entry::Gap(GapRecord {
            at: self.clock.now(),
            instance: self.instance,
            exchange: None,
            bytes: 0,
            exchanges,
            reason: reason.to_owned(),
        }));
    }

    /// Ends the listeners' queues.
    pub(super) fn close(&self) {
        self.listeners.close();
    }

    /// Gives the store what there is. A store that refuses loses the batch, not the traffic: the loss is
    /// written down as soon as the store takes entries again.
    pub(super) fn append(&mut self) -> Result<(), StoreError> {
        if self.batch.is_empty() && self.lost.is_none() {
            return Ok(());
        }
        let gap = self.lost.clone().map(Entry::Gap);
        let gaps = usize::from(gap.is_some());
        let mut batch: Vec<Entry> = gap.into_iter().chain(self.batch.drain(..)).collect();
        self.batch_bytes = 0;
        match self.store.append(&batch) {
            Ok(()) => {
                let lost = self.lost.take();
                if std::mem::replace(&mut self.is_failing, false) {
                    let exchanges = lost.map_or(0, |lost| lost.exchanges);
                    info!(lost = exchanges, "the store takes the recording again");
                }
                self.publish(&batch);
                Ok(())
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    error!(
                        error = &error as &dyn std::error::Error,
                        "the store takes no recording; the traffic goes on unrecorded"
                    );
                }
                batch.drain(..gaps);
                self.lose_batch(&batch);
                Err(error)
            }
        }
    }

    /// Returns when everything that was added is durable.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.append()?;
        self.store.flush()
    }

    fn publish(&self, batch: &[Entry]) {
        let exchanges = batch.iter().filter_map(|entry| match entry {
            Entry::Exchange(exchange) => Some(exchange.get()),
            Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => None,
        });
        let is_heard = !self.listeners.is_empty();
        for exchange in exchanges {
            self.counters.stored.fetch_add(1, Ordering::Relaxed);
            if is_heard {
                self.listeners.publish(&Arc::new(exchange.clone()));
            }
        }
    }

    fn lose_batch(&mut self, batch: &[Entry]) {
        let mut exchanges = 0;
        let mut bytes = 0;
        for entry in batch {
            match entry {
                Entry::Exchange(exchange) => {
                    exchanges += 1;
                    bytes += kept_bytes(exchange.get()) as u64;
                }
                Entry::Gap(gap) => {
                    exchanges += gap.exchanges;
                    bytes += gap.bytes;
                }
                // Few and small: they wait for the store.
                Entry::Session(_) | Entry::Event(_) => {
                    if self.batch.len() < BATCH_ENTRIES {
                        self.batch.push(entry.clone());
                    }
                }
            }
        }
        self.lose(exchanges, bytes, "store_error");
    }
}

fn kept_bytes(exchange: &Exchange) -> usize {
    let answers = [&exchange.response, &exchange.delivered];
    let answers = answers.into_iter().flatten().map(|answer| answer.body.kept.len());
    exchange.request.body.kept.len() + answers.sum::<usize>()
}
