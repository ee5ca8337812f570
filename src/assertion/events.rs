//! Events: what happened in a recording, by name. One row each in [`EVENTS`].
//!
//! Most are derived from delegations and exchanges when they are asked for; a few only the recorder can
//! know, and those it wrote down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::compare::Bounds;
use super::finding::{Evidence, Finding};
use super::lint::{asks_for_credentials, has_credentials};
use super::on::Sees;
use super::path::Place;
use super::predicate::{self, Predicate};
use super::quote::{self, plural};
use super::reader::{Fields, Reader, Shown};
use super::view::RunView;
use super::yaml::{Node, Yaml};
use super::{canaries, cards};
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::model::{AgentCard, Operation};
use crate::record::delegation::Delegation;
use crate::record::exchange::{Exchange, FaultVerdict, Outcome};

/// One event's name and what it means.
pub struct EventRow {
    /// Its name.
    pub name: &'static str,
    /// When it happens.
    pub definition: &'static str,
    /// What `where:` may ask of it, besides `agent`.
    pub fields: &'static [&'static str],
    find: fn(&'static str, &RunView<'_>) -> Vec<Happened>,
}

/// The events, by name.
#[rustfmt::skip]
pub const EVENTS: &[EventRow] = &[
    row("auth_missing", "a request carried no credentials though the agent's card asks for some", &["operation"], auth_missing),
    row("canary_seen", "a request carried the canary of an attack that was injected before", &["canary"], canary_seen),
    row("card", "a card was fetched at a well-known address", &["skills"], cards_fetched),
    row("card_changed", "an agent's card differs from the one it gave before", &["text"], recorded),
    row("card_extended", "an extended card was given", &["binding", "version"], |_, view| exchanges(view, |exchange| exchange.operation == Operation::GetExtendedAgentCard && exchange.outcome == Outcome::Completed)),
    row("card_missing", "an agent's card was asked for and never given", &["status"], cards_missing),
    row("delegated", "the orchestrator sent a message", &["operation", "binding", "version", "skill"], delegated),
    row("fault_injected", "a fault rule fired", &["rule", "kind"], |_, view| faults(view, FaultVerdict::Fired)),
    row("fault_not_applicable", "a fault rule matched what it cannot be applied to", &["rule", "kind"], |_, view| faults(view, FaultVerdict::NotApplicable)),
    row("no_push", "a webhook was registered though the agent's card says it calls none", &["binding", "version"], |_, view| against_card(view, Operation::CreateTaskPushNotificationConfig, |card| card.capabilities.push_notifications)),
    row("no_streaming", "a stream was asked for though the agent's card says it has none", &["binding", "version"], |_, view| against_card(view, Operation::SendStreamingMessage, |card| card.capabilities.streaming)),
    row("push_received", "an agent called a webhook", &["binding", "status", "version"], pushes),
    row("recording_gap", "something was not recorded; an assertion that looks where it was lost cannot be judged at all", &["reason"], gaps),
    row("resubscribed", "a task was subscribed to again", &["binding", "version"], |_, view| exchanges(view, |exchange| exchange.operation == Operation::SubscribeToTask)),
    row("stream_truncated", "a stream ended before the task did", &["outcome"], truncated),
    row("task_auth_required", "a task was seen to wait for credentials", &[], states),
    row("task_canceled", "a task was seen canceled", &[], states),
    row("task_completed", "a task was seen completed", &[], states),
    row("task_failed", "a task was seen failed", &[], states),
    row("task_input_required", "a task was seen to wait for input", &[], states),
    row("task_rejected", "a task was seen rejected", &[], states),
    row("task_submitted", "a task was seen submitted", &[], states),
    row("task_working", "a task was seen working", &[], states),
    row("transport", "a binding and version was used with an agent; once for each", &["binding", "version"], transports),
    row("upstream_error", "an agent could not be reached, or broke off", &["word"], upstream_errors),
    row("version_mismatch", "a request declares one version and speaks another", &["declared", "version"], mismatches),
    row("webhook_not_intercepted", "a webhook's registration passed without being rewritten", &["text"], recorded),
];

const fn row(
    name: &'static str,
    definition: &'static str,
    fields: &'static [&'static str],
    find: fn(&'static str, &RunView<'_>) -> Vec<Happened>,
) -> EventRow {
    EventRow { name, definition, fields, find }
}

/// Something that happened.
struct Happened {
    agent: String,
    fields: BTreeMap<&'static str, Value>,
    proof: Evidence,
}

/// Which events are meant.
pub(super) struct EventMatch {
    row: &'static EventRow,
    count: Option<Bounds>,
    conditions: Vec<(String, Predicate)>,
}

impl std::fmt::Debug for EventMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EventMatch").field(&self.row.name).finish()
    }
}

impl EventMatch {
    /// A name, or `{ name, count, where }`.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = node.value {
            let row = find_row(node, reader)?;
            return Some(Self { row, count: None, conditions: Vec::new() });
        }
        let form = "an event's name or a map like { name: push_received, count: 1 }";
        let mut fields = Fields::of(node, form, reader)?;
        let row = fields.need("name", reader).and_then(|node| find_row(node, reader));
        let count = fields.take("count").map(|node| predicate::count(node, reader));
        let conditions = fields.take("where");
        fields.finish(reader);
        let row = row?;
        let conditions = match conditions {
            None => Vec::new(),
            Some(node) => conditions_of(row, node, reader)?,
        };
        let count = match count {
            None => None,
            Some(count) => Some(count?),
        };
        Some(Self { row, count, conditions })
    }

    /// How many there must be, when that was said.
    pub(super) fn count(&self) -> Option<&Bounds> {
        self.count.as_ref()
    }

    /// There must be one, or as many as `count` says.
    pub(super) fn must_occur(&self, view: &RunView<'_>) -> Vec<Finding> {
        let all = (self.row.find)(self.row.name, view);
        let other = all.len();
        let found: Vec<Evidence> =
            all.into_iter().filter(|event| self.is(event)).map(|event| event.proof).collect();
        let actual =
            if found.is_empty() { "there is none".to_owned() } else { found.len().to_string() };
        let expected = match &self.count {
            None if !found.is_empty() => return Vec::new(),
            Some(count) if count.hold_count(found.len()) => return Vec::new(),
            None => format!("an event {self}"),
            Some(count) => format!("{count} events {self}"),
        };
        let mut finding = Finding::failed(expected, actual);
        if found.is_empty() && other > 0 {
            let others = plural(other, &format!("{} event", self.row.name));
            finding = finding.hint(format!("{others} do not meet the conditions"));
        }
        vec![finding.proved_by(found.into_iter().take(5))]
    }

    /// There must be none.
    pub(super) fn must_not_occur(&self, view: &RunView<'_>) -> Vec<Finding> {
        let all = (self.row.find)(self.row.name, view);
        let found: Vec<Evidence> =
            all.into_iter().filter(|event| self.is(event)).map(|event| event.proof).collect();
        if found.is_empty() {
            return Vec::new();
        }
        let actual = plural(found.len(), "event");
        let proof = found.into_iter().take(5);
        vec![Finding::failed(format!("no event {self}"), actual).proved_by(proof)]
    }

    fn is(&self, event: &Happened) -> bool {
        self.conditions.iter().all(|(name, predicate)| {
            let agent = Value::String(event.agent.clone());
            let value =
                if name == "agent" { Some(&agent) } else { event.fields.get(name.as_str()) };
            let places: Vec<Place<'_>> =
                value.into_iter().map(|value| Place { at: format!("/{name}"), value }).collect();
            predicate.miss(&places, Sees::Wire).is_none()
        })
    }
}

/// `task_failed`, `fault_injected where rule equals "x"`.
impl std::fmt::Display for EventMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row.name)?;
        for (index, (name, predicate)) in self.conditions.iter().enumerate() {
            write!(f, " {} {name} {predicate}", if index == 0 { "where" } else { "and" })?;
        }
        Ok(())
    }
}

fn find_row(node: &Node, reader: &mut Reader<'_>) -> Option<&'static EventRow> {
    let known: Vec<(&str, &EventRow)> = EVENTS.iter().map(|row| (row.name, row)).collect();
    reader.word(node, &known)
}

/// A map of the event's fields; a plain value must be equal.
fn conditions_of(
    row: &'static EventRow,
    node: &Node,
    reader: &mut Reader<'_>,
) -> Option<Vec<(String, Predicate)>> {
    let mut fields = Fields::of(node, "a map like { agent: billing }", reader)?;
    let mut conditions = Vec::new();
    for name in std::iter::once(&"agent").chain(row.fields) {
        let Some(node) = fields.take(name) else { continue };
        let predicate = if let Yaml::Map(_) = node.value {
            let mut inner = Fields::of(node, "a map", reader)?;
            let predicate = Predicate::take(&mut inner, reader);
            inner.finish(reader);
            predicate?
        } else {
            let equals: Shown<Value> = reader.json(node);
            Predicate { equals: Some(equals), ..Predicate::default() }
        };
        conditions.push(((*name).to_owned(), predicate));
    }
    fields.finish(reader);
    Some(conditions)
}

fn of_delegation<const N: usize>(
    view: &RunView<'_>,
    delegation: &Delegation,
    fields: [(&'static str, Value); N],
) -> Happened {
    let proof = view.evidence(delegation, "");
    Happened { agent: delegation.agent.clone(), fields: BTreeMap::from(fields), proof }
}

fn of_exchange<const N: usize>(
    view: &RunView<'_>,
    exchange: &Exchange,
    fields: [(&'static str, Value); N],
) -> Happened {
    let proof = view.evidence_of_exchange(exchange, "");
    Happened { agent: exchange.agent.clone(), fields: BTreeMap::from(fields), proof }
}

fn delegated(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let event = |delegation: &Arc<Delegation>| {
        let fields = [
            ("operation", json!(delegation.operation)),
            ("binding", json!(delegation.binding)),
            ("version", json!(delegation.version)),
            ("skill", json!(delegation.skill)),
        ];
        of_delegation(view, delegation, fields)
    };
    view.delegations.iter().map(event).collect()
}

/// `task_STATE`.
fn states(name: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let state = name.trim_start_matches("task_");
    let seen = |delegation: &&Arc<Delegation>| delegation.states.iter().any(|seen| seen == state);
    let found = view.delegations.iter().filter(seen);
    found.map(|delegation| of_delegation(view, delegation, [])).collect()
}

fn truncated(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let cut = |delegation: &&Arc<Delegation>| {
        matches!(delegation.outcome, Outcome::Incomplete | Outcome::CutByAgent)
    };
    let found = view.delegations.iter().filter(cut);
    found
        .map(|delegation| of_delegation(view, delegation, [("outcome", json!(delegation.outcome))]))
        .collect()
}

fn transports(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for delegation in &view.delegations {
        if seen.insert((&delegation.agent, delegation.binding, delegation.version)) {
            let fields =
                [("binding", json!(delegation.binding)), ("version", json!(delegation.version))];
            found.push(of_delegation(view, delegation, fields));
        }
    }
    found
}

fn exchanges(view: &RunView<'_>, wanted: impl Fn(&Exchange) -> bool) -> Vec<Happened> {
    let exchanges = view.exchanges();
    let found = exchanges.iter().filter(|exchange| wanted(exchange));
    found.map(|exchange| spoken(view, exchange)).collect()
}

fn spoken(view: &RunView<'_>, exchange: &Exchange) -> Happened {
    let fields = [("binding", json!(exchange.binding)), ("version", json!(exchange.version))];
    of_exchange(view, exchange, fields)
}

/// Requests for something the newest card before them denies.
fn against_card(
    view: &RunView<'_>,
    operation: Operation,
    says: fn(&AgentCard) -> Option<bool>,
) -> Vec<Happened> {
    let mut newest: BTreeMap<&str, AgentCard> = BTreeMap::new();
    let mut found = Vec::new();
    let exchanges = view.exchanges();
    for exchange in &exchanges {
        if let Some(card) = cards::card_of(exchange) {
            newest.insert(&exchange.agent, card);
        }
        // A card that says nothing says no: both versions make absent mean false.
        let denied =
            newest.get(exchange.agent.as_str()).is_some_and(|card| says(card) != Some(true));
        if exchange.operation == operation && denied {
            found.push(spoken(view, exchange));
        }
    }
    found
}

/// Requests without credentials to an agent whose newest card before them asks for some.
fn auth_missing(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let mut newest: BTreeMap<&str, AgentCard> = BTreeMap::new();
    let mut found = Vec::new();
    let exchanges = view.exchanges();
    for exchange in &exchanges {
        if let Some(card) = cards::card_of(exchange) {
            newest.insert(&exchange.agent, card);
        }
        let Some(card) = newest.get(exchange.agent.as_str()) else { continue };
        let request = &exchange.request;
        let is_call = !matches!(
            exchange.operation,
            Operation::AgentCard | Operation::PushNotification | Operation::Unknown
        );
        if is_call
            && asks_for_credentials(card)
            && !has_credentials(&request.headers, &request.target, card)
        {
            let fields = [("operation", json!(exchange.operation))];
            found.push(of_exchange(view, exchange, fields));
        }
    }
    found
}

fn pushes(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let exchanges = view.exchanges();
    let delivered = exchanges.iter().filter(|it| it.operation == Operation::PushNotification);
    delivered
        .map(|exchange| {
            let status = exchange.response.as_ref().map(|response| response.status);
            let fields = [
                ("binding", json!(exchange.binding)),
                ("status", json!(status)),
                ("version", json!(exchange.version)),
            ];
            of_exchange(view, exchange, fields)
        })
        .collect()
}

fn gaps(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let filter = &view.filter;
    let gaps = view.source.gaps().iter().filter(|gap| {
        filter.since.is_none_or(|since| gap.at >= since)
            && filter.until.is_none_or(|until| gap.at < until)
    });
    gaps.map(|gap| {
        let proof = Evidence {
            show: String::new(),
            agent: String::new(),
            found: format!("{} at {}", gap.reason, gap.at),
            faults: Vec::new(),
            exchanges: gap.exchange.into_iter().collect(),
        };
        let fields = BTreeMap::from([("reason", json!(gap.reason))]);
        Happened { agent: String::new(), fields, proof }
    })
    .collect()
}

fn cards_fetched(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let event = |exchange: &Arc<Exchange>| {
        if exchange.operation != Operation::AgentCard {
            return None;
        }
        let card = cards::card_of(exchange)?;
        let skills: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        Some(of_exchange(view, exchange, [("skills", json!(skills))]))
    };
    view.exchanges().iter().filter_map(event).collect()
}

fn cards_missing(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let exchanges = view.exchanges();
    let asked = exchanges.iter().filter(|exchange| exchange.operation == Operation::AgentCard);
    let mut missing: BTreeMap<&str, &Arc<Exchange>> = BTreeMap::new();
    let mut given = BTreeSet::new();
    for exchange in asked {
        if cards::is_ok(exchange) {
            given.insert(exchange.agent.as_str());
        } else {
            missing.insert(&exchange.agent, exchange);
        }
    }
    let never = missing.into_iter().filter(|(agent, _)| !given.contains(agent));
    never
        .map(|(_, exchange)| {
            let status = exchange.response.as_ref().map(|response| response.status);
            of_exchange(view, exchange, [("status", json!(status))])
        })
        .collect()
}

fn faults(view: &RunView<'_>, verdict: FaultVerdict) -> Vec<Happened> {
    let mut found = Vec::new();
    for exchange in &view.exchanges() {
        for fault in exchange.faults.iter().filter(|fault| fault.verdict == verdict) {
            let fields = [("rule", json!(fault.rule)), ("kind", json!(fault.kind))];
            found.push(of_exchange(view, exchange, fields));
        }
    }
    found
}

/// Later requests that carry a canary.
fn canary_seen(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let exchanges = view.exchanges();
    let planted = canaries::planted(&exchanges);
    let mut found = Vec::new();
    for exchange in &exchanges {
        let before = planted.iter().filter(|(id, _)| *id < exchange.id);
        for (_, canary) in before.filter(|(_, canary)| canaries::carries(exchange, canary)) {
            found.push(of_exchange(view, exchange, [("canary", json!(canary))]));
        }
    }
    found
}

fn upstream_errors(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let event = |exchange: &Arc<Exchange>| {
        let trouble = exchange.upstream_error.as_ref()?;
        Some(of_exchange(view, exchange, [("word", json!(trouble.word))]))
    };
    view.exchanges().iter().filter_map(event).collect()
}

fn mismatches(_: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let event = |exchange: &Arc<Exchange>| {
        let declared = exchange.declared_version.as_deref()?;
        let spoken = exchange.version?;
        if ProtocolVersion::parse(declared) == Some(spoken) {
            return None;
        }
        let fields = [("declared", json!(declared)), ("version", json!(spoken))];
        Some(of_exchange(view, exchange, fields))
    };
    view.exchanges().iter().filter_map(event).collect()
}

/// Events that the recorder wrote down.
fn recorded(name: &'static str, view: &RunView<'_>) -> Vec<Happened> {
    let filter = &view.filter;
    let events = view.source.events().iter().filter(|event| {
        event.name == name
            && filter.session.as_ref().is_none_or(|session| *session == event.session)
            && (filter.agents.is_empty() || filter.agents.contains(&event.agent))
            && filter.since.is_none_or(|since| event.at >= since)
            && filter.until.is_none_or(|until| event.at < until)
    });
    events
        .map(|event| {
            let agent = event.agent.clone();
            let found = quote::plain(&event.text);
            let proof = Evidence {
                show: String::new(),
                agent: agent.clone(),
                found,
                faults: Vec::new(),
                exchanges: Vec::new(),
            };
            Happened { agent, fields: BTreeMap::from([("text", json!(event.text))]), proof }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sorted_and_every_state_has_one() {
        assert!(EVENTS.is_sorted_by_key(|row| row.name));
        for state in ["submitted", "working", "completed", "failed", "canceled", "rejected"] {
            assert!(EVENTS.iter().any(|row| row.name == format!("task_{state}")), "{state}");
        }
    }
}
