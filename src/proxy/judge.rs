//! Asks the rules about an exchange, reading ahead only as far as they need, and sorts what they say
//! into a plan.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use tracing::info;

use crate::a2a::call::{self, Call, Head, Recognized};
use crate::a2a::edit::Insertion;
use crate::fault::facts::Facts;
use crate::fault::rule::RuleSet;
use crate::fault::verdict::{Became, Effect, Judgement, Made, Moment, Note, Start};
use crate::proxy::error::BodyError;
use crate::proxy::exchange::Connection;
use crate::proxy::flow::{Flow, ReadAhead};
use crate::proxy::rewrite::coding;
use crate::proxy::route;
use crate::record::exchange::{FaultRecord, FaultVerdict};
use crate::record::tap::ExchangeTap;

/// What is to be done to one exchange.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The request as understood: what answers are written for.
    pub(super) call: Call,
    /// Before the request goes on.
    pub(super) before_request: Duration,
    /// Before the head of the answer.
    pub(super) before_head: Duration,
    /// Before events of a stream: before each, or before the one with this number.
    pub(super) before_events: Vec<(Option<u64>, Duration)>,
    /// Before the end of the answer.
    pub(super) before_end: Duration,
    /// Octets a second.
    pub(super) rate: Option<u64>,
    /// An answer in the agent's place.
    pub(super) answer: Option<Answer>,
    /// What is put into the agent's answer.
    pub(super) insertions: Vec<Insert>,
}

/// An answer in the agent's place, from somewhere on.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) note: Note,
    pub(super) with: Made,
    pub(super) from: Start,
    pub(super) mark: Mark,
}

/// Something to be put into an answer.
#[derive(Debug)]
pub(super) struct Insert {
    pub(super) note: Note,
    pub(super) insertion: Insertion,
    pub(super) event: Option<u64>,
    pub(super) mark: Mark,
}

/// Whether an answer says which rule it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Shown,
    Hidden,
}

impl Plan {
    /// Whether the answer's body must be worked on as it passes.
    pub(super) fn touches_body(&self) -> bool {
        !self.before_events.is_empty()
            || !self.before_end.is_zero()
            || self.rate.is_some()
            || self.answer.is_some()
            || !self.insertions.is_empty()
    }

    /// Whether the agent's answer must not be compressed, because it is edited or counted.
    pub(super) fn needs_plain_answer(&self) -> bool {
        !self.insertions.is_empty() || self.answer.is_some() || !self.before_events.is_empty()
    }
}

/// Asks the rules. `None`: they want nothing, the exchange passes.
pub(super) async fn judge(
    conn: &Connection,
    rules: &RuleSet,
    parts: &Parts,
    flow: &Arc<Flow>,
    tap: Option<&ExchangeTap>,
) -> Result<Option<Plan>, BodyError> {
    let agent = &conn.agent;
    let head = Head { method: &parts.method, uri: &parts.uri, headers: &parts.headers };
    let mut recognized = route::recognize(head);
    let needs = rules.needs(&agent.name);
    let mut read = None;
    if needs.body || (needs.operation && recognized.operation.is_none()) {
        read = Some(read_ahead(conn, flow, needs.body).await?);
    }
    let call = understand(conn, head, &mut recognized, read.as_ref());
    let session = conn.core.session_of(&parts.headers);
    let facts = Facts {
        agent: &agent.name,
        session: &session,
        orchestrator: &conn.orchestrator,
        headers: &parts.headers,
        call: &call,
        body_is_read: read.as_ref().is_some_and(|read| read.is_whole),
    };
    let judgement = rules.judge(&facts);
    if judgement.effects.is_empty() {
        record_all(&judgement.notes, tap);
        return Ok(None);
    }
    let mut plan = sort(judgement, tap);
    plan.call = call;
    if plan.needs_plain_answer() && !read.as_ref().is_some_and(|read| read.is_whole) {
        // Answers carry the request's id and context, which stand in its body.
        let read = read_ahead(conn, flow, true).await?;
        plan.call = understand(conn, head, &mut recognized, Some(&read));
    }
    Ok(Some(plan))
}

async fn read_ahead(
    conn: &Connection,
    flow: &Arc<Flow>,
    whole: bool,
) -> Result<ReadAhead, BodyError> {
    let max = conn.core.limits.peek_bytes;
    flow.read_ahead(max, |seen| !whole && call::peek_method(seen).is_some()).await
}

/// The call as far as it is known: from the head, from the method that has gone by, or whole.
fn understand(
    conn: &Connection,
    head: Head<'_>,
    recognized: &mut Recognized,
    read: Option<&ReadAhead>,
) -> Call {
    let Some(read) = read else { return call::call_of_head(recognized) };
    let max = conn.core.limits.inflated_bytes;
    let plain = coding::undo(head.headers, &read.octets, max);
    let octets = plain.as_deref().unwrap_or(&read.octets);
    if read.is_whole {
        return call::read_call(head, recognized, octets);
    }
    if let Some((operation, version)) = call::peek_method(octets) {
        recognized.operation = Some(operation);
        recognized.version = version;
        return Call { rpc_id: call::peek_rpc_id(octets), ..call::call_of_head(recognized) };
    }
    call::call_of_head(recognized)
}

fn sort(judgement: Judgement, tap: Option<&ExchangeTap>) -> Plan {
    let Judgement { effects, notes } = judgement;
    let mut plan = Plan::default();
    let mut is_open = vec![false; notes.len()];
    for effect in effects {
        match effect {
            Effect::Delay { at, wait } => match at {
                Moment::Request => plan.before_request += wait,
                Moment::FirstByte => plan.before_head += wait,
                Moment::Event(number) => plan.before_events.push((number, wait)),
                Moment::End => plan.before_end += wait,
            },
            Effect::Throttle { bytes_per_second } => {
                let slowest = plan.rate.map_or(bytes_per_second, |rate| rate.min(bytes_per_second));
                plan.rate = Some(slowest.max(1));
            }
            Effect::Answer { note, with, from, mark } => {
                let Some(about) = notes.get(note) else { continue };
                if let Some(open) = is_open.get_mut(note) {
                    *open = true;
                }
                let (note, mark) = (about.clone(), mark_of(mark));
                plan.answer = Some(Answer { note, with, from, mark });
            }
            Effect::Insert { note, insertion, event, mark } => {
                let Some(about) = notes.get(note) else { continue };
                if let Some(open) = is_open.get_mut(note) {
                    *open = true;
                }
                let (note, mark) = (about.clone(), mark_of(mark));
                plan.insertions.push(Insert { note, insertion, event, mark });
            }
        }
    }
    // What was only planned is recorded when it has been done, or could not be.
    for (note, is_open) in notes.iter().zip(is_open) {
        if !is_open {
            record(note, tap);
        }
    }
    plan
}

fn mark_of(mark: bool) -> Mark {
    if mark { Mark::Shown } else { Mark::Hidden }
}

fn record_all(notes: &[Note], tap: Option<&ExchangeTap>) {
    for note in notes {
        record(note, tap);
    }
}

/// Records what became of a rule.
pub(super) fn record(note: &Note, tap: Option<&ExchangeTap>) {
    let verdict = match note.became {
        Became::Fired => FaultVerdict::Fired,
        Became::Passed => FaultVerdict::Passed,
        Became::Shadowed => FaultVerdict::Shadowed,
        Became::NotApplicable => FaultVerdict::NotApplicable,
    };
    record_as(note, verdict, &note.text, tap);
}

/// Records that a rule's fault could not be applied to what came.
pub(super) fn record_not_applicable(note: &Note, why: &str, tap: Option<&ExchangeTap>) {
    record_as(note, FaultVerdict::NotApplicable, why, tap);
}

fn record_as(note: &Note, verdict: FaultVerdict, text: &str, tap: Option<&ExchangeTap>) {
    if verdict == FaultVerdict::Fired {
        info!(rule = %note.rule, kind = note.kind, "a fault rule fired");
    }
    let Some(tap) = tap else { return };
    tap.fault(FaultRecord {
        rule: note.rule.clone(),
        kind: note.kind.to_owned(),
        verdict,
        n: note.n,
        seed: note.seed,
        draw: note.draw,
        canary: note.canary.clone(),
        note: text.to_owned(),
    });
}
