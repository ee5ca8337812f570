//! A delivery: the agent calls, the orchestrator's webhook is called, and the exchange is recorded and
//! open to rules like any other. What passes is what was sent, `Host` apart.

use std::sync::Arc;

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Response, StatusCode, Version};
use hyper::body::Incoming;
use tracing::debug;

use crate::a2a::problem::Problem;
use crate::a2a::webhook;
use crate::net::addr::Scheme;
use crate::net::tls::Alpn;
use crate::proxy::agent::Upstream;
use crate::proxy::answer::{self, Clothes};
use crate::proxy::body::ResponseBody;
use crate::proxy::exchange::{Came, Connection, Exchange, Waiting, begin};
use crate::proxy::flow::{Flow, Look};
use crate::proxy::forward::{self, Outbound};
use crate::proxy::headers;
use crate::proxy::judge;
use crate::proxy::made;
use crate::proxy::push::target::Target;
use crate::proxy::push::token::Token;
use crate::proxy::push::webhooks::{Compared, Registered};
use crate::proxy::rewrite::card::edit;
use crate::record::tap::ExchangeTap;

const NOTIFICATION_TOKEN: &str = "x-a2a-notification-token";

/// What the agent is told whose address leads nowhere.
const UNKNOWN: &str = "no webhook is registered at this address: it was never given out by this Meddler, \
     or has not been used for so long that it was forgotten";

/// Passes a delivery on, and its answer back.
pub(in crate::proxy) async fn deliver(
    conn: Arc<Connection>,
    parts: Parts,
    incoming: Incoming,
    came: Came,
) -> Response<ResponseBody> {
    let (wire, version) = (Arc::clone(&conn.wire), parts.version);
    let known = parts.uri.path().strip_prefix(webhook::PATH).and_then(Token::parse);
    let known = known.and_then(|token| Some((conn.core.webhooks.find(&token)?, token)));
    let way = known.as_ref().and_then(|(registered, _)| way(&conn, &parts, registered));
    let upstream = way.as_ref().map(|(upstream, _)| upstream);
    let tap = begin(&conn, &parts, (upstream, None), &came);
    let flow = Flow::new(incoming, version, Look::Away, tap.clone(), Arc::clone(&wire));
    let mut waiting = Waiting { tap: tap.clone(), wire };
    let answer = match (known, way) {
        (Some((registered, token)), Some((upstream, path))) => {
            note(&conn, &parts, (&registered, &token), tap.as_ref());
            let clothes = Clothes::Http;
            let asked = path.clone();
            let exchange =
                Exchange { conn: &conn, flow, tap, upstream, path: asked, version, clothes };
            pass_on(exchange, parts, path).await
        }
        (Some(_) | None, _) => refuse(&conn, &flow, version, tap.as_ref()).await,
    };
    waiting.tap = None;
    answer
}

/// Where a delivery goes.
fn way(
    conn: &Connection,
    parts: &Parts,
    registered: &Registered,
) -> Option<(Upstream, PathAndQuery)> {
    let target = Target::parse(&registered.target)?;
    Some((conn.core.receivers.upstream(&target.to)?, target.path(parts.uri.query())?))
}

/// Records what is known of a delivery beside its octets.
fn note(
    conn: &Connection,
    parts: &Parts,
    (registered, token): (&Registered, &Token),
    tap: Option<&ExchangeTap>,
) {
    let core = &conn.core;
    if let Some(change) = core.webhooks.touch(token) {
        drop(core.tasks.spawn(core.webhooks.clone().keep_later(change)));
    }
    let Some(tap) = tap else { return };
    tap.edit(edit("webhook", ":path", parts.uri.path(), &registered.target));
    if let Some(task) = &registered.task {
        tap.task(task);
    }
    let sent = parts.headers.get(NOTIFICATION_TOKEN).map(http::HeaderValue::as_bytes);
    let (name, text) = match registered.compare(token, sent) {
        Compared::Fine => return,
        Compared::Missing => {
            ("push_token_missing", "the config has a token, and the delivery does not carry it")
        }
        Compared::Different => {
            ("push_token_wrong", "the delivery carries another token than the config has")
        }
    };
    tap.problem(Problem::new(name, NOTIFICATION_TOKEN, text));
}

/// Nothing is read of it but what tells the recording what it was.
async fn refuse(
    conn: &Connection,
    flow: &Arc<Flow>,
    version: Version,
    tap: Option<&ExchangeTap>,
) -> Response<ResponseBody> {
    debug!(agent = %conn.agent.name, "a delivery to an address that leads nowhere");
    if tap.is_some() {
        flow.hear_out(conn.core.limits.peek_bytes).await;
    }
    flow.answered();
    let answer = answer::refusal(Clothes::Http, StatusCode::NOT_FOUND, UNKNOWN);
    let body = match answer.body() {
        ResponseBody::Made(made) => made.data(),
        ResponseBody::Passing(_) | ResponseBody::Worked(_) => bytes::Bytes::new(),
    };
    made::deliver(answer, &body, version, tap)
}

/// The pipeline of a delivery: judge, forward, return.
async fn pass_on(
    mut exchange: Exchange<'_>,
    mut parts: Parts,
    path: PathAndQuery,
) -> Response<ResponseBody> {
    let conn = Arc::clone(exchange.conn);
    // It may come from another port of ours, if one agent stands behind another; but it cannot come
    // round, because a webhook is registered before the address that stands for it is drawn.
    let mut plan = None;
    if let Some(rules) = conn.core.rules.current() {
        let judging = judge::judge(&conn, &rules, &parts, &exchange.flow, exchange.tap.as_ref());
        match Box::pin(judging).await {
            Ok(found) => plan = found,
            Err(_) => return exchange.client_left(),
        }
    }
    if let Some(plan) = &mut plan
        && let Some(answer) = Box::pin(exchange.before(plan)).await
    {
        return answer;
    }
    strip(&exchange, &mut parts);
    let alpn = match exchange.version {
        Version::HTTP_2 => Alpn::Either,
        _ => Alpn::Http1,
    };
    let wire = Arc::clone(&conn.wire);
    let outbound = Outbound { parts, path, alpn, first_byte: None, may_upgrade: false, wire };
    match forward::forward(&exchange.upstream, outbound, &exchange.flow).await {
        Ok((response, carrier)) => {
            let (head, passing) = exchange.answered(response, carrier);
            exchange.hand_on(head, passing, plan).await
        }
        Err(_) if exchange.flow.has_failed() => exchange.client_left(),
        Err(trouble) => {
            if exchange.tap.is_some() {
                exchange.flow.hear_out(conn.core.limits.peek_bytes).await;
            }
            exchange.trouble(&trouble)
        }
    }
}

/// Takes off what belongs to the agent's connection. Nothing is added: the agent's own credentials in
/// `headers:` are none of the webhook's business.
fn strip(exchange: &Exchange<'_>, parts: &mut Parts) {
    let to = match exchange.upstream.destination().scheme {
        Scheme::Https => Version::HTTP_2,
        Scheme::Http => Version::HTTP_11,
    };
    for (name, value) in headers::strip(&mut parts.headers, to) {
        let value = String::from_utf8_lossy(value.as_bytes());
        exchange.record_edit(edit("header", name.as_str(), &value, ""));
    }
}
