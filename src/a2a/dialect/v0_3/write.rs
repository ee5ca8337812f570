//! Writes the JSON schema of 0.3: `kind` on everything that has one, absent members left out.

use serde_json::Value;

use super::{is_last, wrapped_data};
use crate::a2a::dialect::json::values;
use crate::a2a::dialect::json::write::{Members, list};
use crate::a2a::model::{
    Artifact, AuthenticationInfo, FileSource, ListTasks, Message, Part, PartContent, Reply,
    Request, SendMessageConfiguration, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPage,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

pub(super) fn request(request: &Request) -> Value {
    match request {
        Request::SendMessage(send) => Members::of("message", message(&send.message))
            .set_some("configuration", send.configuration.as_ref().map(configuration))
            .set_object("metadata", send.metadata.as_ref())
            .into(),
        Request::GetTask { id, history_length } => {
            Members::of("id", id.as_str()).set_some("historyLength", *history_length).into()
        }
        Request::ListTasks(wanted) => list_tasks(wanted),
        Request::CancelTask { id, metadata } => {
            Members::of("id", id.as_str()).set_object("metadata", metadata.as_ref()).into()
        }
        Request::SubscribeToTask { id } => Members::of("id", id.as_str()).into(),
        Request::CreatePushConfig(config) => task_push_config(config),
        Request::GetPushConfig { task_id, id } => Members::of("id", task_id.as_str())
            .set_text("pushNotificationConfigId", id.as_ref())
            .into(),
        Request::ListPushConfigs { task_id, .. } => Members::of("id", task_id.as_str()).into(),
        Request::DeletePushConfig { task_id, id } => {
            Members::of("id", task_id.as_str()).set("pushNotificationConfigId", id.as_str()).into()
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
        .set_some("blocking", config.return_immediately.map(|immediately| !immediately))
        .set_some("historyLength", config.history_length)
        .set_some("pushNotificationConfig", config.push.as_ref().map(push_config))
}

fn task_push_config(config: &TaskPushNotificationConfig) -> Value {
    Members::of("taskId", config.task_id.as_deref().unwrap_or_default())
        .set("pushNotificationConfig", push_config(config))
        .into()
}

/// A webhook by itself: the same members in both spellings of 0.3.
pub(in crate::a2a::dialect) fn push_config(config: &TaskPushNotificationConfig) -> Members {
    Members::new()
        .set_text("id", config.id.as_ref())
        .set("url", config.url.as_str())
        .set_text("token", config.token.as_ref())
        .set_some("authentication", config.authentication.as_ref().map(authentication))
}

fn authentication(info: &AuthenticationInfo) -> Members {
    Members::of("schemes", list(&info.schemes, |scheme| scheme.as_str().into()))
        .set_text("credentials", info.credentials.as_ref())
}

pub(super) fn reply(reply: &Reply) -> Value {
    match reply {
        Reply::Task(content) => task(content),
        Reply::Message(content) => message(content),
        Reply::Tasks(content) => page(content),
        Reply::PushConfig(config) => task_push_config(config),
        Reply::PushConfigs { configs, .. } => list(configs, task_push_config),
        Reply::Card(card) => card.raw.clone(),
        Reply::Empty | Reply::Error(_) => Value::Null,
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
        StreamResponse::Task(content) => task(content),
        StreamResponse::Message(content) => message(content),
        StreamResponse::StatusUpdate(update) => status_update(update),
        StreamResponse::ArtifactUpdate(update) => artifact_update(update),
    }
}

fn status_update(update: &TaskStatusUpdateEvent) -> Value {
    Members::of("kind", "status-update")
        .set("taskId", update.task_id.as_str())
        .set("contextId", update.context_id.as_str())
        .set("status", status(&update.status))
        .set("final", is_last(update.last, &update.status.state))
        .set_object("metadata", update.metadata.as_ref())
        .into()
}

fn artifact_update(update: &TaskArtifactUpdateEvent) -> Value {
    Members::of("kind", "artifact-update")
        .set("taskId", update.task_id.as_str())
        .set("contextId", update.context_id.as_str())
        .set("artifact", artifact(&update.artifact))
        .set_if("append", update.append)
        .set_if("lastChunk", update.last_chunk)
        .set_object("metadata", update.metadata.as_ref())
        .into()
}

fn task(task: &Task) -> Value {
    Members::of("kind", "task")
        .set("id", task.id.as_str())
        .set("contextId", task.context_id.as_deref().unwrap_or_default())
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
    Members::of("kind", "message")
        .set("messageId", message.message_id.as_str())
        .set_text("contextId", message.context_id.as_ref())
        .set_text("taskId", message.task_id.as_ref())
        .set("role", message.role.as_str())
        .set("parts", list(&message.parts, part))
        .set_object("metadata", message.metadata.as_ref())
        .set_texts("extensions", &message.extensions)
        .set_texts("referenceTaskIds", &message.reference_task_ids)
        .into()
}

/// A part. 0.3 has a file name and media type for files only.
fn part(part: &Part) -> Value {
    let (content, metadata) = match &part.content {
        PartContent::Text(text) => {
            (Members::of("kind", "text").set("text", text.as_str()), part.metadata.clone())
        }
        PartContent::Data(data) => {
            let (data, metadata) = wrapped_data(data, part.metadata.as_ref());
            (Members::of("kind", "data").set("data", data), metadata)
        }
        PartContent::File(source) => {
            let file = match source {
                FileSource::Raw(octets) => Members::of("bytes", values::base64_encoded(octets)),
                FileSource::Url(url) => Members::of("uri", url.as_str()),
            };
            let file = file
                .set_text("mimeType", part.media_type.as_ref())
                .set_text("name", part.filename.as_ref());
            (Members::of("kind", "file").set("file", file), part.metadata.clone())
        }
        PartContent::Empty => (Members::new(), part.metadata.clone()),
    };
    content.set_some("metadata", metadata).into()
}

fn state(state: &TaskState) -> Value {
    match state.as_hyphenated() {
        "" => "unknown".into(),
        word => word.into(),
    }
}
