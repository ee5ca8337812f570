//! A2A 1.0: ProtoJSON of `lf.a2a.v1`, the same on all three bindings.
//!
//! A union is told by which member is there, an empty text is no text, and members that the schema
//! does not know are none of a reader's business.

use serde_json::Value;

use crate::a2a::dialect::Dialect;
use crate::a2a::dialect::json::card;
use crate::a2a::dialect::json::log::Spelling;
use crate::a2a::dialect::json::node::{Need, Node, Word, read};
use crate::a2a::dialect::json::shape::{self, Shape};
use crate::a2a::dialect::json::values;
use crate::a2a::model::{
    AuthenticationInfo, FileSource, Operation, Part, PartContent, Reply, Request, Role,
    SendMessage, SendMessageConfiguration, StreamResponse, TaskPushNotificationConfig, TaskState,
};
use crate::a2a::problem::Problem;

mod write;

/// The one dialect of 1.0.
pub(super) struct V1_0;

/// Members of a part that are its content.
const CONTENT: &[&str] = &["text", "raw", "url", "data"];
/// Members of a stream response that are its payload.
const PAYLOAD: &[&str] = &["task", "message", "statusUpdate", "artifactUpdate"];

impl Dialect for V1_0 {
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
        read(Spelling::Proto, value, problems, |node| payload(node, PAYLOAD))
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

impl Shape for V1_0 {
    const MESSAGE_PARTS: &'static [&'static str] = &["parts"];
    const MESSAGE_PARTS_NEED: Need = Need::Some;
    const ARTIFACT_PARTS_NEED: Need = Need::Some;
    const TASK_CONTEXT_NEED: Need = Need::Nothing;

    fn part(node: &Node<'_>) -> Part {
        Part {
            content: part_content(node),
            metadata: node.object("metadata"),
            filename: node.optional_text("filename"),
            media_type: node.optional_text("mediaType"),
        }
    }

    fn role(word: &str) -> Word<Role> {
        match word {
            "ROLE_USER" | "1" => Word::Known(Role::User),
            "ROLE_AGENT" | "2" => Word::Known(Role::Agent),
            "ROLE_UNSPECIFIED" | "0" => Word::Unspecified,
            "user" => Word::Foreign(Role::User, "ROLE_USER".to_owned()),
            "agent" => Word::Foreign(Role::Agent, "ROLE_AGENT".to_owned()),
            _ => Word::Unknown,
        }
    }

    fn state(word: &str) -> Word<TaskState> {
        if matches!(word, "TASK_STATE_UNSPECIFIED" | "0") {
            return Word::Unspecified;
        }
        let is_number = word.bytes().all(|digit| digit.is_ascii_digit());
        match TaskState::parse(word) {
            Some(state) if is_number || state.as_enum_name() == word => Word::Known(state),
            Some(state) => {
                let right = state.as_enum_name().to_owned();
                Word::Foreign(state, right)
            }
            None if word == "unknown" => Word::Foreign(
                TaskState::Unspecified(word.to_owned()),
                "TASK_STATE_UNSPECIFIED".to_owned(),
            ),
            None => Word::Unknown,
        }
    }

    fn last(_event: &Node<'_>) -> Option<bool> {
        None
    }
}

fn part_content(node: &Node<'_>) -> PartContent {
    // `"data": null` is a value: a `google.protobuf.Value` may be null.
    let there = |name: &&&str| match **name {
        "data" => node.entry("data").is_some(),
        other => node.member(other).is_some(),
    };
    let mut members = CONTENT.iter().filter(there);
    let Some(content) = members.next() else {
        node.note("empty_part", format!("a part needs one of {}", CONTENT.join(", ")));
        return PartContent::Empty;
    };
    if members.next().is_some() {
        node.note("several_members", format!("a part has one of {}", CONTENT.join(", ")));
    }
    match *content {
        "text" => PartContent::Text(exact_text(node, "text")),
        "url" => PartContent::File(FileSource::Url(exact_text(node, "url"))),
        "raw" => {
            let octets = node.member("raw").map(|raw| raw.octets());
            PartContent::File(FileSource::Raw(octets.unwrap_or_default()))
        }
        _ => {
            let data = node.entry("data").map(|data| values::whole_numbers(data.value()));
            PartContent::Data(data.unwrap_or_default())
        }
    }
}

/// A text of a union: being there is what counts, so an empty one is a text.
fn exact_text(node: &Node<'_>, name: &'static str) -> String {
    let is_empty = node.member(name).is_some_and(|text| text.value().as_str() == Some(""));
    if is_empty { String::new() } else { node.text(name) }
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
        Operation::ListTasks => Some(Request::ListTasks(shape::list_tasks::<V1_0>(node))),
        Operation::CancelTask => {
            Some(Request::CancelTask { id: node.text("id"), metadata: node.object("metadata") })
        }
        Operation::SubscribeToTask => Some(Request::SubscribeToTask { id: node.text("id") }),
        Operation::CreateTaskPushNotificationConfig => {
            Some(Request::CreatePushConfig(push_config(node)))
        }
        Operation::GetTaskPushNotificationConfig => Some(Request::GetPushConfig {
            task_id: node.text("taskId"),
            id: Some(node.text("id")).filter(|id| !id.is_empty()),
        }),
        Operation::ListTaskPushNotificationConfigs => Some(Request::ListPushConfigs {
            task_id: node.text("taskId"),
            page_size: node.integer("pageSize"),
            page_token: node.optional_text("pageToken"),
        }),
        Operation::DeleteTaskPushNotificationConfig => {
            Some(Request::DeletePushConfig { task_id: node.text("taskId"), id: node.text("id") })
        }
        Operation::PushNotification => payload(node, PAYLOAD).map(Request::PushNotification),
        Operation::GetExtendedAgentCard | Operation::AgentCard | Operation::Unknown => None,
    }
}

fn send_message(node: &Node<'_>) -> SendMessage {
    SendMessage {
        message: node
            .required("message")
            .map(|message| shape::message::<V1_0>(&message))
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
        push: node.member("taskPushNotificationConfig").map(|push| push_config(&push)),
        history_length: node.integer("historyLength"),
        return_immediately: node.flag("returnImmediately"),
    }
}

fn push_config(node: &Node<'_>) -> TaskPushNotificationConfig {
    if !node.is_object() {
        return TaskPushNotificationConfig::default();
    }
    TaskPushNotificationConfig {
        id: node.optional_text("id"),
        task_id: node.optional_text("taskId"),
        url: node.text("url"),
        token: node.optional_text("token"),
        authentication: node.member("authentication").map(|info| AuthenticationInfo {
            schemes: vec![info.text("scheme")],
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
        Operation::SendMessage | Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            match payload(node, &["task", "message"])? {
                StreamResponse::Task(task) => Some(Reply::Task(task)),
                StreamResponse::Message(message) => Some(Reply::Message(message)),
                StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => None,
            }
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::ListTasks
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs => {
            node.is_object().then(|| read_object_reply(operation, node))
        }
    }
}

fn read_object_reply(operation: Operation, node: &Node<'_>) -> Reply {
    if let Operation::ListTasks = operation {
        return Reply::Tasks(shape::task_page::<V1_0>(node));
    }
    if let Operation::ListTaskPushNotificationConfigs = operation {
        return Reply::PushConfigs {
            configs: node.each(&["configs"], Need::Nothing, |config| push_config(&config)),
            next_page_token: node.optional_text("nextPageToken"),
        };
    }
    if let Operation::GetTask | Operation::CancelTask = operation {
        return Reply::Task(shape::task::<V1_0>(node));
    }
    Reply::PushConfig(push_config(node))
}

/// The one member of a union that is there.
fn payload(node: &Node<'_>, names: &[&'static str]) -> Option<StreamResponse> {
    if !node.is_object() {
        return None;
    }
    let mut there = names.iter().filter(|name| node.member(name).is_some());
    let Some(name) = there.next() else {
        let text = format!("one of {} is needed", names.join(", "));
        match node.member("kind") {
            Some(_) => node.note("unknown_kind", format!("{text}; 1.0 has no `kind`")),
            None => node.note("missing_field", text),
        }
        return None;
    };
    if there.next().is_some() {
        node.note("several_members", format!("there is more than one of {}", names.join(", ")));
    }
    let content = node.member(name)?;
    Some(match *name {
        "task" => StreamResponse::Task(shape::task::<V1_0>(&content)),
        "message" => StreamResponse::Message(shape::message::<V1_0>(&content)),
        "statusUpdate" => StreamResponse::StatusUpdate(shape::status_update::<V1_0>(&content)),
        _ => StreamResponse::ArtifactUpdate(shape::artifact_update::<V1_0>(&content)),
    })
}
