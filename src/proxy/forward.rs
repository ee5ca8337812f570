//! To the agent and back: the head made ready for its connection, one attempt, and another only when
//! the first provably never reached the agent.

use std::sync::Arc;
use std::time::Duration;

use http::header::{EXPECT, HOST};
use http::request::Parts;
use http::uri::{PathAndQuery, Scheme as UriScheme};
use http::{Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use tokio::sync::Notify;
use tracing::debug;

use crate::net::addr::Scheme;
use crate::net::pool::{Freshness, Lease, Reach, SendFailure};
use crate::net::tls::Alpn;
use crate::net::trouble::{Trouble, Word};
use crate::proxy::agent::Upstream;
use crate::proxy::flow::Flow;
use crate::proxy::headers;
use crate::proxy::interim;
use crate::proxy::passing::Carrier;
use crate::proxy::wire::Wire;

/// Attempts at one request, the first included. Each further one follows proof that the last was not
/// looked at, so the bound is only against a peer that refuses for ever.
const ATTEMPTS_MAX: u32 = 3;

/// How long a body is held back for the agent's `100 Continue`: agents that do not know it never send it.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// What is forwarded.
pub(super) struct Outbound {
    /// The head, hop-by-hop fields included.
    pub(super) parts: Parts,
    /// The path at the agent.
    pub(super) path: PathAndQuery,
    /// Which protocols will do.
    pub(super) alpn: Alpn,
    /// The bound on waiting for the head of the answer.
    pub(super) first_byte: Option<Duration>,
    /// Whether the agent is asked to speak something else than HTTP.
    pub(super) may_upgrade: bool,
    /// The client's connection.
    pub(super) wire: Arc<Wire>,
}

/// Sends a request to `upstream` and waits for the head of the answer.
pub(super) async fn forward(
    upstream: &Upstream,
    outbound: Outbound,
    flow: &Arc<Flow>,
) -> Result<(Response<Incoming>, Carrier), Trouble> {
    let Outbound { parts, path, alpn, first_byte, may_upgrade, wire } = outbound;
    let mut parts = Some(parts);
    let mut freshness = Freshness::Any;
    let mut attempt = 1;
    loop {
        let mut lease = upstream.origin.lease(alpn, freshness).await?;
        let can_repeat = attempt < ATTEMPTS_MAX && may_fail_unseen(&lease);
        let Some(head) = (if can_repeat { parts.clone() } else { parts.take() }) else {
            return Err(Trouble::new(Word::Closed, format!("{} gave no answer", upstream.url)));
        };
        let request = prepare(head, &path, upstream, &lease, (flow, &wire));
        if let (true, Lease::Http1(connection)) = (may_upgrade, &mut lease) {
            connection.may_upgrade();
        }
        let answer = within(first_byte, send(&mut lease, request), upstream).await?;
        match answer {
            Ok(answer) if answer.status() == StatusCode::SWITCHING_PROTOCOLS && !may_upgrade => {
                let text = format!("{} switched protocols without being asked to", upstream.url);
                return Err(Trouble::new(Word::Protocol, text));
            }
            Ok(answer) => return Ok((answer, carrier(lease, upstream))),
            Err(failure) => {
                let is_repeatable =
                    can_repeat && failure.reach == Reach::Never && flow.can_replay();
                if !is_repeatable || flow.has_failed() {
                    return Err(Trouble::of_http(&failure.error, &upstream.url));
                }
                debug!(upstream = %upstream.url, attempt, "not taken by the agent; sending again");
                attempt += 1;
                freshness = match lease {
                    // Others of its age may be as stale.
                    Lease::Http1(_) => Freshness::New,
                    // Calls that were turned away together share the next connection.
                    Lease::Http2(share) => {
                        share.retire();
                        Freshness::Any
                    }
                };
            }
        }
    }
}

/// Whether a request on this connection can fail without having been seen, so that its head must be
/// kept: on a shared connection, or one that lay idle. A new one cannot be stale.
fn may_fail_unseen(lease: &Lease<super::flow::RequestBody>) -> bool {
    match lease {
        Lease::Http1(connection) => connection.may_be_stale(),
        Lease::Http2(_) => true,
    }
}

async fn send(
    lease: &mut Lease<super::flow::RequestBody>,
    request: Request<super::flow::RequestBody>,
) -> Result<Response<Incoming>, SendFailure> {
    match lease {
        Lease::Http1(connection) => connection.send(request).await,
        Lease::Http2(share) => share.send(request).await,
    }
}

async fn within<T>(
    limit: Option<Duration>,
    answer: impl Future<Output = T>,
    upstream: &Upstream,
) -> Result<T, Trouble> {
    let Some(limit) = limit else { return Ok(answer.await) };
    tokio::time::timeout(limit, answer).await.map_err(|_| {
        let text = format!("{} gave no answer within {} ms", upstream.url, limit.as_millis());
        Trouble::new(Word::FirstByteTimeout, text)
    })
}

fn carrier(lease: Lease<super::flow::RequestBody>, upstream: &Upstream) -> Carrier {
    match lease {
        Lease::Http1(connection) => {
            Carrier::Http1 { connection, origin: Arc::clone(&upstream.origin) }
        }
        Lease::Http2(share) => Carrier::Http2 { _share: share },
    }
}

/// The head as this connection wants it. Whatever hyper noted of the names' spelling and the reason
/// phrase travels in the extensions.
fn prepare(
    mut parts: Parts,
    path: &PathAndQuery,
    upstream: &Upstream,
    lease: &Lease<super::flow::RequestBody>,
    (flow, wire): (&Arc<Flow>, &Arc<Wire>),
) -> Request<super::flow::RequestBody> {
    let came_as = parts.version;
    let mut uri = http::uri::Parts::default();
    uri.path_and_query = Some(path.clone());
    match lease {
        Lease::Http1(_) => {
            parts.version = Version::HTTP_11;
            if came_as == Version::HTTP_2 {
                headers::join_cookies(&mut parts.headers);
            }
            parts.headers.insert(HOST, upstream.host.clone());
            let asked = parts.headers.contains_key(EXPECT).then(|| await_continue(flow));
            interim::pass(&mut parts, came_as, wire, asked);
        }
        Lease::Http2(_) => {
            parts.version = Version::HTTP_2;
            headers::remove(&mut parts.headers, &[HOST]);
            uri.authority = Some(upstream.authority.clone());
            uri.scheme = Some(match upstream.destination().scheme {
                Scheme::Http => UriScheme::HTTP,
                Scheme::Https => UriScheme::HTTPS,
            });
        }
    }
    // A path alone, or all three: both are complete addresses.
    parts.uri = Uri::from_parts(uri).unwrap_or_default();
    Request::from_parts(parts, flow.body())
}

/// Holds the body back until the agent asks for it, so that a client which waits for `100 Continue` is
/// told to go on only when the agent wants it to. Gives what is to be told of the agent's word.
fn await_continue(flow: &Arc<Flow>) -> Arc<Notify> {
    let asked = Arc::new(Notify::new());
    let on_continue = Arc::clone(&asked);
    flow.wait_for(Box::pin(async move {
        // Either way the body goes on; both arms are cancel safe.
        tokio::select! {
            () = asked.notified() => {}
            () = tokio::time::sleep(CONTINUE_WAIT) => {}
        }
    }));
    on_continue
}
