//! A request that registers a webhook: read ahead, and sent on with an address of ours in it.

use std::sync::LazyLock;

use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use http::request::Parts;
use memchr::memmem::Finder;
use tracing::{debug, warn};

use crate::a2a::call::{self, Call, Head, Recognized};
use crate::a2a::detect;
use crate::a2a::model::Operation;
use crate::a2a::webhook::{self, Known, Webhook};
use crate::proxy::called::Called;
use crate::proxy::exchange::Exchange;
use crate::proxy::flow::ReadAhead;
use crate::proxy::headers;
use crate::proxy::push::config::PushMode;
use crate::proxy::push::target::Target;
use crate::proxy::push::token::Token;
use crate::proxy::push::webhooks::Registering;
use crate::proxy::rewrite::card::edit;
use crate::proxy::rewrite::coding;

/// What every registration in JSON has, in either spelling.
static SIGN: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"otification"));
/// The sign of letters that are written as numbers.
static ESCAPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// Fields that are true of the octets that came, and of no others.
static OF_THE_OLD_BODY: [HeaderName; 5] = [
    CONTENT_ENCODING,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// What is known of a request, and what became of its webhooks: what its answer is looked at for.
#[derive(Debug, Default)]
pub(in crate::proxy) struct Pushed {
    /// What was recognized, if webhooks matter to it at all.
    pub(super) recognized: Recognized,
    /// The request, when it registered one.
    pub(super) call: Option<Call>,
    /// The addresses that were given.
    pub(super) tokens: Vec<Token>,
}

/// A webhook on its way into the request.
struct Giving {
    webhook: Webhook,
    token: Token,
    target: Target,
    known: Known,
    /// Where deliveries go, when the webhook is an address of ours already.
    leads_to: Option<String>,
}

/// Gives the webhooks of a request addresses of ours.
pub(in crate::proxy) async fn register(
    exchange: &Exchange<'_>,
    called: &Called,
    parts: &mut Parts,
) -> Pushed {
    let agent = &exchange.conn.agent;
    let webhooks = &exchange.conn.core.webhooks;
    let mode = agent.config.push.unwrap_or(webhooks.config().mode);
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let mut recognized = detect::recognize(head);
    if mode == PushMode::Pass || recognized.binding.is_none() {
        return Pushed::default();
    }
    let Some(read) = read_ahead(exchange, &mut recognized, head.headers).await else {
        return Pushed { recognized, ..Pushed::default() };
    };
    // Apart, because few requests come this far, and all of them carry the state of what may come.
    Box::pin(rewrite(exchange, called, parts, recognized, read)).await
}

/// Gives addresses of ours to the webhooks in a request that was read ahead.
async fn rewrite(
    exchange: &Exchange<'_>,
    called: &Called,
    parts: &mut Parts,
    recognized: Recognized,
    read: ReadAhead,
) -> Pushed {
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let max = exchange.conn.core.limits.inflated_bytes;
    let plain = coding::undo(head.headers, &read.octets, max);
    let found = match (&plain, read.is_whole) {
        (Some(plain), true) => webhook::registered(head, &recognized, plain),
        (Some(_) | None, _) => Vec::new(),
    };
    let Some(plain) = plain.filter(|_| !found.is_empty()) else {
        if !read.is_whole {
            let max = exchange.conn.core.limits.peek_bytes;
            let why = format!("the request is longer than the {max} octets that are read ahead");
            not_intercepted(exchange, parts, "$", "", &why);
        }
        return Pushed { recognized, ..Pushed::default() };
    };
    let call = call::read_call(head, &recognized, &plain);
    let given = give(exchange, called, parts, &call, found).await;
    if given.is_empty() {
        return Pushed { recognized, ..Pushed::default() };
    }
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let changed = webhook::register(head, &recognized, &plain, &mut |webhook| {
        let giving = given.iter().find(|giving| giving.webhook == *webhook)?;
        Some(giving.known.given.clone())
    });
    if let Some(changed) = changed {
        replace(exchange, &mut parts.headers, changed);
    }
    let tokens = given.into_iter().map(|giving| giving.token).collect();
    Pushed { recognized, call: Some(call), tokens }
}

/// Reads a request that may register a webhook, whole if it does not turn out to be another.
async fn read_ahead(
    exchange: &Exchange<'_>,
    recognized: &mut Recognized,
    headers: &HeaderMap,
) -> Option<ReadAhead> {
    let max = exchange.conn.core.limits.peek_bytes;
    let is_candidate =
        |operation: Option<Operation>| operation.is_none_or(webhook::is_registered_by);
    if !is_candidate(recognized.operation) || !headers.contains_key(CONTENT_TYPE) {
        return None;
    }
    let is_plain = !headers.contains_key(CONTENT_ENCODING);
    let is_known = recognized.operation.is_some();
    let is_another = |seen: &[u8]| {
        is_plain && !is_known && !is_candidate(call::peek_method(seen).map(|(it, _)| it))
    };
    // A request that breaks off does so again when it is sent on.
    let read = exchange.flow.read_ahead(max, is_another).await.ok()?;
    if !is_known {
        let inflated = (!is_plain)
            .then(|| coding::undo(headers, &read.octets, exchange.conn.core.limits.inflated_bytes));
        let method = call::peek_method(inflated.flatten().as_deref().unwrap_or(&read.octets));
        recognized.operation = method.map(|(operation, _)| operation);
    }
    let is_batch = || read.octets.trim_ascii_start().starts_with(b"[");
    let may_register = match recognized.operation {
        Some(operation) if operation.is_send() => may_register(&read.octets, headers),
        Some(operation) => webhook::is_registered_by(operation),
        None => is_batch() && may_register(&read.octets, headers),
    };
    may_register.then_some(read)
}

/// A cheap search: most sends register nothing.
fn may_register(octets: &[u8], headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let is_json = kind.windows(4).any(|word| word == b"json");
    let is_text = is_json && !headers.contains_key(CONTENT_ENCODING);
    let has_escape = || memchr::memchr(b'\\', octets).is_some() && ESCAPE.find(octets).is_some();
    !is_text || SIGN.find(octets).is_some() || has_escape()
}

/// Registers what can be, and records it.
async fn give(
    exchange: &Exchange<'_>,
    called: &Called,
    parts: &Parts,
    call: &Call,
    found: Vec<Webhook>,
) -> Vec<Giving> {
    let webhooks = &exchange.conn.core.webhooks;
    let agent = &exchange.conn.agent.name;
    let base = called.base(exchange.conn);
    let mut given: Vec<Giving> = Vec::with_capacity(found.len());
    for webhook in found {
        // An address of ours that an agent passes on leads where its webhook leads.
        let ours = token_of(&webhook.url).and_then(|token| webhooks.find(&token));
        let leads_to = ours.filter(|it| it.known.given == webhook.url).map(|it| it.target);
        let target = Target::parse(leads_to.as_deref().unwrap_or(&webhook.url));
        let Some(target) = target else {
            not_intercepted(
                exchange,
                parts,
                &webhook.at,
                &webhook.url,
                "it is no address that can be called",
            );
            continue;
        };
        if !webhooks.config().may_name(&target.to.authority) {
            let why = format!("deliveries to {} are not allowed; see `push:`", target.to);
            not_intercepted(exchange, parts, &webhook.at, &webhook.url, &why);
            continue;
        }
        let token = Token::draw();
        let known = Known { given: target.given(&base, &token), own: webhook.url.clone() };
        given.push(Giving { webhook, token, target, known, leads_to });
    }
    if given.is_empty() {
        return given;
    }
    let all = given.iter().map(|giving| Registering {
        agent,
        token: giving.token.clone(),
        given: giving.known.given.clone(),
        own: giving.known.own.clone(),
        target: giving.leads_to.clone(),
        task: call.ids.task_id.clone().filter(|task| !task.is_empty()),
        notification_token: giving.webhook.token.as_deref(),
    });
    if let Err(why) = webhooks.register(all.collect()).await {
        for giving in &given {
            not_intercepted(exchange, parts, &giving.webhook.at, &giving.known.own, &why);
        }
        return Vec::new();
    }
    for Giving { webhook, known, target, .. } in &given {
        debug!(agent = %agent, to = %target.to, "a webhook is registered");
        exchange.record_edit(edit("webhook", &webhook.at, &known.own, &known.given));
    }
    given
}

/// The token of an address of ours.
pub(super) fn token_of(url: &str) -> Option<Token> {
    let (_, token) = url.rsplit_once(webhook::PATH)?;
    Token::parse(token)
}

/// Sends another body in the place of the one that came. It has no content coding: what is compressed
/// anew would be other octets as well. Digests of the old one go.
fn replace(exchange: &Exchange<'_>, fields: &mut HeaderMap, body: Vec<u8>) {
    for name in &OF_THE_OLD_BODY {
        for value in fields.get_all(name) {
            let value = String::from_utf8_lossy(value.as_bytes());
            exchange.record_edit(edit("header", name.as_str(), &value, ""));
        }
    }
    headers::remove(fields, &OF_THE_OLD_BODY);
    if fields.contains_key(CONTENT_LENGTH) {
        fields.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    exchange.flow.replace(body.into());
}

/// Lets a webhook pass as it is, and tells.
fn not_intercepted(exchange: &Exchange<'_>, parts: &Parts, at: &str, url: &str, why: &str) {
    let core = &exchange.conn.core;
    let agent = &exchange.conn.agent.name;
    warn!(agent = %agent, at, why, "a webhook is not intercepted: deliveries go past Meddler");
    let text = format!("{agent}: the webhook at {at} passed as it is: {why}");
    core.webhooks.tell_not_intercepted(agent, &core.session_of(&parts.headers), &text);
    exchange.record_edit(edit("webhook_not_intercepted", at, url, url));
}
