//! JSON-RPC 2.0: everything is posted to one address, the operation's name is `method` in the body.
//!
//! Errors travel under HTTP 200; streams are server-sent events, each one a whole JSON-RPC answer with
//! the request's id. The id is kept as it was written, so that an answer carries the very same.

mod batch;
mod envelope;
mod peek;

use bytes::Bytes;
use envelope::Envelope;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
pub(crate) use peek::{peek_method, peek_rpc_id};
use serde_json::Value;

use super::shared::{self, body, errors, ids, json};
use super::{Binding, Carrier, ProtocolVersion};
use crate::a2a::call::{
    Answer, Call, Event, Head, Recognized, StreamEnd, WireAnswer, WireRequest, WireView,
};
use crate::a2a::detect;
use crate::a2a::dialect::{self, Dialect};
use crate::a2a::edit::{self, Insertion};
use crate::a2a::frame::{self, Frame};
use crate::a2a::model::{A2aError, Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;
use crate::a2a::splice::text::Node;
use crate::a2a::webhook;

/// The binding.
pub(super) struct JsonRpc;

/// What one version does its own way on this binding.
struct Spelling {
    version: ProtocolVersion,
    /// The method of an operation; empty where there is none.
    method: fn(Operation) -> &'static str,
    /// The `data` of an error.
    error_data: fn(&A2aError) -> Option<Value>,
    /// The event name of an error after events.
    error_event: &'static str,
    /// How an error before the first event is sent.
    early_error: EarlyError,
}

/// How an error before the first event of a stream is sent.
#[derive(Clone, Copy)]
enum EarlyError {
    /// As a plain JSON answer.
    Plain,
    /// As the only event: 0.3's clients take nothing but an event stream.
    Event,
}

const SPELLINGS: &[Spelling] = &[
    Spelling {
        version: ProtocolVersion::V0_3,
        method: Operation::rpc_method_v0_3,
        error_data: |error| error.details.clone(),
        error_event: "",
        early_error: EarlyError::Event,
    },
    Spelling {
        version: ProtocolVersion::V1_0,
        method: method_v1_0,
        error_data: errors::details,
        error_event: "error",
        early_error: EarlyError::Plain,
    },
];

/// The operations that have a method.
fn method_v1_0(operation: Operation) -> &'static str {
    if operation.rpc_method_v0_3().is_empty() { "" } else { operation.as_str() }
}

/// The operation and version of a method. Names are exact, case included.
fn operation_of(method: &str) -> (Operation, Option<ProtocolVersion>) {
    SPELLINGS
        .iter()
        .filter(|_| !method.is_empty())
        .find_map(|spelling| {
            let operation = Operation::all().find(|known| (spelling.method)(*known) == method)?;
            Some((operation, Some(spelling.version)))
        })
        .unwrap_or((Operation::Unknown, None))
}

fn spelling(version: ProtocolVersion) -> Option<&'static Spelling> {
    SPELLINGS.iter().find(|row| row.version == version)
}

fn dialect(call: &Call) -> &'static dyn Dialect {
    dialect::of(shared::spoken(call), Binding::JsonRpc)
}

/// Whether a content type may hold JSON. Servers do not look at it, so an absent one may.
fn may_be_json(media_type: &str) -> bool {
    media_type.is_empty() || media_type.ends_with("json") || media_type.ends_with("json-rpc")
}

impl Carrier for JsonRpc {
    fn binding(&self) -> Binding {
        Binding::JsonRpc
    }

    fn recognize(&self, head: Head<'_>) -> Option<Recognized> {
        let is_candidate =
            head.method == Method::POST && may_be_json(&frame::media_type(head.headers));
        is_candidate
            .then(|| Recognized { binding: Some(Binding::JsonRpc), ..Recognized::default() })
    }

    fn read_call(&self, head: Head<'_>, _: &Recognized, body: &[u8], call: &mut Call) {
        let mut problems = Vec::new();
        let text = json::text(body, "$", &mut problems);
        match Envelope::read(&text, "$", &mut problems) {
            Some(mut envelope) if envelope.is_request() => {
                call.problems.append(&mut problems);
                read_envelope(&mut envelope, call);
            }
            Some(_) => not_rpc(head, call),
            None if batch::is_one(&text) => batch::read_call(&text, call),
            None => call.problems.append(&mut problems),
        }
    }

    fn read_answer(&self, call: &Call, wire: WireView<'_>) -> Answer {
        match &*frame::media_type(wire.headers) {
            "text/event-stream" => body::read_stream(call, wire, &|frame, problems| {
                self.read_event(call, frame, problems)
            }),
            media_type => read_plain(call, wire, media_type),
        }
    }

    fn read_event(&self, call: &Call, frame: &Frame, problems: &mut Vec<Problem>) -> Option<Event> {
        let (data, _) = body::event_of(frame, problems)?;
        let mut event =
            Event { start: frame.start, len: frame.raw.len() as u64, event: None, error: None };
        let text = json::text(data, "$", problems);
        let Some(mut envelope) = Envelope::read(&text, "$", problems) else { return Some(event) };
        match envelope.outcome(call, "$", problems) {
            Some(Ok(result)) => {
                let from = problems.len();
                event.event = dialect(call).read_event(&result, problems);
                rebase_from(problems, from, "$.result");
            }
            Some(Err(error)) => event.error = Some(error),
            None => {}
        }
        Some(event)
    }

    fn write_reply(&self, call: &Call, reply: &Reply) -> WireAnswer {
        let Reply::Error(error) = reply else {
            let result = dialect(call).write_reply(call.operation, reply);
            return body::json_answer(StatusCode::OK, "application/json", success(call, &result));
        };
        let status = errors::rpc_http_status(error);
        let failure = failure(call, error);
        let early = spelling(shared::spoken(call)).map(|row| row.early_error);
        match early {
            Some(EarlyError::Event) if call.operation.is_streaming() && status.is_success() => {
                let (status, headers) = body::stream_head();
                WireAnswer { status, headers, body: body::event("", &failure), trailers: None }
            }
            Some(EarlyError::Event | EarlyError::Plain) | None => {
                body::json_answer(status, "application/json", failure)
            }
        }
    }

    fn write_nothing(&self, call: &Call) -> WireAnswer {
        let nothing = success(call, &Value::Null);
        body::json_answer(StatusCode::OK, "application/json", nothing)
    }

    fn write_stream_head(&self) -> (StatusCode, HeaderMap) {
        body::stream_head()
    }

    fn write_event(&self, call: &Call, event: &StreamResponse) -> Bytes {
        body::event("", &success(call, &dialect(call).write_event(event)))
    }

    fn write_stream_end(&self, call: &Call, error: Option<&A2aError>) -> StreamEnd {
        let Some(error) = error else { return StreamEnd::default() };
        let name = spelling(shared::spoken(call)).map_or("", |row| row.error_event);
        StreamEnd { body: body::event(name, &failure(call, error)), ..StreamEnd::default() }
    }

    fn write_request(
        &self,
        version: ProtocolVersion,
        operation: Operation,
        request: &Request,
        rpc_id: &str,
    ) -> WireRequest {
        let method = spelling(version).map_or("", |row| (row.method)(operation));
        let params = dialect::of(version, Binding::JsonRpc).write_request(operation, request);
        let params =
            if params.is_null() { String::new() } else { format!(r#","params":{params}"#) };
        let method = Value::from(method);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{rpc_id},"method":{method}{params}}}"#);
        let mut headers = body::request_headers(
            body::accept(operation, "application/json"),
            shared::declaration(version),
        );
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        WireRequest { method: Method::POST, path: String::new(), headers, body: body.into() }
    }

    fn insert_into_reply(
        &self,
        call: &Call,
        wire: WireView<'_>,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        let text = std::str::from_utf8(wire.body).map_err(|_| "the answer is no UTF-8")?;
        edit::insert_into_json(text, &["result"], dialect(call), insertion).map(Bytes::from)
    }

    fn insert_into_event(
        &self,
        call: &Call,
        frame: &Frame,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        let (data, _) = body::event_of(frame, &mut Vec::new()).ok_or("the frame is no event")?;
        let text = std::str::from_utf8(data).map_err(|_| "the event is no UTF-8")?;
        let changed = edit::insert_into_json(text, &["result"], dialect(call), insertion)?;
        Ok(body::with_data(frame, &changed))
    }

    fn register_webhooks(
        &self,
        _: Head<'_>,
        _: &Recognized,
        body: &[u8],
        decide: webhook::Decide<'_>,
    ) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(body).ok()?;
        let root = Node::root(text)?;
        // A2A has no batches, but a server that takes them would register their webhooks too.
        let items = root.items().into_iter().enumerate();
        let items = items.map(|(index, item)| (format!("$[{index}]"), item));
        let requests: Vec<_> = std::iter::once(("$".to_owned(), root))
            .chain(items)
            .filter_map(|(at, envelope)| {
                let method = envelope.get("method")?.as_string()?;
                let params = envelope.get("params")?;
                Some((format!("{at}.params"), params, operation_of(&method).0))
            })
            .collect();
        webhook::register_in_json(text, &requests, decide)
    }

    fn restore_webhooks(&self, wire: WireView<'_>, find: webhook::Find<'_>) -> Option<Vec<u8>> {
        webhook::restore_in_text(wire.body, webhook::text_in_json, find)
    }
}

/// A request that posts JSON but is no JSON-RPC: not A2A after all.
fn not_rpc(head: Head<'_>, call: &mut Call) {
    call.binding = None;
    call.wire_name = detect::request_line(head);
}

fn read_envelope(envelope: &mut Envelope<'_>, call: &mut Call) {
    envelope.check_request(&mut call.problems);
    call.rpc_id = envelope.id();
    call.wire_name = envelope.method().unwrap_or_default();
    (call.operation, call.version) = operation_of(&call.wire_name);
    call.problems.extend(shared::mismatch(call));
    if call.version.is_none() {
        call.version = shared::declared_or_default(call);
        return;
    }
    let params = envelope.params(&mut call.problems);
    ids::take(&mut call.ids.tenant, params.get("tenant").and_then(Value::as_str));
    let from = call.problems.len();
    call.request = dialect(call).read_request(call.operation, &params, &mut call.problems);
    rebase_from(&mut call.problems, from, "$.params");
    if let Some(request) = &call.request {
        ids::of_request(&mut call.ids, request);
    }
}

/// Reads an answer that is no stream.
fn read_plain(call: &Call, wire: WireView<'_>, media_type: &str) -> Answer {
    let mut answer = Answer::default();
    let mut problems = Vec::new();
    let text = json::text(wire.body, "$", &mut problems);
    if !call.batch.is_empty() && batch::is_one(&text) {
        batch::read_answer(&text, call, wire.status, &mut answer, &mut problems);
        shared::add(&mut answer, "response", problems);
        return answer;
    }
    let envelope = Envelope::read(&text, "$", &mut problems)
        .filter(|envelope| envelope.is_answer(wire.status));
    match envelope {
        Some(mut envelope) => {
            if !media_type.ends_with("json") {
                answer.problems.push(body::wrong_content_type(media_type));
            }
            read_outcome(&mut envelope, call, wire.status, &mut answer, &mut problems);
        }
        None if !wire.status.is_success() => {
            // Answered below JSON-RPC (a gateway, authentication): the body may be anything.
            problems.clear();
            let error = match json::value(&text, "$", &mut Vec::new()) {
                Some(body) => errors::of_http_body(call.operation, wire.status, &body),
                None => errors::of_http_status(wire.status),
            };
            ids::put(&mut answer, Reply::Error(error));
        }
        None if wire.body.is_empty() => {
            problems = vec![Problem::new("empty_body", "$", "nothing in the body")];
        }
        None if !media_type.ends_with("json") => {
            problems.clear();
            answer.problems.push(body::wrong_content_type(media_type));
        }
        None if problems.is_empty() => {
            let text = "neither `result` nor `error`: no JSON-RPC answer";
            problems.push(Problem::new("missing_result", "$", text));
        }
        None => {}
    }
    shared::add(&mut answer, "response", problems);
    answer
}

fn read_outcome(
    envelope: &mut Envelope<'_>,
    call: &Call,
    status: StatusCode,
    answer: &mut Answer,
    problems: &mut Vec<Problem>,
) {
    match envelope.outcome(call, "$", problems) {
        Some(Ok(result)) if call.operation.is_streaming() => {
            problems.push(body::not_a_stream(call));
            let from = problems.len();
            let event = dialect(call).read_event(&result, problems);
            rebase_from(problems, from, "$.result");
            if let Some(reply) = event.and_then(body::reply_of_event) {
                ids::put(answer, reply);
            }
        }
        Some(Ok(result)) => {
            let from = problems.len();
            let reply = dialect(call).read_reply(call.operation, &result, problems);
            rebase_from(problems, from, "$.result");
            if let Some(reply) = reply {
                ids::put(answer, reply);
            }
        }
        Some(Err(mut error)) => {
            error.http_status = errors::refused(status);
            ids::put(answer, Reply::Error(error));
        }
        None => {}
    }
}

fn rebase_from(problems: &mut [Problem], from: usize, root: &str) {
    if let Some(new) = problems.get_mut(from..) {
        json::rebase(new, root);
    }
}

/// A JSON-RPC answer with a result.
fn success(call: &Call, result: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, rpc_id(call))
}

/// A JSON-RPC answer with an error.
fn failure(call: &Call, error: &A2aError) -> String {
    let data = spelling(shared::spoken(call)).and_then(|row| (row.error_data)(error));
    let data = data.map_or_else(String::new, |data| format!(r#","data":{data}"#));
    let code = errors::rpc_code(error);
    let message = Value::from(errors::message(error));
    format!(
        r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{code},"message":{message}{data}}}}}"#,
        rpc_id(call)
    )
}

fn rpc_id(call: &Call) -> &str {
    call.rpc_id.as_ref().map_or("null", |id| id.get())
}
