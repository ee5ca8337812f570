//! What lies between the traffic and the recorder's thread.
//!
//! Not a channel: an exchange that has news puts itself on a list, once, and goes on gathering in its
//! own buffer until the recorder comes by. So the shared lock is taken once per exchange and round,
//! and a short exchange wakes nobody: the recorder sleeps only when nothing happens at all.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};
use tokio::time::{Instant, Sleep};

use super::seen::{NEWS_BYTES, Seen, header_bytes};
use super::{End, Lane, Start, WhenFull};
use crate::base::limits::Limits;

/// Pieces below this are copied: a clone would pin a read buffer many times its size.
const COPY_BELOW: usize = 16 * 1024;

/// The part of the room that is used before exchanges begin to wait. A backlog of some MiB keeps the
/// recorder busy as well as a long one, and is still in the processor's cache when it is read; the rest
/// of the room is for a disk that stalls longer than exchanges wait.
const WAIT_FROM: usize = 4;

/// What the taps of all exchanges share.
pub(in crate::record) struct Queue {
    /// What is gathered beyond this is lost.
    bytes_max: usize,
    /// From here on exchanges wait for the recorder, if they do.
    wait_from: usize,
    wait_max: Duration,
    handover_bytes: usize,
    when_full: WhenFull,
    /// Octets gathered and not yet taken in by the recorder.
    held: AtomicUsize,
    /// Exchanges with news. Each is listed once.
    news: Mutex<Vec<Arc<Open>>>,
    /// Exchanges that wait for room. Each is listed once.
    waiting: Mutex<Vec<Arc<Open>>>,
    /// The session of exchanges that begin now.
    session: ArcSwap<String>,
    is_closed: AtomicBool,
    is_asleep: AtomicBool,
    recorder: OnceLock<Thread>,
    lost_bytes: AtomicU64,
    lost_exchanges: AtomicU64,
}

/// The recorder's end.
#[derive(Clone)]
pub(in crate::record) struct Intake {
    queue: Arc<Queue>,
}

/// What the queue had no room for since the recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::record) struct Lost {
    /// Octets of exchanges that were recorded with a gap.
    pub(in crate::record) bytes: u64,
    /// Exchanges that were not recorded at all.
    pub(in crate::record) exchanges: u64,
}

/// An exchange that the recorder has not finished yet.
pub(in crate::record) struct Open {
    queue: Arc<Queue>,
    pub(in crate::record) start: Start,
    /// The session that was the default when it began.
    pub(in crate::record) session: Arc<String>,
    handles: AtomicUsize,
    is_waiting: AtomicBool,
    buffer: Mutex<Buffer>,
    wait: Mutex<Wait>,
}

#[derive(Default)]
struct Buffer {
    news: Vec<Seen>,
    /// The octets of [`Seen::Copied`], one piece after the other.
    copied: Vec<u8>,
    /// Octets of the queue's room that this buffer holds.
    held: usize,
    is_listed: bool,
    is_nudged: bool,
    /// The recorder has finished the exchange and takes no more.
    is_closed: bool,
}

#[derive(Default)]
struct Wait {
    used: Duration,
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    wakers: Vec<Waker>,
    is_listed: bool,
}

/// What an exchange had gathered.
#[derive(Default)]
pub(in crate::record) struct Taken {
    pub(in crate::record) news: Vec<Seen>,
    pub(in crate::record) copied: Vec<u8>,
    /// Room to be given back with [`Intake::release`] once the octets are taken in.
    pub(in crate::record) held: usize,
}

impl Queue {
    pub(super) fn new(limits: &Limits, when_full: WhenFull) -> Self {
        Self {
            bytes_max: limits.queue_bytes,
            wait_from: limits.queue_bytes / WAIT_FROM,
            wait_max: limits.queue_wait,
            handover_bytes: limits.handover_bytes,
            when_full,
            held: AtomicUsize::new(0),
            news: Mutex::default(),
            waiting: Mutex::default(),
            session: ArcSwap::default(),
            is_closed: AtomicBool::new(false),
            is_asleep: AtomicBool::new(false),
            recorder: OnceLock::new(),
            lost_bytes: AtomicU64::new(0),
            lost_exchanges: AtomicU64::new(0),
        }
    }

    /// `None` when the exchange is lost: the recorder has stopped, or there is no room even for heads,
    /// which may use half as much again as bodies because they cannot wait.
    pub(super) fn begin(self: &Arc<Self>, start: Start) -> Option<Arc<Open>> {
        if self.is_closed.load(Ordering::Acquire) {
            return None;
        }
        let bytes = NEWS_BYTES + start.target.path().len() + header_bytes(&start.headers);
        let before = self.held.fetch_add(bytes, Ordering::AcqRel);
        if before >= self.bytes_max.saturating_add(self.bytes_max / 2) {
            self.held.fetch_sub(bytes, Ordering::AcqRel);
            self.lost_exchanges.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let open = Arc::new(Open {
            queue: Arc::clone(self),
            start,
            session: self.session.load_full(),
            handles: AtomicUsize::new(1),
            is_waiting: AtomicBool::new(false),
            buffer: Mutex::new(Buffer { held: bytes, is_listed: true, ..Buffer::default() }),
            wait: Mutex::default(),
        });
        self.list(&open);
        Some(open)
    }

    fn list(&self, open: &Arc<Open>) {
        locked(&self.news).push(Arc::clone(open));
        // Read after the list's lock was held: the recorder looks at the list once more after it has
        // said that it sleeps, so one of the two sees the other.
        if self.is_asleep.load(Ordering::SeqCst) {
            self.wake_recorder();
        }
    }

    fn has_room(&self) -> bool {
        self.held.load(Ordering::Acquire) < self.wait_from
    }

    fn take_room(&self, bytes: usize) -> bool {
        if self.held.fetch_add(bytes, Ordering::AcqRel) < self.bytes_max {
            return true;
        }
        self.held.fetch_sub(bytes, Ordering::AcqRel);
        false
    }

    fn wake_recorder(&self) {
        if let Some(thread) = self.recorder.get() {
            self.is_asleep.store(false, Ordering::SeqCst);
            thread.unpark();
        }
    }
}

impl Open {
    pub(super) fn data(self: &Arc<Self>, lane: Lane, octets: &Bytes) {
        if octets.is_empty() {
            return;
        }
        let at_us = self.elapsed_us();
        let cost = octets.len() + NEWS_BYTES;
        let has_room = self.queue.take_room(cost);
        let mut buffer = locked(&self.buffer);
        if buffer.is_closed {
            drop(buffer);
            self.queue.release(if has_room { cost } else { 0 });
            return;
        }
        if !has_room {
            let bytes = octets.len() as u64;
            self.queue.lost_bytes.fetch_add(bytes, Ordering::Relaxed);
            match buffer.news.last_mut() {
                Some(Seen::Gap { lane: last, bytes: so_far }) if *last == lane => *so_far += bytes,
                Some(_) | None => buffer.news.push(Seen::Gap { lane, bytes }),
            }
        } else if octets.len() < COPY_BELOW {
            buffer.copied.extend_from_slice(octets);
            buffer.news.push(Seen::Copied { lane, at_us, len: octets.len() });
            buffer.held += cost;
        } else {
            buffer.news.push(Seen::Shared { lane, at_us, octets: octets.clone() });
            buffer.held += cost;
        }
        self.announce(buffer);
    }

    pub(super) fn head(
        self: &Arc<Self>,
        lane: Lane,
        version: Version,
        status: StatusCode,
        headers: &HeaderMap,
    ) {
        let head = Box::new((version, status, headers.clone()));
        self.note(Seen::Head { lane, at_us: self.elapsed_us(), head });
    }

    pub(super) fn end(self: &Arc<Self>, lane: Lane, end: End) {
        self.note(Seen::End { lane, at_us: self.elapsed_us(), end });
    }

    /// News that is never lost, because there are few of them in an exchange. They take room all the
    /// same, so that bodies wait for them.
    pub(super) fn note(self: &Arc<Self>, seen: Seen) {
        let cost = seen.cost();
        let mut buffer = locked(&self.buffer);
        if buffer.is_closed {
            return;
        }
        self.queue.held.fetch_add(cost, Ordering::AcqRel);
        buffer.held += cost;
        buffer.news.push(seen);
        self.announce(buffer);
    }

    pub(super) fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn drop_handle(self: &Arc<Self>) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.note(Seen::Dropped { at_us: self.elapsed_us() });
        }
    }

    pub(super) fn poll_ready(self: &Arc<Self>, cx: &mut Context<'_>) -> Poll<()> {
        let queue = &self.queue;
        if queue.has_room() && !self.is_waiting.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        match queue.when_full {
            WhenFull::Drop => return Poll::Ready(()),
            WhenFull::Wait => {}
        }
        let mut wait = locked(&self.wait);
        if queue.has_room() || queue.is_closed.load(Ordering::Acquire) {
            self.end_wait(&mut wait, None);
            return Poll::Ready(());
        }
        if wait.used >= queue.wait_max {
            return Poll::Ready(());
        }
        let left = queue.wait_max.saturating_sub(wait.used);
        wait.since.get_or_insert_with(Instant::now);
        self.is_waiting.store(true, Ordering::Release);
        let timer = wait.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
        if timer.as_mut().poll(cx).is_ready() {
            self.end_wait(&mut wait, Some(queue.wait_max));
            return Poll::Ready(());
        }
        if !wait.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wait.wakers.push(cx.waker().clone());
        }
        if !mem::replace(&mut wait.is_listed, true) {
            locked(&queue.waiting).push(Arc::clone(self));
        }
        queue.wake_recorder();
        // The recorder may have made room between the first look and the listing.
        if queue.has_room() {
            self.end_wait(&mut wait, None);
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Counts the time that was waited (or `used`, when the bound is reached) and wakes whoever of this
    /// exchange waits as well.
    fn end_wait(&self, wait: &mut Wait, used: Option<Duration>) {
        let waited = wait.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        wait.used = used.unwrap_or(wait.used + waited);
        wait.timer = None;
        self.is_waiting.store(false, Ordering::Release);
        wait.wakers.drain(..).for_each(Waker::wake);
    }

    fn announce(self: &Arc<Self>, mut buffer: MutexGuard<'_, Buffer>) {
        let is_listed = mem::replace(&mut buffer.is_listed, true);
        let is_full = buffer.held >= self.queue.handover_bytes;
        let nudge = is_full && !mem::replace(&mut buffer.is_nudged, true);
        drop(buffer);
        if !is_listed {
            self.queue.list(self);
        }
        if nudge {
            self.queue.wake_recorder();
        }
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.start.at.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Takes what was gathered. The exchange lists itself again with its next news.
    pub(in crate::record) fn take(&self) -> Taken {
        let mut buffer = locked(&self.buffer);
        buffer.is_listed = false;
        buffer.is_nudged = false;
        Taken {
            news: mem::take(&mut buffer.news),
            copied: mem::take(&mut buffer.copied),
            held: mem::take(&mut buffer.held),
        }
    }

    /// From now on nothing is gathered any more.
    pub(in crate::record) fn close(&self) {
        let mut buffer = locked(&self.buffer);
        buffer.is_closed = true;
        let held = mem::take(&mut buffer.held);
        *buffer = Buffer { is_closed: true, is_listed: true, ..Buffer::default() };
        drop(buffer);
        self.queue.release(held);
    }
}

impl Intake {
    pub(super) const fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// Exchanges with news since the last time.
    pub(in crate::record) fn take(&self) -> Vec<Arc<Open>> {
        mem::take(&mut locked(&self.queue.news))
    }

    /// Gives back the room of octets that have been taken in.
    pub(in crate::record) fn release(&self, bytes: usize) {
        self.queue.release(bytes);
    }

    /// Makes the calling thread the one that is woken.
    pub(in crate::record) fn attend(&self) {
        // The one recorder's thread calls this once; a second call would change nothing.
        self.queue.recorder.get_or_init(std::thread::current);
    }

    /// Sleeps for at most `time`, or (`None`) until something happens. Returns early when woken.
    pub(in crate::record) fn sleep(&self, time: Option<Duration>) {
        if let Some(time) = time {
            std::thread::park_timeout(time);
            return;
        }
        self.queue.is_asleep.store(true, Ordering::SeqCst);
        if locked(&self.queue.news).is_empty() {
            std::thread::park();
        }
        self.queue.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Wakes the recorder, for what does not come through an exchange.
    pub(in crate::record) fn wake(&self) {
        self.queue.wake_recorder();
    }

    /// The session of exchanges that begin from now on.
    pub(in crate::record) fn set_session(&self, name: String) {
        self.queue.session.store(Arc::new(name));
    }

    /// The session of exchanges that begin now.
    pub(in crate::record) fn session(&self) -> Arc<String> {
        self.queue.session.load_full()
    }

    /// What there was no room for so far.
    pub(in crate::record) fn lost(&self) -> Lost {
        Lost {
            bytes: self.queue.lost_bytes.load(Ordering::Relaxed),
            exchanges: self.queue.lost_exchanges.load(Ordering::Relaxed),
        }
    }

    /// Begins no more exchanges, and lets nobody wait any more.
    pub(in crate::record) fn close(&self) {
        self.queue.is_closed.store(true, Ordering::Release);
        self.queue.wake_waiting();
    }
}

impl Queue {
    fn release(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.held.fetch_sub(bytes, Ordering::AcqRel);
        if self.has_room() {
            self.wake_waiting();
        }
    }

    fn wake_waiting(&self) {
        let waiting = mem::take(&mut *locked(&self.waiting));
        for open in waiting {
            let mut wait = locked(&open.wait);
            wait.is_listed = false;
            wait.wakers.drain(..).for_each(Waker::wake);
        }
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("id", &self.start.id).finish_non_exhaustive()
    }
}

/// No code that holds one of these locks can panic halfway through a change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
