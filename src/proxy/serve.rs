//! One connection of an orchestrator, from its first octet to its end.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tracing::{debug, info};

use crate::base::limits::Limits;
use crate::net::addr::Scheme;
use crate::net::executor::OnTasks;
use crate::net::listen::{Accepted, HEADER_FIELDS_MAX};
use crate::net::sniff::{Spoken, sniff};
use crate::net::stream::{SocketWatch, Stream};
use crate::net::tls::{AlpnChoice, ServerTls};
use crate::proxy::Core;
use crate::proxy::agent::Agent;
use crate::proxy::config::HalfClose;
use crate::proxy::exchange::{Connection, exchange};
use crate::proxy::wire::{Downstream, Wire};

/// HTTP/2 windows towards clients: see `net::pool`.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Streams one client may have open at once on a connection.
const STREAMS_MAX: u32 = 10_000;

/// Silence on an HTTP/2 connection after which it is pinged.
const PING_EVERY: Duration = Duration::from_mins(1);

/// What is still read of an upload that was answered early, so that closing does not reset the answer.
const LINGER_BYTES: usize = 1 << 20;
const LINGER_WAIT: Duration = Duration::from_secs(2);

/// Serves a connection until it ends. `wire` is how it is told to.
pub(super) async fn serve(
    core: Arc<Core>,
    agent: Arc<Agent>,
    tls: Option<ServerTls>,
    accepted: Accepted,
    wire: Arc<Wire>,
) {
    let Accepted { mut socket, peer, permit } = accepted;
    let watch = socket.watch();
    let limit = core.limits.sniff_timeout;
    let sniffed = until_stopped(&wire, sniff(&mut socket, limit)).await;
    let Some(Ok(spoken)) = sniffed else { return };
    let (stream, spoken) = match (spoken, tls) {
        (Spoken::Tls, Some(tls)) => {
            let Some(shaken) = until_stopped(&wire, tls.accept(socket, limit)).await else {
                return;
            };
            match shaken {
                Ok((stream, AlpnChoice::Http2)) => (stream, Spoken::Http2),
                Ok((stream, AlpnChoice::Http1 | AlpnChoice::None)) => (stream, Spoken::Http1),
                Err(error) => {
                    debug!(agent = %agent.name, %peer, %error, "TLS handshake failed");
                    return;
                }
            }
        }
        // Without TLS of our own a handshake is answered as the bad HTTP/1 it is.
        (Spoken::Tls | Spoken::Http1, _) => (Stream::Plain(socket), Spoken::Http1),
        (Spoken::Http2, _) => (Stream::Plain(socket), Spoken::Http2),
    };
    let orchestrator = Arc::from(peer.ip().to_canonical().to_string());
    let half_close = agent.config.half_close;
    let scheme = match &stream {
        Stream::Tls(_) => Scheme::Https,
        Stream::Plain(_) | Stream::Memory(_) => Scheme::Http,
    };
    let shared = Arc::clone(&wire);
    let wires = (shared, permit);
    let conn = Arc::new(Connection::new(core, agent, wires, (peer, scheme), orchestrator));
    let stream = TokioIo::new(Downstream::new(stream, wire));
    match spoken {
        Spoken::Http2 => http2(&conn, stream, &watch).await,
        Spoken::Http1 | Spoken::Tls => http1(&conn, stream, &watch, half_close).await,
    }
}

async fn http1(
    conn: &Arc<Connection>,
    stream: TokioIo<Downstream>,
    watch: &SocketWatch,
    half_close: HalfClose,
) {
    let service = service_fn(|request| {
        let conn = Arc::clone(conn);
        async move { Ok::<_, Infallible>(exchange(conn, request).await) }
    });
    let serving = http1::Builder::new()
        .preserve_header_case(true)
        .auto_date_header(false)
        .half_close(half_close == HalfClose::Allow)
        .max_headers(HEADER_FIELDS_MAX)
        .max_buf_size(header_bytes_hard(&conn.core.limits))
        .serve_connection(stream, service)
        .with_upgrades();
    let serving =
        Serving { connection: serving, drain: |connection| connection.graceful_shutdown() };
    run(&conn.wire, serving, watch).await;
    if conn.wire.has_unread_upload() && !conn.wire.is_stopped() {
        watch.linger(LINGER_BYTES, LINGER_WAIT).await;
    }
}

/// Where hyper itself turns a head away, with an answer that nobody can mark or record. Up to here it is
/// read, and `refused` does it better.
fn header_bytes_hard(limits: &Limits) -> usize {
    limits.header_bytes.saturating_mul(2).max(8192)
}

async fn http2(conn: &Arc<Connection>, stream: TokioIo<Downstream>, watch: &SocketWatch) {
    let service = service_fn(|request| {
        let conn = Arc::clone(conn);
        async move { Ok::<_, Infallible>(exchange(conn, request).await) }
    });
    let limit = u32::try_from(header_bytes_hard(&conn.core.limits)).unwrap_or(u32::MAX);
    let serving = http2::Builder::new(OnTasks(conn.core.tasks.clone()))
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(limit)
        .keep_alive_interval(PING_EVERY)
        .serve_connection(stream, service);
    let serving =
        Serving { connection: serving, drain: |connection| connection.graceful_shutdown() };
    run(&conn.wire, serving, watch).await;
}

/// A connection and how it is asked to end.
struct Serving<C> {
    connection: C,
    drain: fn(Pin<&mut C>),
}

/// Drives a connection until it ends, its client resets it, or it is told to stop.
async fn run<C>(wire: &Arc<Wire>, serving: Serving<C>, watch: &SocketWatch)
where
    C: Future<Output = Result<(), hyper::Error>>,
{
    let mut connection = pin!(serving.connection);
    let mut reset = pin!(watch.reset());
    // The watch wakes the wire, and the wire this task: it need not be polled again and again.
    let on_reset = Waker::from(Arc::clone(wire));
    let is_reset = reset.as_mut().poll(&mut Context::from_waker(&on_reset)).is_ready();
    if is_reset {
        return;
    }
    let mut is_draining = false;
    poll_fn(|cx| {
        wire.polled(cx);
        if wire.has_hung_up() || wire.is_stopped() {
            return Poll::Ready(());
        }
        if wire.is_draining() && !is_draining {
            is_draining = true;
            (serving.drain)(connection.as_mut());
        }
        match connection.as_mut().poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            // hyper has answered with a bare 400, 414 or 431: there is no request to be recorded.
            Poll::Ready(Err(error)) if error.is_parse() => {
                info!(%error, "turned away what is no HTTP, or past all limits");
                Poll::Ready(())
            }
            Poll::Ready(Err(error)) => {
                debug!(%error, "connection ended");
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    })
    .await;
}

/// Waits for something before the connection serves; `None` when it is told to stop or drain first.
async fn until_stopped<T>(wire: &Arc<Wire>, wait: impl Future<Output = T>) -> Option<T> {
    let mut wait = pin!(wait);
    poll_fn(|cx| {
        wire.polled(cx);
        if wire.is_stopped() || wire.is_draining() {
            return Poll::Ready(None);
        }
        wait.as_mut().poll(cx).map(Some)
    })
    .await
}
