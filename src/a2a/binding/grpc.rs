//! gRPC: the operation is the path, messages are protobuf behind a length prefix, and how it went is in
//! the trailers; an error before the first message is a head alone ("Trailers-Only").

mod status;
mod unpack;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;

use super::shared::errors::Numbers;
use super::shared::{self, errors, ids};
use super::{Binding, Carrier, ProtocolVersion};
use crate::a2a::call::{
    Answer, Call, Event, Head, Recognized, StreamEnd, WireAnswer, WireRequest, WireView,
};
use crate::a2a::detect;
use crate::a2a::dialect::{self, Dialect, protobuf};
use crate::a2a::edit::{self, Insertion};
use crate::a2a::frame::{self, Frame};
use crate::a2a::model::{A2aError, ErrorKind, GrpcCode, Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;
use crate::a2a::webhook;

/// The binding.
pub(super) struct Grpc;

/// What one version does its own way on this binding.
struct Spelling {
    version: ProtocolVersion,
    service: &'static str,
    method: fn(Operation) -> &'static str,
    numbers: Numbers,
    /// Whether the message names the error, which 0.3's clients look for, or typed details do.
    naming: Naming,
}

/// Where an error is named.
#[derive(Clone, Copy)]
enum Naming {
    /// In the message: `TaskNotFoundError: no such task`.
    Message,
    /// In `grpc-status-details-bin`.
    Details,
}

const V1_0: Spelling = Spelling {
    version: ProtocolVersion::V1_0,
    service: "lf.a2a.v1.A2AService",
    method: Operation::as_str,
    numbers: Numbers { http: ErrorKind::http_status, grpc: ErrorKind::grpc_status },
    naming: Naming::Details,
};

const SPELLINGS: &[Spelling] = &[
    Spelling {
        version: ProtocolVersion::V0_3,
        service: "a2a.v1.A2AService",
        method: Operation::grpc_method_v0_3,
        numbers: Numbers { http: ErrorKind::http_status_v0_3, grpc: ErrorKind::grpc_status_v0_3 },
        naming: Naming::Message,
    },
    V1_0,
];

/// The services, with the versions that were spoken under each name: 1.0's release candidate still had
/// the name of 0.3.
const SERVICES: &[(&str, &[ProtocolVersion])] = &[
    ("lf.a2a.v1.A2AService", &[ProtocolVersion::V1_0]),
    ("a2a.v1.A2AService", &[ProtocolVersion::V0_3, ProtocolVersion::V1_0]),
];

fn spelling(version: ProtocolVersion) -> &'static Spelling {
    SPELLINGS.iter().find(|row| row.version == version).unwrap_or(&V1_0)
}

/// The operation of a path, and the version it is spoken in: where both have the method, the declared
/// one counts.
fn operation_of(
    path: &str,
    declared: Option<ProtocolVersion>,
) -> Option<(Operation, ProtocolVersion)> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let (_, versions) = SERVICES.iter().find(|row| row.0 == service)?;
    let declared = declared.filter(|declared| versions.contains(declared));
    declared.iter().chain(*versions).find_map(|version| {
        let name = spelling(*version).method;
        // Every method of the service has a JSON-RPC method too; what has none is named by us.
        let operation = Operation::all()
            .find(|known| !known.rpc_method_v0_3().is_empty() && name(*known) == method)?;
        Some((operation, *version))
    })
}

fn dialect(call: &Call) -> &'static dyn Dialect {
    dialect::of(shared::spoken(call), Binding::Grpc)
}

impl Carrier for Grpc {
    fn binding(&self) -> Binding {
        Binding::Grpc
    }

    fn recognize(&self, head: Head<'_>) -> Option<Recognized> {
        if !frame::is_grpc(&frame::media_type(head.headers)) {
            return None;
        }
        let found = operation_of(head.uri.path(), detect::declared_version(head));
        Some(Recognized {
            binding: Some(Binding::Grpc),
            version: found.map(|(_, version)| version),
            operation: Some(found.map_or(Operation::Unknown, |(operation, _)| operation)),
            wire_name: head.uri.path().to_owned(),
            ..Recognized::default()
        })
    }

    fn read_call(&self, head: Head<'_>, _: &Recognized, body: &[u8], call: &mut Call) {
        if call.operation == Operation::Unknown {
            return;
        }
        call.problems.extend(shared::mismatch(call));
        let messages = unpack::messages(body, head.headers, "$", &mut call.problems);
        check_count(messages.frames.len(), &mut call.problems);
        let Some(octets) = messages.first() else { return };
        let mut problems = Vec::new();
        let value = to_json(call, protobuf::Message::Request, octets, &mut problems);
        call.problems.append(&mut problems);
        let Some(value) = value else { return };
        ids::take(&mut call.ids.tenant, value.get("tenant").and_then(Value::as_str));
        call.request = dialect(call).read_request(call.operation, &value, &mut call.problems);
        if let Some(request) = &call.request {
            ids::of_request(&mut call.ids, request);
        }
    }

    fn read_answer(&self, call: &Call, wire: WireView<'_>) -> Answer {
        let mut answer = Answer::default();
        let status = wire.trailers.and_then(status::read).or_else(|| status::read(wire.headers));
        let is_grpc = frame::is_grpc(&frame::media_type(wire.headers)) && wire.status.is_success();
        if status.is_none() && !is_grpc {
            read_foreign(call, wire, &mut answer);
            return answer;
        }
        answer.grpc_status = status.as_ref().map(|status| status.code);
        if call.operation != Operation::Unknown {
            read_messages(self, call, wire, &mut answer);
        }
        if let Some(status) = status {
            read_status(call, status, &mut answer);
        } else {
            let text = "no grpc-status, neither in the trailers nor in the head";
            let problem = Problem::new("missing_trailers", "response: grpc-status", text);
            answer.problems.push(problem);
        }
        answer
    }

    fn read_event(&self, call: &Call, frame: &Frame, problems: &mut Vec<Problem>) -> Option<Event> {
        let octets = unpack::message(frame, None, "$", problems)?;
        let value = to_json(call, protobuf::Message::Response, &octets, problems);
        let event = value.and_then(|value| dialect(call).read_event(&value, problems));
        Some(Event { start: frame.start, len: frame.raw.len() as u64, event, error: None })
    }

    fn write_reply(&self, call: &Call, reply: &Reply) -> WireAnswer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        if let Reply::Error(error) = reply {
            status::write(&mut headers, &status_of(call, error));
            return WireAnswer {
                status: StatusCode::OK,
                headers,
                body: Bytes::new(),
                trailers: None,
            };
        }
        let value = dialect(call).write_reply(call.operation, reply);
        let body = pack(call, protobuf::Message::Response, &value);
        WireAnswer { status: StatusCode::OK, headers, body, trailers: Some(status::ok()) }
    }

    fn write_stream_head(&self) -> (StatusCode, HeaderMap) {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        (StatusCode::OK, headers)
    }

    fn write_event(&self, call: &Call, event: &StreamResponse) -> Bytes {
        pack(call, protobuf::Message::Response, &dialect(call).write_event(event))
    }

    fn write_stream_end(&self, call: &Call, error: Option<&A2aError>) -> StreamEnd {
        let mut trailers = HeaderMap::new();
        match error {
            Some(error) => status::write(&mut trailers, &status_of(call, error)),
            None => trailers = status::ok(),
        }
        StreamEnd { trailers: Some(trailers), ..StreamEnd::default() }
    }

    fn write_request(
        &self,
        version: ProtocolVersion,
        operation: Operation,
        request: &Request,
        _: &str,
    ) -> WireRequest {
        let spelling = spelling(version);
        let call = Call { version: Some(version), operation, ..Call::default() };
        let value = dialect(&call).write_request(operation, request);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        if let Some(declared) = shared::declaration(version) {
            headers.insert(shared::VERSION, HeaderValue::from_static(declared));
        }
        WireRequest {
            method: Method::POST,
            path: format!("/{}/{}", spelling.service, (spelling.method)(operation)),
            headers,
            body: pack(&call, protobuf::Message::Request, &value),
        }
    }

    fn insert_into_reply(
        &self,
        call: &Call,
        wire: WireView<'_>,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        let mut problems = Vec::new();
        let messages = unpack::messages(wire.body, wire.headers, "$", &mut problems);
        let octets = messages.first().ok_or("the answer has no message")?;
        insert(call, octets, insertion)
    }

    fn insert_into_event(
        &self,
        call: &Call,
        frame: &Frame,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        let octets = unpack::message(frame, None, "$", &mut Vec::new());
        insert(call, &octets.ok_or("the frame has no message")?, insertion)
    }

    fn register_webhooks(
        &self,
        head: Head<'_>,
        recognized: &Recognized,
        body: &[u8],
        decide: webhook::Decide<'_>,
    ) -> Option<Vec<u8>> {
        let (version, operation) = (recognized.version?, recognized.operation?);
        let message = only_message(body, head.headers)?;
        let changed = webhook::register_in_protobuf(&message, version, operation, decide)?;
        Some(framed(&changed).to_vec())
    }

    fn restore_webhooks(&self, wire: WireView<'_>, find: webhook::Find<'_>) -> Option<Vec<u8>> {
        let message = only_message(wire.body, wire.headers)?;
        Some(framed(&webhook::restore_in_protobuf(&message, find)?).to_vec())
    }
}

/// The message of a unary request or answer, inflated; `None` when there is another number of them.
fn only_message(body: &[u8], headers: &HeaderMap) -> Option<Bytes> {
    let mut problems = Vec::new();
    let messages = unpack::messages(body, headers, "$", &mut problems);
    messages.first().filter(|_| messages.frames.len() == 1 && problems.is_empty()).cloned()
}

fn insert(call: &Call, octets: &[u8], insertion: &Insertion) -> Result<Bytes, String> {
    let version = shared::spoken(call);
    let changed = edit::insert_into_protobuf(octets, version, call.operation, insertion)?;
    Ok(framed(&changed))
}

/// A unary request or answer has one message.
fn check_count(count: usize, problems: &mut Vec<Problem>) {
    match count {
        0 => problems.push(Problem::new("missing_message", "$", "no message")),
        1 => {}
        more => {
            let text = format!("{more} messages where one is due");
            problems.push(Problem::new("too_many_messages", "$", text));
        }
    }
}

fn read_messages(carrier: &Grpc, call: &Call, wire: WireView<'_>, answer: &mut Answer) {
    let mut problems = Vec::new();
    let messages = unpack::messages(wire.body, wire.headers, "$", &mut problems);
    shared::add(answer, "response", std::mem::take(&mut problems));
    let is_refused = answer.grpc_status.is_some_and(|code| code != GrpcCode::OK);
    if call.operation.is_streaming() {
        answer.is_stream = !messages.frames.is_empty() || !is_refused;
        for (number, frame) in (1..).zip(&messages.frames) {
            let mut problems = Vec::new();
            let event = carrier.read_event(call, frame, &mut problems);
            shared::add(answer, &format!("response event {number}"), problems);
            answer.events.extend(event);
        }
        shared::sum_up(answer);
        return;
    }
    if !is_refused {
        check_count(messages.frames.len(), &mut problems);
    }
    if let Some(octets) = messages.first() {
        let value = to_json(call, protobuf::Message::Response, octets, &mut problems);
        let reply =
            value.and_then(|value| dialect(call).read_reply(call.operation, &value, &mut problems));
        if let Some(reply) = reply {
            ids::put(answer, reply);
        }
    }
    shared::add(answer, "response", problems);
}

/// Reads how it went.
fn read_status(call: &Call, status: status::Status, answer: &mut Answer) {
    if status.code == GrpcCode::OK {
        return;
    }
    answer.problems.extend(status.problem);
    let (named, message) = split_name(&status.message);
    let kind = status
        .details
        .as_ref()
        .and_then(errors::kind_of_details)
        .or(named)
        .or_else(|| errors::kind_of_grpc(call.operation, status.code));
    let error = A2aError {
        kind,
        is_inferred: false,
        code: kind.map(ErrorKind::code),
        http_status: None,
        grpc_status: Some(status.code),
        message: message.to_owned(),
        details: status.details,
    };
    if answer.is_stream {
        answer.error = Some(error);
    } else {
        ids::put(answer, Reply::Error(error));
    }
}

/// An error's name and words, in a message that 0.3's servers write: `TaskNotFoundError: no such task`.
fn split_name(message: &str) -> (Option<ErrorKind>, &str) {
    let named = message.split_once(": ").and_then(|(name, words)| {
        let kind = name.ends_with("Error").then(|| ErrorKind::of_name(name)).flatten()?;
        Some((Some(kind), words))
    });
    named.unwrap_or((None, message))
}

/// An answer that is not gRPC: something on the way refused, or it is no gRPC server.
fn read_foreign(call: &Call, wire: WireView<'_>, answer: &mut Answer) {
    if wire.status.is_success() {
        let media_type = frame::media_type(wire.headers);
        let found = if media_type.is_empty() { "none" } else { &media_type };
        let text = format!("a gRPC answer is application/grpc, found {found}");
        let problem = Problem::new("wrong_content_type", "response: content-type", text);
        answer.problems.push(problem);
        return;
    }
    let body: Option<Value> = serde_json::from_slice(wire.body).ok();
    let mut error = match body {
        Some(body) => errors::of_http_body(call.operation, wire.status, &body),
        None => errors::of_http_status(wire.status),
    };
    error.grpc_status = Some(GrpcCode::of_http(wire.status.as_u16()));
    ids::put(answer, Reply::Error(error));
}

/// How an error is said in the call's version.
fn status_of(call: &Call, error: &A2aError) -> status::Status {
    let spelling = spelling(shared::spoken(call));
    let code = errors::grpc_status(error, spelling.numbers);
    let words = errors::message(error);
    let (message, details) = match (spelling.naming, errors::kind(error)) {
        (Naming::Message, Some(kind)) => (format!("{}: {words}", kind.name()), None),
        (Naming::Message, None) => (words, None),
        (Naming::Details, _) => (words, errors::details(error)),
    };
    status::Status { code, message, details, problem: None }
}

fn to_json(
    call: &Call,
    message: protobuf::Message,
    octets: &[u8],
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    protobuf::to_json(shared::spoken(call), call.operation, message, octets, problems)
}

/// A value as a message with its prefix. What the schema refuses, which no dialect writes, is sent as an
/// empty message.
fn pack(call: &Call, message: protobuf::Message, value: &Value) -> Bytes {
    let octets = protobuf::from_json(shared::spoken(call), call.operation, message, value);
    framed(&octets.unwrap_or_default())
}

/// A message with its prefix.
fn framed(octets: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(octets.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(octets.len()).unwrap_or(u32::MAX));
    framed.put_slice(octets);
    framed.freeze()
}
