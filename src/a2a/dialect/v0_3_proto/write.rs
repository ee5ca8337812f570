//! Writes the ProtoJSON of 0.3.
//!
//! The official 0.3 SDK parses HTTP+JSON strictly, so nothing goes out that its schema does not know:
//! what 0.3's protobuf cannot say (`referenceTaskIds`, a text's media type) is left out.

use serde_json::Value;

use super::names;
use crate::a2a::dialect::json::values;
use crate::a2a::dialect::json::write::{Members, list};
use crate::a2a::dialect::v0_3::{self, is_last, wrapped_data};
use crate::a2a::model::{
    Artifact, FileSource, ListTasks, Message, Operation, Part, PartContent, Reply, Request, Role,
    SendMessageConfiguration, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPage,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

pub(super) fn request(request: &Request) -> Value {
    match request {
        Request::SendMessage(send) => Members::of("message", message(&send.message))
            .set_some("configuration", send.configuration.as_ref().map(configuration))
            .set_object("metadata", send.metadata.as_ref())
            .into(),
        Request::GetTask { id, history_length } => Members::of("name", names::of_task(id))
            .set_some("historyLength", *history_length)
            .into(),
        Request::ListTasks(wanted) => list_tasks(wanted),
        Request::CancelTask { id, .. } | Request::SubscribeToTask { id } => {
            Members::of("name", names::of_task(id)).into()
        }
        Request::CreatePushConfig(config) => created_config(config),
        Request::GetPushConfig { task_id, id } => {
            let id = id.as_deref().unwrap_or(task_id);
            Members::of("name", names::of_config(task_id, id)).into()
        }
        Request::ListPushConfigs { task_id, page_size, page_token } => {
            Members::of("parent", names::of_task(task_id))
                .set_some("pageSize", *page_size)
                .set_text("pageToken", page_token.as_ref())
                .into()
        }
        Request::DeletePushConfig { task_id, id } => {
            Members::of("name", names::of_config(task_id, id)).into()
        }
        Request::Card => Members::new().into(),
        Request::PushNotification(content) => event(content),
    }
}

fn list_tasks(wanted: &ListTasks) -> Value {
    Members::new()
        .set_text("contextId", wanted.context_id.as_ref())
        .set_some("status", wanted.status.as_ref().map(state))
        .set_some("pageSize", wanted.page_size)
        .set_text("pageToken", wanted.page_token.as_ref())
        .set_some("historyLength", wanted.history_length)
        .set_some("statusTimestampAfter", wanted.status_timestamp_after.as_deref().map(values::utc))
        .set_some("includeArtifacts", wanted.include_artifacts)
        .into()
}

fn configuration(config: &SendMessageConfiguration) -> Members {
    Members::new()
        .set_texts("acceptedOutputModes", &config.accepted_output_modes)
        .set_some("pushNotification", config.push.as_ref().map(v0_3::write::push_config))
        .set_some("historyLength", config.history_length)
        .set_if("blocking", config.return_immediately == Some(false))
}

fn created_config(config: &TaskPushNotificationConfig) -> Value {
    let (task_id, id) = ids(config);
    Members::of("parent", names::of_task(task_id))
        .set("configId", id)
        .set("config", task_push_config(config))
        .into()
}

fn task_push_config(config: &TaskPushNotificationConfig) -> Value {
    let (task_id, id) = ids(config);
    Members::of("name", names::of_config(task_id, id))
        .set("pushNotificationConfig", v0_3::write::push_config(config))
        .into()
}

/// A webhook without an id of its own has its task's, as the official SDK's server gives it.
fn ids(config: &TaskPushNotificationConfig) -> (&str, &str) {
    let task_id = config.task_id.as_deref().unwrap_or_default();
    (task_id, config.id.as_deref().unwrap_or(task_id))
}

pub(super) fn reply(operation: Operation, reply: &Reply) -> Value {
    // Only a send's answer is a union of task and message; elsewhere the task stands alone.
    let is_union = matches!(
        operation,
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask
    );
    match reply {
        Reply::Task(content) if is_union => Members::of("task", task(content)).into(),
        Reply::Message(content) if is_union => Members::of("message", message(content)).into(),
        Reply::Task(content) => task(content),
        Reply::Message(content) => message(content),
        Reply::Tasks(content) => page(content),
        Reply::PushConfig(config) => task_push_config(config),
        Reply::PushConfigs { configs, next_page_token } => Members::new()
            .set_list("configs", configs, task_push_config)
            .set_text("nextPageToken", next_page_token.as_ref())
            .into(),
        Reply::Card(card) => card.raw.clone(),
        Reply::Empty | Reply::Error(_) => Members::new().into(),
    }
}

fn page(page: &TaskPage) -> Value {
    Members::of("tasks", list(&page.tasks, task))
        .set("nextPageToken", page.next_page_token.as_str())
        .set("pageSize", page.page_size)
        .set("totalSize", page.total_size)
        .into()
}

pub(super) fn event(event: &StreamResponse) -> Value {
    match event {
        StreamResponse::Task(content) => Members::of("task", task(content)),
        StreamResponse::Message(content) => Members::of("message", message(content)),
        StreamResponse::StatusUpdate(update) => Members::of("statusUpdate", status_update(update)),
        StreamResponse::ArtifactUpdate(update) => {
            Members::of("artifactUpdate", artifact_update(update))
        }
    }
    .into()
}

fn status_update(update: &TaskStatusUpdateEvent) -> Members {
    Members::of("taskId", update.task_id.as_str())
        .set("contextId", update.context_id.as_str())
        .set("status", status(&update.status))
        .set_if("final", is_last(update.last, &update.status.state))
        .set_object("metadata", update.metadata.as_ref())
}

fn artifact_update(update: &TaskArtifactUpdateEvent) -> Members {
    Members::of("taskId", update.task_id.as_str())
        .set("contextId", update.context_id.as_str())
        .set("artifact", artifact(&update.artifact))
        .set_if("append", update.append)
        .set_if("lastChunk", update.last_chunk)
        .set_object("metadata", update.metadata.as_ref())
}

fn task(task: &Task) -> Value {
    Members::of("id", task.id.as_str())
        .set_text("contextId", task.context_id.as_ref())
        .set("status", status(&task.status))
        .set_list("artifacts", &task.artifacts, artifact)
        .set_list("history", &task.history, message)
        .set_object("metadata", task.metadata.as_ref())
        .into()
}

fn status(status: &TaskStatus) -> Members {
    Members::of("state", state(&status.state))
        .set_some("message", status.message.as_ref().map(message))
        .set_some("timestamp", status.timestamp.as_deref().map(values::utc))
}

fn artifact(artifact: &Artifact) -> Value {
    Members::of("artifactId", artifact.artifact_id.as_str())
        .set_text("name", artifact.name.as_ref())
        .set_text("description", artifact.description.as_ref())
        .set("parts", list(&artifact.parts, part))
        .set_object("metadata", artifact.metadata.as_ref())
        .set_texts("extensions", &artifact.extensions)
        .into()
}

fn message(message: &Message) -> Value {
    Members::of("messageId", message.message_id.as_str())
        .set_text("contextId", message.context_id.as_ref())
        .set_text("taskId", message.task_id.as_ref())
        .set("role", role(&message.role))
        .set("content", list(&message.parts, part))
        .set_object("metadata", message.metadata.as_ref())
        .set_texts("extensions", &message.extensions)
        .into()
}

/// A part. 0.3 has a file name and media type for files only.
fn part(part: &Part) -> Value {
    let (content, metadata) = match &part.content {
        PartContent::Text(text) => (Members::of("text", text.as_str()), part.metadata.clone()),
        PartContent::Data(data) => {
            let (data, metadata) = wrapped_data(data, part.metadata.as_ref());
            (Members::of("data", Members::of("data", data)), metadata)
        }
        PartContent::File(source) => {
            let file = match source {
                FileSource::Raw(octets) => Members::of("fileWithBytes", file_octets(octets)),
                FileSource::Url(url) => Members::of("fileWithUri", url.as_str()),
            };
            let file = file
                .set_text("mimeType", part.media_type.as_ref())
                .set_text("name", part.filename.as_ref());
            (Members::of("file", file), part.metadata.clone())
        }
        PartContent::Empty => (Members::new(), part.metadata.clone()),
    };
    content.set_some("metadata", metadata).into()
}

/// Base64 of base64: the Python SDK puts base64 text into the `bytes` field and fails on anything
/// else, so this is what the official peers of 0.3 take.
fn file_octets(octets: &[u8]) -> String {
    values::base64_encoded(values::base64_encoded(octets).as_bytes())
}

fn role(role: &Role) -> Value {
    match role {
        Role::User => "ROLE_USER".into(),
        Role::Agent => "ROLE_AGENT".into(),
        Role::Unspecified(word) => values::enum_word(word, "ROLE_UNSPECIFIED"),
    }
}

fn state(state: &TaskState) -> Value {
    match state {
        // 0.3 writes it with two l.
        TaskState::Canceled => "TASK_STATE_CANCELLED".into(),
        TaskState::Unspecified(word) => values::enum_word(word, "TASK_STATE_UNSPECIFIED"),
        TaskState::Submitted
        | TaskState::Working
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Rejected => state.as_enum_name().into(),
    }
}
