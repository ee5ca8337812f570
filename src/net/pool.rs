//! Connections to one origin, kept while they are worth keeping.
//!
//! An HTTP/1.1 connection is driven by the exchange that uses it, not by a task of its own: no hop
//! between threads, and when the exchange is dropped its connection closes that instant, which is how
//! a client's hang-up reaches the agent. Idle ones lie in a stack (the last used is the warmest). An
//! HTTP/2 connection is shared and has a task.

mod http2;
mod patience;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2 as hyper_http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;
use tracing::debug;

pub use http2::Http2;

use self::http2::{Load, SETTINGS_LOOK_AFTER, SETTINGS_WAIT, STREAMS_UNTIL_TOLD};
use self::patience::Patience;
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
    /// Age past which a connection takes no further request: the name may lead elsewhere by now.
    pub age_max: Duration,
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
    patience: Patience,
    shared: Mutex<Vec<Http2<B>>>,
    /// Asked for HTTP/1.1, the peer chose HTTP/2 all the same.
    insists_on_http2: AtomicBool,
    /// Held while a connection is made that others may share, until it is known how many.
    dialing: Arc<tokio::sync::Mutex<()>>,
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
    opened: Instant,
    /// Where a connection is left that has ended as HTTP, to go on as something else.
    upgrading: Option<Upgrading<B>>,
    _guard: Option<SelfGuard>,
}

type Upgrading<B> = Option<Box<Http1Connection<B>>>;

type Http1Connection<B> = http1::Connection<TokioIo<Stream>, B>;

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
            patience: Patience::default(),
            shared: Mutex::default(),
            insists_on_http2: AtomicBool::new(false),
            dialing: Arc::default(),
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
            return self.open(alpn, None).await;
        }
        // One at a time: ten calls that arrive at once should share one new connection.
        let dialing = Arc::clone(&self.dialing).lock_owned().await;
        match self.kept(alpn) {
            Some(lease) if freshness == Freshness::Any => Ok(lease),
            Some(_) | None => self.open(alpn, Some(dialing)).await,
        }
    }

    /// Takes a connection back. One that cannot carry another request is closed instead.
    pub fn give_back(&self, mut http1: Box<Http1<B>>) {
        http1.drive(&mut Context::from_waker(Waker::noop()));
        http1.upgrading = None;
        let is_old = http1.opened.elapsed() >= self.config.age_max;
        if is_old || !http1.is_reusable() || self.tasks.is_draining() {
            return;
        }
        http1.idle_since = Some(Instant::now());
        let mut idle = lock(&self.idle);
        if idle.len() < self.config.idle_max {
            idle.push(http1);
        }
    }

    /// Takes a connection back whose answer came before the end of its request: the rest of the
    /// request goes on to the agent, which may want it, and then the connection is as good as any.
    pub fn finish(self: &Arc<Self>, mut http1: Box<Http1<B>>) {
        http1.drive(&mut Context::from_waker(Waker::noop()));
        if http1.is_reusable() || http1.connection.is_none() {
            self.give_back(http1);
            return;
        }
        let (origin, tasks) = (Arc::clone(self), self.tasks.clone());
        drop(self.tasks.spawn(async move {
            let sending = poll_fn(|cx| {
                http1.drive(cx);
                let is_over = http1.is_reusable() || http1.connection.is_none();
                if is_over { Poll::Ready(()) } else { Poll::Pending }
            });
            // Both arms are cancel safe: dropping the connection closes it.
            tokio::select! {
                () = sending => origin.give_back(http1),
                () = tasks.cut() => {}
            }
        }));
    }

    /// Closes what has idled too long or was closed by the peer.
    pub fn sweep(&self) {
        let timeout = self.config.idle_timeout;
        lock(&self.idle).retain_mut(|http1| http1.idle() < timeout && http1.is_alive());
        let age_max = self.config.age_max;
        lock(&self.shared).retain(|http2| http2.is_open(age_max));
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
            let idle = http1.idle();
            if idle >= self.config.idle_timeout || !self.patience.allows(idle) {
                continue;
            }
            if http1.is_alive() {
                return Some(Lease::Http1(http1));
            }
            self.patience.ran_out(idle);
        }
    }

    fn kept_http2(&self) -> Option<Lease<B>> {
        let mut shared = lock(&self.shared);
        shared.retain(|http2| http2.is_open(self.config.age_max));
        shared.iter().find(|http2| http2.takes_another()).map(|http2| Lease::Http2(http2.share()))
    }

    async fn open(&self, alpn: Alpn, dialing: Option<Dialing>) -> Result<Lease<B>, Trouble> {
        let Connected { stream, protocol, guard } = self.connect.connect(&self.to, alpn).await?;
        debug!(upstream = %self.to, ?protocol, "connected");
        if alpn == Alpn::Http1 && protocol == Protocol::Http2 {
            self.insists_on_http2.store(true, Ordering::Relaxed);
        }
        match protocol {
            Protocol::Http1 => self.open_http1(stream, guard).await,
            Protocol::Http2 => self.open_http2(stream, guard, dialing).await,
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
        let (opened, idle_since, upgrading) = (Instant::now(), None, None);
        let http1 =
            Http1 { sender, connection, watch, idle_since, opened, upgrading, _guard: guard };
        Ok(Lease::Http1(Box::new(http1)))
    }

    async fn open_http2(
        &self,
        stream: Stream,
        guard: Option<SelfGuard>,
        dialing: Option<Dialing>,
    ) -> Result<Lease<B>, Trouble> {
        let watch = stream.watch();
        let (sender, connection) = hyper_http2::Builder::new(OnTasks(self.tasks.clone()))
            .timer(TokioTimer::new())
            .initial_max_send_streams(STREAMS_UNTIL_TOLD)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(self.config.header_bytes_max).unwrap_or(u32::MAX))
            .keep_alive_interval(PING_EVERY)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Trouble::of_http(&error, &self.to))?;
        let http2 = Http2::new(sender, watch);
        let running = run_http2(connection, Arc::clone(http2.load()), dialing);
        let tasks = self.tasks.clone();
        drop(self.tasks.spawn(async move {
            let _guard = guard;
            // Both arms are cancel safe: dropping the connection closes it.
            tokio::select! {
                // Its error reaches every exchange on it by itself.
                () = running => {}
                () = tasks.cut() => {}
            }
        }));
        let lease = http2.share();
        if !self.tasks.is_draining() {
            lock(&self.shared).push(http2);
        }
        Ok(Lease::Http2(lease))
    }
}

/// The right to make a connection, held by one at a time.
type Dialing = tokio::sync::OwnedMutexGuard<()>;

type Http2Connection<B> = hyper_http2::Connection<TokioIo<Stream>, B, OnTasks>;

/// Drives a connection, and lets the next one be made as soon as it is known how many requests this one
/// takes.
async fn run_http2<B>(mut connection: Http2Connection<B>, load: Arc<Load>, dialing: Option<Dialing>)
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let begun = Instant::now();
    let mut pause = SETTINGS_LOOK_AFTER;
    // hyper wakes nobody when SETTINGS come, so they are looked for, less and less often.
    while !load.is_told(connection.current_max_send_streams()) && begun.elapsed() < SETTINGS_WAIT {
        // Both arms are cancel safe.
        tokio::select! {
            _ended = &mut connection => return,
            () = tokio::time::sleep(pause) => pause *= 2,
        }
    }
    load.give_up_waiting();
    drop(dialing);
    poll_fn(move |cx| {
        let ended = Pin::new(&mut connection).poll(cx);
        // The peer may change its mind.
        load.is_told(connection.current_max_send_streams());
        ended.map(|_ended| ())
    })
    .await;
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
                let ended = self.connection.take();
                if let Some(left) = &mut self.upgrading {
                    *left = ended;
                }
            }
        }
    }

    /// Says, before it is sent, that a request may be answered with 101.
    pub fn may_upgrade(&mut self) {
        self.upgrading = Some(None);
    }

    /// After a 101: the connection without HTTP, and what has been read of it already.
    pub async fn into_upgraded(mut self) -> Option<(Stream, Bytes)> {
        poll_fn(|cx| {
            self.drive(cx);
            if self.connection.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        let parts = self.upgrading.flatten()?.into_parts();
        Some((parts.io.into_inner(), parts.read_buf))
    }

    /// Whether the exchange is over on both sides and another may follow.
    pub fn is_reusable(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    fn idle(&self) -> Duration {
        self.idle_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn is_alive(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        let is_quiet = || self.watch.as_ref().is_none_or(SocketWatch::is_quiet_and_open);
        self.is_reusable() && (!self.may_be_stale() || is_quiet())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
