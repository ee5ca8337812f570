//! The canonical JSON of requests, replies and events: what suites look at, whatever the wire was.
//!
//! A2A 1.0's JSON with task states and roles in their short names, `kind` on the root (`task`, `message`,
//! `error`, `status_update`, `artifact_update`) and on every part (`text`, `data`, `file`), whole numbers
//! of a protobuf `Struct` as integers.
//!
//! The same content has the same canonical JSON over all bindings and versions. So times are in UTC,
//! and what one of the wires cannot tell apart from nothing (an empty list, text or `metadata`, `false`)
//! is nothing. `final` is left out: only 0.3 has it.

use serde_json::Value;

use crate::a2a::dialect::{Members, base64_encoded, list, scheme_as_proto, utc};
use crate::a2a::model::{
    A2aError, AgentCard, AgentInterface, AgentSkill, Artifact, AuthenticationInfo, ErrorKind,
    FileSource, GrpcCode, ListTasks, Message, Object, Part, PartContent, Reply, Request,
    SendMessage, SendMessageConfiguration, StreamResponse, Task, TaskArtifactUpdateEvent, TaskPage,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

/// The canonical form of a single answer. For a task or message the root is the task or message itself.
pub fn reply(reply: &Reply) -> Value {
    match reply {
        Reply::Task(content) => task(content),
        Reply::Message(content) => message(content),
        Reply::Tasks(content) => page(content),
        Reply::PushConfig(config) => kind("push_config").add(push_config(config)).into(),
        Reply::PushConfigs { configs, next_page_token } => kind("push_configs")
            .set("configs", list(configs, |config| push_config(config).into()))
            .text("nextPageToken", next_page_token.as_deref())
            .into(),
        Reply::Empty => kind("empty").into(),
        Reply::Card(content) => card(content),
        Reply::Error(content) => error(content),
    }
}

/// The canonical form of one event.
pub fn event(event: &StreamResponse) -> Value {
    match event {
        StreamResponse::Task(content) => task(content),
        StreamResponse::Message(content) => message(content),
        StreamResponse::StatusUpdate(content) => status_update(content),
        StreamResponse::ArtifactUpdate(content) => artifact_update(content),
    }
}

/// The canonical form of a request's parameters.
pub fn request(request: &Request) -> Value {
    match request {
        Request::SendMessage(content) => send_message(content).into(),
        Request::GetTask { id, history_length } => {
            Members::of("id", id.as_str()).set_some("historyLength", *history_length).into()
        }
        Request::ListTasks(wanted) => list_tasks(wanted).into(),
        Request::CancelTask { id, metadata } => {
            Members::of("id", id.as_str()).object("metadata", metadata.as_ref()).into()
        }
        Request::SubscribeToTask { id } => Members::of("id", id.as_str()).into(),
        Request::CreatePushConfig(config) => push_config(config).into(),
        Request::GetPushConfig { task_id, id } => {
            Members::of("taskId", task_id.as_str()).text("id", id.as_deref()).into()
        }
        Request::ListPushConfigs { task_id, page_size, page_token } => {
            Members::of("taskId", task_id.as_str())
                .set_some("pageSize", *page_size)
                .text("pageToken", page_token.as_deref())
                .into()
        }
        Request::DeletePushConfig { task_id, id } => {
            Members::of("taskId", task_id.as_str()).set("id", id.as_str()).into()
        }
        Request::Card => Members::new().into(),
        Request::PushNotification(content) => event(content),
    }
}

/// The canonical form of a message.
pub fn message(message: &Message) -> Value {
    kind("message").add(said(message)).into()
}

/// The canonical form of a task.
pub fn task(task: &Task) -> Value {
    kind("task")
        .set("id", task.id.as_str())
        .text("contextId", task.context_id.as_deref())
        .set("status", status(&task.status))
        .set_list("artifacts", &task.artifacts, |item| artifact(item).into())
        .set_list("history", &task.history, |item| said(item).into())
        .object("metadata", task.metadata.as_ref())
        .into()
}

/// The canonical form of a card, as far as Meddler reads cards. What was on the wire is `raw`.
pub fn card(card: &AgentCard) -> Value {
    let capabilities = &card.capabilities;
    let schemes = ["securitySchemes", "security_schemes"]
        .into_iter()
        .find_map(|name| card.raw.get(name)?.as_object())
        .map(|schemes| {
            schemes.iter().map(|(name, scheme)| (name.clone(), scheme_as_proto(scheme))).collect()
        });
    kind("card")
        .set("name", card.name.as_str())
        .text("description", Some(card.description.as_str()))
        .text("version", Some(card.version.as_str()))
        .set("supportedInterfaces", list(&card.interfaces, |item| interface(item).into()))
        .set(
            "capabilities",
            Members::new()
                .set_some("streaming", capabilities.streaming)
                .set_some("pushNotifications", capabilities.push_notifications)
                .set_some("extendedAgentCard", capabilities.extended_agent_card)
                .set_list("extensions", &capabilities.extensions, |uri| {
                    Members::of("uri", uri.as_str()).into()
                }),
        )
        .object("securitySchemes", schemes.as_ref())
        .set_texts("defaultInputModes", &card.default_input_modes)
        .set_texts("defaultOutputModes", &card.default_output_modes)
        .set("skills", list(&card.skills, |item| skill(item).into()))
        .set_some("signatures", (card.signatures > 0).then_some(card.signatures))
        .into()
}

/// The canonical form of an error: `name` is the protocol's, `grpc_status` the status's name.
pub fn error(error: &A2aError) -> Value {
    kind("error")
        .set_some("name", error.kind.map(ErrorKind::name))
        .set_if("inferred", error.is_inferred)
        .set_some("code", error.code)
        .set_some("http_status", error.http_status)
        .set_some("grpc_status", error.grpc_status.map(GrpcCode::name))
        .set("message", error.message.as_str())
        .set_some("details", error.details.clone())
        .into()
}

/// The canonical form of a part.
pub fn part(part: &Part) -> Value {
    let content = match &part.content {
        PartContent::Text(text) => kind("text").set("text", text.as_str()),
        PartContent::Data(data) => kind("data").set("data", data.clone()),
        PartContent::File(FileSource::Raw(octets)) => {
            kind("file").set("raw", base64_encoded(octets))
        }
        PartContent::File(FileSource::Url(url)) => kind("file").set("url", url.as_str()),
        PartContent::Empty => kind("empty"),
    };
    content
        .object("metadata", part.metadata.as_ref())
        .text("filename", part.filename.as_deref())
        .text("mediaType", part.media_type.as_deref())
        .into()
}

fn kind(name: &str) -> Members {
    Members::of("kind", name)
}

fn said(message: &Message) -> Members {
    Members::of("messageId", message.message_id.as_str())
        .text("contextId", message.context_id.as_deref())
        .text("taskId", message.task_id.as_deref())
        .text("role", Some(message.role.as_str()))
        .set("parts", list(&message.parts, part))
        .object("metadata", message.metadata.as_ref())
        .set_texts("extensions", &message.extensions)
        .set_texts("referenceTaskIds", &message.reference_task_ids)
}

fn status(status: &TaskStatus) -> Members {
    Members::new()
        .text("state", Some(status.state.as_str()))
        .set_some("message", status.message.as_ref().map(said))
        .set_some("timestamp", status.timestamp.as_deref().map(utc))
}

fn artifact(artifact: &Artifact) -> Members {
    Members::of("artifactId", artifact.artifact_id.as_str())
        .text("name", artifact.name.as_deref())
        .text("description", artifact.description.as_deref())
        .set("parts", list(&artifact.parts, part))
        .object("metadata", artifact.metadata.as_ref())
        .set_texts("extensions", &artifact.extensions)
}

fn status_update(event: &TaskStatusUpdateEvent) -> Value {
    kind("status_update")
        .set("taskId", event.task_id.as_str())
        .set("contextId", event.context_id.as_str())
        .set("status", status(&event.status))
        .object("metadata", event.metadata.as_ref())
        .into()
}

fn artifact_update(event: &TaskArtifactUpdateEvent) -> Value {
    kind("artifact_update")
        .set("taskId", event.task_id.as_str())
        .set("contextId", event.context_id.as_str())
        .set("artifact", artifact(&event.artifact))
        .set_if("append", event.append)
        .set_if("lastChunk", event.last_chunk)
        .object("metadata", event.metadata.as_ref())
        .into()
}

fn page(page: &TaskPage) -> Value {
    kind("tasks")
        .set("tasks", list(&page.tasks, task))
        .text("nextPageToken", Some(page.next_page_token.as_str()))
        .set("pageSize", page.page_size)
        .set("totalSize", page.total_size)
        .into()
}

fn push_config(config: &TaskPushNotificationConfig) -> Members {
    Members::new()
        .text("id", config.id.as_deref())
        .text("taskId", config.task_id.as_deref())
        .set("url", config.url.as_str())
        .text("token", config.token.as_deref())
        .set_some("authentication", config.authentication.as_ref().map(authentication))
}

/// 1.0 has one scheme; further ones, which only 0.3 can say, are shown beside it.
fn authentication(info: &AuthenticationInfo) -> Members {
    let several: &[String] = if info.schemes.len() > 1 { &info.schemes } else { &[] };
    Members::new()
        .text("scheme", info.schemes.first().map(String::as_str))
        .set_texts("schemes", several)
        .text("credentials", info.credentials.as_deref())
}

fn send_message(send: &SendMessage) -> Members {
    Members::of("message", said(&send.message))
        .set_some("configuration", send.configuration.as_ref().map(configuration))
        .object("metadata", send.metadata.as_ref())
}

fn configuration(config: &SendMessageConfiguration) -> Members {
    Members::new()
        .set_texts("acceptedOutputModes", &config.accepted_output_modes)
        .set_some("taskPushNotificationConfig", config.push.as_ref().map(push_config))
        .set_some("historyLength", config.history_length)
        .set_if("returnImmediately", config.return_immediately == Some(true))
}

fn list_tasks(wanted: &ListTasks) -> Members {
    Members::new()
        .text("contextId", wanted.context_id.as_deref())
        .text("status", wanted.status.as_ref().map(TaskState::as_str))
        .set_some("pageSize", wanted.page_size)
        .text("pageToken", wanted.page_token.as_deref())
        .set_some("historyLength", wanted.history_length)
        .set_some("statusTimestampAfter", wanted.status_timestamp_after.as_deref().map(utc))
        .set_some("includeArtifacts", wanted.include_artifacts)
}

fn interface(interface: &AgentInterface) -> Members {
    Members::of("url", interface.url.as_str())
        .set("protocolBinding", interface.protocol_binding.as_str())
        .text("protocolVersion", Some(interface.protocol_version.as_str()))
        .text("tenant", interface.tenant.as_deref())
}

fn skill(skill: &AgentSkill) -> Members {
    Members::of("id", skill.id.as_str())
        .set("name", skill.name.as_str())
        .text("description", Some(skill.description.as_str()))
        .set_texts("tags", &skill.tags)
}

impl Members {
    /// Sets a text unless it is absent or empty.
    fn text(self, name: &str, text: Option<&str>) -> Self {
        self.set_some(name, text.filter(|text| !text.is_empty()))
    }

    /// Sets an object unless it is absent or empty.
    fn object(self, name: &str, object: Option<&Object>) -> Self {
        self.set_object(name, object.filter(|object| !object.is_empty()))
    }

    /// Sets all the members of another object.
    fn add(self, members: Self) -> Self {
        members.into_object().into_iter().fold(self, |all, (name, value)| all.set(&name, value))
    }
}
