//! The daemon's own state: small things that change and must be found by key after a restart. Kept in
//! sled, and never to be trusted: the log has every change as well.
//!
//! sled 0.34 may lose or damage what it holds when the power fails, and may panic while it opens. So it
//! is opened inside `catch_unwind` and compared with what the log says; where they differ the log is
//! right. Put no secret here: what is put is written to the log as it is.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, Permissions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;

use crate::base::clock::WallClock;
use crate::record::store::{StoreError, io_error};

/// What sled may keep in memory.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// How long, and how often, sled's own lock is waited for: a store that was closed a moment ago in this
/// process gives it back when its last thread has ended.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
const LOCK_TRIES: u32 = 50;

/// Small values by key, in spaces of their own. Every change is also a record in the log: it is durable
/// after the store's `flush`.
pub trait State: Send + Sync {
    /// The value of this key.
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets a value.
    fn put(&self, space: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError>;

    /// Removes a value. That there was none is no error.
    fn delete(&self, space: &str, key: &[u8]) -> Result<(), StoreError>;

    /// Visits keys and values of a space by key, until `visit` breaks.
    fn scan(&self, space: &str, visit: &mut VisitPair<'_>) -> Result<(), StoreError>;
}

/// What [`State::scan`] calls with a key and its value.
pub type VisitPair<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// All of a state, as the log tells it.
pub(super) type Facts = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// A state that the log can be compared with.
trait Mirror: State + fmt::Debug {
    /// All of it.
    fn facts(&self) -> Result<Facts, StoreError>;

    /// Returns when all of it is on the disk.
    fn settle(&self) -> Result<(), StoreError>;
}

/// Where a state came from when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateOrigin {
    /// sled had what the log says.
    Kept,
    /// sled had something else, or nothing, and was filled from the log.
    Filled,
    /// sled could not be opened. Its directory now has this name, and a new one was filled from the log.
    SetAside(PathBuf),
    /// sled could not be made at all: the state is kept in memory (and in the log).
    Memory,
}

/// State that is opened when it must be: opening sled takes as long as everything else that a start
/// does, a second on a busy machine, and a webhook's registration waits for its change. The log has told
/// what is in it and has every change, so until then it is kept in memory.
#[derive(Debug)]
pub(super) struct LazyState {
    dir: PathBuf,
    clock: WallClock,
    told: Mutex<Told>,
    /// Set only while `told` is held.
    opened: OnceLock<(Arc<dyn Mirror>, StateOrigin)>,
}

/// What the log told, changes since then included. Empty once the state has been opened.
#[derive(Debug)]
struct Told {
    facts: Facts,
    is_changed: bool,
}

impl LazyState {
    /// The state of this directory, which is to hold these facts.
    pub(super) fn new(dir: PathBuf, told: Facts, clock: WallClock) -> Self {
        let told = Mutex::new(Told { facts: told, is_changed: false });
        Self { dir, clock, told, opened: OnceLock::new() }
    }

    /// Where it came from.
    pub(super) fn origin(&self) -> &StateOrigin {
        &self.opened().1
    }

    /// All of it.
    pub(super) fn facts(&self) -> Result<Facts, StoreError> {
        self.either(|told| Ok(told.facts.clone()), |mirror| mirror.facts())
    }

    /// Returns when all of it is on the disk.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        if self.told().is_changed {
            self.opened();
        }
        self.opened.get().map_or(Ok(()), |(mirror, _)| mirror.settle())
    }

    fn opened(&self) -> &(Arc<dyn Mirror>, StateOrigin) {
        let mut told = self.told();
        // Asked and set under the lock: no change is told to a state that is being opened.
        self.opened.get_or_init(|| {
            let opened = open(&self.dir, &told.facts, self.clock.now());
            *told = Told { facts: Facts::new(), is_changed: false };
            opened
        })
    }

    /// Asks what was told, or the state when it is open.
    fn either<T>(
        &self,
        ask_told: impl FnOnce(&mut Told) -> T,
        ask: impl FnOnce(&dyn Mirror) -> T,
    ) -> T {
        let mut told = self.told();
        match self.opened.get() {
            None => ask_told(&mut told),
            Some((mirror, _)) => {
                drop(told);
                ask(&**mirror)
            }
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State for LazyState {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let name = (space.to_owned(), key.to_vec());
        self.either(|told| Ok(told.facts.get(&name).cloned()), |mirror| mirror.get(space, key))
    }

    fn put(&self, space: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let change = |told: &mut Told| {
            told.facts.insert((space.to_owned(), key.to_vec()), value.to_vec());
            told.is_changed = true;
            Ok(())
        };
        self.either(change, |mirror| mirror.put(space, key, value))
    }

    fn delete(&self, space: &str, key: &[u8]) -> Result<(), StoreError> {
        let change = |told: &mut Told| {
            told.facts.remove(&(space.to_owned(), key.to_vec()));
            told.is_changed = true;
            Ok(())
        };
        self.either(change, |mirror| mirror.delete(space, key))
    }

    fn scan(&self, space: &str, visit: &mut VisitPair<'_>) -> Result<(), StoreError> {
        // Copied, so that a visitor may change what it is shown.
        let copied = |told: &mut Told| {
            let of_space = told.facts.range((space.to_owned(), Vec::new())..);
            let of_space = of_space.take_while(|((of, _), _)| of == space);
            Some(of_space.map(|((_, key), value)| (key.clone(), value.clone())).collect::<Vec<_>>())
        };
        let Some(pairs) = self.either(copied, |_| None) else {
            return self.opened().0.scan(space, visit);
        };
        for (key, value) in pairs {
            if visit(&key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Opens the state in this directory, which is to hold these facts.
fn open(dir: &Path, facts: &Facts, now: Timestamp) -> (Arc<dyn Mirror>, StateOrigin) {
    let mut origin = StateOrigin::Filled;
    let mut opened = SledState::open(dir);
    if let Err(why) = &opened {
        tracing::warn!(path = %dir.display(), %why, "the state store cannot be opened");
        if let Some(aside) = set_aside(dir, now) {
            origin = StateOrigin::SetAside(aside);
        }
        opened = SledState::open(dir);
    }
    let filled = opened.and_then(|state| {
        if state.facts().is_ok_and(|found| found == *facts) {
            if origin == StateOrigin::Filled {
                origin = StateOrigin::Kept;
            }
        } else {
            state.fill(facts)?;
        }
        Ok(state)
    });
    match filled {
        Ok(state) => (Arc::new(state), origin),
        Err(why) => {
            tracing::warn!(path = %dir.display(), %why, "the state is kept in memory only");
            let state = MemoryState::default();
            *state.0.write().unwrap_or_else(PoisonError::into_inner) = facts.clone();
            (Arc::new(state), StateOrigin::Memory)
        }
    }
}

/// Renames a directory that cannot be opened, for someone to look at. Only the newest one is kept.
fn set_aside(dir: &Path, now: Timestamp) -> Option<PathBuf> {
    let (parent, name) = (dir.parent()?, dir.file_name()?.to_str()?);
    let prefix = format!("{name}.bad-");
    for file in fs::read_dir(parent).ok()?.flatten() {
        if file.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)) {
            remove_dir(&file.path());
        }
    }
    let aside = parent.join(format!("{prefix}{}", now.strftime("%Y%m%dT%H%M%S%.6fZ")));
    if let Err(error) = fs::rename(dir, &aside) {
        tracing::warn!(path = %dir.display(), %error, "cannot set the state store aside");
        remove_dir(dir);
        return None;
    }
    Some(aside)
}

fn remove_dir(path: &Path) {
    if let Err(error) = fs::remove_dir_all(path) {
        tracing::warn!(path = %path.display(), %error, "cannot remove an old state store");
    }
}

/// State in sled: one tree, keys are the length of the space's name, the name, the key.
struct SledState {
    db: sled::Db,
    dir: PathBuf,
}

impl SledState {
    fn open(dir: &Path) -> Result<Self, StoreError> {
        let mut tries = 0;
        let db = loop {
            let config = sled::Config::new()
                .path(dir)
                .cache_capacity(CACHE_BYTES)
                // It need not be durable while it is used: the log is.
                .flush_every_ms(None);
            let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
            let error = match opened {
                Ok(Ok(db)) => break db,
                Ok(Err(error)) => io::Error::other(error),
                Err(_) => io::Error::other("sled panicked while it opened"),
            };
            tries += 1;
            if tries == LOCK_TRIES || !error.to_string().contains("could not acquire lock") {
                return Err(io_error("open", dir)(error));
            }
            std::thread::sleep(LOCK_PAUSE);
        };
        protect(dir).map_err(io_error("protect", dir))?;
        Ok(Self { db, dir: dir.to_owned() })
    }

    fn fill(&self, facts: &Facts) -> Result<(), StoreError> {
        self.db.clear().map_err(self.failed("clear"))?;
        for ((space, key), value) in facts {
            self.put(space, key, value)?;
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(sled::Error) -> StoreError {
        let dir = self.dir.clone();
        move |error| io_error(doing, &dir)(io::Error::other(error))
    }
}

impl fmt::Debug for SledState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledState").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl State for SledState {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let value = self.db.get(joined(space, key)).map_err(self.failed("read"))?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn put(&self, space: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.db.insert(joined(space, key), value).map(drop).map_err(self.failed("write"))
    }

    fn delete(&self, space: &str, key: &[u8]) -> Result<(), StoreError> {
        self.db.remove(joined(space, key)).map(drop).map_err(self.failed("write"))
    }

    fn scan(&self, space: &str, visit: &mut VisitPair<'_>) -> Result<(), StoreError> {
        let prefix = joined(space, &[]);
        for pair in self.db.scan_prefix(&prefix) {
            let (key, value) = pair.map_err(self.failed("read"))?;
            if visit(key.get(prefix.len()..).unwrap_or_default(), &value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Mirror for SledState {
    fn facts(&self) -> Result<Facts, StoreError> {
        let mut facts = Facts::new();
        for pair in self.db.iter() {
            let (key, value) = pair.map_err(self.failed("read"))?;
            let parts = split(&key).ok_or_else(|| {
                io_error("read", &self.dir)(io::Error::other("a key that is none of ours"))
            })?;
            facts.insert(parts, value.to_vec());
        }
        Ok(facts)
    }

    /// sled's own flush does not survive a power cut, so every file is synced as well.
    fn settle(&self) -> Result<(), StoreError> {
        self.db.flush().map_err(self.failed("flush"))?;
        let synced = protect(&self.dir).and_then(|()| sync_all(&self.dir));
        synced.map_err(io_error("sync", &self.dir))
    }
}

/// What sled makes is readable for others; what is in it is for the owner.
fn protect(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, Permissions::from_mode(0o700))?;
    for file in fs::read_dir(dir)? {
        let file = file?;
        if file.file_type()?.is_dir() {
            protect(&file.path())?;
        } else {
            fs::set_permissions(file.path(), Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

fn sync_all(dir: &Path) -> io::Result<()> {
    for file in fs::read_dir(dir)? {
        let file = file?;
        if file.file_type()?.is_dir() {
            sync_all(&file.path())?;
        } else {
            File::open(file.path())?.sync_all()?;
        }
    }
    File::open(dir)?.sync_all()
}

fn joined(space: &str, key: &[u8]) -> Vec<u8> {
    let len = u8::try_from(space.len()).unwrap_or(u8::MAX);
    [&[len], space.as_bytes(), key].concat()
}

fn split(joined: &[u8]) -> Option<(String, Vec<u8>)> {
    let (len, rest) = joined.split_first()?;
    let (space, key) = rest.split_at_checked(usize::from(*len))?;
    Some((String::from_utf8(space.to_vec()).ok()?, key.to_vec()))
}

/// State that is gone with the process.
#[derive(Debug, Default)]
pub struct MemoryState(RwLock<Facts>);

impl State for MemoryState {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let facts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(facts.get(&(space.to_owned(), key.to_vec())).cloned())
    }

    fn put(&self, space: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        facts.insert((space.to_owned(), key.to_vec()), value.to_vec());
        Ok(())
    }

    fn delete(&self, space: &str, key: &[u8]) -> Result<(), StoreError> {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        facts.remove(&(space.to_owned(), key.to_vec()));
        Ok(())
    }

    fn scan(&self, space: &str, visit: &mut VisitPair<'_>) -> Result<(), StoreError> {
        // Copied, so that a visitor may change what it visits.
        let facts = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        for ((found, key), value) in &facts {
            if found == space && visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Mirror for MemoryState {
    fn facts(&self) -> Result<Facts, StoreError> {
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
