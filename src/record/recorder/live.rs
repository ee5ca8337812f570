//! Whoever wants to see exchanges as they end.
//!
//! A listener that is slow costs nobody anything: its queue is bounded in number and in octets, and
//! what does not fit is counted and told to it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::record::exchange::{Exchange, RecordedResponse};

/// Exchanges that wait for one listener.
const QUEUE_MAX: usize = 1024;
/// Octets of them.
const QUEUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a listener hears.
#[derive(Clone, Debug)]
pub enum Live {
    /// An exchange that has ended and is in the store.
    Exchange(Arc<Exchange>),
    /// So many exchanges went by because this listener was slow.
    Lagged(u64),
}

/// Hears of each exchange that ends after it began to listen.
pub struct Listener {
    queue: mpsc::Receiver<(Live, usize)>,
    held: Arc<AtomicUsize>,
}

/// All that listen.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Ear>>);

struct Ear {
    queue: mpsc::Sender<(Live, usize)>,
    held: Arc<AtomicUsize>,
    missed: u64,
}

impl Listener {
    /// The next exchange; `None` when the recorder has stopped. Cancel safe.
    pub async fn recv(&mut self) -> Option<Live> {
        let (live, bytes) = self.queue.recv().await?;
        self.held.fetch_sub(bytes, Ordering::AcqRel);
        Some(live)
    }
}

impl Listeners {
    pub(super) fn subscribe(&self) -> Listener {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let held = Arc::new(AtomicUsize::new(0));
        let ear = Ear { queue: sender, held: Arc::clone(&held), missed: 0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(ear);
        Listener { queue, held }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn publish(&self, exchange: &Arc<Exchange>) {
        let bytes = size(exchange);
        let mut ears = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ears.retain_mut(|ear| ear.tell(exchange, bytes));
    }

    /// Ends all queues: listeners hear what they have, then the end.
    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Ear {
    /// Whether it still listens.
    fn tell(&mut self, exchange: &Arc<Exchange>, bytes: usize) -> bool {
        if self.missed > 0 && self.queue.try_send((Live::Lagged(self.missed), 0)).is_ok() {
            self.missed = 0;
        }
        let has_room = self.held.load(Ordering::Acquire) < QUEUE_BYTES_MAX && self.missed == 0;
        self.held.fetch_add(bytes, Ordering::AcqRel);
        let live = (Live::Exchange(Arc::clone(exchange)), bytes);
        if !has_room || self.queue.try_send(live).is_err() {
            self.held.fetch_sub(bytes, Ordering::AcqRel);
            self.missed += 1;
        }
        !self.queue.is_closed()
    }
}

fn size(exchange: &Exchange) -> usize {
    let fields = |fields: &[(String, String)]| {
        fields.iter().map(|(name, value)| name.len() + value.len() + 48).sum::<usize>()
    };
    let answer = |answer: &Option<RecordedResponse>| {
        answer.as_ref().map_or(0, |answer| answer.body.kept.len() + fields(&answer.headers))
    };
    let request = exchange.request.body.kept.len() + fields(&exchange.request.headers);
    request + answer(&exchange.response) + answer(&exchange.delivered) + 512
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}
