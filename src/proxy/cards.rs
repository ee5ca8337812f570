//! Answers that hold an agent card: held until they are whole, rewritten, and given out with a length,
//! a coding and validators that belong to what is delivered.

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{
    CONTENT_LENGTH, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, RANGE,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Response, StatusCode, response};
use sha2::{Digest, Sha256};
use tracing::warn;

use crate::a2a::address::CardShape;
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::call::Head;
use crate::a2a::detect;
use crate::a2a::model::Operation;
use crate::proxy::agent::Agent;
use crate::proxy::answer::Clothes;
use crate::proxy::body::{MadeBody, ResponseBody};
use crate::proxy::called::Called;
use crate::proxy::collect::{Collected, collect};
use crate::proxy::exchange::Exchange;
use crate::proxy::flow::Flow;
use crate::proxy::forward;
use crate::proxy::headers;
use crate::proxy::judge::Plan;
use crate::proxy::lookup;
use crate::proxy::made;
use crate::proxy::passing::Passing;
use crate::proxy::rewrite::card::{self, Delivered, Delivery};
use crate::proxy::rewrite::coding;
use crate::proxy::route::may_answer_with_card;
use crate::proxy::shape;
use crate::proxy::target::WELL_KNOWN;
use crate::record::tap::ExchangeTap;

/// A request whose answer holds a card.
#[derive(Debug)]
pub(super) struct Ask {
    shape: CardShape,
    found: Found,
    /// What the client holds already.
    if_none_match: Option<HeaderValue>,
}

/// How the card is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// At a well-known address.
    Discovery,
    /// By an operation.
    Operation,
}

/// What was asked, for a second question.
pub(super) struct About {
    pub(super) method: Method,
    /// The head as it was sent; `None` where no second question can be needed.
    pub(super) parts: Option<Parts>,
    pub(super) path: PathAndQuery,
    pub(super) ask: Ask,
}

/// Fields that make an answer depend on a representation the client holds: it holds a rewritten card,
/// which the agent knows nothing of.
static CONDITIONS: [HeaderName; 6] =
    [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_MATCH, IF_UNMODIFIED_SINCE, IF_RANGE, RANGE];

impl Ask {
    /// By the head of a request, for what names its operation there, and by the path that the agent will
    /// see, which may be the one where it keeps its card.
    pub(super) fn of(
        agent: &Agent,
        (parts, path): (&Parts, &PathAndQuery),
        clothes: Clothes,
    ) -> Option<Self> {
        if !may_answer_with_card(parts, clothes) {
            return None;
        }
        if agent.config.card.as_ref().is_some_and(|card| card.0 == *path) {
            return Some(Self {
                shape: CardShape::Json,
                found: Found::Discovery,
                if_none_match: None,
            });
        }
        let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
        let recognized = detect::recognize(head);
        let found = match recognized.operation {
            Some(Operation::AgentCard) => Found::Discovery,
            Some(Operation::GetExtendedAgentCard) => Found::Operation,
            Some(_) | None => return None,
        };
        let shape = match clothes {
            Clothes::Http => CardShape::Json,
            Clothes::Grpc => {
                CardShape::Protobuf(recognized.version.unwrap_or(ProtocolVersion::V1_0))
            }
        };
        Some(Self { shape, found, if_none_match: None })
    }

    /// By what has passed of a JSON-RPC body.
    pub(super) fn of_passed(flow: &Flow) -> Option<Self> {
        let (shape, found) = (CardShape::RpcResult, Found::Operation);
        flow.asks_for_card().then_some(Self { shape, found, if_none_match: None })
    }
}

/// Takes conditions off a card request, and remembers what is needed to answer them here.
pub(super) fn drop_conditions(
    fields: &mut HeaderMap,
    tap: Option<&ExchangeTap>,
    ask: &mut Option<Ask>,
) {
    let Some(ask) = ask else { return };
    ask.if_none_match = fields.get(IF_NONE_MATCH).cloned();
    if let Some(tap) = tap {
        for name in &CONDITIONS {
            if let Some(value) = fields.get(name) {
                let from = String::from_utf8_lossy(value.as_bytes());
                tap.edit(card::edit("header", name.as_str(), &from, ""));
            }
        }
    }
    headers::remove(fields, &CONDITIONS);
}

/// Gives out an answer that may hold a card.
pub(super) async fn answer(
    exchange: &Exchange<'_>,
    called: &Called,
    about: About,
    (mut head, mut passing): (response::Parts, Passing),
    mut plan: Option<Plan>,
) -> Response<ResponseBody> {
    let delivery = &exchange.delivery(called);
    if let Some(tap) = &exchange.tap {
        tap.may_change();
    }
    if let Some(plan) = &mut plan {
        // A card has no place for what rules put into answers: what is left of a plan is waiting.
        shape::refuse_edits(plan, "the answer is a card", exchange.tap.as_ref());
        shape::wait(std::mem::take(&mut plan.before_head)).await;
    }
    if let Some(found) = at_origin(exchange, delivery, &about, head.status).await {
        (head, passing) = found;
    }
    if head.status != StatusCode::OK {
        return as_it_is(exchange, head, passing, called, plan).await;
    }
    if about.method == Method::HEAD {
        return head_answer(exchange, delivery, about, (head, passing)).await;
    }
    let max = exchange.conn.core.limits.card_bytes;
    let (body, trailers, mut passing) = match collect(passing, max).await {
        Collected::Whole { body, trailers, passing } => (body, trailers, passing),
        Collected::TooLong(passing) => {
            warn!(agent = %delivery.agent.name, max, "the card is too long: it passes as it is");
            return as_it_is(exchange, head, passing, called, plan).await;
        }
        Collected::Broken(passing) => {
            return as_it_is(exchange, head, passing, called, plan).await;
        }
    };
    let rewritten = rewrite(delivery, &about.ask, &head.headers, &body, max).await;
    for edit in &rewritten.edits {
        if let Some(tap) = &exchange.tap {
            tap.edit(edit.clone());
        }
    }
    if let Some(new) = &rewritten.body {
        shape::reframe(&mut head.headers, trailers.is_none().then_some(new.len()));
        mark_version(&mut head.headers, new, about.ask.shape);
    }
    if is_held(&about, &head.headers) {
        return not_modified(exchange, head);
    }
    let Some(new) = rewritten.body else {
        passing.put_back(shape::frames(body, trailers));
        return as_it_is(exchange, head, passing, called, plan).await;
    };
    drop(passing);
    let made = MadeBody::new(new.clone(), trailers);
    let answer = Response::from_parts(head, ResponseBody::Made(made));
    let answer = made::deliver(answer, &new, exchange.version, exchange.tap.as_ref());
    match plan {
        Some(plan) => shape::slowed(exchange.conn, &plan, answer),
        None => answer,
    }
}

/// The agent's answer, for which nothing of ours is delivered.
async fn as_it_is(
    exchange: &Exchange<'_>,
    head: response::Parts,
    passing: Passing,
    called: &Called,
    plan: Option<Plan>,
) -> Response<ResponseBody> {
    if let Some(tap) = &exchange.tap {
        tap.stays();
    }
    exchange.give(head, passing, called, plan).await
}

/// The card at the origin, when the base path has none: that is where most agents keep it.
async fn at_origin(
    exchange: &Exchange<'_>,
    delivery: &Delivery<'_>,
    about: &About,
    status: StatusCode,
) -> Option<(response::Parts, Passing)> {
    let is_below = delivery.agent.config.forward.is_below_origin();
    if status != StatusCode::NOT_FOUND || about.ask.found != Found::Discovery || !is_below {
        return None;
    }
    let name =
        WELL_KNOWN.iter().find(|name| about.path.path().trim_end_matches('/').ends_with(*name))?;
    let path = PathAndQuery::from_static(name);
    if path.path() == about.path.path() {
        return None;
    }
    let outbound = exchange.outbound(about.parts.clone()?, path.clone());
    let answer = forward::forward(&exchange.upstream, outbound, &exchange.flow).await;
    let (response, carrier) = answer.ok()?;
    if response.status() == StatusCode::NOT_FOUND {
        // Nor has the origin: the client gets the answer to what it asked. This one is read to its end,
        // so that its connection can be used again.
        let (head, incoming) = response.into_parts();
        let unseen = Passing::unseen((incoming, head.version), carrier);
        drop(collect(unseen, exchange.conn.core.limits.card_bytes).await);
        return None;
    }
    if let Some(tap) = &exchange.tap {
        tap.edit(card::edit("card_location", ":path", about.path.as_str(), path.as_str()));
    }
    Some(exchange.answered(response, carrier))
}

/// The fields of the rewritten card: the agent's `HEAD` cannot tell them, so the card is fetched.
async fn head_answer(
    exchange: &Exchange<'_>,
    delivery: &Delivery<'_>,
    about: About,
    (mut head, passing): (response::Parts, Passing),
) -> Response<ResponseBody> {
    let max = exchange.conn.core.limits.card_bytes;
    let Some(mut parts) = about.parts.clone() else {
        return Response::from_parts(head, ResponseBody::Passing(passing));
    };
    parts.method = Method::GET;
    let outbound = exchange.outbound(parts, about.path.clone());
    let fetched = forward::forward(&exchange.upstream, outbound, &exchange.flow).await;
    if let Ok((response, carrier)) = fetched
        && response.status() == StatusCode::OK
    {
        let (card_head, incoming) = response.into_parts();
        let unseen = Passing::unseen((incoming, card_head.version), carrier);
        if let Collected::Whole { body, .. } = collect(unseen, max).await
            && let Some(new) =
                rewrite(delivery, &about.ask, &card_head.headers, &body, max).await.body
        {
            let had_length = head.headers.contains_key(CONTENT_LENGTH);
            shape::reframe(&mut head.headers, had_length.then_some(new.len()));
            mark_version(&mut head.headers, &new, about.ask.shape);
        }
    }
    if is_held(&about, &head.headers) {
        return not_modified(exchange, head);
    }
    Response::from_parts(head, ResponseBody::Passing(passing))
}

fn not_modified(exchange: &Exchange<'_>, mut head: response::Parts) -> Response<ResponseBody> {
    head.status = StatusCode::NOT_MODIFIED;
    head.extensions.remove::<hyper::ext::ReasonPhrase>();
    headers::remove(&mut head.headers, &[CONTENT_LENGTH]);
    let answer = Response::from_parts(head, ResponseBody::Made(MadeBody::default()));
    made::deliver(answer, &Bytes::new(), exchange.version, exchange.tap.as_ref())
}

/// An `ETag` for the octets that are delivered: the agent's names other ones. `Last-Modified` goes, for it
/// would let a client keep a card that was rewritten for another address.
fn mark_version(fields: &mut HeaderMap, body: &[u8], shape: CardShape) {
    match shape {
        CardShape::Json => {}
        CardShape::RpcResult | CardShape::Protobuf(_) => return,
    }
    headers::remove(fields, &[LAST_MODIFIED]);
    let digest = Sha256::digest(body);
    let short = digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    if let Ok(etag) = HeaderValue::try_from(format!("\"meddler-{short:016x}\"")) {
        fields.insert(ETAG, etag);
    }
}

/// Whether the client holds what would be delivered.
fn is_held(about: &About, headers: &HeaderMap) -> bool {
    let (Some(held), Some(etag)) = (&about.ask.if_none_match, headers.get(ETAG)) else {
        return false;
    };
    let weak = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let (Ok(held), Ok(etag)) = (held.to_str(), etag.to_str()) else { return false };
    held.trim() == "*" || held.split(',').any(|tag| weak(tag) == weak(etag))
}

/// The card in an answer, rewritten.
async fn rewrite(
    delivery: &Delivery<'_>,
    ask: &Ask,
    headers: &HeaderMap,
    body: &[u8],
    max: usize,
) -> Delivered {
    let plain = match ask.shape {
        CardShape::Json | CardShape::RpcResult => coding::undo(headers, body, max),
        CardShape::Protobuf(_) => message(headers, body, max),
    };
    let Some(plain) = plain else { return Delivered { body: None, edits: Vec::new() } };
    let keys = lookup::keys(delivery.agent, &plain, ask.shape, max).await;
    let mut delivered = card::deliver(delivery, keys.as_ref(), &plain, ask.shape);
    match ask.shape {
        CardShape::Json | CardShape::RpcResult => {}
        CardShape::Protobuf(_) => delivered.body = delivered.body.map(|body| prefixed(&body)),
    }
    delivered
}

/// The one message of a gRPC answer, its compression undone.
fn message(headers: &HeaderMap, body: &[u8], max: usize) -> Option<Vec<u8>> {
    let (prefix, rest) = body.split_first_chunk::<5>()?;
    let [flag, length @ ..] = prefix;
    let message = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    if message.len() != rest.len() {
        return None;
    }
    if *flag == 0 {
        return Some(message.to_vec());
    }
    let encoding = headers.get("grpc-encoding")?.to_str().ok()?;
    coding::inflate(&encoding.to_ascii_lowercase(), message, max)
}

fn prefixed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}
