//! Plays the wire for a fault: a request as a client writes it, the answer as `proxy` would write it,
//! and that answer as a client reads it.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{self, Answer, Call, Head, WireView};
use meddler::a2a::detect;
use meddler::a2a::model::{
    Artifact, Message, Operation, Part, Reply, Request, Role, SendMessage, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use meddler::fault::facts::Facts;
use meddler::fault::rule::RuleSet;
use meddler::fault::verdict::{Effect, Judgement, Made, Start};
use serde_json::{Value, json};

/// The ids that the real agent gives.
pub(super) const TASK: &str = "6f1c1f0e-5d0a-4a53-9d53-000000000001";
pub(super) const CONTEXT: &str = "6f1c1f0e-5d0a-4a53-9d53-000000000002";

/// One way to speak A2A.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) binding: Binding,
    pub(super) version: ProtocolVersion,
}

/// All of them.
pub(super) fn cells() -> Vec<Cell> {
    let bindings = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
    let versions = [ProtocolVersion::V0_3, ProtocolVersion::V1_0];
    let of = |binding| versions.map(|version| Cell { binding, version });
    bindings.into_iter().flat_map(of).collect()
}

/// What a client got.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) answer: Answer,
    /// Whether the connection was broken off.
    pub(super) is_cut: bool,
}

impl Cell {
    /// A request of this operation, as it comes off the wire.
    pub(super) fn call(self, operation: Operation) -> Call {
        let request = request(operation);
        let wire = call::write_request(self.binding, self.version, operation, &request, "\"id-1\"");
        let uri = if wire.path.is_empty() { "/" } else { &wire.path }.parse().unwrap();
        let head = Head { method: &wire.method, uri: &uri, headers: &wire.headers };
        let call = call::read_call(head, &detect::recognize(head), &wire.body);
        assert_eq!(call.operation, operation, "{self:?}");
        assert_eq!(call.problems, [], "{self:?}");
        call
    }

    /// Whether a stream that fails is cut on this binding and version, as the official servers do it.
    pub(super) fn is_cut_by_errors(self) -> bool {
        call::write_stream_end(
            &self.call(Operation::SendStreamingMessage),
            Some(&meddler::a2a::model::A2aError::default()),
        )
        .abort
    }
}

fn request(operation: Operation) -> Request {
    let id = TASK.to_owned();
    if operation == Operation::GetTask {
        return Request::GetTask { id, history_length: None };
    }
    if operation == Operation::CancelTask {
        return Request::CancelTask { id, metadata: None };
    }
    if operation == Operation::SubscribeToTask {
        return Request::SubscribeToTask { id };
    }
    assert!(operation.is_send(), "no request for {operation}");
    let message = Message {
        message_id: "m-1".to_owned(),
        role: Role::User,
        parts: vec![Part::text("A refund, please")],
        ..Message::default()
    };
    Request::SendMessage(SendMessage { message, ..SendMessage::default() })
}

/// What one rule says of a call.
pub(super) fn judge(call: &Call, inject: &Value, event: Option<u64>) -> Judgement {
    let mut when = json!({ "operation": call.operation.as_str() });
    if let Some(event) = event {
        when["event"] = json!(event);
    }
    let rule = json!([{ "name": "r", "seed": 7, "inject": inject, "when": when }]);
    let rules = RuleSet::new(serde_json::from_value(rule).unwrap()).unwrap();
    let headers = HeaderMap::new();
    rules.judge(&Facts {
        agent: "billing",
        session: "run",
        orchestrator: "test",
        headers: &headers,
        call,
        body_is_read: true,
    })
}

/// What the client reads when the rule answers.
pub(super) fn deliver(call: &Call, inject: &Value, event: Option<u64>) -> Delivered {
    let judgement = judge(call, inject, event);
    let [Effect::Answer { with, from, .. }] = judgement.effects.as_slice() else {
        panic!("{inject} is no answer to {}: {judgement:?}", call.operation);
    };
    match from {
        Start::Beginning => deliver_whole(call, with),
        Start::Event(event) => {
            let before = usize::try_from(*event - 1).unwrap();
            let events = agent_stream(call);
            deliver_stream(call, &events[..before], with)
        }
    }
}

fn deliver_whole(call: &Call, made: &Made) -> Delivered {
    match made {
        Made::Reply(reply) => read(call, call::write_reply(call, reply), &[]),
        Made::Error { error, headers } => {
            read(call, call::write_reply(call, &Reply::Error(error.clone())), headers)
        }
        Made::Stream { .. } => deliver_stream(call, &[], made),
        Made::EmptyBody => {
            let (status, headers) = call::write_stream_head(call);
            let end = call::write_stream_end(call, None);
            let empty =
                call::WireAnswer { status, headers, body: Bytes::new(), trailers: end.trailers };
            read(call, empty, &[])
        }
        Made::Nothing => read(call, call::write_nothing(call), &[]),
        Made::Raw { status, headers, body } => {
            let mut fields = HeaderMap::new();
            for (name, value) in headers {
                fields.append(http::HeaderName::try_from(name).unwrap(), value.parse().unwrap());
            }
            let status = StatusCode::from_u16(*status).unwrap();
            let answer = Answer::default();
            Delivered { status, headers: fields, body: body.clone(), answer, is_cut: false }
        }
    }
}

fn deliver_stream(call: &Call, before: &[StreamResponse], made: &Made) -> Delivered {
    let mut made = made.clone();
    if !before.is_empty() {
        made.fill_ids(TASK, CONTEXT);
    }
    let Made::Stream { events, error } = made else { panic!("{made:?} is no stream") };
    let (status, headers) = call::write_stream_head(call);
    let mut body = Vec::new();
    for event in before.iter().chain(&events) {
        body.extend_from_slice(&call::write_event(call, event));
    }
    let end = call::write_stream_end(call, error.as_ref());
    body.extend_from_slice(&end.body);
    let wire =
        call::WireAnswer { status, headers, body: Bytes::from(body), trailers: end.trailers };
    let delivered = read(call, wire, &[]);
    Delivered { is_cut: end.abort, ..delivered }
}

fn read(call: &Call, mut wire: call::WireAnswer, extra: &[(String, String)]) -> Delivered {
    for (name, value) in extra {
        wire.headers.insert(http::HeaderName::try_from(name).unwrap(), value.parse().unwrap());
    }
    let view = WireView {
        status: wire.status,
        headers: &wire.headers,
        body: &wire.body,
        trailers: wire.trailers.as_ref(),
    };
    let answer = call::read_answer(call, view);
    Delivered { status: wire.status, headers: wire.headers, body: wire.body, answer, is_cut: false }
}

/// The task that the real agent works on.
pub(super) fn agent_task(state: TaskState) -> Task {
    Task {
        id: TASK.to_owned(),
        context_id: Some(CONTEXT.to_owned()),
        status: TaskStatus { state, message: None, timestamp: None },
        artifacts: vec![agent_artifact()],
        ..Task::default()
    }
}

fn agent_artifact() -> Artifact {
    Artifact {
        artifact_id: "a-1".to_owned(),
        name: Some("answer".to_owned()),
        parts: vec![Part::text("Refund issued")],
        ..Artifact::default()
    }
}

/// What the real agent streams.
pub(super) fn agent_stream(_call: &Call) -> Vec<StreamResponse> {
    let begun = Task { artifacts: Vec::new(), ..agent_task(TaskState::Working) };
    vec![
        StreamResponse::Task(begun),
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: TASK.to_owned(),
            context_id: CONTEXT.to_owned(),
            artifact: agent_artifact(),
            append: false,
            last_chunk: true,
            metadata: None,
        }),
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: TASK.to_owned(),
            context_id: CONTEXT.to_owned(),
            status: TaskStatus { state: TaskState::Completed, ..TaskStatus::default() },
            last: Some(true),
            metadata: None,
        }),
    ]
}

/// What a client makes of an answer, in short: tasks and messages by state and words, errors by name
/// or number.
pub(super) fn told(delivered: &Delivered) -> String {
    let answer = &delivered.answer;
    let mut told: Vec<String> = answer.reply.iter().map(reply).collect();
    told.extend(answer.events.iter().filter_map(|event| event.event.as_ref()).map(event));
    let mut told = told.join(", ");
    if answer.is_stream {
        told = format!("[{told}]");
    }
    if delivered.is_cut {
        return format!("{told} cut");
    }
    let is_told = matches!(answer.reply, Some(Reply::Error(_)));
    if let Some(failed) = answer.error.as_ref().filter(|_| !is_told) {
        told = format!("{told} {}", error(failed));
    }
    told
}

fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Task(task) => task_told(task),
        Reply::Message(message) => format!("message{}", texts(&message.parts)),
        Reply::Card(_) => "card".to_owned(),
        Reply::Error(failed) => error(failed),
        Reply::Empty => "empty".to_owned(),
        Reply::Tasks(_) | Reply::PushConfig(_) | Reply::PushConfigs { .. } => format!("{reply:?}"),
    }
}

fn event(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => task_told(task),
        StreamResponse::Message(message) => format!("message{}", texts(&message.parts)),
        StreamResponse::StatusUpdate(event) => status(&event.status),
        StreamResponse::ArtifactUpdate(event) => texts(&event.artifact.parts),
    }
}

fn task_told(task: &Task) -> String {
    let artifacts: String = task.artifacts.iter().map(|artifact| texts(&artifact.parts)).collect();
    format!("task {}{artifacts}", status(&task.status))
}

fn status(status: &TaskStatus) -> String {
    let said = status.message.as_ref().map(|message| texts(&message.parts));
    format!("{}{}", status.state, said.unwrap_or_default())
}

fn texts(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    format!("({})", texts.join("|"))
}

fn error(error: &meddler::a2a::model::A2aError) -> String {
    match error.kind {
        Some(kind) => format!("{}: {}", kind.name(), error.message),
        None => format!("error: {}", error.message),
    }
}
