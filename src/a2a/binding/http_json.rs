//! HTTP+JSON ("REST"): the operation is method and path, the parameters are path, query and body.
//!
//! As in the specification's own mapping, what path and query say is put into the body's object, and
//! the dialect reads the whole. Card discovery and deliveries to webhooks are plain HTTP with JSON, so
//! they are read here too.

mod parameters;
mod routes;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::{Value, json};

use super::shared::errors::Numbers;
use super::shared::{self, body, errors, ids, json};
use super::{Binding, Carrier, ProtocolVersion};
use crate::a2a::call::{
    Answer, Call, Event, Head, Recognized, StreamEnd, WireAnswer, WireRequest, WireView,
};
use crate::a2a::detect;
use crate::a2a::dialect::{self, Dialect};
use crate::a2a::edit::{self, Insertion};
use crate::a2a::frame::{self, Frame};
use crate::a2a::model::{A2aError, ErrorKind, Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;
use crate::a2a::splice::text::Node;
use crate::a2a::webhook;

/// The binding.
pub(super) struct HttpJson;

/// What one version does its own way on this binding.
struct Spelling {
    version: ProtocolVersion,
    /// The content type of a success. Errors and the public card are `application/json` in both.
    success: &'static str,
    /// The content types that its clients take.
    accept: &'static str,
    numbers: Numbers,
    /// The body of an error.
    error_body: fn(&A2aError, StatusCode) -> Value,
    /// The data of an error after events. 0.3 has no form for it: its Python client takes any event
    /// that is no `StreamResponse` for garbage, and its server breaks the connection off.
    error_event: Option<fn(&A2aError, StatusCode) -> Value>,
}

const V1_0: Spelling = Spelling {
    version: ProtocolVersion::V1_0,
    success: "application/a2a+json",
    accept: "application/a2a+json, application/json",
    numbers: Numbers { http: ErrorKind::http_status, grpc: ErrorKind::grpc_status },
    error_body: status_body,
    error_event: Some(status_body),
};

const SPELLINGS: &[Spelling] = &[
    Spelling {
        version: ProtocolVersion::V0_3,
        success: "application/json",
        accept: "application/json",
        numbers: Numbers { http: ErrorKind::http_status_v0_3, grpc: ErrorKind::grpc_status_v0_3 },
        error_body: |error, _| json!({ "message": errors::message(error) }),
        error_event: None,
    },
    V1_0,
];

fn spelling(version: ProtocolVersion) -> &'static Spelling {
    SPELLINGS.iter().find(|row| row.version == version).unwrap_or(&V1_0)
}

/// 1.0's error: `google.rpc.Status` as JSON.
fn status_body(error: &A2aError, http: StatusCode) -> Value {
    let mut body = json!({
        "code": http.as_u16(),
        "status": errors::status_name(error, http),
        "message": errors::message(error),
    });
    if let (Some(details), Some(members)) = (errors::details(error), body.as_object_mut()) {
        members.insert("details".to_owned(), details);
    }
    json!({ "error": body })
}

fn dialect(call: &Call) -> &'static dyn Dialect {
    dialect::of(shared::spoken(call), Binding::HttpJson)
}

impl Carrier for HttpJson {
    fn binding(&self) -> Binding {
        Binding::HttpJson
    }

    fn recognize(&self, head: Head<'_>) -> Option<Recognized> {
        let declared = detect::declared_version(head);
        let found = routes::find(head.method, head.uri.path(), declared)?;
        Some(Recognized {
            binding: Some(Binding::HttpJson),
            version: found.version,
            declared: None,
            operation: Some(found.operation),
            wire_name: found.wire_name,
            tenant: found.tenant,
            task_id: found.task_id,
            config_id: found.config_id,
        })
    }

    fn read_call(&self, head: Head<'_>, recognized: &Recognized, body: &[u8], call: &mut Call) {
        call.problems.extend(shared::mismatch(call));
        match call.operation {
            Operation::AgentCard => call.request = Some(Request::Card),
            Operation::PushNotification => read_delivery(body, call),
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::GetTask
            | Operation::ListTasks
            | Operation::CancelTask
            | Operation::SubscribeToTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::Unknown => {
                let mut value = parameters::of_body(call.operation, body, &mut call.problems);
                parameters::bind_path(call, recognized, &mut value);
                parameters::bind_query(
                    call.operation,
                    head.uri.query(),
                    &mut value,
                    &mut call.problems,
                );
                let tenant = value.get("tenant").and_then(Value::as_str);
                ids::take(&mut call.ids.tenant, tenant);
                call.request =
                    dialect(call).read_request(call.operation, &value, &mut call.problems);
            }
        }
        if let Some(Request::CreatePushConfig(config)) = &mut call.request {
            ids::take(&mut config.task_id, recognized.task_id.as_deref());
        }
        if let Some(request) = &call.request {
            ids::of_request(&mut call.ids, request);
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
        let (data, name) = body::event_of(frame, problems)?;
        let mut event =
            Event { start: frame.start, len: frame.raw.len() as u64, event: None, error: None };
        let text = json::text(data, "$", problems);
        let Some(value) = json::value(&text, "$", problems) else { return Some(event) };
        if name == "error" || value.get("error").is_some_and(Value::is_object) {
            let error = errors::of_http_body(call.operation, StatusCode::OK, &value);
            event.error = Some(error);
        } else {
            event.event = dialect(call).read_event(&value, problems);
        }
        Some(event)
    }

    fn write_reply(&self, call: &Call, reply: &Reply) -> WireAnswer {
        let spelling = spelling(shared::spoken(call));
        match reply {
            Reply::Error(error) => {
                let status = errors::http_status(error, spelling.numbers);
                let body = (spelling.error_body)(error, status);
                body::json_answer(status, "application/json", body.to_string())
            }
            Reply::Card(card) if call.operation == Operation::AgentCard => {
                body::json_answer(StatusCode::OK, "application/json", card.raw.to_string())
            }
            Reply::Empty if call.operation == Operation::PushNotification => WireAnswer {
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                body: Bytes::new(),
                trailers: None,
            },
            Reply::Task(_)
            | Reply::Message(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_) => {
                let body = dialect(call).write_reply(call.operation, reply);
                let body = if body.is_null() { json!({}) } else { body };
                body::json_answer(StatusCode::OK, spelling.success, body.to_string())
            }
        }
    }

    fn write_stream_head(&self) -> (StatusCode, HeaderMap) {
        body::stream_head()
    }

    fn write_event(&self, call: &Call, event: &StreamResponse) -> Bytes {
        body::event("", &dialect(call).write_event(event).to_string())
    }

    fn write_stream_end(&self, call: &Call, error: Option<&A2aError>) -> StreamEnd {
        let Some(error) = error else { return StreamEnd::default() };
        let spelling = spelling(shared::spoken(call));
        let Some(error_event) = spelling.error_event else {
            return StreamEnd { abort: true, ..StreamEnd::default() };
        };
        let status = errors::http_status(error, spelling.numbers);
        let data = error_event(error, status).to_string();
        StreamEnd { body: body::event("error", &data), ..StreamEnd::default() }
    }

    fn write_request(
        &self,
        version: ProtocolVersion,
        operation: Operation,
        request: &Request,
        _: &str,
    ) -> WireRequest {
        let spelling = spelling(version);
        let mut headers = body::request_headers(
            body::accept(operation, spelling.accept),
            shared::declaration(version),
        );
        let (method, path) = parameters::target(version, operation, request);
        let mut body = Bytes::new();
        if method == Method::POST {
            let value = parameters::body(version, operation, request);
            body = Bytes::from(value.to_string());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        WireRequest { method, path, headers, body }
    }

    fn insert_into_reply(
        &self,
        call: &Call,
        wire: WireView<'_>,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        if !wire.status.is_success() {
            return Err(format!("the answer is an error: HTTP {}", wire.status.as_u16()));
        }
        let text = std::str::from_utf8(wire.body).map_err(|_| "the answer is no UTF-8")?;
        edit::insert_into_json(text, &[], dialect(call), insertion).map(Bytes::from)
    }

    fn insert_into_event(
        &self,
        call: &Call,
        frame: &Frame,
        insertion: &Insertion,
    ) -> Result<Bytes, String> {
        let (data, _) = body::event_of(frame, &mut Vec::new()).ok_or("the frame is no event")?;
        let text = std::str::from_utf8(data).map_err(|_| "the event is no UTF-8")?;
        let changed = edit::insert_into_json(text, &[], dialect(call), insertion)?;
        Ok(body::with_data(frame, &changed))
    }

    fn register_webhooks(
        &self,
        _: Head<'_>,
        recognized: &Recognized,
        body: &[u8],
        decide: webhook::Decide<'_>,
    ) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(body).ok()?;
        let request = ("$".to_owned(), Node::root(text)?, recognized.operation?);
        webhook::register_in_json(text, &[request], decide)
    }

    fn restore_webhooks(&self, wire: WireView<'_>, find: webhook::Find<'_>) -> Option<Vec<u8>> {
        webhook::restore_in_text(wire.body, webhook::text_in_json, find)
    }
}

/// Reads a delivery to a webhook. Nothing declares its version, but its shape shows it.
fn read_delivery(octets: &[u8], call: &mut Call) {
    let text = json::text(octets, "$", &mut call.problems);
    let Some(value) = json::value(&text, "$", &mut call.problems) else { return };
    call.version = dialect::version_of_notification(&value);
    // Deliveries are written as JSON-RPC writes them, in every version.
    let dialect = dialect::of(shared::spoken(call), Binding::JsonRpc);
    call.request = dialect.read_request(call.operation, &value, &mut call.problems);
}

/// Reads an answer that is no stream.
fn read_plain(call: &Call, wire: WireView<'_>, media_type: &str) -> Answer {
    let mut answer = Answer::default();
    if !wire.status.is_success() {
        // 304 says that the card the caller has is still right.
        if wire.status != StatusCode::NOT_MODIFIED {
            let body = json::value(&String::from_utf8_lossy(wire.body), "$", &mut Vec::new());
            let error = match body {
                Some(body) => {
                    let mut error = errors::of_http_body(call.operation, wire.status, &body);
                    errors::infer(&mut error, call.operation, wire.status, &body);
                    error
                }
                None => errors::of_http_status(wire.status),
            };
            ids::put(&mut answer, Reply::Error(error));
        }
        return answer;
    }
    if call.operation == Operation::Unknown {
        return answer;
    }
    if wire.body.is_empty() || call.operation == Operation::PushNotification {
        read_nothing(call, &mut answer);
        return answer;
    }
    if !media_type.ends_with("json") {
        answer.problems.push(body::wrong_content_type(media_type));
    }
    let mut problems = Vec::new();
    let text = json::text(wire.body, "$", &mut problems);
    let is_declared = answer.problems.is_empty();
    match json::value(&text, "$", &mut problems) {
        Some(value) => read_value(call, &value, &mut answer, &mut problems),
        // What is not declared as JSON need not be any: one problem is enough.
        None if !is_declared => problems.clear(),
        None => {}
    }
    shared::add(&mut answer, "response", problems);
    answer
}

/// An answer without a body: right where nothing is to be said, and for HEAD.
fn read_nothing(call: &Call, answer: &mut Answer) {
    match call.operation {
        Operation::DeleteTaskPushNotificationConfig | Operation::PushNotification => {
            ids::put(answer, Reply::Empty);
        }
        Operation::AgentCard => {}
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::GetExtendedAgentCard
        | Operation::Unknown => {
            let problem = Problem::new("empty_body", "response: $", "nothing in the body");
            answer.problems.push(problem);
        }
    }
}

fn read_value(call: &Call, value: &Value, answer: &mut Answer, problems: &mut Vec<Problem>) {
    let reply = if call.operation == Operation::AgentCard {
        Some(Reply::Card(Box::new(dialect::read_card(value, problems))))
    } else if call.operation.is_streaming() {
        problems.push(body::not_a_stream(call));
        dialect(call).read_event(value, problems).and_then(body::reply_of_event)
    } else {
        dialect(call).read_reply(call.operation, value, problems)
    };
    if let Some(reply) = reply {
        ids::put(answer, reply);
    }
}
