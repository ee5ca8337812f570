//! From a route to the upstream: what a card tells is looked up first where it is not known.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Response, StatusCode, Uri};

use crate::a2a::call::{self, Head};
use crate::a2a::detect;
use crate::net::jws::SigningKey;
use crate::proxy::agent::Upstream;
use crate::proxy::answer::{self, Clothes};
use crate::proxy::body::ResponseBody;
use crate::proxy::exchange::Connection;
use crate::proxy::flow::Flow;
use crate::proxy::grpc;
use crate::proxy::lookup;
use crate::proxy::refused;
use crate::proxy::route::{self, NOT_THE_AGENTS, Route};

/// The media type of a key set (RFC 7517).
const JWK_SET: HeaderValue = HeaderValue::from_static("application/jwk-set+json");

/// What is told a client whose header section is over the limit.
const TOO_LARGE: &str = "the header section is larger than Meddler passes on (128 KiB)";

/// Where a request goes.
pub(super) struct Way {
    pub(super) upstream: Upstream,
    pub(super) path: PathAndQuery,
    pub(super) goes: Goes,
}

/// Whether that is all there is to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    Straight,
    /// To a gRPC interface that a card names which has not been seen yet, or that the tenant in the
    /// message decides: see [`by_card`].
    ByCard,
}

/// What Meddler answers itself.
pub(super) enum Own {
    Answer(Box<Response<ResponseBody>>),
    /// What the agent delivers to a webhook, by us.
    Delivery,
    Refusal(StatusCode, &'static str),
}

impl Goes {
    pub(super) fn is_settled(self) -> bool {
        self == Self::Straight
    }
}

/// The way of a request, as far as its head tells.
pub(super) async fn find(
    conn: &Arc<Connection>,
    parts: &Parts,
    clothes: Clothes,
) -> Result<Way, Own> {
    if refused::is_too_large(parts, &conn.core.limits) {
        return Err(Own::Refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, TOO_LARGE));
    }
    let agent = &conn.agent;
    let straight = |upstream, path| Way { upstream, path, goes: Goes::Straight };
    match route::route(agent, parts, clothes) {
        Route::Forward { upstream, path } => Ok(straight(upstream, path)),
        Route::Elsewhere { to, path } => {
            if !agent.leads_to(&to) && agent.may_reach(&to.authority) {
                Box::pin(look_at_card(conn)).await;
            }
            if agent.leads_to(&to) {
                return Ok(straight(agent.elsewhere(&to), path));
            }
            let (status, why) = NOT_THE_AGENTS;
            Err(Own::Refusal(status, why))
        }
        Route::Grpc => Ok(grpc_way(conn, parts)),
        Route::Keys => Err(conn.core.signer.as_ref().map_or_else(no_keys, keys)),
        Route::Push => Err(Own::Delivery),
        Route::Refuse(status, why) => Err(Own::Refusal(status, why)),
    }
}

/// The upstream of a gRPC call that needs the card or its own message to tell.
pub(super) async fn by_card(conn: &Connection, parts: &Parts, flow: &Arc<Flow>) -> Upstream {
    if conn.agent.learned.grpc().is_empty() {
        look_at_card(conn).await;
    }
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let recognized = detect::recognize(head);
    let mut tenant = None;
    if grpc::depends_on_tenant(&conn.agent.learned.grpc(), recognized.version) {
        // Whoever left before the message was there is noticed when it is passed on.
        if let Ok(read) = flow.read_ahead(conn.core.limits.peek_bytes, |_| false).await {
            tenant = call::read_call(head, &recognized, &read.octets).ids.tenant;
        }
    }
    grpc::upstream(&conn.agent, recognized.version, &tenant.unwrap_or_default())
}

/// The address without the path of the interface in front.
pub(super) fn below(uri: &Uri, base: &str) -> Uri {
    let path = uri.path_and_query().map(PathAndQuery::as_str).unwrap_or_default();
    let rest = path.strip_prefix(base).and_then(|rest| PathAndQuery::try_from(rest).ok());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = rest.or(parts.path_and_query);
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

fn grpc_way(conn: &Connection, parts: &Parts) -> Way {
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let version = detect::recognize(head).version;
    let interfaces = conn.agent.learned.grpc();
    let needs_more = interfaces.is_empty() || grpc::depends_on_tenant(&interfaces, version);
    let goes = if needs_more { Goes::ByCard } else { Goes::Straight };
    let path = parts.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    Way { upstream: grpc::upstream(&conn.agent, version, ""), path, goes }
}

async fn look_at_card(conn: &Connection) {
    let base = conn.agent.own_base();
    let delivery = conn.delivery(base);
    lookup::look_at_card(&delivery, conn.core.limits.card_bytes).await;
}

/// The keys that Meddler signs cards with.
fn keys(key: &SigningKey) -> Own {
    let jwks = Bytes::copy_from_slice(key.jwks().as_bytes());
    let mut answer = answer::whole(StatusCode::OK, HeaderMap::new(), jwks, None);
    answer.headers_mut().insert(CONTENT_TYPE, JWK_SET);
    Own::Answer(Box::new(answer))
}

fn no_keys() -> Own {
    let why = "Meddler signs no cards here: no agent has `signatures: resign`";
    Own::Refusal(StatusCode::NOT_FOUND, why)
}
