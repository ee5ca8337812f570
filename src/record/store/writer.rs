//! The one thread that writes: takes batches from the queue, compresses them, makes them durable, and
//! begins a new segment when one is full. While the disk refuses, it keeps the batch and tries again.

use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::WallClock;
use crate::record::format::VERSION;
use crate::record::format::entry::{self, Compressor, Plain, StateChange};
use crate::record::format::pack::{self, Place};
use crate::record::format::record::{self, Flags, Kind, Label};
use crate::record::format::segment::{SegmentHeader, SnapshotOf};
use crate::record::store::layout::Layout;
use crate::record::store::media::{self, Media};
use crate::record::store::queue::{Batch, Queue, Work};
use crate::record::store::segment::OpenSegment;
use crate::record::store::sessions::Sessions;
use crate::record::store::state::{Facts, LazyState};
use crate::record::store::{Entry, SessionRecord, StoreError};

/// How long after a failed attempt the next is made.
const RETRY: Duration = Duration::from_millis(500);
/// With nothing to write for so long, the last commit mark is synced too.
const SETTLE: Duration = Duration::from_millis(20);

/// What a new segment needs to know.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) layout: Layout,
    pub(super) media: Arc<dyn Media>,
    pub(super) clock: WallClock,
    pub(super) store_id: [u8; 16],
    /// A segment that is longer takes no more records.
    pub(super) segment_bytes: u64,
}

/// The writer's end of a store.
pub(super) struct Writer {
    pub(super) context: Context,
    pub(super) queue: Arc<Queue>,
    pub(super) segment: OpenSegment,
    pub(super) compressor: Compressor,
    pub(super) sessions: Sessions,
    pub(super) state: Arc<LazyState>,
    /// The bodies of the next pack.
    pub(super) pack: Vec<u8>,
}

/// Says that the writer has ended, also when it panicked: somebody may be waiting for it.
struct SayEnded(Arc<Queue>);

impl Drop for SayEnded {
    fn drop(&mut self) {
        self.0.ended();
    }
}

impl Writer {
    /// Writes until the queue is closed.
    pub(super) fn run(mut self) {
        let _ended = SayEnded(Arc::clone(&self.queue));
        let mut spent = Batch::default();
        loop {
            let idle = self.segment.is_unsettled().then_some(SETTLE);
            match self.queue.next(spent, idle) {
                Work::Write(batch, taken) => {
                    if !self.write(&batch, taken) {
                        break;
                    }
                    spent = batch;
                }
                Work::Idle => {
                    self.settle();
                    spent = Batch::default();
                }
                Work::End => break,
            }
        }
        self.settle();
    }

    /// Makes a batch durable, however often that must be tried. `false` when the store was closed before.
    fn write(&mut self, batch: &Batch, taken: u64) -> bool {
        let mut next = 0;
        loop {
            match self.attempt(batch, &mut next) {
                Ok(()) => {
                    self.queue.succeeded(taken);
                    return true;
                }
                Err(error) => {
                    tracing::warn!(%error, "the recording cannot be written");
                    self.queue.failed(&error);
                }
            }
            if !self.queue.wait_to_retry(RETRY) {
                return false;
            }
        }
    }

    /// Begins a segment, unless the log ends with one of this version.
    pub(super) fn begin_own_segment(&mut self) -> Result<(), StoreError> {
        if self.segment.header().version == VERSION { Ok(()) } else { self.roll() }
    }

    /// Writes what is left of a batch; `next` is the first record that is in no segment yet.
    fn attempt(&mut self, batch: &Batch, next: &mut usize) -> Result<(), StoreError> {
        loop {
            while let Some(rest) = batch.records.get(*next..).filter(|rest| !rest.is_empty()) {
                if self.segment.len() >= self.context.segment_bytes && !self.segment.is_fresh() {
                    break;
                }
                *next += self.add_some(batch, rest);
            }
            self.segment.commit(self.context.clock.now().as_microsecond())?;
            if *next == batch.records.len() {
                return Ok(());
            }
            self.roll()?;
        }
    }

    /// Frames the first of these records, or as many as go into a pack. Returns how many.
    fn add_some(&mut self, batch: &Batch, records: &[Plain]) -> usize {
        let packed = if self.compressor.is_off() { 0 } else { pack_of(records) };
        match records {
            [first, ..] if packed < 2 => {
                self.add(batch, first);
                1
            }
            records => {
                let records = records.get(..packed).unwrap_or_default();
                self.add_pack(batch, records);
                records.len()
            }
        }
    }

    /// Frames a pack and the exchanges whose bodies are in it.
    fn add_pack(&mut self, batch: &Batch, records: &[Plain]) {
        self.pack.clear();
        for plain in records {
            self.pack.extend_from_slice(batch.octets.get(plain.body()).unwrap_or_default());
        }
        let (flags, stored) = self.compressor.shrink(&self.pack);
        let label = Label { kind: Kind::Pack, flags, id: [0; 16] };
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let pack_at = self.segment.len();
        let seed = self.segment.header().seed;
        record::write(&mut self.segment.out, seed, label, &count.to_le_bytes(), stored);
        let mut begin = 0;
        for plain in records {
            let at = self.segment.len();
            // Packs are short: nothing of this is near 4 GiB.
            let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            let len = plain.body_len as u64;
            let place = Place { back: short(at - pack_at), begin: short(begin), len: short(len) };
            begin += len;
            let head = batch.octets.get(plain.head()).unwrap_or_default();
            let label = Label { flags: Flags::PACKED, ..plain.label };
            frame(&mut self.segment, label, head, &place.octets());
        }
    }

    /// Frames one record.
    fn add(&mut self, batch: &Batch, plain: &Plain) {
        let head = batch.octets.get(plain.head()).unwrap_or_default();
        let body = batch.octets.get(plain.body()).unwrap_or_default();
        if plain.label.kind == Kind::Session {
            match serde_json::from_slice::<SessionRecord>(body) {
                Ok(session) => self.sessions.add(session),
                Err(error) => tracing::warn!(%error, "a session cannot be read back"),
            }
        }
        let (flags, stored) = self.compressor.shrink(body);
        let label = Label { flags: plain.label.flags.with(flags), ..plain.label };
        frame(&mut self.segment, label, head, stored);
    }

    /// Seals the segment and begins the next.
    fn roll(&mut self) -> Result<(), StoreError> {
        self.segment.settle()?;
        let header = *self.segment.header();
        let sidecar = self.context.layout.sidecar(header.number);
        let octets = self.segment.catalog.to_sidecar(&header, self.segment.len());
        if let Err(error) = media::write_whole(&*self.context.media, &sidecar, &octets) {
            // Readers do without, and the next start makes it.
            tracing::warn!(path = %sidecar.display(), %error, "a sidecar cannot be written");
        }
        let facts = self.state.facts();
        if let Err(error) = &facts {
            tracing::warn!(%error, "the state cannot be read: this segment will not repeat it");
        }
        self.segment =
            self.context.begin(header.number + 1, self.sessions.as_list(), facts.ok().as_ref())?;
        Ok(())
    }

    fn settle(&mut self) {
        if let Err(error) = self.segment.settle() {
            tracing::debug!(%error, "the last commit mark is not synced yet");
        }
    }
}

/// How many of these records go into one pack: exchanges, until it is full.
fn pack_of(records: &[Plain]) -> usize {
    let mut bytes = 0;
    let fits = |plain: &&Plain| {
        let has_room = bytes < pack::FULL_BYTES;
        bytes += plain.body_len;
        has_room && plain.label.kind == Kind::Exchange && bytes <= pack::BYTES_MAX
    };
    records.iter().take_while(fits).count()
}

/// Appends a record to a segment.
fn frame(segment: &mut OpenSegment, label: Label, head: &[u8], stored: &[u8]) {
    let (at, seed) = (segment.len(), segment.header().seed);
    if let Some(header) = record::write(&mut segment.out, seed, label, head, stored) {
        segment.catalog.add(at, &header, head);
    } else {
        // `entry::write` refuses those, and compression makes none longer.
        tracing::error!("a record is longer than a record can be");
    }
}

impl Context {
    /// Begins a segment that repeats these sessions and facts.
    pub(super) fn begin(
        &self,
        number: u32,
        sessions: &[SessionRecord],
        facts: Option<&Facts>,
    ) -> Result<OpenSegment, StoreError> {
        let now = self.clock.now();
        let header = SegmentHeader {
            version: VERSION,
            number,
            store_id: self.store_id,
            created_us: now.as_microsecond(),
            snapshot_len: 0,
            snapshot: match facts {
                Some(_) => SnapshotOf::Everything,
                None => SnapshotOf::Sessions,
            },
            rewrites: 0,
            crc: 0,
            seed: 0,
        };
        let snapshot = |seed, out: &mut Vec<u8>| {
            let mut batch = Batch::default();
            for session in sessions {
                let entry = Entry::Session(session.clone());
                batch.records.extend(entry::write(&entry, &mut batch.octets).ok());
            }
            for ((space, key), value) in facts.into_iter().flatten() {
                let change = StateChange { space, key, value: Some(value) };
                let written = entry::write_state(change, now, &mut batch.octets);
                batch.records.extend(written.ok());
            }
            for plain in &batch.records {
                let label = Label { flags: Flags::SNAPSHOT, ..plain.label };
                let head = batch.octets.get(plain.head()).unwrap_or_default();
                let body = batch.octets.get(plain.body()).unwrap_or_default();
                record::write(out, seed, label, head, body);
            }
        };
        let path = self.layout.log(number);
        OpenSegment::create(&*self.media, &path, header, snapshot, now.as_microsecond())
    }
}
