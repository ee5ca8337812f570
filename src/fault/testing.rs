//! What the tests of rules and faults share: calls to be judged, and judgements in short.

use http::HeaderMap;
use serde_json::{Value, json};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::Call;
use crate::a2a::model::{
    A2aError, Message, Operation, Part, Reply, Request, Role, SendMessage, StreamResponse,
    TaskStatus,
};
use crate::fault::facts::Facts;
use crate::fault::rule::RuleSet;
use crate::fault::verdict::{Effect, Judgement, Made, Start};

/// Owns what [`Facts`] borrow.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) orchestrator: String,
    pub(super) headers: HeaderMap,
    pub(super) call: Call,
    pub(super) body_is_read: bool,
}

impl World {
    /// A readable call of this operation, to `billing`.
    pub(super) fn of(operation: Operation) -> Self {
        let call = Call {
            binding: Some(Binding::JsonRpc),
            version: Some(ProtocolVersion::V1_0),
            operation,
            wire_name: operation.to_string(),
            ..Call::default()
        };
        Self {
            agent: "billing".to_owned(),
            session: "run".to_owned(),
            orchestrator: "10.0.0.1".to_owned(),
            headers: HeaderMap::new(),
            call,
            body_is_read: true,
        }
    }

    /// A message that is sent.
    pub(super) fn send(text: &str) -> Self {
        let message =
            Message { role: Role::User, parts: vec![Part::text(text)], ..Message::default() };
        let mut world = Self::of(Operation::SendMessage);
        world.call.request =
            Some(Request::SendMessage(SendMessage { message, ..SendMessage::default() }));
        world
    }

    pub(super) fn context(mut self, id: &str) -> Self {
        self.call.ids.context_id = Some(id.to_owned());
        self
    }

    pub(super) fn task(mut self, id: &str) -> Self {
        self.call.ids.task_id = Some(id.to_owned());
        self
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            agent: &self.agent,
            session: &self.session,
            orchestrator: &self.orchestrator,
            headers: &self.headers,
            call: &self.call,
            body_is_read: self.body_is_read,
        }
    }
}

/// Rules from JSON, which is YAML as well.
#[track_caller]
pub(super) fn rules(json: Value) -> RuleSet {
    try_rules(json).unwrap()
}

pub(super) fn try_rules(json: Value) -> Result<RuleSet, String> {
    RuleSet::new(serde_json::from_value(json).map_err(|error| error.to_string())?)
}

/// What one rule with this `inject` does to a call of this operation, in short.
pub(super) fn does(inject: &Value, operation: Operation) -> String {
    does_when(inject, &json!({ "operation": operation }), operation)
}

/// As [`does`], from an event of the stream on.
pub(super) fn does_at(inject: &Value, operation: Operation, event: u64) -> String {
    does_when(inject, &json!({ "operation": operation, "event": event }), operation)
}

fn does_when(inject: &Value, when: &Value, operation: Operation) -> String {
    let rule = json!([{ "name": "r", "seed": 7, "when": when, "inject": inject }]);
    match try_rules(rule) {
        Err(error) => error.replace("faults[0] \"r\": ", ""),
        Ok(rules) => brief(&rules.judge(&World::of(operation).facts())),
    }
}

/// A judgement in short: its effects, or else what the notes say.
pub(super) fn brief(judgement: &Judgement) -> String {
    let effects: Vec<String> = judgement.effects.iter().map(effect).collect();
    if !effects.is_empty() {
        return effects.join("; ");
    }
    let notes = judgement.notes.iter().map(|note| format!("{:?}: {}", note.became, note.text));
    notes.collect::<Vec<_>>().join("; ")
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Delay { at, wait } => format!("wait {wait:?} at {at:?}"),
        Effect::Throttle { bytes_per_second } => format!("{bytes_per_second} B/s"),
        Effect::Answer { with, from: Start::Beginning, .. } => made(with),
        Effect::Answer { with, from: Start::Event(event), .. } => {
            format!("from {event}: {}", made(with))
        }
        Effect::Insert { insertion, event, .. } => {
            let event = event.map_or(String::new(), |event| format!(" at {event}"));
            format!("{:?} {:?}{event}: {}", insertion.how, insertion.spot, insertion.text)
        }
    }
}

fn made(made: &Made) -> String {
    match made {
        Made::Reply(Reply::Task(task)) => {
            let artifacts: Vec<_> =
                task.artifacts.iter().map(|artifact| parts(&artifact.parts)).collect();
            let artifacts = artifacts.join(", ");
            format!("task({}{artifacts})", status(&task.status))
        }
        Made::Reply(Reply::Message(message)) => {
            let metadata = message
                .metadata
                .as_ref()
                .map_or(String::new(), |metadata| format!(" {}", Value::Object(metadata.clone())));
            format!("message({}{metadata})", parts(&message.parts))
        }
        Made::Reply(Reply::Card(card)) => format!("card({})", card.raw),
        Made::Reply(reply) => format!("{reply:?}"),
        Made::Stream { events, error } => {
            let events: Vec<_> = events.iter().map(event).collect();
            let end =
                error.as_ref().map_or(String::new(), |error| format!(" then {}", fails(error)));
            format!("stream[{}]{end}", events.join(", "))
        }
        Made::Error { error, headers } => {
            let headers: Vec<_> = headers.iter().map(|(k, v)| format!(" {k}: {v}")).collect();
            format!("{}{}", fails(error), headers.join(""))
        }
        Made::EmptyBody => "empty body".to_owned(),
        Made::Nothing => "nothing".to_owned(),
        Made::Raw { status, headers, body } => format!("raw {status} {headers:?} {body:?}"),
    }
}

fn event(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => format!("task({})", status(&task.status)),
        StreamResponse::Message(message) => format!("message({})", parts(&message.parts)),
        StreamResponse::StatusUpdate(event) => {
            let last = if event.last == Some(true) { "last " } else { "" };
            format!("{last}status({})", status(&event.status))
        }
        StreamResponse::ArtifactUpdate(event) => {
            let append = if event.append { "append " } else { "" };
            let last = if event.last_chunk { "" } else { "more " };
            format!("{append}{last}artifact({})", parts(&event.artifact.parts))
        }
    }
}

fn status(status: &TaskStatus) -> String {
    let said = status.message.as_ref().map(|message| format!(": {}", parts(&message.parts)));
    format!("{}{}", status.state, said.unwrap_or_default())
}

fn parts(parts: &[Part]) -> String {
    format!("{:?}", parts.iter().map(part).collect::<Vec<_>>())
}

fn part(part: &Part) -> String {
    match part.as_text() {
        Some(text) => text.to_owned(),
        None => format!("{:?} {:?} {:?}", part.content, part.filename, part.media_type),
    }
}

fn fails(error: &A2aError) -> String {
    let kind = error.kind.map_or(String::new(), |kind| format!("{} ", kind.name()));
    let code = error.code.map_or(String::new(), |code| format!("code {code} "));
    let http = error.http_status.map_or(String::new(), |status| format!("http {status} "));
    let grpc = error.grpc_status.map_or(String::new(), |status| format!("grpc {status} "));
    let data = error.details.as_ref().map_or(String::new(), |data| format!(" {data}"));
    format!("error({kind}{code}{http}{grpc}\"{}\"{data})", error.message)
}
