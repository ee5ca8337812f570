//! From the head of a request to where it goes.

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use crate::a2a::call::{Head, Recognized};
use crate::a2a::{detect, webhook};
use crate::net::addr::{Authority, Scheme};
use crate::net::dial::Destination;
use crate::proxy::agent::{Agent, Upstream};
use crate::proxy::answer::Clothes;
use crate::proxy::headers::has_one_host;
use crate::proxy::rewrite;
use crate::proxy::target::Speaks;

/// The prefix that Meddler keeps for itself on every port.
pub(super) const OWN_PREFIX: &str = "/.meddler/";

/// ... below which lie the other addresses of a card: `SCHEME/HOST:PORT/PATH`.
pub(super) const TO_PREFIX: &str = "/.meddler/to/";

/// ... and here the public half of the key that cards are signed with.
pub(super) const JWKS_PATH: &str = "/.meddler/jwks.json";

/// Where a request goes.
#[derive(Debug)]
pub(super) enum Route {
    /// To the agent.
    Forward {
        /// Which of its origins.
        upstream: Upstream,
        /// With which path.
        path: PathAndQuery,
    },
    /// To the gRPC interface that the agent's card names.
    Grpc,
    /// To another address of the agent's, if its card names it.
    Elsewhere {
        /// Which.
        to: Destination,
        /// With which path.
        path: PathAndQuery,
    },
    /// To Meddler: it is asked for the public half of its key.
    Keys,
    /// To the webhook that the address stands for.
    Push,
    /// Nowhere.
    Refuse(StatusCode, &'static str),
}

/// Nowhere: it is no address of the agent's.
pub(super) const NOT_THE_AGENTS: (StatusCode, &str) =
    (StatusCode::NOT_FOUND, "this address leads to no host of the agent; list it under `also:`");

/// Decides. `clothes` says whether it is a gRPC call.
pub(super) fn route(agent: &Agent, parts: &Parts, clothes: Clothes) -> Route {
    if parts.method == Method::CONNECT {
        return Route::Refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "this port stands for one agent; for CONNECT use the forward proxy of `intercept:`",
        );
    }
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    if !has_one_host(&parts.headers, authority, parts.version) {
        return Route::Refuse(StatusCode::BAD_REQUEST, "a request names one host, and only one");
    }
    let path = parts.uri.path();
    if let Some(rest) = path.strip_prefix(TO_PREFIX) {
        return match elsewhere(agent, rest, parts.uri.query()) {
            Some((to, path)) => Route::Elsewhere { to, path },
            None => Route::Refuse(NOT_THE_AGENTS.0, NOT_THE_AGENTS.1),
        };
    }
    if path == JWKS_PATH && rewrite::can_be_asked_by(&parts.method) {
        return Route::Keys;
    }
    if path.starts_with(webhook::PATH) {
        return Route::Push;
    }
    if path.starts_with(OWN_PREFIX) {
        return Route::Refuse(StatusCode::NOT_FOUND, "Meddler has nothing at this address");
    }
    match (clothes, agent.config.forward.speaks) {
        (Clothes::Grpc, Speaks::Http) => Route::Grpc,
        (Clothes::Grpc | Clothes::Http, Speaks::Grpc) | (Clothes::Http, Speaks::Http) => {
            match agent.config.forward.path_for(parts.uri.path_and_query()) {
                Some(path) => Route::Forward { upstream: agent.forward.clone(), path },
                None => Route::Refuse(
                    StatusCode::URI_TOO_LONG,
                    "the path below `forward` is longer than an address can be",
                ),
            }
        }
    }
}

/// What the head of a request tells: whatever is sent to a webhook is a delivery.
pub(super) fn recognize(head: Head<'_>) -> Recognized {
    if head.uri.path().starts_with(webhook::PATH) {
        detect::push_delivery(head)
    } else {
        detect::recognize(head)
    }
}

/// Reads `SCHEME/HOST:PORT/PATH`, if the agent may be reached there.
fn elsewhere(
    agent: &Agent,
    rest: &str,
    query: Option<&str>,
) -> Option<(Destination, PathAndQuery)> {
    let (scheme, rest) = rest.split_once('/')?;
    let scheme = Scheme::parse(scheme)?;
    let slash = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(slash)?;
    let authority = percent_decode_str(authority).decode_utf8().ok()?;
    let authority = Authority::parse(&authority, scheme.default_port())?;
    if !agent.may_reach(&authority) {
        return None;
    }
    let path = if path.is_empty() { "/" } else { path };
    let path = match query {
        None => PathAndQuery::try_from(path).ok()?,
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")).ok()?,
    };
    Some((Destination { scheme, authority }, path))
}

/// What the answer to a request may be, as far as the head tells: whether a card must be expected.
pub(super) fn may_answer_with_card(parts: &Parts, clothes: Clothes) -> bool {
    match clothes {
        Clothes::Grpc => parts.uri.path().ends_with("AgentCard"),
        Clothes::Http => rewrite::can_be_asked_by(&parts.method),
    }
}
