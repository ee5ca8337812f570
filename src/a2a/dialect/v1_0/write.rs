//! Writes 1.0: ProtoJSON, defaults left out but for what must be there.

use serde_json::Value;

use crate::a2a::dialect::json::values;
use crate::a2a::dialect::json::write::{Members, list};
use crate::a2a::model::{
    Artifact, AuthenticationInfo, FileSource, ListTasks, Message, Operation, Part, PartContent,
    Reply, Request, Role, SendMessageConfiguration, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskPage, TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
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
        Request::CreatePushConfig(config) => push_config(config),
        Request::GetPushConfig { task_id, id } => {
            Members::of("taskId", task_id.as_str()).set_text("id", id.as_ref()).into()
        }
        Request::ListPushConfigs { task_id, page_size, page_token } => {
            Members::of("taskId", task_id.as_str())
                .set_some("pageSize", *page_size)
                .set_text("pageToken", page_token.as_ref())
                .into()
        }
        Request::DeletePushConfig { task_id, id } => {
            Members::of("taskId", task_id.as_str()).set("id", id.as_str()).into()
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
        .set_some("taskPushNotificationConfig", config.push.as_ref().map(push_config))
        .set_some("historyLength", config.history_length)
        .set_some("returnImmediately", config.return_immediately)
}

fn push_config(config: &TaskPushNotificationConfig) -> Value {
    Members::new()
        .set_text("id", config.id.as_ref())
        .set_text("taskId", config.task_id.as_ref())
        .set("url", config.url.as_str())
        .set_text("token", config.token.as_ref())
        .set_some("authentication", config.authentication.as_ref().map(authentication))
        .into()
}

/// 1.0 has exactly one scheme; the best of several is the first.
fn authentication(info: &AuthenticationInfo) -> Members {
    Members::of("scheme", info.schemes.first().map_or("", String::as_str))
        .set_text("credentials", info.credentials.as_ref())
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
        Reply::PushConfig(config) => push_config(config),
        Reply::PushConfigs { configs, next_page_token } => Members::new()
            .set_list("configs", configs, push_config)
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
        .set("parts", list(&message.parts, part))
        .set_object("metadata", message.metadata.as_ref())
        .set_texts("extensions", &message.extensions)
        .set_texts("referenceTaskIds", &message.reference_task_ids)
        .into()
}

fn part(part: &Part) -> Value {
    let content = match &part.content {
        PartContent::Text(text) => Members::of("text", text.as_str()),
        PartContent::Data(data) => Members::of("data", data.clone()),
        PartContent::File(FileSource::Url(url)) => Members::of("url", url.as_str()),
        PartContent::File(FileSource::Raw(octets)) => {
            Members::of("raw", values::base64_encoded(octets))
        }
        PartContent::Empty => Members::new(),
    };
    content
        .set_object("metadata", part.metadata.as_ref())
        .set_text("filename", part.filename.as_ref())
        .set_text("mediaType", part.media_type.as_ref())
        .into()
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
        TaskState::Unspecified(word) => values::enum_word(word, "TASK_STATE_UNSPECIFIED"),
        TaskState::Submitted
        | TaskState::Working
        | TaskState::InputRequired
        | TaskState::AuthRequired
        | TaskState::Completed
        | TaskState::Failed
        | TaskState::Canceled
        | TaskState::Rejected => state.as_enum_name().into(),
    }
}
