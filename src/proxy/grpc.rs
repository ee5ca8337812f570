//! Where gRPC calls go: to the interface that the agent's card names, which may be another port.
//!
//! The card is learned when it passes. A gRPC call that comes first makes Meddler fetch it, once, on its
//! own account: it is no traffic of the orchestrator and is not recorded.

use std::time::Duration;

use http::header::{ACCEPT, HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode};
use tokio::time::Instant;
use tracing::debug;

use crate::a2a::address::CardShape;
use crate::net::pool::{Freshness, Lease};
use crate::net::tls::Alpn;
use crate::proxy::agent::{Agent, CARD_BELIEVED, CardSeen, Upstream};
use crate::proxy::flow::RequestBody;
use crate::proxy::rewrite::{card, coding};
use crate::proxy::target::WELL_KNOWN;

/// How long the first gRPC call waits for the card.
const CARD_WAIT: Duration = Duration::from_secs(5);

/// The upstream for gRPC calls: what the card names, else the address that is forwarded to.
pub(super) async fn upstream(agent: &Agent, card_bytes: usize) -> Upstream {
    if let Some(known) = &*agent.grpc.load() {
        return Upstream::clone(known);
    }
    // One fetch for all calls that wait for it.
    let mut seen = agent.card.lock().await;
    let is_fresh = match *seen {
        CardSeen::Never => false,
        CardSeen::InVain(at) => at.elapsed() < CARD_BELIEVED,
    };
    if agent.grpc.load().is_none() && !is_fresh {
        // The call waits for it, so it is bounded as a whole, whatever the agent does.
        let limit = agent.config.timeout.first_byte.unwrap_or(CARD_WAIT);
        if tokio::time::timeout(limit, learn(agent, card_bytes)).await.is_err() {
            debug!(agent = %agent.name, "the card did not come in time");
        }
        *seen = CardSeen::InVain(Instant::now());
    }
    match &*agent.grpc.load() {
        Some(known) => Upstream::clone(known),
        None => agent.forward.clone(),
    }
}

/// Looks for the card where it may lie: below the base path, then at the origin.
async fn learn(agent: &Agent, card_bytes: usize) {
    let target = &agent.config.forward;
    for name in WELL_KNOWN {
        let asked = PathAndQuery::from_static(name);
        let below = target.path_for(Some(&asked));
        let at_origin = target.is_below_origin().then_some(asked);
        for path in below.into_iter().chain(at_origin) {
            if let Some(body) = fetch(agent, &path, card_bytes).await {
                debug!(agent = %agent.name, %path, "fetched the card to learn its gRPC interface");
                card::learn_from(agent, &body, CardShape::Json);
                return;
            }
        }
    }
}

async fn fetch(agent: &Agent, path: &PathAndQuery, card_bytes: usize) -> Option<Vec<u8>> {
    let upstream = &agent.forward;
    let mut request = Request::new(RequestBody::empty());
    *request.method_mut() = Method::GET;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(HOST, upstream.host.clone());
    for (name, value) in &agent.config.headers.0 {
        headers.insert(name, value.clone());
    }
    let lease = upstream.origin.lease(Alpn::Http1, Freshness::Any).await.ok()?;
    let (status, headers, body) = match lease {
        Lease::Http1(mut connection) => {
            *request.uri_mut() = path.as_str().parse().ok()?;
            let response = connection.send(request).await.ok()?;
            let (head, mut incoming) = response.into_parts();
            let body = whole(&mut incoming, card_bytes, |cx| connection.drive(cx)).await?;
            upstream.origin.give_back(connection);
            (head.status, head.headers, body)
        }
        Lease::Http2(mut share) => {
            request.headers_mut().remove(HOST);
            *request.version_mut() = http::Version::HTTP_2;
            *request.uri_mut() = format!("{}{path}", upstream.url).parse().ok()?;
            let response = share.send(request).await.ok()?;
            let (head, mut incoming) = response.into_parts();
            (head.status, head.headers, whole(&mut incoming, card_bytes, |_cx| ()).await?)
        }
    };
    if status == StatusCode::OK { coding::undo(&headers, &body, card_bytes) } else { None }
}

/// A body of at most `max` octets.
async fn whole(
    incoming: &mut hyper::body::Incoming,
    max: usize,
    mut drive: impl FnMut(&mut std::task::Context<'_>),
) -> Option<Vec<u8>> {
    use http_body::Body;

    let mut body = Vec::new();
    loop {
        let frame = std::future::poll_fn(|cx| {
            drive(cx);
            std::pin::Pin::new(&mut *incoming).poll_frame(cx)
        });
        match frame.await {
            None => return Some(body),
            Some(frame) => {
                if let Ok(data) = frame.ok()?.into_data() {
                    body.extend_from_slice(&data);
                }
            }
        }
        if body.len() > max {
            return None;
        }
    }
}
