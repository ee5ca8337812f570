//! One line: the recorded types as JSON, and back.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::{self, Call, Ids};
use crate::a2a::frame;
use crate::a2a::model::Operation;
use crate::a2a::problem::Problem;
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::decode::{self, Member, header_map};
use crate::record::exchange::{
    EditRecord, EventMark, Exchange, FaultRecord, Outcome, Payload, RecordedRequest,
    RecordedResponse, Redaction, Timings, UpstreamTrouble,
};

pub(super) fn exchange(exchange: &Exchange) -> Value {
    let line = ExchangeLine::of(exchange);
    serde_json::to_value(Typed { kind: "exchange", line }).expect("it has no map with other keys")
}

/// A line with its type before everything else.
#[derive(Serialize)]
pub(super) struct Typed<T> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) line: T,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ExchangeLine {
    id: ExchangeId,
    session: String,
    instance: InstanceId,
    agent: String,
    orchestrator: String,
    #[serde(default)]
    binding: Option<Binding>,
    #[serde(default)]
    version: Option<ProtocolVersion>,
    #[serde(default)]
    declared_version: Option<String>,
    #[serde(default, deserialize_with = "known_operation")]
    operation: Operation,
    #[serde(default)]
    wire_name: String,
    #[serde(default)]
    ids: Ids,
    /// Derived: what was asked in a JSON-RPC batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    batch: Vec<MemberLine>,
    #[serde(serialize_with = "time")]
    started: Timestamp,
    #[serde(default)]
    timings_ms: TimingsLine,
    request: RequestLine,
    #[serde(default)]
    response: Option<ResponseLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivered: Option<ResponseLine>,
    #[serde(default)]
    upstream: Option<String>,
    #[serde(default)]
    faults: Vec<FaultRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edits: Vec<EditRecord>,
    #[serde(default)]
    problems: Vec<Problem>,
    #[serde(default)]
    redactions: Vec<Redaction>,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_error: Option<UpstreamTrouble>,
}

/// One call of a batch, and how it was answered.
#[derive(Serialize, Deserialize)]
struct MemberLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(default)]
    version: Option<ProtocolVersion>,
    #[serde(default, deserialize_with = "known_operation")]
    operation: Operation,
    #[serde(default)]
    wire_name: String,
    #[serde(default)]
    ids: Ids,
    /// `answered`, `error`, or `unanswered`.
    #[serde(default)]
    outcome: String,
}

#[derive(Default, Serialize, Deserialize)]
struct TimingsLine {
    request: Option<f64>,
    head: Option<f64>,
    first_event: Option<f64>,
    end: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct RequestLine {
    method: String,
    target: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    base: String,
    #[serde(default)]
    http: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Derived: the URIs that header fields (and trailers) name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<BodyLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trailers: Vec<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct ResponseLine {
    status: u16,
    #[serde(default)]
    http: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// Derived, as of a request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<BodyLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventLine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trailers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grpc_status: Option<u8>,
}

#[derive(Default, Serialize, Deserialize)]
struct BodyLine {
    #[serde(flatten)]
    content: Content,
    #[serde(default)]
    bytes: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    encoding: String,
    #[serde(default)]
    truncated: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sha256: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    hmac_sha256: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    gap: u64,
}

/// Octets: text where they are some, else base64.
#[derive(Default, Serialize, Deserialize)]
struct Content {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct EventLine {
    at_ms: f64,
    #[serde(default)]
    start: u64,
    #[serde(default)]
    len: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

impl ExchangeLine {
    pub(super) fn of(exchange: &Exchange) -> Self {
        let Timings { request_us, head_us, first_event_us, end_us } = exchange.timings;
        Self {
            id: exchange.id,
            session: exchange.session.clone(),
            instance: exchange.instance,
            agent: exchange.agent.clone(),
            orchestrator: exchange.orchestrator.clone(),
            binding: exchange.binding,
            version: exchange.version,
            declared_version: exchange.declared_version.clone(),
            operation: exchange.operation,
            wire_name: exchange.wire_name.clone(),
            ids: exchange.ids.clone(),
            batch: decode::members(exchange).into_iter().map(MemberLine::of).collect(),
            started: exchange.started,
            timings_ms: TimingsLine {
                request: request_us.map(milliseconds),
                head: head_us.map(milliseconds),
                first_event: first_event_us.map(milliseconds),
                end: end_us.map(milliseconds),
            },
            request: RequestLine::of(&exchange.request),
            response: exchange.response.as_ref().map(ResponseLine::of),
            delivered: exchange.delivered.as_ref().map(ResponseLine::of),
            upstream: exchange.upstream.clone(),
            faults: exchange.faults.clone(),
            edits: exchange.edits.clone(),
            problems: exchange.problems.clone(),
            redactions: exchange.redactions.clone(),
            outcome: exchange.outcome,
            upstream_error: exchange.upstream_error.clone(),
        }
    }

    /// The exchange. The error says which member cannot be read.
    pub(super) fn into_exchange(self) -> Result<Exchange, String> {
        let response = |line: Option<ResponseLine>, name: &str| match line {
            Some(line) => line.into_response(name).map(Some),
            None => Ok(None),
        };
        let TimingsLine { request, head, first_event, end } = self.timings_ms;
        Ok(Exchange {
            id: self.id,
            session: self.session,
            instance: self.instance,
            agent: self.agent,
            orchestrator: self.orchestrator,
            binding: self.binding,
            version: self.version,
            declared_version: self.declared_version,
            operation: self.operation,
            wire_name: self.wire_name,
            ids: self.ids,
            started: self.started,
            timings: Timings {
                request_us: request.map(microseconds),
                head_us: head.map(microseconds),
                first_event_us: first_event.map(microseconds),
                end_us: end.map(microseconds),
            },
            request: self.request.into_request()?,
            response: response(self.response, "response")?,
            delivered: response(self.delivered, "delivered")?,
            upstream: self.upstream,
            faults: self.faults,
            edits: self.edits,
            problems: self.problems,
            redactions: self.redactions,
            outcome: self.outcome,
            upstream_error: self.upstream_error,
        })
    }
}

impl MemberLine {
    fn of(member: Member) -> Self {
        let Call { rpc_id, version, operation, wire_name, ids, .. } = member.call;
        Self {
            id: rpc_id.and_then(|id| serde_json::from_str(id.get()).ok()),
            version,
            operation,
            wire_name,
            ids,
            outcome: member.outcome.to_owned(),
        }
    }
}

impl RequestLine {
    fn of(request: &RecordedRequest) -> Self {
        Self {
            method: request.method.clone(),
            target: request.target.clone(),
            base: request.base.clone(),
            http: request.http.clone(),
            headers: request.headers.clone(),
            extensions: decode::extensions(&request.headers, &request.trailers),
            body: body_line(&request.body),
            trailers: request.trailers.clone(),
        }
    }

    fn into_request(self) -> Result<RecordedRequest, String> {
        Ok(RecordedRequest {
            method: self.method,
            target: self.target,
            base: self.base,
            http: self.http,
            headers: self.headers,
            body: payload(self.body, "request")?,
            trailers: self.trailers,
        })
    }
}

impl ResponseLine {
    fn of(response: &RecordedResponse) -> Self {
        let data = event_data(response);
        let event = |mark: &EventMark| {
            let content = data.get(&mark.start).map(content_of).unwrap_or_default();
            EventLine {
                at_ms: milliseconds(mark.at_us),
                start: mark.start,
                len: mark.len,
                data: content.text,
                base64: content.base64,
            }
        };
        Self {
            status: response.status,
            http: response.http.clone(),
            headers: response.headers.clone(),
            extensions: decode::extensions(&response.headers, &response.trailers),
            body: body_line(&response.body),
            events: response.events.iter().map(event).collect(),
            trailers: response.trailers.clone(),
            grpc_status: response.grpc_status,
        }
    }

    fn into_response(self, name: &str) -> Result<RecordedResponse, String> {
        let event = |line: EventLine| EventMark {
            at_us: microseconds(line.at_ms),
            start: line.start,
            len: line.len,
        };
        Ok(RecordedResponse {
            status: self.status,
            http: self.http,
            headers: self.headers,
            body: payload(self.body, name)?,
            events: self.events.into_iter().map(event).collect(),
            trailers: self.trailers,
            grpc_status: self.grpc_status,
        })
    }
}

/// What the frames of a stream carry, by where they begin.
fn event_data(response: &RecordedResponse) -> HashMap<u64, Bytes> {
    if response.events.is_empty() {
        return HashMap::new();
    }
    let Some(mut splitter) = call::splitter(&header_map(&response.headers)) else {
        return HashMap::new();
    };
    let data = |frame: frame::Frame| match frame.payload {
        frame::Payload::Event { data, .. } | frame::Payload::Message { data, .. } => {
            Some((frame.start, data))
        }
        frame::Payload::Silent | frame::Payload::Oversized => None,
    };
    splitter.push(&response.body.kept).into_iter().filter_map(data).collect()
}

/// An empty body has no line.
fn body_line(body: &Payload) -> Option<BodyLine> {
    if *body == nothing() {
        return None;
    }
    let digest = hex(&body.sha256);
    let (sha256, hmac_sha256) =
        if body.digest_is_keyed { (String::new(), digest) } else { (digest, String::new()) };
    Some(BodyLine {
        content: content_of(&body.kept),
        bytes: body.bytes,
        encoding: body.encoding.clone(),
        truncated: body.truncated,
        sha256,
        hmac_sha256,
        gap: body.gap,
    })
}

fn payload(line: Option<BodyLine>, name: &str) -> Result<Payload, String> {
    let Some(line) = line else { return Ok(nothing()) };
    let kept = match (line.content.text, line.content.base64) {
        (Some(text), _) => Bytes::from(text),
        (None, Some(base64)) => STANDARD
            .decode(base64)
            .map(Bytes::from)
            .map_err(|error| format!("{name}.body.base64: {error}"))?,
        (None, None) => Bytes::new(),
    };
    let digest_is_keyed = !line.hmac_sha256.is_empty();
    let digest = if digest_is_keyed { &line.hmac_sha256 } else { &line.sha256 };
    // Files of other tools may carry no digest; then it is that of what is there.
    let sha256 = match digest.as_str() {
        "" => Sha256::digest(&kept).into(),
        digest => unhex(digest).ok_or_else(|| format!("{name}.body: `{digest}` is no SHA-256"))?,
    };
    Ok(Payload {
        bytes: line.bytes.max(if line.truncated { 0 } else { kept_bytes(&kept, &line.encoding) }),
        kept,
        encoding: line.encoding,
        truncated: line.truncated,
        sha256,
        digest_is_keyed,
        gap: line.gap,
    })
}

/// A file that does not tell the octets on the wire had as many as are kept, if they were not coded.
fn kept_bytes(kept: &Bytes, encoding: &str) -> u64 {
    if encoding.is_empty() { kept.len() as u64 } else { 0 }
}

fn nothing() -> Payload {
    Payload { sha256: Sha256::digest([]).into(), ..Payload::default() }
}

fn content_of(octets: &Bytes) -> Content {
    let is_readable = |letter: char| !letter.is_control() || matches!(letter, '\t' | '\r' | '\n');
    match std::str::from_utf8(octets) {
        Ok(text) if text.chars().all(is_readable) => {
            Content { text: Some(text.to_owned()), base64: None }
        }
        Ok(_) | Err(_) => Content { text: None, base64: Some(STANDARD.encode(octets)) },
    }
}

fn hex(octets: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |four: u8| DIGITS.get(usize::from(four)).copied().unwrap_or_default();
    octets.iter().flat_map(|octet| [digit(octet >> 4), digit(octet & 15)]).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut octets = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (octet, at) in octets.iter_mut().zip((0..).step_by(2)) {
        *octet = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(octets)
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
fn milliseconds(us: u64) -> f64 {
    us as f64 / 1000.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn microseconds(ms: f64) -> u64 {
    (ms * 1000.0).round() as u64
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// RFC 3339 in UTC with microseconds.
pub(super) fn time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{time:.6}"))
}

#[expect(clippy::ref_option, reason = "serde asks for a reference to the member")]
pub(super) fn time_or_null<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => time(at, serializer),
        None => serializer.serialize_none(),
    }
}

/// An operation that only a newer program knows is unknown to this one.
fn known_operation<'de, D: Deserializer<'de>>(from: D) -> Result<Operation, D::Error> {
    let name = String::deserialize(from)?;
    Ok(name.parse().unwrap_or_default())
}
