//! What waits between those who append and the thread that writes: already encoded, bounded in octets.
//!
//! One buffer is filled while the other is written; they change places, so nothing is allocated for a
//! record. Encoding happens on the caller's thread, compression and writing on the writer's.

use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use crate::record::format::entry::{self, Plain, StateChange};
use crate::record::store::{Entry, Health, StoreError};

/// Buffers that grew beyond this for one large body are given back.
pub(super) const KEEP_BYTES: usize = 4 * 1024 * 1024;

/// Encoded records that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) octets: Vec<u8>,
    pub(super) records: Vec<Plain>,
}

/// When a batch is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// With so many records.
    pub(super) records: usize,
    /// ... or so long after the first.
    pub(super) wait: Duration,
    pub(super) acknowledge: Acknowledge,
}

/// When an append returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acknowledge {
    /// When the entries wait in the queue.
    Taken,
    /// When they are on the disk.
    Durable,
}

/// What the writer has to do next.
#[derive(Debug)]
pub(super) enum Work {
    /// Write this; afterwards so many records of all have been written.
    Write(Batch, u64),
    /// Nothing came for a while.
    Idle,
    /// Nothing comes any more.
    End,
}

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    pending: Mutex<Pending>,
    /// Something changed for the writer.
    work: Condvar,
    /// Something changed for those who append or flush.
    done: Condvar,
    pace: Pace,
    capacity: usize,
    patience: Duration,
    root: PathBuf,
}

#[derive(Debug)]
struct Pending {
    batch: Batch,
    /// Records taken, and records that are durable, since the store was opened.
    taken: u64,
    durable: u64,
    /// Somebody waits: do not gather any longer.
    is_urgent: bool,
    stage: Stage,
    /// Attempts to write that failed.
    failures: u64,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// The writer is to finish.
    Closing,
    /// The writer has ended.
    Ended,
}

/// An error that can be told more than once.
#[derive(Clone, Debug)]
struct Failure {
    doing: &'static str,
    path: String,
    kind: io::ErrorKind,
    text: String,
}

impl Queue {
    /// An empty queue with room for so many octets, that lets an append wait so long for room.
    pub(super) fn new(pace: Pace, capacity: usize, patience: Duration, root: PathBuf) -> Self {
        let pending = Pending {
            batch: Batch::default(),
            taken: 0,
            durable: 0,
            is_urgent: false,
            stage: Stage::Open,
            failures: 0,
            failure: None,
        };
        let pending = Mutex::new(pending);
        Self { pending, work: Condvar::new(), done: Condvar::new(), pace, capacity, patience, root }
    }

    /// Takes entries, all or none.
    pub(super) fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.take(|batch| {
            for entry in entries {
                let record = entry::write(entry, &mut batch.octets)
                    .map_err(|why| StoreError::Unfit { what: "an entry", why })?;
                batch.records.push(record);
            }
            Ok(())
        })
    }

    /// Takes a change of state.
    pub(super) fn append_state(
        &self,
        change: StateChange<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.take(|batch| {
            let record = entry::write_state(change, now, &mut batch.octets)
                .map_err(|why| StoreError::Unfit { what: "a change of state", why })?;
            batch.records.push(record);
            Ok(())
        })
    }

    /// Returns when all that was taken before is durable, or an attempt to make it so has failed.
    pub(super) fn flush(&self) -> Result<(), StoreError> {
        let pending = self.lock();
        let target = pending.taken;
        self.wait_for(pending, target)
    }

    /// Tells the writer to finish; nothing is taken any more.
    pub(super) fn close(&self) {
        let mut pending = self.lock();
        if pending.stage == Stage::Open {
            pending.stage = Stage::Closing;
        }
        self.work.notify_all();
        self.done.notify_all();
    }

    pub(super) fn health(&self) -> Health {
        let pending = self.lock();
        match &pending.failure {
            None => Health::Well,
            Some(failure) => Health::Failing {
                why: format!("cannot {} {}: {}", failure.doing, failure.path, failure.text),
                waiting: pending.taken - pending.durable,
            },
        }
    }

    /// For the writer: what to do next. `spent` is the batch it wrote last, whose buffers are used again.
    /// With `idle` it returns after that time although nothing came.
    pub(super) fn next(&self, mut spent: Batch, idle: Option<Duration>) -> Work {
        spent.clear();
        let mut pending = self.lock();
        pending = match idle {
            None => self
                .work
                .wait_while(pending, |pending| pending.is_idle())
                .unwrap_or_else(PoisonError::into_inner),
            Some(idle) => {
                self.work
                    .wait_timeout_while(pending, idle, |pending| pending.is_idle())
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        if pending.batch.records.is_empty() {
            return if pending.stage == Stage::Open { Work::Idle } else { Work::End };
        }
        pending = self
            .work
            .wait_timeout_while(pending, self.pace.wait, |pending| {
                !pending.is_urgent && pending.stage == Stage::Open && !self.is_enough(pending)
            })
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        pending.is_urgent = false;
        let batch = std::mem::replace(&mut pending.batch, spent);
        let taken = pending.taken;
        drop(pending);
        self.done.notify_all();
        Work::Write(batch, taken)
    }

    /// For the writer: so many records of all are durable.
    pub(super) fn succeeded(&self, durable: u64) {
        let mut pending = self.lock();
        pending.durable = durable;
        pending.failure = None;
        drop(pending);
        self.done.notify_all();
    }

    /// For the writer: an attempt failed.
    pub(super) fn failed(&self, error: &StoreError) {
        let mut pending = self.lock();
        pending.failures += 1;
        pending.failure = Some(Failure::of(error, &self.root));
        drop(pending);
        self.done.notify_all();
    }

    /// For the writer: waits until it is time to try again. `false` when it is not worth it, because the
    /// store is being closed.
    pub(super) fn wait_to_retry(&self, pause: Duration) -> bool {
        let pending = self.lock();
        if pending.stage != Stage::Open {
            return false;
        }
        let waited = self.work.wait_timeout_while(pending, pause, |pending| {
            !pending.is_urgent && pending.stage == Stage::Open
        });
        waited.unwrap_or_else(PoisonError::into_inner).0.is_urgent = false;
        true
    }

    /// For the writer: it has ended, well or by a panic.
    pub(super) fn ended(&self) {
        let mut pending = self.lock();
        pending.stage = Stage::Ended;
        drop(pending);
        self.done.notify_all();
    }

    fn take(
        &self,
        write: impl FnOnce(&mut Batch) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut pending = self.room_for_more()?;
        let (octets, records) = (pending.batch.octets.len(), pending.batch.records.len());
        if let Err(error) = write(&mut pending.batch) {
            pending.batch.octets.truncate(octets);
            pending.batch.records.truncate(records);
            return Err(error);
        }
        pending.taken += (pending.batch.records.len() - records) as u64;
        if self.pace.acknowledge == Acknowledge::Durable {
            let target = pending.taken;
            return self.wait_for(pending, target);
        }
        if records == 0 || self.is_enough(&pending) {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Waits until the queue has room. One call may go over: a call is taken whole.
    fn room_for_more(&self) -> Result<MutexGuard<'_, Pending>, StoreError> {
        let is_full = |pending: &mut Pending| {
            pending.batch.octets.len() >= self.capacity
                && pending.failure.is_none()
                && pending.stage == Stage::Open
        };
        let (pending, _) = self
            .done
            .wait_timeout_while(self.lock(), self.patience, is_full)
            .unwrap_or_else(PoisonError::into_inner);
        if pending.stage != Stage::Open {
            return Err(self.closed());
        }
        if pending.batch.octets.len() < self.capacity {
            return Ok(pending);
        }
        Err(pending
            .failure
            .as_ref()
            .map_or_else(|| Failure::of(&self.too_slow(), &self.root).tell(), Failure::tell))
    }

    fn wait_for(
        &self,
        mut pending: MutexGuard<'_, Pending>,
        target: u64,
    ) -> Result<(), StoreError> {
        let failures = pending.failures;
        let mut is_first = true;
        while pending.durable < target {
            if pending.stage == Stage::Ended {
                return Err(pending.failure.as_ref().map_or_else(|| self.closed(), Failure::tell));
            }
            match &pending.failure {
                Some(failure) if pending.failures > failures => return Err(failure.tell()),
                Some(_) | None => {}
            }
            if is_first || !pending.batch.records.is_empty() {
                pending.is_urgent = true;
                self.work.notify_one();
            }
            is_first = false;
            pending = self.done.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }

    fn is_enough(&self, pending: &Pending) -> bool {
        pending.batch.records.len() >= self.pace.records
            || pending.batch.octets.len() >= self.capacity / 2
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> StoreError {
        StoreError::NotWritable { path: self.root.display().to_string(), why: "it is closed" }
    }

    fn too_slow(&self) -> StoreError {
        let source = io::Error::new(io::ErrorKind::TimedOut, "the disk is too slow");
        StoreError::Io { doing: "write", path: self.root.display().to_string(), source }
    }
}

impl Pending {
    fn is_idle(&self) -> bool {
        self.batch.records.is_empty() && self.stage == Stage::Open
    }
}

impl Batch {
    fn clear(&mut self) {
        self.records.clear();
        self.octets.clear();
        self.octets.shrink_to(KEEP_BYTES);
    }
}

impl Failure {
    fn of(error: &StoreError, root: &std::path::Path) -> Self {
        match error {
            StoreError::Io { doing, path, source } => {
                Self { doing, path: path.clone(), kind: source.kind(), text: source.to_string() }
            }
            StoreError::InUse { .. }
            | StoreError::Newer { .. }
            | StoreError::NotAStore { .. }
            | StoreError::Unfit { .. }
            | StoreError::Damaged { .. }
            | StoreError::NotWritable { .. } => Self {
                doing: "write",
                path: root.display().to_string(),
                kind: io::ErrorKind::Other,
                text: error.to_string(),
            },
        }
    }

    fn tell(&self) -> StoreError {
        let source = io::Error::new(self.kind, self.text.clone());
        StoreError::Io { doing: self.doing, path: self.path.clone(), source }
    }
}
