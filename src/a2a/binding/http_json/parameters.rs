//! Parameters of HTTP+JSON: from path, query and body into one object, and back.

use http::Method;
use percent_encoding::utf8_percent_encode;
use serde_json::{Map, Number, Value};
use url::form_urlencoded;

use super::routes;
use crate::a2a::binding::shared::{self, json};
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::{Call, Recognized};
use crate::a2a::dialect;
use crate::a2a::model::{Operation, Request};
use crate::a2a::problem::Problem;

/// How each version names what stands in the path.
const PATH_MEMBERS: &[(ProtocolVersion, Name)] =
    &[(ProtocolVersion::V0_3, resource_names), (ProtocolVersion::V1_0, plain_ids)];

/// Names the ids of a task and a config.
type Name = fn(Operation, &str, &str) -> Vec<Member>;

/// A member and its value.
type Member = (&'static str, String);

/// The query parameters, the operations that have them, and what they hold.
#[rustfmt::skip]
const QUERY: &[(&str, Kind, &[Operation])] = &[
    ("contextId", Kind::Text, &[Operation::ListTasks]),
    ("historyLength", Kind::Number, &[Operation::ListTasks, Operation::GetTask]),
    ("includeArtifacts", Kind::Flag, &[Operation::ListTasks]),
    ("pageSize", Kind::Number, &[Operation::ListTasks, Operation::ListTaskPushNotificationConfigs]),
    ("pageToken", Kind::Text, &[Operation::ListTasks, Operation::ListTaskPushNotificationConfigs]),
    ("status", Kind::Text, &[Operation::ListTasks]),
    ("statusTimestampAfter", Kind::Text, &[Operation::ListTasks]),
    ("tenant", Kind::Text, &[Operation::ListTasks, Operation::GetTask, Operation::GetExtendedAgentCard]),
];

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Flag,
}

/// The object in a body; an empty one for operations whose parameters are all in path and query.
pub(super) fn of_body(operation: Operation, body: &[u8], problems: &mut Vec<Problem>) -> Value {
    let is_needed = matches!(
        operation,
        Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::CreateTaskPushNotificationConfig
    );
    if body.is_empty() && !is_needed {
        return Value::Object(Map::new());
    }
    let text = json::text(body, "$", problems);
    json::value(&text, "$", problems).unwrap_or_else(|| Value::Object(Map::new()))
}

/// Puts the ids of the path into the object. The path counts where the body says otherwise.
pub(super) fn bind_path(call: &mut Call, recognized: &Recognized, value: &mut Value) {
    let Value::Object(members) = value else { return };
    let task_id = recognized.task_id.as_deref().unwrap_or_default();
    let config_id = recognized.config_id.as_deref().unwrap_or_default();
    for (name, id) in path_members(shared::spoken(call), call.operation, task_id, config_id) {
        if let Some(Value::String(other)) = members.get(name)
            && *other != id
        {
            let text = format!("the path says `{id}`, the body `{other}`");
            call.problems.push(Problem::new("id_mismatch", format!("$.{name}"), text));
        }
        members.insert(name.to_owned(), Value::String(id));
    }
}

/// Puts the query's parameters into the object. Others are not ours to judge.
pub(super) fn bind_query(
    operation: Operation,
    query: Option<&str>,
    value: &mut Value,
    problems: &mut Vec<Problem>,
) {
    let (Value::Object(members), Some(query)) = (value, query) else { return };
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let row = QUERY.iter().find(|row| row.0 == name && row.2.contains(&operation));
        let Some((name, kind, _)) = row else { continue };
        if let Some(value) = kind.read(&text) {
            members.insert((*name).to_owned(), value);
        } else {
            let text = format!("`{text}` is no value of {name}");
            problems.push(Problem::new("invalid_value", format!("query: {name}"), text));
        }
    }
}

/// Method, path and query of a request.
pub(super) fn target(
    version: ProtocolVersion,
    operation: Operation,
    request: &Request,
) -> (Method, String) {
    match operation {
        Operation::AgentCard => (Method::GET, routes::card_path()),
        Operation::PushNotification | Operation::Unknown => (Method::POST, String::new()),
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard => {
            let (task_id, config_id) = ids(request);
            let (method, mut path) = routes::path(operation, version, task_id, config_id)
                .unwrap_or((Method::POST, String::new()));
            let query = query(version, operation, request);
            if !query.is_empty() {
                path.push('?');
                path.push_str(&query);
            }
            (method, path)
        }
    }
}

/// The body of a request that is posted.
pub(super) fn body(version: ProtocolVersion, operation: Operation, request: &Request) -> Value {
    // Deliveries are written as JSON-RPC writes them, in every version.
    let binding = match operation {
        Operation::PushNotification => Binding::JsonRpc,
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::AgentCard
        | Operation::Unknown => Binding::HttpJson,
    };
    dialect::of(version, binding).write_request(operation, request)
}

/// What of a request goes into the query: what the dialect writes, under the names of the table.
fn query(version: ProtocolVersion, operation: Operation, request: &Request) -> String {
    let value = dialect::of(version, Binding::HttpJson).write_request(operation, request);
    let mut pairs = Vec::new();
    for (name, _, operations) in QUERY {
        let text = match value.get(name).filter(|_| operations.contains(&operation)) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        pairs.push(format!("{name}={}", utf8_percent_encode(&text, routes::RESERVED)));
    }
    pairs.join("&")
}

fn path_members(
    version: ProtocolVersion,
    operation: Operation,
    task_id: &str,
    config_id: &str,
) -> Vec<Member> {
    let row = PATH_MEMBERS.iter().find(|row| row.0 == version);
    row.map_or_else(Vec::new, |row| (row.1)(operation, task_id, config_id))
}

/// 1.0: ids as they are.
fn plain_ids(operation: Operation, task_id: &str, config_id: &str) -> Vec<Member> {
    match operation {
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
            vec![("id", task_id.to_owned())]
        }
        Operation::CreateTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs => vec![("taskId", task_id.to_owned())],
        Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig => {
            vec![("taskId", task_id.to_owned()), ("id", config_id.to_owned())]
        }
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::ListTasks
        | Operation::GetExtendedAgentCard
        | Operation::AgentCard
        | Operation::PushNotification
        | Operation::Unknown => Vec::new(),
    }
}

/// 0.3: names of resources, `tasks/t/pushNotificationConfigs/c`. The body of a registration names its
/// task in one of two ways and is left alone.
fn resource_names(operation: Operation, task_id: &str, config_id: &str) -> Vec<Member> {
    let task = format!("tasks/{task_id}");
    match operation {
        Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => {
            vec![("name", task)]
        }
        Operation::ListTaskPushNotificationConfigs => vec![("parent", task)],
        Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig => {
            vec![("name", format!("{task}/pushNotificationConfigs/{config_id}"))]
        }
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::ListTasks
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::AgentCard
        | Operation::PushNotification
        | Operation::Unknown => Vec::new(),
    }
}

/// The ids that stand in the path of a request.
fn ids(request: &Request) -> (&str, &str) {
    match request {
        Request::GetTask { id, .. }
        | Request::CancelTask { id, .. }
        | Request::SubscribeToTask { id } => (id, ""),
        Request::CreatePushConfig(config) => (config.task_id.as_deref().unwrap_or_default(), ""),
        Request::GetPushConfig { task_id, id } => (task_id, id.as_deref().unwrap_or_default()),
        Request::ListPushConfigs { task_id, .. } => (task_id, ""),
        Request::DeletePushConfig { task_id, id } => (task_id, id),
        Request::SendMessage(_)
        | Request::ListTasks(_)
        | Request::Card
        | Request::PushNotification(_) => ("", ""),
    }
}

impl Kind {
    fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Text => Some(Value::from(text)),
            Self::Number => text.parse::<i64>().ok().map(Number::from).map(Value::Number),
            Self::Flag => text.parse().ok().map(Value::Bool),
        }
    }
}
