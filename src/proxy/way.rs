//! From a route to the upstream: what a card tells is looked up first where it is not known.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Response, StatusCode, Uri};

use crate::a2a::call::{self, Head};
use crate::a2a::detect;
use crate::proxy::agent::Upstream;
use crate::proxy::answer::{self, Clothes};
use crate::proxy::body::ResponseBody;
use crate::proxy::exchange::Connection;
use crate::proxy::flow::Flow;
use crate::proxy::grpc;
use crate::proxy::lookup;
use crate::proxy::route::{self, NOT_THE_AGENTS, Route};

/// The media type of a key set (RFC 7517).
const JWK_SET: HeaderValue = HeaderValue::from_static("application/jwk-set+json");

/// Where a request goes.
pub(super) struct Way {
    pub(super) upstream: Upstream,
    pub(super) path: PathAndQuery,
    /// Whether the message tells more: see [`by_tenant`].
    pub(super) depends: Depends,
}

/// What the upstream depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depends {
    OnTheHead,
    OnTheTenant,
}

/// The way of a request; `Err`: an answer of Meddler's own.
pub(super) async fn find(
    conn: &Arc<Connection>,
    parts: &Parts,
    clothes: Clothes,
) -> Result<Way, Response<ResponseBody>> {
    let agent = &conn.agent;
    let on_head = |upstream, path| Way { upstream, path, depends: Depends::OnTheHead };
    let route = match route::route(agent, parts, clothes) {
        Route::Forward { upstream, path } => return Ok(on_head(upstream, path)),
        Route::Elsewhere { to, path } => {
            if !agent.leads_to(&to) && agent.may_reach(&to.authority) {
                Box::pin(look_at_card(conn)).await;
            }
            if agent.leads_to(&to) {
                return Ok(on_head(agent.elsewhere(&to), path));
            }
            NOT_THE_AGENTS
        }
        Route::Grpc => {
            if agent.learned.grpc().is_empty() {
                Box::pin(look_at_card(conn)).await;
            }
            return Ok(grpc_way(conn, parts));
        }
        other @ (Route::Keys | Route::Refuse(..)) => other,
    };
    Err(own_answer(conn, route, clothes))
}

/// The upstream of a gRPC call, once its message tells the tenant.
pub(super) async fn by_tenant(
    conn: &Connection,
    parts: &Parts,
    flow: &Arc<Flow>,
) -> Option<Upstream> {
    let read = flow.read_ahead(conn.core.limits.peek_bytes, |_| false).await.ok()?;
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let call = call::read_call(head, &detect::recognize(head), &read.octets);
    let tenant = call.ids.tenant.unwrap_or_default();
    Some(grpc::upstream(&conn.agent, call.version, &tenant))
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
    let depends = if grpc::depends_on_tenant(&interfaces, version) {
        Depends::OnTheTenant
    } else {
        Depends::OnTheHead
    };
    let path = parts.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    Way { upstream: grpc::upstream(&conn.agent, version, ""), path, depends }
}

async fn look_at_card(conn: &Connection) {
    let base = conn.agent.own_base();
    let delivery = conn.delivery(base);
    lookup::look_at_card(&delivery, conn.core.limits.card_bytes).await;
}

fn own_answer(conn: &Connection, route: Route, clothes: Clothes) -> Response<ResponseBody> {
    let (status, why) = match (route, &conn.core.signer) {
        (Route::Keys, Some(key)) => {
            let jwks = Bytes::copy_from_slice(key.jwks().as_bytes());
            let mut answer = answer::whole(StatusCode::OK, HeaderMap::new(), jwks, None);
            answer.headers_mut().insert(CONTENT_TYPE, JWK_SET);
            return answer;
        }
        (Route::Refuse(status, why), _) => (status, why),
        (Route::Keys | Route::Forward { .. } | Route::Grpc | Route::Elsewhere { .. }, _) => {
            let why = "Meddler signs no cards here: no agent has `signatures: resign`";
            (StatusCode::NOT_FOUND, why)
        }
    };
    tracing::debug!(agent = %conn.agent.name, %status, why, "refused");
    answer::refusal(clothes, status, why)
}
