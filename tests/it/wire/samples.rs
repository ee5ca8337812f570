//! One request and one answer of every operation.

use bytes::Bytes;
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::model::{
    Artifact, AuthenticationInfo, FileSource, ListTasks, Message, Operation, Part, PartContent,
    Reply, Request, Role, SendMessage, SendMessageConfiguration, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskPage, TaskPushNotificationConfig, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use serde_json::json;

pub(crate) const BINDINGS: &[Binding] = &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];
pub(crate) const VERSIONS: &[ProtocolVersion] = &[ProtocolVersion::V0_3, ProtocolVersion::V1_0];

/// Every operation that binding and version have.
pub(crate) fn operations(binding: Binding, version: ProtocolVersion) -> Vec<Operation> {
    Operation::all()
        .filter(|operation| match operation {
            Operation::Unknown => false,
            Operation::AgentCard | Operation::PushNotification => binding == Binding::HttpJson,
            // 0.3 has it in JSON-RPC only, and not in every SDK.
            Operation::ListTasks => version == ProtocolVersion::V1_0 || binding == Binding::JsonRpc,
            _ => true,
        })
        .collect()
}

pub(crate) fn message(text: &str) -> Message {
    Message {
        message_id: "m-1".to_owned(),
        context_id: Some("c-1".to_owned()),
        task_id: Some("t-1".to_owned()),
        role: Role::User,
        parts: vec![
            Part::text(text),
            Part::data(json!({"order": 17, "open": true})),
            Part {
                filename: Some("a.bin".to_owned()),
                media_type: Some("application/octet-stream".to_owned()),
                ..Part::of(PartContent::File(FileSource::Url("https://files.test/a".to_owned())))
            },
        ],
        metadata: json!({"who": "me"}).as_object().cloned(),
        ..Message::default()
    }
}

pub(crate) fn task() -> Task {
    Task {
        id: "t-1".to_owned(),
        context_id: Some("c-1".to_owned()),
        status: TaskStatus {
            state: TaskState::InputRequired,
            message: Some(Message { role: Role::Agent, ..message("which one? 世 😀") }),
            timestamp: None,
        },
        artifacts: vec![artifact()],
        history: vec![message("refund it")],
        metadata: json!({"cost": 12}).as_object().cloned(),
    }
}

pub(crate) fn artifact() -> Artifact {
    Artifact {
        artifact_id: "a-1".to_owned(),
        name: Some("result".to_owned()),
        parts: vec![
            Part::of(PartContent::File(FileSource::Raw(Bytes::from_static(b"\x00\x01\xff")))),
            Part::text("an artifact"),
        ],
        ..Artifact::default()
    }
}

pub(crate) fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: Some("p-1".to_owned()),
        task_id: Some("t-1".to_owned()),
        url: "https://client.test/hook?k=1".to_owned(),
        token: Some("token-1".to_owned()),
        authentication: Some(AuthenticationInfo {
            schemes: vec!["Bearer".to_owned()],
            credentials: Some("secret".to_owned()),
        }),
    }
}

pub(crate) fn status_update() -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t-1".to_owned(),
        context_id: "c-1".to_owned(),
        status: TaskStatus {
            state: TaskState::Working,
            message: Some(Message { role: Role::Agent, ..message("working on it") }),
            timestamp: None,
        },
        last: None,
        metadata: json!({"step": 2}).as_object().cloned(),
    })
}

pub(crate) fn artifact_update() -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: "t-1".to_owned(),
        context_id: "c-1".to_owned(),
        artifact: artifact(),
        append: true,
        last_chunk: true,
        metadata: None,
    })
}

pub(crate) fn request(operation: Operation) -> Request {
    let id = "t-1".to_owned();
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            Request::SendMessage(SendMessage {
                message: message("refund it"),
                configuration: Some(SendMessageConfiguration {
                    accepted_output_modes: vec!["text/plain".to_owned()],
                    history_length: Some(3),
                    return_immediately: Some(true),
                    push: None,
                }),
                metadata: json!({"trace": "x"}).as_object().cloned(),
            })
        }
        Operation::GetTask => Request::GetTask { id, history_length: Some(5) },
        Operation::ListTasks => Request::ListTasks(ListTasks {
            context_id: Some("c+1 &".to_owned()),
            status: Some(TaskState::Working),
            page_size: Some(10),
            page_token: Some("a==".to_owned()),
            include_artifacts: Some(true),
            ..ListTasks::default()
        }),
        Operation::CancelTask => Request::CancelTask { id, metadata: None },
        Operation::SubscribeToTask => Request::SubscribeToTask { id },
        Operation::CreateTaskPushNotificationConfig => Request::CreatePushConfig(config()),
        Operation::GetTaskPushNotificationConfig => {
            Request::GetPushConfig { task_id: id, id: Some("p-1".to_owned()) }
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListPushConfigs { task_id: id, page_size: None, page_token: None }
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Request::DeletePushConfig { task_id: id, id: "p-1".to_owned() }
        }
        Operation::GetExtendedAgentCard | Operation::AgentCard | Operation::Unknown => {
            Request::Card
        }
        Operation::PushNotification => Request::PushNotification(StreamResponse::Task(task())),
    }
}

/// The answer to an operation that is not answered by a stream or a card.
pub(crate) fn reply(operation: Operation) -> Option<Reply> {
    match operation {
        Operation::SendMessage | Operation::GetTask | Operation::CancelTask => {
            Some(Reply::Task(task()))
        }
        Operation::ListTasks => Some(Reply::Tasks(TaskPage {
            tasks: vec![task()],
            next_page_token: "n".to_owned(),
            page_size: 10,
            total_size: 11,
        })),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Some(Reply::PushConfig(config()))
        }
        Operation::ListTaskPushNotificationConfigs => {
            Some(Reply::PushConfigs { configs: vec![config()], next_page_token: None })
        }
        Operation::DeleteTaskPushNotificationConfig | Operation::PushNotification => {
            Some(Reply::Empty)
        }
        Operation::SendStreamingMessage
        | Operation::SubscribeToTask
        | Operation::GetExtendedAgentCard
        | Operation::AgentCard
        | Operation::Unknown => None,
    }
}

/// The events of a stream.
pub(crate) fn events() -> Vec<StreamResponse> {
    vec![
        StreamResponse::Task(task()),
        status_update(),
        artifact_update(),
        StreamResponse::Message(Message { role: Role::Agent, ..message("bye") }),
    ]
}
