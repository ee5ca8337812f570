//! What one exchange contributes to a delegation.

use jiff::Timestamp;

use super::Delegation;
use crate::a2a::call::Answer;
use crate::a2a::canonical;
use crate::a2a::fold::Folded;
use crate::a2a::model::{Operation, Reply, Request, SendMessage, StreamResponse};
use crate::base::id::ExchangeId;
use crate::record::decode::{self, Understood};
use crate::record::exchange::{Exchange, FaultVerdict, RecordedResponse};

/// Something that was said of a task or message, and when it arrived.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) at: Timestamp,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Reply(Reply),
    Event(StreamResponse),
}

/// The exchange that begins a delegation.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The delegation as its first exchange alone makes it.
    pub(super) delegation: Delegation,
    pub(super) said: Vec<Said>,
    /// The trace it belongs to.
    pub(super) trace: Option<String>,
    /// The parent that its baggage names.
    pub(super) named_parent: Option<ExchangeId>,
}

/// An exchange that may belong to a delegation that began before it.
#[derive(Clone, Debug)]
pub(super) struct Sequel {
    pub(super) id: ExchangeId,
    pub(super) agent: String,
    pub(super) task_id: String,
    pub(super) started: Timestamp,
    pub(super) said: Vec<Said>,
    pub(super) faults: Vec<String>,
}

/// What an exchange contributes.
pub(super) enum Part {
    Opening(Box<Opening>),
    Sequel(Sequel),
    /// Lists, cards, what is no A2A, what could not be read.
    Nothing,
}

impl Part {
    pub(super) fn of(exchange: &Exchange) -> Self {
        match exchange.operation {
            Operation::SendMessage | Operation::SendStreamingMessage => opening(exchange),
            Operation::GetTask
            | Operation::CancelTask
            | Operation::SubscribeToTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::PushNotification => sequel(exchange),
            Operation::ListTasks
            | Operation::GetExtendedAgentCard
            | Operation::AgentCard
            | Operation::Unknown => Self::Nothing,
        }
    }
}

impl Said {
    pub(super) fn tell(&self, folded: &mut Folded) {
        match &self.what {
            What::Reply(reply) => folded.reply(reply),
            What::Event(event) => folded.event(event),
        }
    }
}

fn opening(exchange: &Exchange) -> Part {
    let understood = decode::understand(exchange);
    let Some(send) = decode::sent_message(&understood.call) else { return Part::Nothing };
    if is_own_refusal(exchange) {
        return Part::Nothing;
    }
    let answer = exchange.delivered.as_ref().or(exchange.response.as_ref());
    let status = |response: &RecordedResponse| response.events.first().map(|mark| mark.at_us);
    let first_event_us = answer.and_then(status).or(exchange.timings.first_event_us);
    let delegation = Delegation {
        id: exchange.id,
        session: exchange.session.clone(),
        instance: exchange.instance,
        agent: exchange.agent.clone(),
        orchestrator: exchange.orchestrator.clone(),
        started: exchange.started,
        binding: exchange.binding,
        version: exchange.version,
        operation: exchange.operation,
        message_id: exchange.ids.message_id.clone(),
        context_id: exchange.ids.context_id.clone(),
        task_id: exchange.ids.task_id.clone(),
        text: send.message.text(),
        state: None,
        states: Vec::new(),
        outcome: exchange.outcome,
        faults: fired(exchange),
        retry_of: None,
        parent: None,
        duration_ms: exchange.timings.end_us.map(milliseconds),
        first_event_ms: first_event_us.map(milliseconds),
        exchanges: vec![exchange.id],
        message: Some(canonical::message(&send.message)),
        reply: None,
        reply_text: String::new(),
        events: Vec::new(),
        skill: skill(send),
    };
    let mut said = said(exchange, &understood);
    let error = understood.seen().and_then(|answer| answer.error.clone());
    if let Some(error) = error.filter(|_| said.is_empty()) {
        said.push(Said { at: ended(exchange), what: What::Reply(Reply::Error(error)) });
    }
    Part::Opening(Box::new(Opening {
        delegation,
        said,
        trace: trace(exchange),
        named_parent: baggage(exchange, "meddler.parent").and_then(|id| id.parse().ok()),
    }))
}

fn sequel(exchange: &Exchange) -> Part {
    let Some(task_id) = exchange.ids.task_id.clone().filter(|id| !id.is_empty()) else {
        return Part::Nothing;
    };
    let understood = decode::understand(exchange);
    let mut said = said(exchange, &understood);
    // What a poll could not find out is no answer to the message.
    said.retain(|said| match &said.what {
        What::Reply(Reply::Task(_) | Reply::Message(_)) | What::Event(_) => true,
        What::Reply(
            Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_)
            | Reply::Error(_),
        ) => false,
    });
    if let Some(Request::PushNotification(event)) = understood.call.request {
        said.push(Said { at: exchange.started, what: What::Event(event) });
    }
    Part::Sequel(Sequel {
        id: exchange.id,
        agent: exchange.agent.clone(),
        task_id,
        started: exchange.started,
        said,
        faults: fired(exchange),
    })
}

/// What the orchestrator was told, each with the time it arrived.
fn said(exchange: &Exchange, understood: &Understood) -> Vec<Said> {
    let Some(answer) = understood.seen() else { return Vec::new() };
    let response = exchange.delivered.as_ref().or(exchange.response.as_ref());
    let marks = response.map_or(&[][..], |response| &response.events);
    let mut said = Vec::new();
    if let Some(reply) = &answer.reply {
        said.push(Said { at: ended(exchange), what: What::Reply(reply.clone()) });
    }
    for (event, start) in events(answer) {
        let mark = marks.iter().find(|mark| mark.start == start);
        let at = mark.map_or(exchange.started, |mark| after(exchange.started, mark.at_us));
        said.push(Said { at, what: What::Event(event.clone()) });
    }
    said
}

fn events(answer: &Answer) -> impl Iterator<Item = (&StreamResponse, u64)> {
    answer.events.iter().filter_map(|event| Some((event.event.as_ref()?, event.start)))
}

/// A scripted agent's own 401, or a request that Meddler turned away: nobody was asked, no rule answered.
fn is_own_refusal(exchange: &Exchange) -> bool {
    let has_fired = exchange.faults.iter().any(|fault| fault.verdict == FaultVerdict::Fired);
    let answer = exchange.delivered.as_ref().or(exchange.response.as_ref());
    let is_refusal = |answer: &RecordedResponse| {
        let mut errors = answer.headers.iter().filter(|(name, _)| name == "meddler-error");
        answer.status == 401 || errors.any(|(_, word)| word == "refused")
    };
    exchange.upstream.is_none() && !has_fired && answer.is_some_and(is_refusal)
}

pub(super) fn fired(exchange: &Exchange) -> Vec<String> {
    let fired = exchange.faults.iter().filter(|fault| fault.verdict == FaultVerdict::Fired);
    fired.map(|fault| fault.rule.clone()).collect()
}

/// The skill that the metadata of message or request names.
fn skill(send: &SendMessage) -> Option<String> {
    let metadata = [&send.message.metadata, &send.metadata];
    let mut values = metadata.into_iter().flatten().flat_map(|metadata| {
        ["skill", "skillId", "skill_id"].iter().filter_map(|name| metadata.get(*name)?.as_str())
    });
    values.next().map(str::to_owned)
}

/// The trace id of `traceparent` (W3C Trace Context: `00-TRACE-SPAN-FLAGS`).
fn trace(exchange: &Exchange) -> Option<String> {
    let value = header(exchange, "traceparent")?;
    let trace = value.trim().split('-').nth(1)?;
    let is_trace = trace.len() == 32 && trace.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_trace.then(|| trace.to_ascii_lowercase())
}

/// A member of the `baggage` field.
fn baggage<'a>(exchange: &'a Exchange, wanted: &str) -> Option<&'a str> {
    let members = header(exchange, "baggage")?.split(',');
    let mut pairs = members.filter_map(|member| member.split(';').next()?.split_once('='));
    pairs.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
}

fn header<'a>(exchange: &'a Exchange, wanted: &str) -> Option<&'a str> {
    let mut fields = exchange.request.headers.iter();
    fields.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
}

fn ended(exchange: &Exchange) -> Timestamp {
    let timings = &exchange.timings;
    let us = timings.end_us.or(timings.head_us).unwrap_or(0);
    after(exchange.started, us)
}

fn after(start: Timestamp, us: u64) -> Timestamp {
    let us = i64::try_from(us).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(start.as_microsecond().saturating_add(us)).unwrap_or(start)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
fn milliseconds(us: u64) -> f64 {
    us as f64 / 1000.0
}
