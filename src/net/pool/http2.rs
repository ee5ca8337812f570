//! A share of an HTTP/2 connection: how many requests the connection takes, and whether one that failed
//! can have been seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use tokio::time::Instant;

use super::{ASK_AFTER_IDLE, Reach, SendFailure};
use crate::net::stream::SocketWatch;

/// What hyper says a peer takes that has not said so yet. Any number that nobody would choose will do:
/// the peer's SETTINGS always change it, be it to "no limit".
pub(super) const STREAMS_UNTIL_TOLD: usize = 97;

/// How long further requests wait for the SETTINGS of a new connection. They come with the first octets
/// of any peer that speaks HTTP/2; one that does not is not waited for for ever.
pub(super) const SETTINGS_WAIT: Duration = Duration::from_secs(1);

/// ... and after how long it is first looked whether they have.
pub(super) const SETTINGS_LOOK_AFTER: Duration = Duration::from_millis(1);

/// A share of an HTTP/2 connection.
#[derive(Debug)]
pub struct Http2<B> {
    sender: http2::SendRequest<B>,
    load: Arc<Load>,
    is_counted: Counted,
}

/// Streams on an HTTP/2 connection.
#[derive(Debug)]
pub(super) struct Load {
    open: AtomicUsize,
    max: AtomicUsize,
    /// Its peer has said how many streams it takes, or kept silent for too long.
    is_told: AtomicBool,
    /// It turned a request away: the next ones go elsewhere, those it has may end on it.
    is_retired: AtomicBool,
    watch: Option<SocketWatch>,
    opened: Instant,
    /// When its last stream ended, in microseconds after `opened`.
    idle_since_us: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Yes,
    No,
}

impl<B> Http2<B> {
    pub(super) fn new(sender: http2::SendRequest<B>, watch: Option<SocketWatch>) -> Self {
        let load = Load {
            open: AtomicUsize::new(0),
            max: AtomicUsize::new(STREAMS_UNTIL_TOLD),
            is_told: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
            watch,
            opened: Instant::now(),
            idle_since_us: AtomicU64::new(0),
        };
        Self { sender, load: Arc::new(load), is_counted: Counted::No }
    }

    pub(super) fn load(&self) -> &Arc<Load> {
        &self.load
    }

    /// Lets no further request on the connection.
    pub fn retire(&self) {
        self.load.is_retired.store(true, Ordering::Relaxed);
    }

    /// Whether it lives, and takes requests at its age.
    pub(super) fn is_open(&self, age_max: Duration) -> bool {
        !self.sender.is_closed()
            && !self.load.is_retired.load(Ordering::Relaxed)
            && self.load.opened.elapsed() < age_max
    }

    /// Whether another request can be put on it now.
    pub(super) fn takes_another(&self) -> bool {
        self.load.has_room() && self.load.is_alive()
    }

    pub(super) fn share(&self) -> Self {
        self.load.open.fetch_add(1, Ordering::Relaxed);
        let (sender, load) = (self.sender.clone(), Arc::clone(&self.load));
        Self { sender, load, is_counted: Counted::Yes }
    }
}

impl<B> Http2<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Sends a request and waits for the head of its answer. Dropping it resets the stream.
    pub async fn send(&mut self, request: Request<B>) -> Result<Response<Incoming>, SendFailure> {
        let written = self.load.written();
        self.sender.try_send_request(request).await.map_err(|failure| {
            let is_unsent = failure.message().is_some()
                || (written.is_some() && written == self.load.written());
            let error = failure.into_error();
            let reach = if is_unsent || is_refused(&error) { Reach::Never } else { Reach::Perhaps };
            SendFailure { error, reach }
        })
    }
}

impl Load {
    /// Notes how many streams the peer takes, as hyper has it; whether the peer itself has said so.
    pub(super) fn is_told(&self, max: usize) -> bool {
        self.max.store(max, Ordering::Relaxed);
        let is_told = max != STREAMS_UNTIL_TOLD;
        if is_told {
            self.is_told.store(true, Ordering::Release);
        }
        is_told
    }

    /// Notes that the peer is waited for no longer.
    pub(super) fn give_up_waiting(&self) {
        self.is_told.store(true, Ordering::Release);
    }

    /// A connection whose peer has not said how much it takes carries the one request it was made for:
    /// what is sent above the peer's limit would wait behind streams that may never end.
    fn has_room(&self) -> bool {
        self.is_told.load(Ordering::Acquire)
            && self.open.load(Ordering::Relaxed) < self.max.load(Ordering::Relaxed)
    }

    /// Asks the kernel about a connection that has idled: what its peer said last, perhaps goodbye, may
    /// not have been read yet.
    fn is_alive(&self) -> bool {
        if self.open.load(Ordering::Relaxed) > 0 {
            return true;
        }
        let idle_since = Duration::from_micros(self.idle_since_us.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(idle_since) < ASK_AFTER_IDLE
            || self.watch.as_ref().is_none_or(SocketWatch::is_quiet_and_open)
    }

    fn written(&self) -> Option<u64> {
        self.watch.as_ref().map(SocketWatch::written)
    }

    fn left(&self) {
        if self.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            let now = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.idle_since_us.store(now, Ordering::Relaxed);
        }
    }
}

impl<B> Drop for Http2<B> {
    fn drop(&mut self) {
        match self.is_counted {
            Counted::Yes => self.load.left(),
            Counted::No => {}
        }
    }
}

/// Whether the peer said that it did not look at the request: it refused the stream, or went away
/// below it, for whatever reason (of a GOAWAY h2 tells only the streams above its last id).
fn is_refused(error: &hyper::Error) -> bool {
    let Some(h2) = crate::net::trouble::find::<h2::Error>(error) else { return false };
    let was_reset = h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM);
    h2.is_remote() && (was_reset || h2.is_go_away())
}
