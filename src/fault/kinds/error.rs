//! `error`: the agent fails, in one of the many ways an agent can.
//!
//! A failed task is an answer; an A2A error has its numbers by binding and version, which the writers
//! look up; a bare HTTP or gRPC status carries its counterpart with it (the tables are those of
//! [`GrpcCode`]) and names no A2A error, so that JSON-RPC says -32603 under that very status.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::{Fault, Named, Role};
use crate::a2a::call::Call;
use crate::a2a::model::{A2aError, ErrorKind, GrpcCode, TaskState};
use crate::fault::facts::Needs;
use crate::fault::made::{self, Meaning, Outline, Place, Said};
use crate::fault::settings::{self, Span};
use crate::fault::shot::Shot;
use crate::fault::verdict::{Effect, Made, Start};

#[derive(Debug)]
pub(super) struct Error {
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// A task that ends badly.
    Task { state: TaskState, message: String },
    /// An error in the task's place.
    Error { error: Box<A2aError>, headers: Vec<(String, String)> },
}

/// States that are a failure.
const STATES: &[TaskState] = &[TaskState::Failed, TaskState::Rejected, TaskState::Canceled];

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    state: Option<String>,
    name: Option<String>,
    code: Option<i64>,
    status: Option<u16>,
    grpc: Option<Value>,
    message: Option<String>,
    data: Option<Value>,
    retry_after: Option<Span>,
    www_authenticate: Option<String>,
}

impl Named for Error {
    const NAME: &'static str = "error";
    const SUMMARY: &'static str = "Fail: a failed task, an A2A error, an HTTP or gRPC status";
    const ROLE: Role = Role::Answers;

    fn parse(settings: &Value) -> Result<Self, String> {
        let settings = match settings {
            Value::Null => Settings::default(),
            Value::String(word) => of_word(word)?,
            Value::Number(number) => of_number(number.as_i64())?,
            Value::Object(_) => settings::read(settings)?,
            Value::Bool(_) | Value::Array(_) => {
                return Err(format!(
                    "{settings} is no error: write failed, an error's name, a code"
                ));
            }
        };
        Ok(Self { form: settings.form()? })
    }
}

fn of_word(word: &str) -> Result<Settings, String> {
    if word.parse::<i64>().is_ok() {
        return Err(format!("\"{word}\" is text: write the number without quotes"));
    }
    if TaskState::parse(word).is_some() {
        return Ok(Settings { state: Some(word.to_owned()), ..Settings::default() });
    }
    if ErrorKind::of_name(word).is_some() {
        return Ok(Settings { name: Some(word.to_owned()), ..Settings::default() });
    }
    if GrpcCode::of_name(word).is_some() {
        return Err(format!("`{word}` is a gRPC status: write {{ grpc: {word} }}"));
    }
    let states = STATES.iter().map(TaskState::as_str);
    let known: Vec<&str> = states.chain(ErrorKind::all().map(ErrorKind::name)).collect();
    Err(settings::unknown("error", word, &known))
}

fn of_number(number: Option<i64>) -> Result<Settings, String> {
    match number {
        Some(code) if code < 0 => Ok(Settings { code: Some(code), ..Settings::default() }),
        Some(status) => {
            let status = u16::try_from(status).map_err(|_| not_a_status(status))?;
            Ok(Settings { status: Some(status), ..Settings::default() })
        }
        None => Err("a number is a JSON-RPC code (below 0) or an HTTP status".to_owned()),
    }
}

fn not_a_status(number: impl std::fmt::Display) -> String {
    format!("{number} is no error status (400 to 599)")
}

impl Settings {
    fn form(self) -> Result<Form, String> {
        self.check_extras()?;
        let Self { state, name, code, status, grpc, message, data, .. } = &self;
        match (state, name, code, status, grpc) {
            (None, None, None, None, None) => Ok(task(TaskState::Failed, message.clone())),
            (Some(state), None, None, None, None) => Ok(task(failure(state)?, message.clone())),
            (None, Some(name), None, None, None) => self.named(name),
            (None, None, Some(code), None, None) => {
                let kind = ErrorKind::of_code(*code);
                let message = message.clone().unwrap_or_else(|| words(kind).to_owned());
                let error = A2aError {
                    kind,
                    code: Some(*code),
                    message,
                    details: data.clone(),
                    ..A2aError::default()
                };
                Ok(Form::Error { error: Box::new(error), headers: Vec::new() })
            }
            (None, None, None, Some(status), None) => self.of_status(*status),
            (None, None, None, None, Some(grpc)) => self.of_grpc(grpc),
            _ => Err("give only one of state, name, code, status, grpc".to_owned()),
        }
    }

    /// Refuses what would be left out in silence.
    fn check_extras(&self) -> Result<(), String> {
        if self.data.is_some() && self.code.is_none() && self.name.is_none() {
            return Err("data: only a JSON-RPC code or an error's name carries it".to_owned());
        }
        if self.status.is_some() {
            return Ok(());
        }
        match (&self.retry_after, &self.www_authenticate) {
            (Some(_), _) => Err("retry_after: only an HTTP status carries it".to_owned()),
            (None, Some(_)) => Err("www_authenticate: only an HTTP status carries it".to_owned()),
            (None, None) => Ok(()),
        }
    }

    fn named(&self, name: &str) -> Result<Form, String> {
        let Some(kind) = ErrorKind::of_name(name) else {
            let known: Vec<&str> = ErrorKind::all().map(ErrorKind::name).collect();
            return Err(settings::unknown("error", name, &known));
        };
        let message = self.message.clone().unwrap_or_else(|| words(Some(kind)).to_owned());
        let error = A2aError { details: self.data.clone(), ..A2aError::of(kind, message) };
        Ok(Form::Error { error: Box::new(error), headers: Vec::new() })
    }

    fn of_status(&self, number: u16) -> Result<Form, String> {
        let status = match StatusCode::from_u16(number) {
            Ok(status) if status.is_client_error() || status.is_server_error() => status,
            Ok(_) | Err(_) => return Err(not_a_status(number)),
        };
        let reason = status.canonical_reason().unwrap_or("Error");
        let message = self.message.clone().unwrap_or_else(|| reason.to_owned());
        let mut headers = Vec::new();
        if let Some(Span(wait)) = self.retry_after {
            // The field counts whole seconds; a client that comes back early would be wrong.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.push(("retry-after".to_owned(), seconds.to_string()));
        }
        if let Some(challenge) = &self.www_authenticate {
            http::HeaderValue::from_str(challenge)
                .map_err(|_| format!("www_authenticate: `{challenge}` is no header value"))?;
            headers.push(("www-authenticate".to_owned(), challenge.clone()));
        }
        let error = A2aError {
            kind: None,
            is_inferred: false,
            code: None,
            http_status: Some(number),
            grpc_status: Some(GrpcCode::of_http(number)),
            message,
            details: None,
        };
        Ok(Form::Error { error: Box::new(error), headers })
    }

    fn of_grpc(&self, name: &Value) -> Result<Form, String> {
        let name = settings::text(name)?;
        let code = match GrpcCode::of_name(&name) {
            Some(GrpcCode::OK) => return Err("grpc: OK is no error".to_owned()),
            Some(code) => code,
            None => return Err(unknown_grpc(&name)),
        };
        let message = self.message.clone().unwrap_or_else(|| code.name().to_owned());
        let error = A2aError {
            kind: None,
            is_inferred: false,
            code: None,
            http_status: Some(code.http_status()),
            grpc_status: Some(code),
            message,
            details: None,
        };
        Ok(Form::Error { error: Box::new(error), headers: Vec::new() })
    }
}

fn unknown_grpc(name: &str) -> String {
    let codes: Vec<GrpcCode> = (1..=16).filter_map(GrpcCode::new).collect();
    let known: Vec<&str> = codes.iter().map(|code| code.name()).collect();
    settings::unknown("gRPC status", name, &known)
}

fn failure(word: &str) -> Result<TaskState, String> {
    match TaskState::parse(word) {
        Some(state) if STATES.contains(&state) => Ok(state),
        Some(state) => Err(format!("state: {state} is no failure; `custom` answers in any state")),
        None => {
            let known: Vec<&str> = STATES.iter().map(TaskState::as_str).collect();
            Err(format!("state: {}", settings::unknown("state", word, &known)))
        }
    }
}

fn task(state: TaskState, message: Option<String>) -> Form {
    let words = match state {
        TaskState::Rejected => "The agent does not take this task.",
        TaskState::Canceled => "The task was canceled.",
        TaskState::Failed
        | TaskState::Unspecified(_)
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Completed => "The task failed because of an internal error.",
    };
    Form::Task { state, message: message.unwrap_or_else(|| words.to_owned()) }
}

/// What agents say with an error, in the words of the official SDKs.
const fn words(kind: Option<ErrorKind>) -> &'static str {
    match kind {
        Some(ErrorKind::TaskNotFound) => "Task not found",
        Some(ErrorKind::TaskNotCancelable) => "Task cannot be canceled",
        Some(ErrorKind::PushNotificationNotSupported) => "Push Notification is not supported",
        Some(ErrorKind::UnsupportedOperation) => "This operation is not supported",
        Some(ErrorKind::ContentTypeNotSupported) => "Incompatible content types",
        Some(ErrorKind::InvalidAgentResponse) => "Invalid agent response",
        Some(ErrorKind::ExtendedAgentCardNotConfigured) => "Extended agent card is not configured",
        Some(ErrorKind::ExtensionSupportRequired) => "Extension support is required",
        Some(ErrorKind::VersionNotSupported) => "Protocol version is not supported",
        Some(ErrorKind::ParseError) => "Invalid JSON payload",
        Some(ErrorKind::InvalidRequest) => "Request payload validation error",
        Some(ErrorKind::MethodNotFound) => "Method not found",
        Some(ErrorKind::InvalidParams) => "Invalid parameters",
        Some(ErrorKind::Internal) => "Internal error",
        None => "Server error",
    }
}

impl Fault for Error {
    fn needs(&self, from: Start) -> Needs {
        match &self.form {
            Form::Task { .. } => made::needs(from),
            Form::Error { .. } => Needs::default(),
        }
    }

    fn place(&self, call: &Call, from: Start) -> Result<Option<Place>, String> {
        match &self.form {
            Form::Task { .. } => made::place_of_task(call, from).map(Some),
            Form::Error { .. } => Ok(Some(Place::of_start(from))),
        }
    }

    fn effects(&self, shot: &mut Shot<'_>) -> Vec<Effect> {
        let made = match &self.form {
            Form::Task { state, message } => {
                shot.text = format!("answers with a task in state {state}");
                let said = Some(Said::text(message));
                let outline = Outline { state: state.clone(), said, artifacts: Vec::new() };
                made::answer(shot, Meaning::Task(outline))
            }
            Form::Error { error, headers } => {
                shot.text = format!("answers with {}", describe(error));
                let error = A2aError::clone(error);
                match shot.from {
                    Start::Beginning => Made::Error { error, headers: headers.clone() },
                    // The head has gone out: the status can only be told inside the stream.
                    Start::Event(_) => Made::Stream { events: Vec::new(), error: Some(error) },
                }
            }
        };
        vec![shot.answer(made)]
    }
}

fn describe(error: &A2aError) -> String {
    match (error.kind, error.http_status, error.grpc_status) {
        (Some(kind), _, _) => kind.name().to_owned(),
        (None, Some(http), Some(grpc)) => format!("HTTP status {http}, or {grpc} on gRPC"),
        (None, _, _) => format!("JSON-RPC code {}", error.code.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::model::Operation;
    use crate::fault::testing::{does, does_at};

    #[track_caller]
    fn check(settings: &Value, operation: Operation, expected: &str) {
        assert_eq!(does(&json!({ "error": settings }), operation), expected, "error: {settings}");
    }

    const FAILED: &str = r#"task(failed: ["The task failed because of an internal error."])"#;

    #[test]
    fn a_task_fails_by_default() {
        check(&json!({}), Operation::SendMessage, FAILED);
        check(&json!(null), Operation::SendMessage, FAILED);
        check(&json!("failed"), Operation::GetTask, FAILED);
        check(
            &json!("rejected"),
            Operation::SendMessage,
            r#"task(rejected: ["The agent does not take this task."])"#,
        );
        check(
            &json!({ "state": "TASK_STATE_CANCELED", "message": "no" }),
            Operation::CancelTask,
            r#"task(canceled: ["no"])"#,
        );
        assert_eq!(does(&json!("error"), Operation::SendMessage), FAILED);
    }

    #[test]
    fn a_stream_begins_with_the_task_and_ends_with_its_failure() {
        let whole = r#"stream[task(submitted), last status(failed: ["no"])]"#;
        check(&json!({ "message": "no" }), Operation::SendStreamingMessage, whole);
        let inject = json!({ "error": { "message": "no" } });
        let at = |event| does_at(&inject, Operation::SendStreamingMessage, event);
        assert_eq!(at(1), format!("from 1: {whole}"));
        assert_eq!(at(2), r#"from 2: stream[last status(failed: ["no"])]"#);
    }

    #[test]
    fn errors_go_by_name_code_and_status() {
        let send = Operation::SendMessage;
        let not_found = r#"error(TaskNotFoundError code -32001 "Task not found")"#;
        check(&json!("TaskNotFoundError"), send, not_found);
        check(&json!("TaskNotFound"), Operation::GetTask, not_found);
        check(&json!(-32001), send, not_found);
        check(
            &json!({ "code": -32050, "message": "odd", "data": { "a": 1 } }),
            send,
            r#"error(code -32050 "odd" {"a":1})"#,
        );
        check(
            &json!({ "status": 503, "retry_after": "1500ms" }),
            send,
            r#"error(http 503 grpc UNAVAILABLE "Service Unavailable") retry-after: 2"#,
        );
        check(
            &json!({ "status": 401, "www_authenticate": "Bearer", "message": "who?" }),
            Operation::AgentCard,
            r#"error(http 401 grpc UNAUTHENTICATED "who?") www-authenticate: Bearer"#,
        );
        check(
            &json!({ "grpc": "UNAVAILABLE" }),
            send,
            r#"error(http 503 grpc UNAVAILABLE "UNAVAILABLE")"#,
        );
    }

    #[test]
    fn a_bare_status_has_its_counterpart_on_grpc() {
        for (status, grpc) in [
            (400, "INTERNAL"),
            (401, "UNAUTHENTICATED"),
            (403, "PERMISSION_DENIED"),
            (404, "UNIMPLEMENTED"),
            (429, "UNAVAILABLE"),
            (502, "UNAVAILABLE"),
            (503, "UNAVAILABLE"),
            (504, "UNAVAILABLE"),
            (500, "UNKNOWN"),
            (418, "UNKNOWN"),
        ] {
            let did = does(&json!({ "error": status }), Operation::SendMessage);
            assert!(did.contains(&format!("http {status} grpc {grpc} ")), "{status}: {did}");
        }
    }

    #[test]
    fn inside_a_stream_an_error_ends_it() {
        assert_eq!(
            does_at(&json!({ "error": 503 }), Operation::SendStreamingMessage, 2),
            "from 2: stream[] then \
             error(http 503 grpc UNAVAILABLE \"Service Unavailable\")"
        );
    }

    #[test]
    fn a_task_is_no_answer_to_what_is_not_answered_by_one() {
        check(
            &json!({}),
            Operation::ListTasks,
            "NotApplicable: error: ListTasks is not answered by a task or message",
        );
        check(
            &json!({}),
            Operation::AgentCard,
            "NotApplicable: error: AgentCard is not answered by a task or message",
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let send = Operation::SendMessage;
        let wrong = |settings: &Value, expected: &str| {
            check(settings, send, &format!("inject.error: {expected}"));
        };
        wrong(&json!(200), "200 is no error status (400 to 599)");
        wrong(&json!(70000), "70000 is no error status (400 to 599)");
        wrong(&json!("503"), "\"503\" is text: write the number without quotes");
        wrong(&json!("UNAVAILABLE"), "`UNAVAILABLE` is a gRPC status: write { grpc: UNAVAILABLE }");
        wrong(&json!("completed"), "state: completed is no failure; `custom` answers in any state");
        wrong(&json!({ "grpc": "OK" }), "grpc: OK is no error");
        wrong(
            &json!({ "status": 503, "code": -1 }),
            "give only one of state, name, code, status, grpc",
        );
        wrong(&json!({ "retry_after": "5s" }), "retry_after: only an HTTP status carries it");
        wrong(&json!({ "status": "503" }), "invalid type: string \"503\", expected u16");
        let did = does(&json!({ "error": { "mesage": "no" } }), send);
        assert!(did.ends_with("did you mean `message`?"), "{did}");
        let did = does(&json!({ "error": "TaskNotFoundErorr" }), send);
        assert!(did.contains("did you mean `TaskNotFoundError`?"), "{did}");
    }
}
