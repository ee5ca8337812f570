//! The store on disk: segments, sidecars and state behind one door.
//!
//! One process writes ([`open_writer`]), any number read ([`open_reader`]), also while it writes and
//! after it was killed. What a reader ever saw is on the disk.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use crate::base::clock::WallClock;
use crate::base::id::ExchangeId;
use crate::record::exchange::Exchange;
use crate::record::format::VERSION;
use crate::record::format::entry::Compressor;
use crate::record::redact::{DigestKey, Redacted};
use crate::record::store::layout::{Found, Layout};
use crate::record::store::logged::LoggedState;
use crate::record::store::media::{Media, System};
use crate::record::store::queue::{Acknowledge, Pace, Queue};
use crate::record::store::reader::Reading;
use crate::record::store::select::Select;
use crate::record::store::state::{LazyState, State, StateOrigin};
use crate::record::store::view::View;
use crate::record::store::writer::{Context, Writer};
use crate::record::store::{
    Entry, Health, Kind, Scanned, Store, StoreError, VisitHead, io_error, lock, recovery,
};

/// The row of `STORES`.
pub(super) const KIND: Kind = Kind {
    name: "disk",
    summary: "A directory of segment files, safe to kill and to power cuts",
    open: |path, options, clock| Ok(Arc::new(open_writer(path, options, clock)?)),
};

/// The longest segment there may be: sidecars count in 32 bits, and the last record may go over.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;
/// The zstd level. Level 3 takes half as long again and saves one part in a hundred.
const ZSTD_LEVEL: i32 = 1;

/// When what is appended is on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Together with what comes within 10 ms, or with 63 others: on the disk within 50 ms.
    #[default]
    Batched,
    /// Before the append returns.
    Each,
    /// Within half a second.
    Lazy,
}

/// Whether bodies are made smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// By zstd, exchanges that are written together in one piece.
    #[default]
    Zstd,
    /// They are not.
    Off,
}

/// How a store is written.
#[derive(Clone, Debug)]
pub struct Options {
    /// When what is appended is on the disk.
    pub durability: Durability,
    /// Whether bodies are made smaller.
    pub compression: Compression,
    /// A segment that is longer takes no more records; at most 1 GiB.
    pub segment_bytes: u64,
    /// Octets that may wait to be written, before compression. One append may go over.
    pub queue_bytes: usize,
    /// How long an append waits for room among them, when the disk is slow.
    pub append_wait: Duration,
    /// How long opening waits for the lock of a daemon that is just ending.
    pub lock_wait: Duration,
    /// The file system, for tests that break it.
    pub media: Arc<dyn Media>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Batched,
            compression: Compression::Zstd,
            segment_bytes: 64 * 1024 * 1024,
            queue_bytes: 2 * 1024 * 1024,
            append_wait: Duration::from_secs(2),
            lock_wait: Duration::from_secs(1),
            media: Arc::new(System),
        }
    }
}

/// What was found when the store was opened to be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Octets of records that were never finished, and have been cut off.
    pub torn_bytes: u64,
    /// Octets at damaged places in the last segment; readers leave them out.
    pub damaged_bytes: u64,
    /// Sidecars that were missing and have been made anew.
    pub sidecars_restored: usize,
}

/// A store that is being written.
#[derive(Debug)]
pub struct DiskStore {
    reader: DiskReader,
    key: DigestKey,
    queue: Arc<Queue>,
    state: LoggedState,
    opening: Opening,
    running: Mutex<Option<Running>>,
}

/// What ends with the use of a store. The lock goes last.
#[derive(Debug)]
struct Running {
    writer: JoinHandle<()>,
    _lock: File,
}

/// A store that is being read. It shows what was committed when it was opened or last refreshed.
#[derive(Debug)]
pub struct DiskReader {
    layout: Layout,
    view: Mutex<View>,
    version: u32,
}

/// Opens the store at `path` to write to it, and makes it when there is none. The directory must be
/// empty or hold a store.
pub fn open_writer(
    path: &Path,
    options: Options,
    clock: WallClock,
) -> Result<DiskStore, StoreError> {
    let layout = Layout::new(path);
    let Options { durability, compression, segment_bytes, queue_bytes, .. } = options;
    let Options { append_wait, lock_wait, media, .. } = options;
    layout.prepare()?;
    let lock = lock::take(&layout.lock(), path, lock_wait)?;
    // Asked again under the lock: another process may have made the store meanwhile.
    let format = match layout.prepare()? {
        Found::Store => layout.read_format()?,
        Found::Nothing => layout.create(&*media, clock.now())?,
    };
    if format.version > u32::from(VERSION) {
        let path = path.display().to_string();
        return Err(StoreError::Newer { path, found: format.version, known: VERSION.into() });
    }
    let format = layout.raise(&*media, format)?;
    layout.make_segments_dir()?;
    let key = layout.key_or_new(&*media)?;
    let context = Context {
        layout: layout.clone(),
        media,
        clock: clock.clone(),
        store_id: *format.store_id.as_bytes(),
        segment_bytes: segment_bytes.min(SEGMENT_BYTES_MAX),
    };
    let queue = Arc::new(Queue::new(pace(durability), queue_bytes, append_wait, path.to_owned()));
    let (writer, opening) = prepare_writer(context, &queue, compression)?;
    let state = Arc::clone(&writer.state);
    let writer = std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(|| writer.run())
        .map_err(io_error("start the writer of", path))?;
    let state = LoggedState::new(Arc::clone(&queue), clock, path.to_owned(), state);
    let running = Mutex::new(Some(Running { writer, _lock: lock }));
    let reader = DiskReader::new(layout, format.version);
    Ok(DiskStore { reader, key, queue, state, opening, running })
}

/// Opens the store at `path` to read it: no lock is taken, nothing is written, and what another process
/// writes meanwhile is seen after [`DiskReader::refresh`].
pub fn open_reader(path: &Path) -> Result<DiskReader, StoreError> {
    let layout = Layout::new(path);
    let version = layout.read_format()?.version;
    let reader = DiskReader::new(layout, version);
    reader.refresh()?;
    Ok(reader)
}

impl DiskStore {
    /// What was found when it was opened.
    pub const fn opening(&self) -> &Opening {
        &self.opening
    }

    /// Where the daemon's state came from. It is opened for the answer, unless it is open.
    pub fn state_origin(&self) -> Result<StateOrigin, StoreError> {
        self.state.origin()
    }

    fn read<T>(
        &self,
        read: impl FnOnce(Reading<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.reader.refresh()?;
        read(self.reader.reading())
    }
}

impl Drop for DiskStore {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::warn!(%error, "the store was not closed well");
        }
    }
}

impl Store for DiskStore {
    fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.queue.append(entries)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.queue.flush()
    }

    fn scan(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.read(|reading| reading.scan(since, &mut |entry| visit(entry)))
    }

    fn exchange(&self, id: ExchangeId) -> Result<Option<Redacted<Exchange>>, StoreError> {
        self.read(|reading| reading.exchange(id))
    }

    fn heads(&self, select: &Select, visit: &mut VisitHead<'_>) -> Result<Scanned, StoreError> {
        self.read(|reading| reading.heads(select, visit))
    }

    fn ids(&self, visit: &mut dyn FnMut(ExchangeId) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.read(|reading| reading.ids(visit))
    }

    fn notes(
        &self,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.read(|reading| reading.notes(&mut |entry| visit(entry)))
    }

    fn state(&self) -> Option<&dyn State> {
        Some(&self.state)
    }

    fn digest_key(&self) -> Option<DigestKey> {
        Some(self.key.clone())
    }

    fn health(&self) -> Health {
        self.queue.health()
    }

    fn close(&self) -> Result<(), StoreError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(ending) = running.take() else {
            return Ok(());
        };
        self.queue.close();
        if ending.writer.join().is_err() {
            tracing::error!("the store's writer panicked");
        }
        let flushed = self.queue.flush();
        let settled = self.state.close();
        flushed.and(settled)
    }
}

impl DiskReader {
    /// Looks for what was committed since.
    pub fn refresh(&self) -> Result<(), StoreError> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).refresh()
    }

    /// The version of the store's format.
    pub const fn version(&self) -> u32 {
        self.version
    }

    fn new(layout: Layout, version: u32) -> Self {
        let view = Mutex::new(View::new(layout.clone()));
        Self { layout, view, version }
    }

    fn reading(&self) -> Reading<'_> {
        let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let (segments, unreadable) = (view.segments(), view.unreadable());
        Reading { layout: &self.layout, segments, unreadable }
    }

    fn not_writable(&self) -> StoreError {
        let path = self.layout.root().display().to_string();
        StoreError::NotWritable { path, why: "it was opened for reading" }
    }
}

impl Store for DiskReader {
    fn append(&self, _entries: &[Entry]) -> Result<(), StoreError> {
        Err(self.not_writable())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Err(self.not_writable())
    }

    fn scan(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.reading().scan(since, &mut |entry| visit(entry))
    }

    fn exchange(&self, id: ExchangeId) -> Result<Option<Redacted<Exchange>>, StoreError> {
        self.reading().exchange(id)
    }

    fn heads(&self, select: &Select, visit: &mut VisitHead<'_>) -> Result<Scanned, StoreError> {
        self.reading().heads(select, visit)
    }

    fn ids(&self, visit: &mut dyn FnMut(ExchangeId) -> ControlFlow<()>) -> Result<(), StoreError> {
        self.reading().ids(visit)
    }

    fn notes(
        &self,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.reading().notes(&mut |entry| visit(entry))
    }

    fn digest_key(&self) -> Option<DigestKey> {
        self.layout.read_key()
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

fn pace(durability: Durability) -> Pace {
    match durability {
        Durability::Batched => {
            Pace { records: 64, wait: Duration::from_millis(10), acknowledge: Acknowledge::Taken }
        }
        Durability::Each => {
            Pace { records: 1, wait: Duration::ZERO, acknowledge: Acknowledge::Durable }
        }
        Durability::Lazy => Pace {
            records: usize::MAX,
            wait: Duration::from_millis(500),
            acknowledge: Acknowledge::Taken,
        },
    }
}

/// Finds out where the log ends and what it says, and makes what is missing.
fn prepare_writer(
    context: Context,
    queue: &Arc<Queue>,
    compression: Compression,
) -> Result<(Writer, Opening), StoreError> {
    let layout = &context.layout;
    let reading = |error| io_error("read", layout.root())(error);
    let numbers = layout.segments().map_err(reading)?;
    let tail = numbers.last().map(|last| recovery::find_tail(layout, *last));
    let tail = tail.transpose().map_err(reading)?.flatten();
    let end = tail.as_ref().map_or(0, |tail| tail.end);
    let told = recovery::listen(layout, &numbers, end).map_err(reading)?;
    let mut opening = Opening::default();
    let sealed = numbers.get(..numbers.len().saturating_sub(1)).unwrap_or_default();
    match recovery::restore_sidecars(layout, &*context.media, sealed) {
        Ok(made) => opening.sidecars_restored = made,
        Err(error) => tracing::warn!(%error, "sidecars are missing and cannot be made"),
    }
    let segment = if let Some(tail) = tail {
        opening.torn_bytes = tail.torn;
        opening.damaged_bytes = tail.catalog.damaged;
        tail.resume(&context)?
    } else {
        // No segment at all, or one whose very header is damaged: that one stays, nothing is added.
        let number = numbers.last().map_or(1, |last| last + 1);
        context.begin(number, told.sessions.as_list(), Some(&told.facts))?
    };
    if opening.torn_bytes > 0 || opening.damaged_bytes > 0 {
        let Opening { torn_bytes, damaged_bytes, .. } = opening;
        tracing::warn!(torn_bytes, damaged_bytes, "the recording was not closed well");
    }
    let compressor = Compressor::new(match compression {
        Compression::Zstd => Some(ZSTD_LEVEL),
        Compression::Off => None,
    });
    let compressor = compressor.map_err(io_error("prepare zstd for", context.layout.root()))?;
    let queue = Arc::clone(queue);
    let state = LazyState::new(layout.state(), told.facts, context.clock.clone());
    let (state, sessions) = (Arc::new(state), told.sessions);
    let mut writer =
        Writer { context, queue, segment, compressor, sessions, state, pack: Vec::new() };
    writer.begin_own_segment()?;
    Ok((writer, opening))
}
