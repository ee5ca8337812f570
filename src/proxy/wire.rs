//! A downstream connection as the exchanges on it see it.
//!
//! Three things hyper does not tell. That the client reset the connection while its answer was awaited
//! (hyper looks at neither end then): the socket is watched beside it. That what was given to hyper has
//! left for the client: when an agent breaks off, what came before must be delivered before the client
//! is cut off as well, and hyper throws away what it holds when a body fails. And why the connection
//! ended, when it was Meddler that stopped.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::stream::Stream;

/// What is known of a downstream connection.
#[derive(Debug, Default)]
pub(super) struct Wire {
    draining: AtomicBool,
    stopped: AtomicBool,
    hung_up: AtomicBool,
    upload_is_unread: AtomicBool,
    /// How often the connection has been polled, and the last poll in which all was flushed.
    polls: AtomicU64,
    flushed: AtomicU64,
    has_waiters: AtomicBool,
    waiters: Mutex<Vec<Waker>>,
    task: Mutex<Option<Waker>>,
    /// Whether hyper has written something that it has not flushed yet.
    is_mid_message: AtomicBool,
    has_interjection: AtomicBool,
    interjection: Mutex<Vec<u8>>,
}

/// The client's stream; tells the [`Wire`] when all has been flushed.
#[derive(Debug)]
pub(super) struct Downstream {
    stream: Stream,
    wire: Arc<Wire>,
    /// What is being put between two messages, and how much of it has been written.
    between: Vec<u8>,
    between_written: usize,
}

impl Wire {
    /// Called at the start of every poll of the connection.
    pub(super) fn polled(&self, cx: &Context<'_>) {
        if self.polls.fetch_add(1, Ordering::AcqRel) == 0 {
            *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        }
    }

    /// A mark to be flushed: everything given to hyper so far.
    pub(super) fn mark(&self) -> u64 {
        self.polls.load(Ordering::Acquire) + 1
    }

    /// Resolves when all that had been given to hyper at the mark has left. Only a poll that began
    /// after the mark counts: an earlier one may have passed the place already.
    pub(super) fn poll_flushed(&self, mark: u64, cx: &Context<'_>) -> Poll<()> {
        if self.flushed.load(Ordering::Acquire) >= mark {
            return Poll::Ready(());
        }
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner).push(cx.waker().clone());
        self.has_waiters.store(true, Ordering::Release);
        // The connection may have nothing else to wake it.
        self.wake_task();
        Poll::Pending
    }

    /// Asks the connection to end after the exchange that is under way.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.wake_task();
    }

    /// Ends the connection now.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake_task();
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn has_hung_up(&self) -> bool {
        self.hung_up.load(Ordering::Acquire)
    }

    /// Notes that an answer was given before the request had been read to its end.
    pub(super) fn leave_upload_unread(&self) {
        self.upload_is_unread.store(true, Ordering::Release);
    }

    pub(super) fn has_unread_upload(&self) -> bool {
        self.upload_is_unread.load(Ordering::Acquire)
    }

    /// Puts octets on the wire before the answer that is awaited. They are dropped if the answer before
    /// that has not left whole: hyper's octets may then not be parted.
    pub(super) fn interject(&self, octets: &[u8]) {
        if !self.is_mid_message.load(Ordering::Acquire) {
            let mut held = self.interjection.lock().unwrap_or_else(PoisonError::into_inner);
            held.extend_from_slice(octets);
            self.has_interjection.store(true, Ordering::Release);
        }
    }

    fn take_interjection(&self) -> Option<Vec<u8>> {
        if !self.has_interjection.load(Ordering::Acquire) {
            return None;
        }
        self.has_interjection.store(false, Ordering::Release);
        let mut held = self.interjection.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut *held))
    }

    fn all_flushed(&self) {
        self.is_mid_message.store(false, Ordering::Release);
        self.flushed.store(self.polls.load(Ordering::Acquire), Ordering::Release);
        if self.has_waiters.swap(false, Ordering::AcqRel) {
            let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
            for waker in waiters.drain(..) {
                waker.wake();
            }
        }
    }

    fn wake_task(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            task.wake_by_ref();
        }
    }
}

/// As the waker of the watch on the socket: so that the watch is polled once, not with every poll of
/// the connection.
impl Wake for Wire {
    fn wake(self: Arc<Self>) {
        self.hung_up.store(true, Ordering::Release);
        self.wake_task();
    }
}

impl Downstream {
    pub(super) const fn new(stream: Stream, wire: Arc<Wire>) -> Self {
        Self { stream, wire, between: Vec::new(), between_written: 0 }
    }

    /// Writes what stands between two messages. hyper's octets wait for it.
    fn poll_between(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.between.is_empty() {
            let Some(octets) = self.wire.take_interjection() else { return Poll::Ready(Ok(())) };
            self.between = octets;
        }
        while let Some(rest @ [_, ..]) = self.between.get(self.between_written..) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.between_written += written;
        }
        self.between = Vec::new();
        self.between_written = 0;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Downstream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Downstream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_between(cx))?;
        self.wire.is_mid_message.store(true, Ordering::Release);
        Pin::new(&mut self.stream).poll_write(cx, octets)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_between(cx))?;
        self.wire.is_mid_message.store(true, Ordering::Release);
        Pin::new(&mut self.stream).poll_write_vectored(cx, octets)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_between(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.wire.all_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
