//! Connections to one origin, kept while they are worth keeping.
//!
//! An HTTP/1.1 connection is driven by the exchange that uses it, not by a task of its own: no hop
//! between threads, and when the exchange is dropped its connection closes that instant, which is how
//! a client's hang-up reaches the agent. Idle ones lie in a stack (the last used is the warmest). An
//! HTTP/2 connection is shared and has a task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;
use tracing::debug;

use crate::base::shutdown::Tasks;
use crate::net::addr::Scheme;
use crate::net::dial::{Connect, Connected, Destination, Protocol, SelfGuard};
use crate::net::executor::OnTasks;
use crate::net::stream::{SocketWatch, Stream};
use crate::net::tls::Alpn;
use crate::net::trouble::Trouble;

/// After so much idling the kernel is asked whether the peer is still there, before anything is
/// written: the runtime may not have heard yet. Below it, a busy pool, the system call would cost more
/// than the rare loss.
const ASK_AFTER_IDLE: Duration = Duration::from_millis(10);

/// HTTP/2 windows: a megabyte a stream fills a fast link and bounds what one slow reader can pin.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Silence on an HTTP/2 connection after which it is pinged.
const PING_EVERY: Duration = Duration::from_mins(1);

/// Bounds of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolConfig {
    /// Idle HTTP/1.1 connections kept.
    pub idle_max: usize,
    /// ... and how long.
    pub idle_timeout: Duration,
    /// Header section of an answer.
    pub header_bytes_max: usize,
}

/// One origin and the connections to it.
#[derive(Debug)]
pub struct Origin<B: Body + 'static> {
    to: Destination,
    connect: Arc<dyn Connect>,
    config: PoolConfig,
    tasks: Tasks,
    #[expect(
        clippy::vec_box,
        reason = "they go in and out at every exchange: a pointer is moved, not a struct"
    )]
    idle: Mutex<Vec<Box<Http1<B>>>>,
    shared: Mutex<Vec<Http2<B>>>,
    /// Asked for HTTP/1.1, the peer chose HTTP/2 all the same.
    insists_on_http2: AtomicBool,
    dialing: tokio::sync::Mutex<()>,
}

/// A connection to use.
#[derive(Debug)]
pub enum Lease<B: Body + 'static> {
    /// One that is ours alone.
    Http1(Box<Http1<B>>),
    /// A share of one.
    Http2(Http2<B>),
}

/// Whether a connection may have been used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Any that is alive.
    Any,
    /// A new one: the last one turned out dead.
    New,
}

/// An HTTP/1.1 connection, driven by whoever holds it.
#[derive(Debug)]
pub struct Http1<B: Body + 'static> {
    sender: http1::SendRequest<B>,
    connection: Option<Box<Http1Connection<B>>>,
    watch: Option<SocketWatch>,
    idle_since: Option<Instant>,
    _guard: Option<SelfGuard>,
}

type Http1Connection<B> = http1::Connection<TokioIo<Stream>, B>;

/// A share of an HTTP/2 connection.
#[derive(Debug)]
pub struct Http2<B> {
    sender: http2::SendRequest<B>,
    load: Arc<Load>,
    is_counted: Counted,
}

/// Streams on an HTTP/2 connection.
#[derive(Debug)]
struct Load {
    open: AtomicUsize,
    max: AtomicUsize,
    /// It turned a request away: the next ones go elsewhere, those it has may end on it.
    is_retired: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Yes,
    No,
}

/// Why a request got no answer.
#[derive(Debug)]
pub struct SendFailure {
    /// What hyper says.
    pub error: hyper::Error,
    /// Whether it provably never reached the peer's application.
    pub reach: Reach,
}

/// How far a failed request may have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing of it was written, or the peer said that it did not look at it.
    Never,
    /// Some of it may have been acted upon.
    Perhaps,
}

impl<B> Origin<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// No connections yet.
    pub fn new(
        to: Destination,
        connect: Arc<dyn Connect>,
        config: PoolConfig,
        tasks: Tasks,
    ) -> Self {
        Self {
            to,
            connect,
            config,
            tasks,
            idle: Mutex::default(),
            shared: Mutex::default(),
            insists_on_http2: AtomicBool::new(false),
            dialing: tokio::sync::Mutex::default(),
        }
    }

    /// Where it is.
    pub const fn destination(&self) -> &Destination {
        &self.to
    }

    /// A connection: a kept one if it is alive, else a new one.
    pub async fn lease(&self, alpn: Alpn, freshness: Freshness) -> Result<Lease<B>, Trouble> {
        if freshness == Freshness::Any
            && let Some(lease) = self.kept(alpn)
        {
            return Ok(lease);
        }
        if alpn == Alpn::Http1 {
            return self.open(alpn).await;
        }
        // One at a time: ten calls that arrive at once should share one new connection.
        let _dialing = self.dialing.lock().await;
        match self.kept(alpn) {
            Some(lease) if freshness == Freshness::Any => Ok(lease),
            Some(_) | None => self.open(alpn).await,
        }
    }

    /// Takes a connection back. One that cannot carry another request is closed instead.
    pub fn give_back(&self, mut http1: Box<Http1<B>>) {
        http1.drive(&mut Context::from_waker(Waker::noop()));
        if !http1.is_reusable() || self.tasks.is_draining() {
            return;
        }
        http1.idle_since = Some(Instant::now());
        let mut idle = lock(&self.idle);
        if idle.len() < self.config.idle_max {
            idle.push(http1);
        }
    }

    /// Closes what has idled too long or was closed by the peer.
    pub fn sweep(&self) {
        let timeout = self.config.idle_timeout;
        lock(&self.idle).retain_mut(|http1| http1.has_idled_less_than(timeout) && http1.is_alive());
        lock(&self.shared).retain(Http2::is_open);
    }

    /// Closes every idle connection, and shared ones as soon as their exchanges have ended.
    pub fn close(&self) {
        lock(&self.idle).clear();
        lock(&self.shared).clear();
    }

    /// In the clear a peer that speaks HTTP/2 for gRPC need not speak it for anything else, so a
    /// request that asks for HTTP/1.1 is never put on such a connection.
    fn kept(&self, alpn: Alpn) -> Option<Lease<B>> {
        match (alpn, self.to.scheme) {
            (Alpn::Http2, _) => self.kept_http2(),
            (Alpn::Either, Scheme::Https) => self.kept_http2().or_else(|| self.kept_http1()),
            (Alpn::Http1 | Alpn::Either, _) => self.kept_http1().or_else(|| {
                let insists = self.insists_on_http2.load(Ordering::Relaxed);
                insists.then(|| self.kept_http2()).flatten()
            }),
        }
    }

    fn kept_http1(&self) -> Option<Lease<B>> {
        loop {
            let mut http1 = lock(&self.idle).pop()?;
            if http1.has_idled_less_than(self.config.idle_timeout) && http1.is_alive() {
                return Some(Lease::Http1(http1));
            }
        }
    }

    fn kept_http2(&self) -> Option<Lease<B>> {
        let mut shared = lock(&self.shared);
        shared.retain(Http2::is_open);
        shared.iter().find(|http2| http2.load.has_room()).map(|http2| Lease::Http2(http2.share()))
    }

    async fn open(&self, alpn: Alpn) -> Result<Lease<B>, Trouble> {
        let Connected { stream, protocol, guard } = self.connect.connect(&self.to, alpn).await?;
        debug!(upstream = %self.to, ?protocol, "connected");
        if alpn == Alpn::Http1 && protocol == Protocol::Http2 {
            self.insists_on_http2.store(true, Ordering::Relaxed);
        }
        match protocol {
            Protocol::Http1 => self.open_http1(stream, guard).await,
            Protocol::Http2 => self.open_http2(stream, guard).await,
        }
    }

    async fn open_http1(
        &self,
        stream: Stream,
        guard: Option<SelfGuard>,
    ) -> Result<Lease<B>, Trouble> {
        let watch = stream.watch();
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(crate::net::listen::HEADER_FIELDS_MAX)
            .max_buf_size(self.config.header_bytes_max.max(8192))
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Trouble::of_http(&error, &self.to))?;
        let connection = Some(Box::new(connection));
        let http1 = Http1 { sender, connection, watch, idle_since: None, _guard: guard };
        Ok(Lease::Http1(Box::new(http1)))
    }

    async fn open_http2(
        &self,
        stream: Stream,
        guard: Option<SelfGuard>,
    ) -> Result<Lease<B>, Trouble> {
        let (sender, mut connection) = http2::Builder::new(OnTasks(self.tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(self.config.header_bytes_max).unwrap_or(u32::MAX))
            .keep_alive_interval(PING_EVERY)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Trouble::of_http(&error, &self.to))?;
        let max = AtomicUsize::new(connection.current_max_send_streams());
        let (open, is_retired) = (AtomicUsize::new(0), AtomicBool::new(false));
        let load = Arc::new(Load { open, max, is_retired });
        let seen = Arc::clone(&load);
        let running = poll_fn(move |cx| {
            let ended = Pin::new(&mut connection).poll(cx);
            // The peer says how many streams it takes, and may change its mind.
            seen.max.store(connection.current_max_send_streams(), Ordering::Relaxed);
            ended
        });
        let tasks = self.tasks.clone();
        drop(self.tasks.spawn(async move {
            let _guard = guard;
            // Both arms are cancel safe: dropping the connection closes it.
            tokio::select! {
                // Its error reaches every exchange on it by itself.
                _ended = running => {}
                () = tasks.cut() => {}
            }
        }));
        let http2 = Http2 { sender, load, is_counted: Counted::No };
        let lease = http2.share();
        if !self.tasks.is_draining() {
            lock(&self.shared).push(http2);
        }
        Ok(Lease::Http2(lease))
    }
}

impl<B> Http1<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Whether it lay idle for long enough that its peer may have lost patience.
    pub fn may_be_stale(&self) -> bool {
        self.idle_since.is_some_and(|since| since.elapsed() >= ASK_AFTER_IDLE)
    }

    /// Sends a request and waits for the head of its answer. Cancel safe in that dropping it and the
    /// connection closes the connection.
    pub async fn send(&mut self, request: Request<B>) -> Result<Response<Incoming>, SendFailure> {
        let written = self.watch.as_ref().map(SocketWatch::written);
        let sending = self.sender.try_send_request(request);
        let mut sending = pin!(sending);
        let sent = poll_fn(|cx| {
            self.drive(cx);
            sending.as_mut().poll(cx)
        });
        sent.await.map_err(|failure| {
            let is_untouched = failure.message().is_some()
                || (written.is_some() && written == self.watch.as_ref().map(SocketWatch::written));
            let reach = if is_untouched { Reach::Never } else { Reach::Perhaps };
            SendFailure { error: failure.into_error(), reach }
        })
    }

    /// Lets the connection read and write. To be called from the task that waits for its octets.
    pub fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection {
            // How it ended reaches the exchange through its body.
            if let Poll::Ready(_ended) = Pin::new(connection.as_mut()).poll(cx) {
                self.connection = None;
            }
        }
    }

    /// Whether the exchange is over on both sides and another may follow.
    pub fn is_reusable(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    fn has_idled_less_than(&self, timeout: Duration) -> bool {
        self.idle_since.is_none_or(|since| since.elapsed() < timeout)
    }

    fn is_alive(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        let is_quiet = || self.watch.as_ref().is_none_or(SocketWatch::is_quiet_and_open);
        self.is_reusable() && (!self.may_be_stale() || is_quiet())
    }
}

impl<B> Http2<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Sends a request and waits for the head of its answer. Dropping it resets the stream.
    pub async fn send(&mut self, request: Request<B>) -> Result<Response<Incoming>, SendFailure> {
        self.sender.try_send_request(request).await.map_err(|failure| {
            let is_unsent = failure.message().is_some();
            let error = failure.into_error();
            let reach = if is_unsent || is_refused(&error) { Reach::Never } else { Reach::Perhaps };
            SendFailure { error, reach }
        })
    }
}

impl<B> Http2<B> {
    /// Lets no further request on the connection.
    pub fn retire(&self) {
        self.load.is_retired.store(true, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        !self.sender.is_closed() && !self.load.is_retired.load(Ordering::Relaxed)
    }

    fn share(&self) -> Self {
        self.load.open.fetch_add(1, Ordering::Relaxed);
        let (sender, load) = (self.sender.clone(), Arc::clone(&self.load));
        Self { sender, load, is_counted: Counted::Yes }
    }
}

impl Load {
    fn has_room(&self) -> bool {
        self.open.load(Ordering::Relaxed) < self.max.load(Ordering::Relaxed)
    }
}

impl<B> Drop for Http2<B> {
    fn drop(&mut self) {
        match self.is_counted {
            Counted::Yes => {
                self.load.open.fetch_sub(1, Ordering::Relaxed);
            }
            Counted::No => {}
        }
    }
}

/// Whether the peer said that it did not look at the request: it refused the stream, or went away
/// below it (h2 fails only the streams above the last id of a GOAWAY with it).
fn is_refused(error: &hyper::Error) -> bool {
    let Some(h2) = crate::net::trouble::find::<h2::Error>(error) else { return false };
    let was_reset = h2.is_reset() && h2.reason() == Some(h2::Reason::REFUSED_STREAM);
    let went_away = h2.is_go_away() && h2.reason() == Some(h2::Reason::NO_ERROR);
    h2.is_remote() && (was_reset || went_away)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
