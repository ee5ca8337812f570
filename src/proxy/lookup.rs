//! What Meddler asks on its own account: an agent's card when a call needs to know where the agent's
//! other interfaces are, and the keys that its card is signed by. It is no traffic of the orchestrator
//! and is not recorded.

use std::time::Duration;

use http::header::{ACCEPT, HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode};
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::a2a::address::CardShape;
use crate::a2a::signature;
use crate::net::jws::KeySet;
use crate::net::pool::{Freshness, Lease};
use crate::net::tls::Alpn;
use crate::proxy::agent::{Agent, Upstream};
use crate::proxy::config::{CardKeys, HeaderFields};
use crate::proxy::flow::RequestBody;
use crate::proxy::rewrite::card::{self, Delivery};
use crate::proxy::rewrite::coding;
use crate::proxy::target::{Speaks, WELL_KNOWN};

/// How long is waited for an answer.
const WAIT: Duration = Duration::from_secs(5);

/// How long what was found, or that nothing was, is believed before it is asked for again.
const BELIEVED: Duration = Duration::from_secs(30);

/// When something was last asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked(Option<Instant>);

impl Asked {
    fn is_fresh(self) -> bool {
        self.0.is_some_and(|at| at.elapsed() < BELIEVED)
    }
}

/// The keys of an agent, as far as they have been had.
#[derive(Debug, Default)]
pub(super) struct Keys {
    asked: Asked,
    set: KeySet,
}

/// Looks at the agent's card, unless that was done just now.
pub(super) async fn look_at_card(delivery: &Delivery<'_>, card_bytes: usize) {
    let agent = delivery.agent;
    match agent.config.forward.speaks {
        Speaks::Http => {}
        // Its card comes by gRPC, when an orchestrator asks for it.
        Speaks::Grpc => return,
    }
    // One fetch for all calls that wait for it.
    let mut asked = agent.card_asked.lock().await;
    if asked.is_fresh() {
        return;
    }
    // A call waits for it, so it is bounded as a whole, whatever the agent does.
    let limit = agent.config.timeout.first_byte.unwrap_or(WAIT);
    if tokio::time::timeout(limit, learn(delivery, card_bytes)).await.is_err() {
        debug!(agent = %agent.name, "the card did not come in time");
    }
    *asked = Asked(Some(Instant::now()));
}

/// Looks for the card where it may lie: where the configuration says, else below the base path, then at
/// the origin.
async fn learn(delivery: &Delivery<'_>, card_bytes: usize) {
    let agent = delivery.agent;
    let target = &agent.config.forward;
    let mut paths: Vec<PathAndQuery> = agent.config.card.iter().map(|at| at.0.clone()).collect();
    if paths.is_empty() {
        for name in WELL_KNOWN {
            let at_origin = PathAndQuery::from_static(name);
            paths.extend(target.path_for(Some(&at_origin)));
            if target.is_below_origin() {
                paths.push(at_origin);
            }
        }
    }
    for path in paths {
        let headers = &agent.config.headers;
        if let Some(body) = fetch(&agent.forward, &path, headers, card_bytes).await {
            card::learn_from(delivery, &body, CardShape::Json);
            return;
        }
    }
}

/// The keys to verify this card's signatures by: `None` when none are configured.
pub(super) async fn keys(
    agent: &Agent,
    body: &[u8],
    shape: CardShape,
    bytes_max: usize,
) -> Option<KeySet> {
    let at = match agent.config.card_keys.as_ref()? {
        CardKeys::File { set, .. } => return Some(set.clone()),
        CardKeys::Url(at) => at,
    };
    let signatures = signature::read(body, shape);
    let mut keys = agent.keys.lock().await;
    let is_unknown = |one: &signature::CardSignature| {
        one.header().and_then(|header| header.kid).is_none_or(|kid| !keys.set.knows(&kid))
    };
    // A key that we know is believed; one that we do not may be new.
    if signatures.iter().any(is_unknown) && !keys.asked.is_fresh() {
        let upstream = agent.elsewhere(&at.to);
        // The agent's credentials are none of this host's business.
        let nothing = HeaderFields::default();
        let asking = fetch(&upstream, &at.path, &nothing, bytes_max);
        let found = tokio::time::timeout(WAIT, asking).await.ok().flatten();
        if let Some(set) = found.and_then(|text| KeySet::parse(&text).ok()) {
            keys.set = set;
        } else {
            warn!(agent = %agent.name, at = %at, "no key set could be had");
        }
        keys.asked = Asked(Some(Instant::now()));
    }
    Some(keys.set.clone())
}

async fn fetch(
    upstream: &Upstream,
    path: &PathAndQuery,
    fields: &HeaderFields,
    bytes_max: usize,
) -> Option<Vec<u8>> {
    let mut request = Request::new(RequestBody::empty());
    *request.method_mut() = Method::GET;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(HOST, upstream.host.clone());
    for (name, value) in &fields.0 {
        headers.insert(name, value.clone());
    }
    let lease = upstream.origin.lease(Alpn::Http1, Freshness::Any).await.ok()?;
    let (status, headers, body) = match lease {
        Lease::Http1(mut connection) => {
            *request.uri_mut() = path.as_str().parse().ok()?;
            let response = connection.send(request).await.ok()?;
            let (head, mut incoming) = response.into_parts();
            let body = whole(&mut incoming, bytes_max, |cx| connection.drive(cx)).await?;
            upstream.origin.give_back(connection);
            (head.status, head.headers, body)
        }
        Lease::Http2(mut share) => {
            request.headers_mut().remove(HOST);
            *request.version_mut() = http::Version::HTTP_2;
            *request.uri_mut() = format!("{}{path}", upstream.url).parse().ok()?;
            let response = share.send(request).await.ok()?;
            let (head, mut incoming) = response.into_parts();
            (head.status, head.headers, whole(&mut incoming, bytes_max, |_cx| ()).await?)
        }
    };
    if status == StatusCode::OK { coding::undo(&headers, &body, bytes_max) } else { None }
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
