//! What there is to tell of a delegation or an exchange, before it is laid out as text or Markdown.

use std::sync::Arc;

use serde_json::Value;

use super::super::output::{Lines, clean};
use super::super::words;
use super::body;
use crate::a2a::call::Event;
use crate::a2a::canonical;
use crate::a2a::model::{Request, StreamResponse};
use crate::admin::word;
use crate::record::decode::{self, Member, Understood};
use crate::record::delegation::Delegation;
use crate::record::exchange::{
    Exchange, FaultRecord, FaultVerdict, Outcome, RecordedRequest, RecordedResponse,
};
use crate::record::query::Recording;

/// Everything, in the order it is told.
pub(super) struct Story {
    pub(super) title: String,
    pub(super) outcome: Outcome,
    /// Labels and what stands beside them.
    pub(super) facts: Vec<(&'static str, String)>,
    /// What happened when.
    pub(super) steps: Vec<Step>,
    /// Message, reply, requests, answers.
    pub(super) blocks: Vec<Block>,
    pub(super) agent: String,
}

/// One thing that happened.
pub(super) struct Step {
    /// Milliseconds after the story began.
    pub(super) at_ms: f64,
    pub(super) who: Who,
    pub(super) text: String,
}

/// Between whom it happened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// From the orchestrator towards the agent.
    Asked,
    /// From the agent towards the orchestrator.
    Answered,
    /// In Meddler.
    Here,
}

/// A heading and what stands under it.
pub(super) struct Block {
    pub(super) heading: String,
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Http,
    Notes,
}

impl Story {
    /// The story of a delegation: the message, the reply, and every exchange it is made of.
    pub(super) fn of_delegation(
        recording: &Recording,
        delegation: &Delegation,
        exchanges: &[Arc<Exchange>],
    ) -> Self {
        let mut story = Self {
            title: format!(
                "{}  {}  {}  {} {}  {}",
                recording.short('d', delegation.id),
                clean(&delegation.agent, Lines::Joined),
                delegation.operation,
                words::binding(delegation.binding),
                words::version(delegation.version),
                words::state_and_outcome(delegation),
            ),
            outcome: delegation.outcome,
            facts: delegation_facts(recording, delegation),
            steps: Vec::new(),
            blocks: Vec::new(),
            agent: delegation.agent.clone(),
        };
        story.value("message", delegation.message.as_ref());
        story.value("reply", delegation.reply.as_ref());
        for exchange in exchanges {
            let began = exchange.started.duration_since(delegation.started).as_secs_f64() * 1000.0;
            story.exchange(recording, exchange, began);
        }
        story.steps.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        story
    }

    /// The story of one exchange.
    pub(super) fn of_exchange(recording: &Recording, exchange: &Exchange) -> Self {
        let mut story = Self {
            title: format!(
                "{}  {}  {}  {} {}  {}",
                recording.short('x', exchange.id),
                clean(&exchange.agent, Lines::Joined),
                exchange.operation,
                words::binding(exchange.binding),
                words::version(exchange.version),
                word(exchange.outcome),
            ),
            outcome: exchange.outcome,
            facts: exchange_facts(exchange),
            steps: Vec::new(),
            blocks: Vec::new(),
            agent: exchange.agent.clone(),
        };
        story.exchange(recording, exchange, 0.0);
        story
    }

    fn value(&mut self, heading: &str, value: Option<&Value>) {
        if let Some(value) = value {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            self.block(heading.to_owned(), Kind::Json, clean(&text, Lines::Kept));
        }
    }

    fn block(&mut self, heading: String, kind: Kind, text: String) {
        self.blocks.push(Block { heading, kind, text });
    }

    fn exchange(&mut self, recording: &Recording, exchange: &Exchange, began_ms: f64) {
        let id = recording.short('x', exchange.id);
        self.exchange_steps(exchange, &id, began_ms);
        self.block(format!("{id} request"), Kind::Http, request(&exchange.request));
        if let Some(response) = &exchange.response {
            self.block(format!("{id} answer, as received"), Kind::Http, answer(response));
        }
        if let Some(delivered) = &exchange.delivered {
            self.block(format!("{id} answer, as delivered"), Kind::Http, answer(delivered));
        }
        if body::is_binary(&exchange.request.headers) {
            self.understood(exchange, &id);
        }
        let notes = notes(exchange);
        if !notes.is_empty() {
            self.block(format!("{id} notes"), Kind::Notes, notes.join("\n"));
        }
    }

    /// What octets that nobody can read say, in canonical form.
    fn understood(&mut self, exchange: &Exchange, id: &str) {
        let Understood { call, answer, delivered } = decode::understand(exchange);
        let request = call.request.as_ref().map(canonical::request);
        self.value(&format!("{id} request, as understood"), request.as_ref());
        let answers = [("answer", answer), ("answer as delivered", delivered)];
        for (name, answer) in answers.iter().filter_map(|(n, a)| a.as_ref().map(|a| (n, a))) {
            let events: Vec<Value> = answer
                .events
                .iter()
                .filter_map(|event| event.event.as_ref().map(canonical::event))
                .collect();
            let reply = answer.reply.as_ref().map(canonical::reply);
            let said = if events.is_empty() { reply } else { Some(Value::Array(events)) };
            self.value(&format!("{id} {name}, as understood"), said.as_ref());
        }
    }

    fn exchange_steps(&mut self, exchange: &Exchange, id: &str, began_ms: f64) {
        let mut step = |us: u64, who, text: String| {
            self.steps.push(Step { at_ms: began_ms + words::us_to_ms(us), who, text });
        };
        let target = clean(&exchange.request.target, Lines::Joined);
        let asked = format!("{id} {} ({} {target})", exchange.operation, exchange.request.method);
        step(0, Who::Asked, asked);
        for (place, member) in decode::members(exchange).iter().enumerate() {
            step(0, Who::Asked, format!("{id} [{place}] {}", of_member(member)));
        }
        for fault in exchange.faults.iter().filter(|fault| is_fired(fault)) {
            step(0, Who::Here, format!("{id} {}", fault_in_words(fault)));
        }
        let seen = exchange.response.as_ref().or(exchange.delivered.as_ref());
        if let (Some(response), Some(us)) = (seen, exchange.timings.head_us) {
            step(us, Who::Answered, format!("{id} head {}", words::status(response)));
        }
        let events = decode::understand(exchange).answer.map(|answer| answer.events);
        for (index, mark) in seen.iter().flat_map(|response| &response.events).enumerate() {
            let event = events.iter().flatten().find(|event| event.start == mark.start);
            let what = event.map_or_else(String::new, |event| format!(": {}", in_words(event)));
            step(mark.at_us, Who::Answered, format!("{id} event {}{what}", index + 1));
        }
        if let Some(trouble) = &exchange.upstream_error {
            let at = exchange.timings.end_us.unwrap_or_default();
            step(at, Who::Here, format!("{id} {}: {}", trouble.word, trouble.text));
        }
        if let Some(us) = exchange.timings.end_us {
            step(us, Who::Answered, format!("{id} end: {}", word(exchange.outcome)));
        }
    }
}

/// One call of a batch: `CancelTask (tasks/cancel, id 2): error`.
fn of_member(member: &Member) -> String {
    let call = &member.call;
    let id =
        call.rpc_id.as_ref().map_or_else(|| "no id".to_owned(), |id| format!("id {}", id.get()));
    let told = format!("{} ({}, {id}): {}", call.operation, call.wire_name, member.outcome);
    clean(&told, Lines::Joined)
}

/// What an event says, in a word or two.
fn in_words(event: &Event) -> String {
    let kind = match &event.event {
        Some(StreamResponse::Task(_)) => "task",
        Some(StreamResponse::Message(_)) => "message",
        Some(StreamResponse::StatusUpdate(_)) => "status",
        Some(StreamResponse::ArtifactUpdate(_)) => "artifact",
        None if event.error.is_some() => "error",
        None => "unreadable",
    };
    match event.event.as_ref().and_then(StreamResponse::state) {
        Some(state) => format!("{kind} {}", clean(state.as_str(), Lines::Joined)),
        None => kind.to_owned(),
    }
}

fn delegation_facts(recording: &Recording, delegation: &Delegation) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("id", delegation.id.to_string()),
        ("started", delegation.started.to_string()),
        ("took", format!("{} ms", words::ms(delegation.duration_ms))),
    ];
    let mut fact = |label, value: Option<String>| {
        facts.extend(value.map(|value| (label, clean(&value, Lines::Joined))));
    };
    fact("first event", delegation.first_event_ms.map(|ms| format!("{ms:.1} ms")));
    fact("session", Some(delegation.session.clone()));
    fact("orchestrator", Some(delegation.orchestrator.clone()));
    fact("message", delegation.message_id.clone());
    fact("context", delegation.context_id.clone());
    fact("task", delegation.task_id.clone());
    let states = (!delegation.states.is_empty()).then(|| delegation.states.join(" → "));
    fact("states", states);
    fact("faults", (!delegation.faults.is_empty()).then(|| delegation.faults.join(", ")));
    fact("retry of", delegation.retry_of.map(|id| recording.short('d', id)));
    fact("caused by", delegation.parent.map(|id| recording.short('d', id)));
    fact("said", Some(delegation.text.clone()).filter(|text| !text.is_empty()));
    fact("heard", Some(delegation.reply_text.clone()).filter(|text| !text.is_empty()));
    facts
}

fn exchange_facts(exchange: &Exchange) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("id", exchange.id.to_string()),
        ("started", exchange.started.to_string()),
        ("took", format!("{} ms", words::ms(words::duration(exchange)))),
    ];
    let mut fact = |label, value: Option<String>| {
        facts.extend(value.map(|value| (label, clean(&value, Lines::Joined))));
    };
    fact("session", Some(exchange.session.clone()));
    fact("orchestrator", Some(exchange.orchestrator.clone()));
    fact("upstream", exchange.upstream.clone());
    fact("called as", Some(exchange.wire_name.clone()).filter(|name| !name.is_empty()));
    fact("declared", exchange.declared_version.clone());
    fact("waiting", waiting(exchange).map(str::to_owned));
    let named = |fields: &[(String, String)], trailers: &[(String, String)]| {
        let uris = decode::extensions(fields, trailers);
        (!uris.is_empty()).then(|| uris.join(" "))
    };
    fact("extensions", named(&exchange.request.headers, &exchange.request.trailers));
    let answer = exchange.response.as_ref();
    fact("activated", answer.and_then(|answer| named(&answer.headers, &answer.trailers)));
    fact("message", exchange.ids.message_id.clone());
    fact("context", exchange.ids.context_id.clone());
    fact("task", exchange.ids.task_id.clone());
    facts
}

/// Whether a send asked to wait for the end of the task.
fn waiting(exchange: &Exchange) -> Option<&'static str> {
    if !exchange.operation.is_send() {
        return None;
    }
    let call = decode::understand(exchange).call;
    let Some(Request::SendMessage(send)) = call.request else { return None };
    Some(match send.configuration.and_then(|config| config.return_immediately) {
        Some(true) => "asked not to",
        Some(false) => "asked to",
        None => "not asked",
    })
}

fn request(request: &RecordedRequest) -> String {
    let mut text = format!("{} {} HTTP/{}\n", request.method, request.target, request.http);
    write_fields(&mut text, &request.headers);
    body::write(&mut text, &request.body, &request.headers);
    write_trailers(&mut text, &request.trailers);
    clean(text.trim_end(), Lines::Kept)
}

fn answer(response: &RecordedResponse) -> String {
    let mut text = format!("HTTP/{} {}\n", response.http, response.status);
    write_fields(&mut text, &response.headers);
    body::write(&mut text, &response.body, &response.headers);
    write_trailers(&mut text, &response.trailers);
    clean(text.trim_end(), Lines::Kept)
}

fn write_fields(text: &mut String, fields: &[(String, String)]) {
    for (name, value) in fields {
        text.extend([name, ": ", value, "\n"]);
    }
}

fn write_trailers(text: &mut String, trailers: &[(String, String)]) {
    if !trailers.is_empty() {
        text.push_str("\n(trailers)\n");
        write_fields(text, trailers);
    }
}

fn notes(exchange: &Exchange) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |text: &str| notes.push(clean(text, Lines::Joined));
    for fault in &exchange.faults {
        note(&fault_in_words(fault));
    }
    for edit in &exchange.edits {
        note(&format!("edit {} at {}: {} → {}", edit.kind, edit.at, edit.from, edit.to));
    }
    for problem in &exchange.problems {
        note(&format!("problem {problem}"));
    }
    if let Some(trouble) = &exchange.upstream_error {
        note(&format!("upstream {}: {}", trouble.word, trouble.text));
    }
    match exchange.redactions.len() {
        0 => {}
        1 => note("1 secret was masked before this was written"),
        count => note(&format!("{count} secrets were masked before this was written")),
    }
    notes
}

const fn is_fired(fault: &FaultRecord) -> bool {
    matches!(fault.verdict, FaultVerdict::Fired)
}

/// What a rule did, and why: `fault refunds fail (error) fired: n 3, drew 0.12 with seed 7`.
fn fault_in_words(fault: &FaultRecord) -> String {
    let verdict = match fault.verdict {
        FaultVerdict::Fired => "fired",
        FaultVerdict::Passed => "passed",
        FaultVerdict::Shadowed => "was shadowed by an earlier rule",
        FaultVerdict::NotApplicable => "could not be applied",
    };
    let mut parts = vec![format!("fault {} ({}) {verdict}: n {}", fault.rule, fault.kind, fault.n)];
    parts.extend(fault.draw.map(|draw| format!("drew {draw:.4} with seed {}", fault.seed)));
    parts.extend(fault.canary.as_ref().map(|canary| format!("canary {canary}")));
    if !fault.note.is_empty() {
        parts.push(fault.note.clone());
    }
    clean(&parts.join(", "), Lines::Joined)
}
