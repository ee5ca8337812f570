//! Answers that repeat a webhook's address: the orchestrator sees its own.
//!
//! Held until they are whole, so only those that may have one: what tells of configs, what answers a
//! registration, and short answers of an agent that has been given an address. Events of a stream pass.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, response};

use crate::a2a::call::{self, Call, Recognized, WireView};
use crate::a2a::model::Operation;
use crate::a2a::webhook::{self, Known};
use crate::proxy::body::{MadeBody, ResponseBody};
use crate::proxy::called::Called;
use crate::proxy::collect::{Collected, collect};
use crate::proxy::exchange::Exchange;
use crate::proxy::judge::Plan;
use crate::proxy::made;
use crate::proxy::passing::Passing;
use crate::proxy::push::register::Pushed;
use crate::proxy::push::token::Token;
use crate::proxy::rewrite::card::edit;
use crate::proxy::rewrite::coding;
use crate::proxy::shape;

impl Pushed {
    /// Whether an answer with this head may repeat an address of ours.
    pub(in crate::proxy) fn may_be_shown(
        &self,
        exchange: &Exchange<'_>,
        head: &response::Parts,
        passing: &Passing,
    ) -> bool {
        let Recognized { binding, operation, .. } = self.recognized;
        let operation = operation.unwrap_or_default();
        let is_short = || {
            let max = exchange.conn.core.limits.peek_bytes as u64;
            let len = http_body::Body::size_hint(passing).exact();
            len.is_some_and(|len| len > 0 && len <= max)
        };
        let may_repeat = || {
            operation != Operation::AgentCard
                && exchange.conn.core.webhooks.has_any(&exchange.conn.agent.name)
                && is_short()
        };
        let is_expected = webhook::is_told_by(operation) || !self.tokens.is_empty();
        if binding.is_none() || !may_have_text(&head.headers) || !(is_expected || may_repeat()) {
            return false;
        }
        let call = Call { binding, operation, ..Call::default() };
        call::stream_splitter(&call, &head.headers).is_none()
    }
}

fn may_have_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    kind.windows(4).any(|word| matches!(word, b"json" | b"grpc"))
}

/// Gives out an answer that may repeat addresses of ours.
pub(in crate::proxy) async fn show(
    exchange: &Exchange<'_>,
    called: &Called,
    pushed: Pushed,
    (mut head, passing): (response::Parts, Passing),
    plan: Option<Plan>,
) -> Response<ResponseBody> {
    let limits = &exchange.conn.core.limits;
    if let Some(tap) = &exchange.tap {
        tap.may_change();
    }
    let (body, trailers, mut passing) = match collect(passing, limits.peek_bytes).await {
        Collected::Whole { body, trailers, passing } => (body, trailers, passing),
        Collected::TooLong(passing) | Collected::Broken(passing) => {
            return exchange.give(head, passing, called, plan).await;
        }
    };
    let inflated = coding::undo(&head.headers, &body, limits.inflated_bytes);
    let restored = inflated.and_then(|inflated| {
        let (status, headers) = (head.status, &head.headers);
        let wire = WireView { status, headers, body: &inflated, trailers: trailers.as_ref() };
        bind(exchange, &pushed, wire);
        restore(exchange, &pushed, wire)
    });
    let Some(new) = restored.map(Bytes::from) else {
        passing.put_back(shape::frames(body, trailers));
        return exchange.give(head, passing, called, plan).await;
    };
    drop(passing);
    shape::reframe(&mut head.headers, trailers.is_none().then_some(new.len()));
    let made = MadeBody::new(new.clone(), trailers);
    let answer = Response::from_parts(head, ResponseBody::Made(made));
    let answer = made::deliver(answer, &new, exchange.version, exchange.tap.as_ref());
    let Some(mut plan) = plan else { return answer };
    let why = "the answer repeats the address of a webhook";
    shape::refuse_edits(&mut plan, why, exchange.tap.as_ref());
    shape::wait(std::mem::take(&mut plan.before_head)).await;
    shape::slowed(exchange.conn, &plan, answer)
}

/// Puts the orchestrator's own addresses back.
fn restore(exchange: &Exchange<'_>, pushed: &Pushed, wire: WireView<'_>) -> Option<Vec<u8>> {
    let webhooks = &exchange.conn.core.webhooks;
    let mut shown: Vec<Known> = Vec::new();
    let restored = webhook::restore(&pushed.recognized, wire, &mut |token| {
        let known = webhooks.find(&Token::parse(token)?)?.known;
        if !shown.contains(&known) {
            shown.push(known.clone());
        }
        Some(known)
    })?;
    for Known { given, own } in shown {
        exchange.record_edit(edit("webhook", "answer", &given, &own));
    }
    Some(restored)
}

/// Notes the task that a send was answered with: its webhook's deliveries belong to that.
fn bind(exchange: &Exchange<'_>, pushed: &Pushed, wire: WireView<'_>) {
    let Some(call) = &pushed.call else { return };
    let Some(task) = call::read_answer(call, wire).ids.task_id else { return };
    let core = &exchange.conn.core;
    for change in pushed.tokens.iter().filter_map(|token| core.webhooks.bind(token, &task)) {
        drop(core.tasks.spawn(core.webhooks.clone().keep_later(change)));
    }
}
