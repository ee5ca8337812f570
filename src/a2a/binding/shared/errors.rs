//! One error, three numberings: which of its numbers an error carries on which binding, and which error
//! it is when a peer says only some of them.
//!
//! A number that was set explicitly (by a rule, or by the agent) is kept. A missing one follows from the
//! kind, by the tables of `a2a::model`; with no kind it follows from the numbers that are there.

use http::StatusCode;
use serde_json::{Value, json};

use crate::a2a::model::{A2aError, ErrorKind, GrpcCode, Operation};

/// The type of the detail that names an A2A error.
pub(crate) const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
/// The domain of A2A's reasons.
pub(crate) const DOMAIN: &str = "a2a-protocol.org";

/// The names that `google.rpc.Code` gives HTTP statuses.
const STATUS_NAMES: &[(u16, &str)] = &[
    (400, "INVALID_ARGUMENT"),
    (401, "UNAUTHENTICATED"),
    (403, "PERMISSION_DENIED"),
    (404, "NOT_FOUND"),
    (409, "ABORTED"),
    (429, "RESOURCE_EXHAUSTED"),
    (499, "CANCELLED"),
    (500, "INTERNAL"),
    (501, "UNIMPLEMENTED"),
    (503, "UNAVAILABLE"),
    (504, "DEADLINE_EXCEEDED"),
];

/// How one version numbers the errors it names.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    /// HTTP status of an error.
    pub(crate) http: fn(ErrorKind) -> u16,
    /// gRPC status of an error.
    pub(crate) grpc: fn(ErrorKind) -> GrpcCode,
}

/// Its kind, said or told by the code.
pub(crate) fn kind(error: &A2aError) -> Option<ErrorKind> {
    error.kind.or_else(|| error.code.and_then(ErrorKind::of_code))
}

/// Its JSON-RPC code.
pub(crate) fn rpc_code(error: &A2aError) -> i64 {
    let named = || error.kind.unwrap_or(ErrorKind::Internal).code();
    error.code.unwrap_or_else(named)
}

/// The HTTP status of a JSON-RPC answer that carries it: 200, but for an error of HTTP or gRPC that
/// JSON-RPC has no code for.
pub(crate) fn rpc_http_status(error: &A2aError) -> StatusCode {
    let foreign = || {
        error
            .grpc_status
            .filter(|_| kind(error).is_none() && error.code.is_none())
            .map(GrpcCode::http_status)
    };
    status(error.http_status.or_else(foreign).unwrap_or(200))
}

/// Its HTTP status on HTTP+JSON.
pub(crate) fn http_status(error: &A2aError, numbers: Numbers) -> StatusCode {
    let number = error
        .http_status
        .or_else(|| kind(error).map(numbers.http))
        .or_else(|| error.grpc_status.map(GrpcCode::http_status))
        .unwrap_or(500);
    status(number)
}

/// Its gRPC status. Never OK: that would be no error.
pub(crate) fn grpc_status(error: &A2aError, numbers: Numbers) -> GrpcCode {
    error
        .grpc_status
        .or_else(|| kind(error).map(numbers.grpc))
        .or_else(|| error.http_status.map(GrpcCode::of_http))
        .filter(|code| *code != GrpcCode::OK)
        .unwrap_or(GrpcCode::UNKNOWN)
}

/// The `status` word in a body of HTTP+JSON 1.0.
pub(crate) fn status_name(error: &A2aError, http: StatusCode) -> &'static str {
    let said = error.grpc_status.or_else(|| kind(error).map(ErrorKind::grpc_status));
    let of_http = || {
        STATUS_NAMES
            .iter()
            .find(|(status, _)| *status == http.as_u16())
            .map_or("UNKNOWN", |row| row.1)
    };
    said.map_or_else(of_http, GrpcCode::name)
}

/// What it says; its name where it says nothing, because clients show this to people.
pub(crate) fn message(error: &A2aError) -> String {
    if !error.message.is_empty() {
        return error.message.clone();
    }
    match (kind(error), error.http_status, error.grpc_status) {
        (Some(kind), ..) => kind.name().to_owned(),
        (None, Some(http), _) => reason_phrase(http),
        (None, None, Some(grpc)) => grpc.name().to_owned(),
        (None, None, None) => String::from("error"),
    }
}

/// Its details as 1.0 sends them: a list of typed objects, first the `ErrorInfo` that names it. Details
/// that are a list already are taken as they are; others become the `ErrorInfo`'s metadata.
pub(crate) fn details(error: &A2aError) -> Option<Value> {
    match (&error.details, kind(error)) {
        (Some(list @ Value::Array(_)), _) => Some(list.clone()),
        (Some(object @ Value::Object(_)), kind) => Some(error_info(kind, object)),
        (Some(other), kind) => Some(error_info(kind, &json!({ "data": other }))),
        (None, Some(kind)) => Some(error_info(Some(kind), &json!({}))),
        (None, None) => None,
    }
}

fn error_info(kind: Option<ErrorKind>, metadata: &Value) -> Value {
    let reason = kind.map_or("UNKNOWN_ERROR", ErrorKind::reason);
    json!([{ "@type": ERROR_INFO, "reason": reason, "domain": DOMAIN, "metadata": metadata }])
}

/// The error of a JSON-RPC answer's `error` member.
pub(crate) fn of_rpc(error: &Value) -> A2aError {
    let code = error.get("code").and_then(Value::as_i64);
    let details = error.get("data").filter(|data| !data.is_null()).cloned();
    A2aError {
        kind: code
            .and_then(ErrorKind::of_code)
            .or_else(|| details.as_ref().and_then(kind_of_details)),
        code,
        message: words(error),
        details,
        ..A2aError::default()
    }
}

/// The error of an HTTP answer's JSON body: HTTP+JSON 1.0's `error` object, 0.3's `message` (with the
/// JSON-RPC code in JavaScript's), RFC 9457's problem, or whatever a gateway says.
pub(crate) fn of_http_body(operation: Operation, status: StatusCode, body: &Value) -> A2aError {
    let inner = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let grpc = inner.get("status").and_then(Value::as_str).and_then(GrpcCode::of_name);
    let code = inner.get("code").and_then(Value::as_i64).filter(|code| *code < 0);
    let details = inner
        .get("details")
        .or_else(|| inner.get("data"))
        .filter(|details| !details.is_null())
        .cloned();
    let is_a2a = inner.get("message").is_some();
    let kind = details
        .as_ref()
        .and_then(kind_of_details)
        .or_else(|| code.and_then(ErrorKind::of_code))
        .or_else(|| inner.get("type").and_then(Value::as_str).and_then(kind_of_type))
        .or_else(|| grpc.and_then(|grpc| kind_of_grpc(operation, grpc)))
        .or_else(|| is_a2a.then(|| kind_of_http(operation, status.as_u16())).flatten());
    let mut message = words(body);
    if message.is_empty() {
        message = reason_phrase(status.as_u16());
    }
    A2aError {
        kind,
        is_inferred: false,
        code: code.or_else(|| kind.map(ErrorKind::code)),
        http_status: refused(status),
        grpc_status: grpc,
        message,
        details,
    }
}

/// The error of an HTTP answer whose body says nothing that can be read.
pub(crate) fn of_http_status(status: StatusCode) -> A2aError {
    A2aError {
        http_status: Some(status.as_u16()),
        message: reason_phrase(status.as_u16()),
        ..A2aError::default()
    }
}

/// The error that a list of typed details names.
pub(crate) fn kind_of_details(details: &Value) -> Option<ErrorKind> {
    let list = details.as_array()?;
    list.iter().find_map(|detail| ErrorKind::of_reason(detail.get("reason")?.as_str()?))
}

/// The error that a gRPC status most likely is, asked of this operation, when no detail names it.
pub(crate) fn kind_of_grpc(operation: Operation, status: GrpcCode) -> Option<ErrorKind> {
    match status.number() {
        3 => Some(ErrorKind::InvalidParams),
        5 => Some(not_found(operation)),
        9 => Some(refusal(operation)),
        12 => Some(ErrorKind::MethodNotFound),
        13 => Some(ErrorKind::Internal),
        _ => None,
    }
}

/// The same for the HTTP statuses of the 0.3 SDKs.
fn kind_of_http(operation: Operation, status: u16) -> Option<ErrorKind> {
    match status {
        400 => Some(ErrorKind::InvalidRequest),
        404 => Some(not_found(operation)),
        409 | 501 => Some(refusal(operation)),
        415 => Some(ErrorKind::ContentTypeNotSupported),
        422 => Some(ErrorKind::InvalidParams),
        500 => Some(ErrorKind::Internal),
        502 => Some(ErrorKind::InvalidAgentResponse),
        _ => None,
    }
}

/// What is missing when this operation finds something missing.
fn not_found(operation: Operation) -> ErrorKind {
    match operation {
        Operation::GetExtendedAgentCard => ErrorKind::ExtendedAgentCardNotConfigured,
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
        | Operation::AgentCard
        | Operation::PushNotification
        | Operation::Unknown => ErrorKind::TaskNotFound,
    }
}

/// Why this operation is refused, most likely.
fn refusal(operation: Operation) -> ErrorKind {
    match operation {
        Operation::CancelTask => ErrorKind::TaskNotCancelable,
        Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => ErrorKind::PushNotificationNotSupported,
        Operation::GetExtendedAgentCard => ErrorKind::ExtendedAgentCardNotConfigured,
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::SubscribeToTask
        | Operation::AgentCard
        | Operation::PushNotification
        | Operation::Unknown => ErrorKind::UnsupportedOperation,
    }
}

/// The error that an RFC 9457 problem type names: `https://a2a-protocol.org/errors/task-not-found`.
/// What a refusal on HTTP+JSON means that names itself in no way we know: the problem details of some other
/// framework. `about:blank` says that the status is all there is to it.
pub(crate) fn infer(error: &mut A2aError, operation: Operation, status: StatusCode, body: &Value) {
    let is_blank = body.get("type").and_then(Value::as_str) == Some("about:blank");
    if error.kind.is_some() || is_blank || !status.is_client_error() || !body.is_object() {
        return;
    }
    error.kind = kind_of_http(operation, status.as_u16());
    error.is_inferred = error.kind.is_some();
    error.code = error.code.or_else(|| error.kind.map(ErrorKind::code));
}

fn kind_of_type(uri: &str) -> Option<ErrorKind> {
    let name = uri.trim_end_matches('/').rsplit('/').next()?;
    ErrorKind::of_reason(&name.to_ascii_uppercase().replace('-', "_"))
}

/// What an error says, under any of the names in use.
fn words(error: &Value) -> String {
    match error {
        Value::String(text) => text.clone(),
        Value::Object(members) => ["message", "detail", "title", "error", "error_description"]
            .iter()
            .filter_map(|name| members.get(*name))
            .map(words)
            .find(|text| !text.is_empty())
            .unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => String::new(),
    }
}

/// The status as a number to keep, if it is one that refuses.
pub(crate) fn refused(status: StatusCode) -> Option<u16> {
    (!status.is_success()).then_some(status.as_u16())
}

fn reason_phrase(status: u16) -> String {
    let phrase = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    phrase.map_or_else(|| format!("HTTP {status}"), str::to_owned)
}

fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
