//! The state of a store on disk: every change goes to the log first and to its mirror second.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::base::clock::WallClock;
use crate::record::format::entry::StateChange;
use crate::record::store::StoreError;
use crate::record::store::queue::Queue;
use crate::record::store::state::{LazyState, State, StateOrigin, VisitPair};

/// State whose changes are in the log.
#[derive(Debug)]
pub(super) struct LoggedState {
    queue: Arc<Queue>,
    clock: WallClock,
    root: PathBuf,
    /// `None` once the store is closed.
    mirror: RwLock<Option<Arc<LazyState>>>,
    /// Held over log and mirror, so that both see two changes of one key in the same order.
    order: Mutex<()>,
}

impl LoggedState {
    pub(super) fn new(
        queue: Arc<Queue>,
        clock: WallClock,
        root: PathBuf,
        mirror: Arc<LazyState>,
    ) -> Self {
        let mirror = RwLock::new(Some(mirror));
        Self { queue, clock, root, mirror, order: Mutex::new(()) }
    }

    /// Where it came from.
    pub(super) fn origin(&self) -> Result<StateOrigin, StoreError> {
        Ok(self.mirror()?.origin().clone())
    }

    /// Brings the mirror to rest and lets go of it.
    pub(super) fn close(&self) -> Result<(), StoreError> {
        let mirror = self.mirror.write().unwrap_or_else(PoisonError::into_inner).take();
        mirror.map_or(Ok(()), |mirror| mirror.settle())
    }

    fn mirror(&self) -> Result<Arc<LazyState>, StoreError> {
        let mirror = self.mirror.read().unwrap_or_else(PoisonError::into_inner).clone();
        mirror.ok_or_else(|| StoreError::NotWritable {
            path: self.root.display().to_string(),
            why: "it is closed",
        })
    }

    fn change(&self, change: StateChange<'_>) -> Result<(), StoreError> {
        let mirror = self.mirror()?;
        let _order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.queue.append_state(change, self.clock.now())?;
        match change.value {
            Some(value) => mirror.put(change.space, change.key, value),
            None => mirror.delete(change.space, change.key),
        }
    }
}

impl State for LoggedState {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.mirror()?.get(space, key)
    }

    fn put(&self, space: &str, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.change(StateChange { space, key, value: Some(value) })
    }

    fn delete(&self, space: &str, key: &[u8]) -> Result<(), StoreError> {
        self.change(StateChange { space, key, value: None })
    }

    fn scan(&self, space: &str, visit: &mut VisitPair<'_>) -> Result<(), StoreError> {
        self.mirror()?.scan(space, visit)
    }
}
