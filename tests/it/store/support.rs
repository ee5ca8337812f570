//! Stores in temporary directories.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use meddler::base::clock::WallClock;
use meddler::record::store::disk::{self, Compression, DiskReader, DiskStore, Options};
use meddler::record::store::{Entry, Scanned, Store};
use tempfile::TempDir;

/// A directory for one store, gone with the test.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("recording")
    }

    /// A copy of what readers need of the store in another place.
    pub(crate) fn copy(of: &Self) -> Self {
        let copy = Self::new();
        fs::create_dir_all(copy.path().join("seg")).unwrap();
        fs::copy(of.path().join("FORMAT"), copy.path().join("FORMAT")).unwrap();
        for file in fs::read_dir(of.path().join("seg")).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.path().join("seg").join(file.file_name())).unwrap();
        }
        copy
    }

    pub(crate) fn writer(&self) -> DiskStore {
        self.writer_with(Options::default())
    }

    /// A writer whose segments are full after a few records.
    pub(crate) fn writer_of_small_segments(&self) -> DiskStore {
        self.writer_with(Options { segment_bytes: 8 * 1024, ..Options::default() })
    }

    pub(crate) fn writer_with(&self, options: Options) -> DiskStore {
        disk::open_writer(&self.path(), options, clock()).unwrap()
    }

    pub(crate) fn reader(&self) -> DiskReader {
        disk::open_reader(&self.path()).unwrap()
    }

    pub(crate) fn segment(&self, number: u32) -> PathBuf {
        self.path().join(format!("seg/{number:06}.log"))
    }

    pub(crate) fn sidecar(&self, number: u32) -> PathBuf {
        self.path().join(format!("seg/{number:06}.idx"))
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        let files = fs::read_dir(self.path().join("seg")).unwrap();
        files.filter(|file| file.as_ref().unwrap().path().extension().unwrap() == "log").count()
    }
}

/// Options that refuse to wait for a lock, so that a test need not either.
pub(crate) fn impatient() -> Options {
    Options { lock_wait: Duration::ZERO, ..Options::default() }
}

/// Options under which what is written has the same octets everywhere.
pub(crate) fn plain() -> Options {
    Options { compression: Compression::Off, ..Options::default() }
}

pub(crate) fn clock() -> WallClock {
    WallClock::fixed("2026-11-30T12:00:00Z".parse().unwrap())
}

/// What a scan visits, as text, and how it went.
pub(crate) fn scan(store: &dyn Store) -> (Vec<String>, Scanned) {
    let mut entries = Vec::new();
    let scanned = store
        .scan(None, &mut |entry| {
            entries.push(text(&entry));
            ControlFlow::Continue(())
        })
        .unwrap();
    (entries, scanned)
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(text).collect()
}

/// An entry in a few words that are different for different entries.
fn text(entry: &Entry) -> String {
    let whole = format!("{entry:?}");
    let mut hasher = DefaultHasher::new();
    whole.hash(&mut hasher);
    let name = match entry {
        Entry::Exchange(exchange) => exchange.get().id.hex(),
        Entry::Session(session) => session.name.clone(),
        Entry::Event(event) => event.name.clone(),
        Entry::Gap(gap) => gap.reason.clone(),
    };
    format!("{}-{name}-{:016x}", whole.split('(').next().unwrap(), hasher.finish())
}

/// Changes one octet of a file.
pub(crate) fn flip(path: &Path, at: usize) {
    let mut octets = fs::read(path).unwrap();
    *octets.get_mut(at).unwrap() ^= 0x40;
    fs::write(path, octets).unwrap();
}
