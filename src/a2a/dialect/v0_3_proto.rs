//! A2A 0.3 as its protobuf spells it: gRPC, and the HTTP+JSON bodies that the official SDKs send.
//!
//! The specification's text shows the JSON schema's shapes for HTTP+JSON, so those are read here as
//! well; what is written is ProtoJSON. Field names are accepted as ProtoJSON accepts them (`messageId`
//! or `message_id`), and so are the names of the schema that was before (`request`, `msg`).

use bytes::Bytes;
use serde_json::Value;

use crate::a2a::dialect::json::log::Spelling;
use crate::a2a::dialect::json::node::{Need, Node, Word, read};
use crate::a2a::dialect::json::shape::{self, Shape};
use crate::a2a::dialect::json::{card, values};
use crate::a2a::dialect::{Dialect, v0_3};
use crate::a2a::model::{
    FileSource, Object, Operation, Part, PartContent, Reply, Request, Role, SendMessage,
    SendMessageConfiguration, StreamResponse, TaskPushNotificationConfig, TaskState,
};
use crate::a2a::problem::Problem;

mod names;
mod write;

/// The protobuf of 0.3.
pub(super) struct V0_3Proto;

/// Members of a stream response that are its payload, by both of their names.
const PAYLOAD: &[&[&str]] =
    &[&["task"], &["message", "msg"], &["statusUpdate"], &["artifactUpdate"]];

impl Dialect for V0_3Proto {
    fn read_request(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Request> {
        read(Spelling::Proto, value, problems, |node| read_request(operation, node))
    }

    fn read_reply(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Reply> {
        read(Spelling::Proto, value, problems, |node| read_reply(operation, node))
    }

    fn read_event(&self, value: &Value, problems: &mut Vec<Problem>) -> Option<StreamResponse> {
        read(Spelling::Proto, value, problems, payload)
    }

    fn write_request(&self, _operation: Operation, request: &Request) -> Value {
        write::request(request)
    }

    fn write_reply(&self, operation: Operation, reply: &Reply) -> Value {
        write::reply(operation, reply)
    }

    fn write_event(&self, event: &StreamResponse) -> Value {
        write::event(event)
    }
}

impl Shape for V0_3Proto {
    const MESSAGE_PARTS: &'static [&'static str] = &["content", "parts"];
    const MESSAGE_PARTS_NEED: Need = Need::Some;
    // An artifact may have no parts in 0.3, and protobuf cannot tell none from nothing.
    const ARTIFACT_PARTS_NEED: Need = Need::Nothing;
    const TASK_CONTEXT_NEED: Need = Need::Present;

    fn part(node: &Node<'_>) -> Part {
        if node.member("kind").is_some() { v0_3::part(node) } else { part(node) }
    }

    fn role(word: &str) -> Word<Role> {
        match word {
            "ROLE_USER" | "user" | "1" => Word::Known(Role::User),
            "ROLE_AGENT" | "agent" | "2" => Word::Known(Role::Agent),
            "ROLE_UNSPECIFIED" | "0" => Word::Unspecified,
            _ => Word::Unknown,
        }
    }

    fn state(word: &str) -> Word<TaskState> {
        if matches!(word, "TASK_STATE_UNSPECIFIED" | "unknown" | "0") {
            return Word::Unspecified;
        }
        match TaskState::parse(word) {
            Some(state) if word == "TASK_STATE_CANCELED" => {
                Word::Foreign(state, "TASK_STATE_CANCELLED".to_owned())
            }
            Some(state) => Word::Known(state),
            None => Word::Unknown,
        }
    }

    /// The protobuf default is how this spelling says what the JSON schema calls `unknown`.
    fn absent_state(_status: &Node<'_>) -> TaskState {
        TaskState::Unspecified("unknown".to_owned())
    }

    fn last(event: &Node<'_>) -> Option<bool> {
        Some(event.flag("final").unwrap_or_default())
    }
}

fn part(node: &Node<'_>) -> Part {
    let metadata = node.object("metadata");
    let names = ["text", "file", "data"];
    let mut there = names.into_iter().filter(|name| node.member(name).is_some());
    let Some(content) = there.next() else {
        node.note("empty_part", format!("a part needs one of {}", names.join(", ")));
        return Part { metadata, ..Part::of(PartContent::Empty) };
    };
    if there.next().is_some() {
        node.note("several_members", format!("a part has one of {}", names.join(", ")));
    }
    match content {
        // An empty text is a text: in a union, being there is what counts.
        "text" => Part { metadata, ..Part::text(node.optional_text("text").unwrap_or_default()) },
        "file" => match node.member("file") {
            Some(file) => file_part(&file, metadata),
            None => Part { metadata, ..Part::of(PartContent::Empty) },
        },
        _ => {
            let data = node.member("data").and_then(|part| part.object("data"));
            v0_3::data_part(Value::Object(data.unwrap_or_default()), metadata)
        }
    }
}

fn file_part(file: &Node<'_>, metadata: Option<Object>) -> Part {
    if !file.is_object() {
        return Part { metadata, ..Part::of(PartContent::Empty) };
    }
    let media_type = file.optional_text("mimeType");
    let content = match (file.member("fileWithBytes"), file.member("fileWithUri")) {
        (Some(_), Some(_)) => {
            file.note("several_members", "a file has `fileWithBytes` or `fileWithUri`, not both");
            FileSource::Url(file.text("fileWithUri"))
        }
        (Some(octets), None) => {
            FileSource::Raw(file_octets(octets.octets(), media_type.as_deref()))
        }
        (None, Some(_)) => FileSource::Url(file.optional_text("fileWithUri").unwrap_or_default()),
        (None, None) => {
            file.note("empty_part", "a file needs `fileWithBytes` or `fileWithUri`");
            return Part { metadata, ..Part::of(PartContent::Empty) };
        }
    };
    Part {
        content: PartContent::File(content),
        metadata,
        filename: file.optional_text("name"),
        media_type,
    }
}

/// The octets of a file. The official Python SDK puts base64 *text* into the `bytes` field, the
/// JavaScript SDK the octets themselves. Octets that are base64 text exactly as an encoder writes it
/// are taken for such text, unless the file is said to be text and would then be none: a file that
/// still happens to look so is rarer than that SDK.
fn file_octets(octets: Bytes, media_type: Option<&str>) -> Bytes {
    let is_text = media_type.is_some_and(|media_type| media_type.starts_with("text/"));
    values::base64_decoded_strictly(&octets)
        .filter(|decoded| !is_text || str::from_utf8(decoded).is_ok())
        .map_or(octets, Bytes::from)
}

/// A stream response, or what the JSON schema has in its place.
fn payload(node: &Node<'_>) -> Option<StreamResponse> {
    if !node.is_object() {
        return None;
    }
    if node.member("kind").is_some() {
        return v0_3::payload::<V0_3Proto>(node);
    }
    let known = || PAYLOAD.iter().filter_map(|names| names.first().copied()).collect::<Vec<_>>();
    let mut there = PAYLOAD.iter().filter(|names| node.any_member(names).is_some());
    let Some(names) = there.next() else {
        node.note("missing_field", format!("one of {} is needed", known().join(", ")));
        return None;
    };
    if there.next().is_some() {
        node.note("several_members", format!("there is more than one of {}", known().join(", ")));
    }
    let content = node.any_member(names)?;
    Some(match names.first().copied() {
        Some("task") => StreamResponse::Task(shape::task::<V0_3Proto>(&content)),
        Some("message") => StreamResponse::Message(shape::message::<V0_3Proto>(&content)),
        Some("statusUpdate") => {
            StreamResponse::StatusUpdate(shape::status_update::<V0_3Proto>(&content))
        }
        _ => StreamResponse::ArtifactUpdate(shape::artifact_update::<V0_3Proto>(&content)),
    })
}

fn read_request(operation: Operation, node: &Node<'_>) -> Option<Request> {
    if let Operation::Unknown = operation {
        return None;
    }
    if let Operation::AgentCard | Operation::GetExtendedAgentCard = operation {
        return Some(Request::Card);
    }
    if !node.is_object() {
        return None;
    }
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            Some(Request::SendMessage(send_message(node)))
        }
        Operation::GetTask => Some(Request::GetTask {
            id: names::task(node),
            history_length: node.integer("historyLength"),
        }),
        Operation::ListTasks => Some(Request::ListTasks(shape::list_tasks::<V0_3Proto>(node))),
        Operation::CancelTask => {
            Some(Request::CancelTask { id: names::task(node), metadata: node.object("metadata") })
        }
        Operation::SubscribeToTask => Some(Request::SubscribeToTask { id: names::task(node) }),
        Operation::CreateTaskPushNotificationConfig => {
            Some(Request::CreatePushConfig(created_config(node)))
        }
        Operation::GetTaskPushNotificationConfig => {
            let (task_id, id) = names::config(node);
            Some(Request::GetPushConfig { task_id, id })
        }
        Operation::ListTaskPushNotificationConfigs => Some(Request::ListPushConfigs {
            task_id: names::task(node),
            page_size: node.integer("pageSize"),
            page_token: node.optional_text("pageToken"),
        }),
        Operation::DeleteTaskPushNotificationConfig => {
            let (task_id, id) = names::config(node);
            Some(Request::DeletePushConfig { task_id, id: id.unwrap_or_default() })
        }
        Operation::PushNotification => payload(node).map(Request::PushNotification),
        Operation::GetExtendedAgentCard | Operation::AgentCard | Operation::Unknown => None,
    }
}

fn send_message(node: &Node<'_>) -> SendMessage {
    let message = node.any_member(&["message", "request"]);
    if message.is_none() {
        node.missing("message");
    }
    SendMessage {
        message: message.map(|said| shape::message::<V0_3Proto>(&said)).unwrap_or_default(),
        configuration: node.member("configuration").map(|config| configuration(&config)),
        metadata: node.object("metadata"),
    }
}

fn configuration(node: &Node<'_>) -> SendMessageConfiguration {
    if !node.is_object() {
        return SendMessageConfiguration::default();
    }
    let push = node.any_member(&["pushNotification", "pushNotificationConfig"]);
    SendMessageConfiguration {
        accepted_output_modes: node.texts("acceptedOutputModes"),
        push: push.map(|push| v0_3::push_config(&push)),
        history_length: node.integer("historyLength"),
        // The protobuf default is false, so a configuration always says which.
        return_immediately: Some(!node.flag("blocking").unwrap_or_default()),
    }
}

/// A webhook to be registered: with its envelope, or as the JavaScript SDK sends it, without.
fn created_config(node: &Node<'_>) -> TaskPushNotificationConfig {
    let Some(config) = node.member("config") else { return task_push_config(node) };
    if !config.is_object() {
        return TaskPushNotificationConfig::default();
    }
    let content = config.required("pushNotificationConfig");
    let content = content.map(|content| v0_3::push_config(&content)).unwrap_or_default();
    TaskPushNotificationConfig {
        id: content.id.clone().or_else(|| node.optional_text("configId")),
        task_id: Some(names::task(node)),
        ..content
    }
}

fn task_push_config(node: &Node<'_>) -> TaskPushNotificationConfig {
    if node.member("taskId").is_some() {
        return v0_3::task_push_config(node);
    }
    if !node.is_object() {
        return TaskPushNotificationConfig::default();
    }
    let (task_id, config_id) = names::config(node);
    let content = node.required("pushNotificationConfig");
    let content = content.map(|content| v0_3::push_config(&content)).unwrap_or_default();
    let id = content.id.clone().or(config_id);
    TaskPushNotificationConfig { id, task_id: Some(task_id), ..content }
}

fn read_reply(operation: Operation, node: &Node<'_>) -> Option<Reply> {
    match operation {
        Operation::Unknown => None,
        Operation::DeleteTaskPushNotificationConfig | Operation::PushNotification => {
            Some(Reply::Empty)
        }
        Operation::GetExtendedAgentCard | Operation::AgentCard => {
            Some(Reply::Card(Box::new(card::card(node))))
        }
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            v0_3::task_or_message(node, payload(node)?)
        }
        Operation::GetTask | Operation::CancelTask => {
            node.is_object().then(|| Reply::Task(shape::task::<V0_3Proto>(node)))
        }
        Operation::ListTasks => {
            node.is_object().then(|| Reply::Tasks(shape::task_page::<V0_3Proto>(node)))
        }
        Operation::ListTaskPushNotificationConfigs => Some(push_configs(node)),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            node.is_object().then(|| Reply::PushConfig(task_push_config(node)))
        }
    }
}

/// The webhooks of a task: an object in protobuf, the list itself in the JSON schema.
fn push_configs(node: &Node<'_>) -> Reply {
    let configs = node.items(|config| task_push_config(&config)).unwrap_or_else(|| {
        node.each(&["configs"], Need::Nothing, |config| task_push_config(&config))
    });
    Reply::PushConfigs { configs, next_page_token: node.optional_text("nextPageToken") }
}
