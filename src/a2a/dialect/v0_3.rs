//! A2A 0.3 as its JSON schema spells it: JSON-RPC, and the bodies the specification's text shows.
//!
//! A union is told by `kind`, names are exact, and an empty text is a text. Shapes of the other
//! spelling are read by [`super::v0_3_proto`], which borrows the parts from here.

use serde_json::Value;

use crate::a2a::dialect::Dialect;
use crate::a2a::dialect::json::card;
use crate::a2a::dialect::json::log::Spelling;
use crate::a2a::dialect::json::node::{Need, Node, Word, read};
use crate::a2a::dialect::json::shape::{self, Shape};
use crate::a2a::model::{
    AuthenticationInfo, FileSource, Object, Operation, Part, PartContent, Reply, Request, Role,
    SendMessage, SendMessageConfiguration, StreamResponse, TaskPushNotificationConfig, TaskState,
};
use crate::a2a::problem::Problem;

pub(super) mod write;

/// The JSON schema of 0.3.
pub(super) struct V0_3;

/// The mark that the 1.x SDKs leave on data that is no object, which 0.3 cannot say: the data is the
/// member `value`, and the mark goes into the part's metadata.
pub(super) const WRAPPED_DATA: &str = "data_part_compat";

const KINDS: &str = "`task`, `message`, `status-update` or `artifact-update`";

impl Dialect for V0_3 {
    fn read_request(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Request> {
        read(Spelling::Schema, value, problems, |node| read_request(operation, node))
    }

    fn read_reply(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Reply> {
        read(Spelling::Schema, value, problems, |node| read_reply(operation, node))
    }

    fn read_event(&self, value: &Value, problems: &mut Vec<Problem>) -> Option<StreamResponse> {
        read(Spelling::Schema, value, problems, payload::<Self>)
    }

    fn write_request(&self, _operation: Operation, request: &Request) -> Value {
        write::request(request)
    }

    fn write_reply(&self, _operation: Operation, reply: &Reply) -> Value {
        write::reply(reply)
    }

    fn write_event(&self, event: &StreamResponse) -> Value {
        write::event(event)
    }
}

impl Shape for V0_3 {
    const MESSAGE_PARTS: &'static [&'static str] = &["parts"];
    const MESSAGE_PARTS_NEED: Need = Need::Present;
    const ARTIFACT_PARTS_NEED: Need = Need::Present;
    const TASK_CONTEXT_NEED: Need = Need::Present;

    fn part(node: &Node<'_>) -> Part {
        part(node)
    }

    fn role(word: &str) -> Word<Role> {
        match word {
            "user" => Word::Known(Role::User),
            "agent" => Word::Known(Role::Agent),
            "ROLE_USER" => Word::Foreign(Role::User, "user".to_owned()),
            "ROLE_AGENT" => Word::Foreign(Role::Agent, "agent".to_owned()),
            _ => Word::Unknown,
        }
    }

    fn state(word: &str) -> Word<TaskState> {
        match TaskState::parse(word) {
            Some(state) if state.as_hyphenated() == word => Word::Known(state),
            Some(state) => {
                let right = state.as_hyphenated().to_owned();
                Word::Foreign(state, right)
            }
            None if word == "unknown" => Word::Known(TaskState::Unspecified(word.to_owned())),
            None => Word::Unknown,
        }
    }

    fn last(event: &Node<'_>) -> Option<bool> {
        let last = event.flag("final");
        if event.member("final").is_none() {
            event.missing("final");
        }
        last
    }
}

/// A part that names its `kind`.
pub(super) fn part(node: &Node<'_>) -> Part {
    let metadata = node.object("metadata");
    let kind = match node.member("kind").map(|kind| (kind, kind.value().as_str())) {
        Some((_, Some(kind))) => kind,
        Some((kind, None)) => {
            kind.wrong_type("text");
            ""
        }
        None => {
            node.missing("kind");
            let there =
                ["text", "file", "data"].into_iter().find(|name| node.member(name).is_some());
            there.unwrap_or_default()
        }
    };
    match kind {
        "text" if node.member("text").is_some() => {
            Part { metadata, ..Part::text(node.optional_text("text").unwrap_or_default()) }
        }
        "data" if node.member("data").is_some() => {
            let data = node.object("data").map(Value::Object).unwrap_or_default();
            data_part(data, metadata)
        }
        "file" => match node.member("file") {
            Some(file) => file_part(&file, metadata),
            None => empty_part(node, kind, metadata),
        },
        "text" | "data" => empty_part(node, kind, metadata),
        "" => Part { metadata, ..Part::of(PartContent::Empty) },
        other => {
            let text = format!("`{other}` is not a kind of part: text, file or data");
            node.note("unknown_kind", text);
            Part { metadata, ..Part::of(PartContent::Empty) }
        }
    }
}

/// A part of data, [`WRAPPED_DATA`] undone.
pub(super) fn data_part(data: Value, metadata: Option<Object>) -> Part {
    let is_wrapped = metadata.as_ref().and_then(|metadata| metadata.get(WRAPPED_DATA))
        == Some(&Value::Bool(true));
    let Some(inner) = data.get("value").filter(|_| is_wrapped) else {
        return Part { metadata, ..Part::data(data) };
    };
    let mut rest = metadata.unwrap_or_default();
    rest.shift_remove(WRAPPED_DATA);
    let metadata = Some(rest).filter(|rest| !rest.is_empty());
    Part { metadata, ..Part::data(inner.clone()) }
}

fn file_part(file: &Node<'_>, metadata: Option<Object>) -> Part {
    if !file.is_object() {
        return Part { metadata, ..Part::of(PartContent::Empty) };
    }
    let content = match (file.member("bytes"), file.member("uri")) {
        (Some(_), Some(_)) => {
            file.note("several_members", "a file has `bytes` or `uri`, not both");
            FileSource::Url(file.text("uri"))
        }
        (Some(octets), None) => FileSource::Raw(octets.octets()),
        (None, Some(_)) => FileSource::Url(file.text("uri")),
        (None, None) => {
            file.note("empty_part", "a file needs `bytes` or `uri`");
            return Part { metadata, ..Part::of(PartContent::Empty) };
        }
    };
    Part {
        content: PartContent::File(content),
        metadata,
        filename: file.optional_text("name"),
        media_type: file.optional_text("mimeType"),
    }
}

fn empty_part(node: &Node<'_>, kind: &str, metadata: Option<Object>) -> Part {
    node.note("empty_part", format!("a part of kind `{kind}` without `{kind}`"));
    Part { metadata, ..Part::of(PartContent::Empty) }
}

/// A task, message or event that names its `kind`.
pub(super) fn payload<S: Shape>(node: &Node<'_>) -> Option<StreamResponse> {
    if !node.is_object() {
        return None;
    }
    let kind = match node.member("kind").map(|kind| kind.value().as_str().map(str::to_owned)) {
        Some(Some(kind)) => kind,
        Some(None) => {
            node.note("unknown_kind", format!("`kind` is no text; known: {KINDS}"));
            return None;
        }
        None => {
            let guess = guessed_kind(node)?;
            node.note("missing_field", format!("`kind` is missing; read as `{guess}`"));
            guess.to_owned()
        }
    };
    match kind.as_str() {
        "task" => Some(StreamResponse::Task(shape::task::<S>(node))),
        "message" => Some(StreamResponse::Message(shape::message::<S>(node))),
        "status-update" => Some(StreamResponse::StatusUpdate(shape::status_update::<S>(node))),
        "artifact-update" => {
            Some(StreamResponse::ArtifactUpdate(shape::artifact_update::<S>(node)))
        }
        other => {
            node.note("unknown_kind", format!("`{other}` is not {KINDS}"));
            None
        }
    }
}

/// What an object without `kind` must be, by the members that only one kind has.
fn guessed_kind(node: &Node<'_>) -> Option<&'static str> {
    let kinds =
        [("artifact", "artifact-update"), ("messageId", "message"), ("taskId", "status-update")];
    let found = kinds.into_iter().find(|(member, _)| node.member(member).is_some());
    match found {
        Some((_, kind)) => Some(kind),
        None if node.member("id").is_some() && node.member("status").is_some() => Some("task"),
        None => {
            node.note("missing_field", format!("`kind` is missing: {KINDS}"));
            None
        }
    }
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
            id: node.text("id"),
            history_length: node.integer("historyLength"),
        }),
        Operation::ListTasks => Some(Request::ListTasks(shape::list_tasks::<V0_3>(node))),
        Operation::CancelTask => {
            Some(Request::CancelTask { id: node.text("id"), metadata: node.object("metadata") })
        }
        Operation::SubscribeToTask => Some(Request::SubscribeToTask { id: node.text("id") }),
        Operation::CreateTaskPushNotificationConfig => {
            Some(Request::CreatePushConfig(task_push_config(node)))
        }
        Operation::GetTaskPushNotificationConfig => Some(Request::GetPushConfig {
            task_id: node.text("id"),
            id: node.optional_text("pushNotificationConfigId"),
        }),
        Operation::ListTaskPushNotificationConfigs => Some(Request::ListPushConfigs {
            task_id: node.text("id"),
            page_size: None,
            page_token: None,
        }),
        Operation::DeleteTaskPushNotificationConfig => Some(Request::DeletePushConfig {
            task_id: node.text("id"),
            id: node.text("pushNotificationConfigId"),
        }),
        Operation::PushNotification => payload::<V0_3>(node).map(Request::PushNotification),
        Operation::GetExtendedAgentCard | Operation::AgentCard | Operation::Unknown => None,
    }
}

fn send_message(node: &Node<'_>) -> SendMessage {
    SendMessage {
        message: node
            .required("message")
            .map(|message| shape::message::<V0_3>(&message))
            .unwrap_or_default(),
        configuration: node.member("configuration").map(|config| configuration(&config)),
        metadata: node.object("metadata"),
    }
}

fn configuration(node: &Node<'_>) -> SendMessageConfiguration {
    if !node.is_object() {
        return SendMessageConfiguration::default();
    }
    SendMessageConfiguration {
        accepted_output_modes: node.texts("acceptedOutputModes"),
        push: node.member("pushNotificationConfig").map(|push| push_config(&push)),
        history_length: node.integer("historyLength"),
        return_immediately: node.flag("blocking").map(|blocking| !blocking),
    }
}

/// A webhook with the task it belongs to.
pub(super) fn task_push_config(node: &Node<'_>) -> TaskPushNotificationConfig {
    if !node.is_object() {
        return TaskPushNotificationConfig::default();
    }
    let task_id = node.text("taskId");
    let config = node.required("pushNotificationConfig").map(|config| push_config(&config));
    TaskPushNotificationConfig { task_id: Some(task_id), ..config.unwrap_or_default() }
}

/// A webhook by itself: the same members in both spellings of 0.3.
pub(super) fn push_config(node: &Node<'_>) -> TaskPushNotificationConfig {
    if !node.is_object() {
        return TaskPushNotificationConfig::default();
    }
    TaskPushNotificationConfig {
        id: node.optional_text("id"),
        task_id: None,
        url: node.text("url"),
        token: node.optional_text("token"),
        authentication: node.member("authentication").map(|info| AuthenticationInfo {
            schemes: info.texts("schemes"),
            credentials: info.optional_text("credentials"),
        }),
    }
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
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::SubscribeToTask
        | Operation::GetTask
        | Operation::CancelTask => task_or_message(node, payload::<V0_3>(node)?),
        Operation::ListTaskPushNotificationConfigs => {
            // The result is the list itself.
            let Some(configs) = node.items(|config| task_push_config(&config)) else {
                node.wrong_type("a list");
                return None;
            };
            Some(Reply::PushConfigs { configs, next_page_token: None })
        }
        Operation::ListTasks => {
            node.is_object().then(|| Reply::Tasks(shape::task_page::<V0_3>(node)))
        }
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            node.is_object().then(|| Reply::PushConfig(task_push_config(node)))
        }
    }
}

/// A single answer out of what may be an event.
pub(super) fn task_or_message(node: &Node<'_>, payload: StreamResponse) -> Option<Reply> {
    match payload {
        StreamResponse::Task(task) => Some(Reply::Task(task)),
        StreamResponse::Message(message) => Some(Reply::Message(message)),
        StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
            node.note("unknown_kind", "an event is no answer: a task or message is expected");
            None
        }
    }
}

/// Data as 0.3 can say it, and the metadata that goes with it.
pub(super) fn wrapped_data(data: &Value, metadata: Option<&Object>) -> (Value, Option<Object>) {
    if data.is_object() {
        return (data.clone(), metadata.cloned());
    }
    let mut marked = metadata.cloned().unwrap_or_default();
    marked.insert(WRAPPED_DATA.to_owned(), Value::Bool(true));
    (Value::Object(Object::from_iter([("value".to_owned(), data.clone())])), Some(marked))
}

/// Whether a status update ends its stream, where the model does not say: at the end of a task and
/// when the agent waits.
pub(super) fn is_last(last: Option<bool>, state: &TaskState) -> bool {
    last.unwrap_or_else(|| state.is_terminal() || state.is_interrupted())
}
