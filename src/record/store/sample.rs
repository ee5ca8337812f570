//! Made-up entries that look like real ones: for the conformance suite, tests and measurements.
//!
//! Everything of an entry follows from its number, so a test can ask for the same one again.

use bytes::Bytes;
use jiff::Timestamp;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::Ids;
use crate::a2a::model::Operation;
use crate::a2a::problem::Problem;
use crate::base::id::{ExchangeId, InstanceId};
use crate::base::rng::Rng;
use crate::record::exchange::{
    EventMark, Exchange, FaultRecord, FaultVerdict, Outcome, Payload, RecordedRequest,
    RecordedResponse, Redaction, Timings,
};
use crate::record::redact::{DigestKey, RedactConfig, Redacted, Redactor};
use crate::record::store::{Entry, EventRecord, GapRecord, SessionRecord};

/// Values that are learned from one exchange.
const LEARNED_MAX: usize = 100;

const WORDS: &[&str] = &[
    "agent", "answer", "artifact", "billing", "booking", "card", "context", "delegate", "error",
    "final", "flight", "handle", "invoice", "message", "network", "open", "order", "part", "price",
    "query", "refund", "report", "request", "result", "route", "state", "status", "task", "text",
    "travel", "update", "weather",
];

/// The exchange of this number as an entry.
pub fn entry(number: u64) -> Entry {
    Entry::Exchange(Box::new(masked(exchange(number))))
}

/// An exchange of a test's making, masked as real ones are: there is no other way into a store. Those
/// made here have nothing left to mask, so they come out as they are.
pub fn masked(exchange: Exchange) -> Redacted<Exchange> {
    let key = DigestKey::new([7; 32]);
    let redactor = Redactor::new(&RedactConfig::default(), key, LEARNED_MAX);
    redactor.expect("the default names no path that could be wrong").redact(exchange, |_| {})
}

/// An exchange with bodies of these sizes, for measurements.
pub fn entry_of_size(number: u64, request: usize, response: usize) -> Entry {
    let mut exchange = exchange(number);
    exchange.request.body = body(number, request);
    if let Some(answer) = &mut exchange.response {
        answer.body = body(number + 1, response);
    }
    Entry::Exchange(Box::new(masked(exchange)))
}

/// A session of this number.
pub fn session(number: u64) -> SessionRecord {
    SessionRecord { name: format!("session-{number}"), instance: instance(), started: time(number) }
}

/// An event of this number.
pub fn event(number: u64) -> EventRecord {
    EventRecord {
        name: "card_changed".to_owned(),
        at: time(number),
        session: "session-0".to_owned(),
        agent: agent(number),
        text: "the card lists one skill less".to_owned(),
    }
}

/// A gap of this number.
pub fn gap(number: u64) -> GapRecord {
    GapRecord {
        at: time(number),
        instance: instance(),
        exchange: Some(id(number)),
        bytes: number,
        exchanges: 0,
        reason: "queue_full".to_owned(),
    }
}

/// The id of the exchange of this number: ascending, as real ones are.
pub fn id(number: u64) -> ExchangeId {
    let milliseconds = u64::try_from(time(number).as_millisecond()).unwrap_or(0);
    let high = u128::from((milliseconds << 16) | 0x7000 | (number & 0x0fff));
    let low = u128::from((0b10 << 62) | number);
    ExchangeId::from_bytes((high << 64 | low).to_be_bytes())
}

/// The exchange of this number: four agents, a task of every fourth exchange, a conversation of every
/// eighth, a stream every fourth.
pub fn exchange(number: u64) -> Exchange {
    let is_stream = number % 4 == 3;
    let operation = match number % 4 {
        0 => Operation::SendMessage,
        1 | 2 => Operation::GetTask,
        _ => Operation::SendStreamingMessage,
    };
    let outcome = match number % 8 {
        5 => Outcome::Failed,
        7 => Outcome::CutByAgent,
        _ => Outcome::Completed,
    };
    let faults = if number % 16 == 7 { vec![fault(number)] } else { Vec::new() };
    Exchange {
        id: id(number),
        session: format!("session-{}", number / 64),
        instance: instance(),
        agent: agent(number),
        orchestrator: "127.0.0.1".to_owned(),
        binding: Some(if number % 3 == 2 { Binding::Grpc } else { Binding::JsonRpc }),
        version: Some(if number.is_multiple_of(2) {
            ProtocolVersion::V1_0
        } else {
            ProtocolVersion::V0_3
        }),
        declared_version: number.is_multiple_of(2).then(|| "1.0".to_owned()),
        operation,
        wire_name: operation.rpc_method_v0_3().to_owned(),
        ids: Ids {
            message_id: operation.is_send().then(|| format!("message-{number}")),
            context_id: Some(format!("context-{}", number / 8)),
            task_id: Some(format!("task-{}", number / 4)),
            config_id: None,
            tenant: None,
        },
        started: time(number),
        timings: Timings {
            request_us: Some(210),
            head_us: Some(1800),
            first_event_us: is_stream.then_some(1900),
            end_us: Some(2400 + number),
        },
        request: request(number),
        response: Some(response(number, is_stream)),
        delivered: None,
        upstream: Some("http://127.0.0.1:9001/a2a".to_owned()),
        faults,
        edits: Vec::new(),
        problems: problems(number),
        redactions: vec![Redaction {
            place: "request.header".to_owned(),
            at: "authorization".to_owned(),
            bytes: 23,
            kind: "authorization".to_owned(),
            hmac: format!("{:064x}", number.wrapping_mul(0x9e37_79b9)),
        }],
        outcome,
        upstream_error: None,
    }
}

fn request(number: u64) -> RecordedRequest {
    RecordedRequest {
        method: "POST".to_owned(),
        target: "/a2a".to_owned(),
        base: String::new(),
        http: "1.1".to_owned(),
        headers: vec![
            ("Host".to_owned(), "127.0.0.1:8100".to_owned()),
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("Authorization".to_owned(), "***********************".to_owned()),
        ],
        body: body(number, 600),
        trailers: Vec::new(),
    }
}

fn response(number: u64, is_stream: bool) -> RecordedResponse {
    let frames = if is_stream { 5 } else { 0 };
    let body = body(number + 1, 1500);
    RecordedResponse {
        status: 200,
        http: "1.1".to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        events: (0..frames)
            .map(|frame| EventMark { at_us: 1900 + frame * 80, start: frame * 300, len: 300 })
            .collect(),
        body,
        trailers: Vec::new(),
        grpc_status: None,
    }
}

fn body(number: u64, len: usize) -> Payload {
    let mut chance = Rng::new(number);
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":""#);
    while text.len() < len {
        let draw = chance.next_u64();
        let index = usize::try_from(draw % WORDS.len() as u64).unwrap_or(0);
        text.push_str(WORDS.get(index).copied().unwrap_or_default());
        text.push(' ');
        if draw.is_multiple_of(7) {
            text.extend([&format!("{draw:016x}"), " "]);
        }
    }
    text.push_str("\"}");
    let mut sha256 = [0; 32];
    for place in &mut sha256 {
        *place = chance.next_u64().to_le_bytes()[0];
    }
    Payload { bytes: text.len() as u64, kept: Bytes::from(text), sha256, ..Payload::default() }
}

fn problems(number: u64) -> Vec<Problem> {
    match number % 32 {
        9 => vec![Problem::new("missing_field", "$.params.message.role", "there is no role")],
        _ => Vec::new(),
    }
}

fn fault(number: u64) -> FaultRecord {
    FaultRecord {
        rule: "refunds fail".to_owned(),
        kind: "error".to_owned(),
        verdict: FaultVerdict::Fired,
        n: number,
        seed: 7,
        draw: Some(0.25),
        canary: None,
        note: String::new(),
    }
}

fn agent(number: u64) -> String {
    format!("agent-{}", number % 4)
}

fn instance() -> InstanceId {
    InstanceId::from_bytes([7; 16])
}

/// One millisecond and a bit a number, from the last day of November 2026 on.
fn time(number: u64) -> Timestamp {
    const BEGIN_US: i64 = 1_796_040_000_000_000;
    let after_us = i64::try_from(number).unwrap_or(0) * 1_001;
    Timestamp::from_microsecond(BEGIN_US + after_us).unwrap_or(Timestamp::UNIX_EPOCH)
}
