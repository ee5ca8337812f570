//! Messages out of the recorded SDK traffic in `fixtures/wire`, without the machinery of bindings.
//!
//! The full path from octets to answers has tests of its own; this takes apart just enough of HTTP,
//! SSE and JSON-RPC to get at the messages.

use std::fs;
use std::path::{Path, PathBuf};

use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::dialect;
use meddler::a2a::dialect::protobuf;
use meddler::a2a::model::{Operation, Reply, Request, StreamResponse};
use meddler::a2a::problem::Problem;
use serde_json::Value;

/// What a message is to its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Request,
    Reply,
    Event,
}

/// One recorded message.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// `1.0/rest.js`
    pub(super) file: String,
    /// The harness operation and the number of the call within it.
    pub(super) case: String,
    pub(super) n: u64,
    pub(super) version: ProtocolVersion,
    pub(super) binding: Binding,
    pub(super) operation: Operation,
    pub(super) place: Place,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Json(Value),
    Protobuf(Vec<u8>),
}

/// A message as the model has it.
#[derive(Debug)]
pub(super) enum Read {
    Request(Request),
    Reply(Reply),
    Event(StreamResponse),
}

impl Recorded {
    /// The message as JSON: as it was, or by its schema.
    pub(super) fn json(&self, problems: &mut Vec<Problem>) -> Option<Value> {
        match &self.content {
            Content::Json(value) => Some(value.clone()),
            Content::Protobuf(octets) => {
                let message = match self.place {
                    Place::Request => protobuf::Message::Request,
                    Place::Reply | Place::Event => protobuf::Message::Response,
                };
                protobuf::to_json(self.version, self.operation, message, octets, problems)
            }
        }
    }

    /// The message as its dialect reads it.
    pub(super) fn read(&self, problems: &mut Vec<Problem>) -> Option<Read> {
        let value = self.json(problems)?;
        let dialect = dialect::of(self.version, self.binding);
        match self.place {
            Place::Request => {
                dialect.read_request(self.operation, &value, problems).map(Read::Request)
            }
            Place::Reply => dialect.read_reply(self.operation, &value, problems).map(Read::Reply),
            Place::Event => dialect.read_event(&value, problems).map(Read::Event),
        }
    }
}

/// All recorded messages of all files but errors, which bindings read.
pub(super) fn messages() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire");
    let mut found = Vec::new();
    for folder in sorted(&root) {
        for file in sorted(&folder) {
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                let name = file.strip_prefix(&root).unwrap().with_extension("");
                let name = name.to_string_lossy().replace('\\', "/");
                for line in fs::read_to_string(&file).unwrap().lines() {
                    take_line(&name, &serde_json::from_str(line).unwrap(), &mut found);
                }
            }
        }
    }
    assert!(found.len() > 2500, "only {} messages were found", found.len());
    found
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn take_line(file: &str, line: &Value, found: &mut Vec<Recorded>) {
    let Some(n) = line["n"].as_u64() else { return };
    let call = |version, binding, operation| Recorded {
        file: file.to_owned(),
        case: line["op"].as_str().unwrap().to_owned(),
        n,
        version,
        binding,
        operation,
        place: Place::Request,
        content: Content::Json(Value::Null),
    };
    if let Some(method) = line["method"].as_str() {
        let version = if method.starts_with("/lf.a2a.v1.") {
            ProtocolVersion::V1_0
        } else {
            ProtocolVersion::V0_3
        };
        let operation = Operation::parse(method.rsplit('/').next().unwrap()).unwrap();
        take_grpc(&call(version, Binding::Grpc, operation), line, found);
        return;
    }
    let (head, body) = split_http(&line["request"]);
    let mut first = head.lines().next().unwrap().split(' ');
    let (verb, path) = (first.next().unwrap(), first.next().unwrap());
    if path == "/hook" {
        let payload: Value = serde_json::from_slice(&body).unwrap();
        let version = dialect::version_of_notification(&payload).unwrap();
        let push = call(version, Binding::JsonRpc, Operation::PushNotification);
        found.push(Recorded { content: Content::Json(payload), ..push });
        return;
    }
    if path.starts_with("/.well-known/") {
        let call = call(ProtocolVersion::V1_0, Binding::HttpJson, Operation::AgentCard);
        take_http_reply(&call, &line["response"], found);
        return;
    }
    if file.contains("/jsonrpc.") {
        let envelope: Value = serde_json::from_slice(&body).unwrap();
        let method = envelope.get("method").unwrap().as_str().unwrap();
        let version =
            if method.contains('/') { ProtocolVersion::V0_3 } else { ProtocolVersion::V1_0 };
        let call = call(version, Binding::JsonRpc, Operation::parse(method).unwrap());
        if let Some(params) = envelope.get("params") {
            found.push(Recorded { content: Content::Json(params.clone()), ..call.clone() });
        }
        take_http_reply(&call, &line["response"], found);
        return;
    }
    let (version, path) = match path.strip_prefix("/v1/") {
        Some(path) => (ProtocolVersion::V0_3, path),
        None => (ProtocolVersion::V1_0, path.trim_start_matches('/')),
    };
    let call = call(version, Binding::HttpJson, operation_of(verb, path));
    // What stands in the path and not in the body is for the binding to add.
    if !body.is_empty() && body != b"{}" {
        let content = Content::Json(serde_json::from_slice(&body).unwrap());
        found.push(Recorded { content, ..call.clone() });
    }
    take_http_reply(&call, &line["response"], found);
}

fn operation_of(verb: &str, path: &str) -> Operation {
    let path = path.split('?').next().unwrap();
    let parts: Vec<&str> = path.split('/').collect();
    match (verb, parts.as_slice()) {
        (_, ["message:send"]) => Operation::SendMessage,
        (_, ["message:stream"]) => Operation::SendStreamingMessage,
        (_, ["card" | "extendedAgentCard"]) => Operation::GetExtendedAgentCard,
        (_, ["tasks"]) => Operation::ListTasks,
        (_, ["tasks", task]) if task.ends_with(":cancel") => Operation::CancelTask,
        (_, ["tasks", task]) if task.ends_with(":subscribe") => Operation::SubscribeToTask,
        (_, ["tasks", _]) => Operation::GetTask,
        ("POST", ["tasks", _, _]) => Operation::CreateTaskPushNotificationConfig,
        (_, ["tasks", _, _]) => Operation::ListTaskPushNotificationConfigs,
        ("DELETE", _) => Operation::DeleteTaskPushNotificationConfig,
        (_, ["tasks", _, _, _]) => Operation::GetTaskPushNotificationConfig,
        _ => unreachable!("{verb} {path} is in no table of this test"),
    }
}

fn take_grpc(call: &Recorded, line: &Value, found: &mut Vec<Recorded>) {
    let is_stream =
        matches!(call.operation, Operation::SendStreamingMessage | Operation::SubscribeToTask);
    let answer = if is_stream { Place::Event } else { Place::Reply };
    for (member, place) in [("request_messages", Place::Request), ("response_messages", answer)] {
        for message in line[member].as_array().unwrap() {
            let content = Content::Protobuf(hex(message.as_str().unwrap()));
            found.push(Recorded { place, content, ..call.clone() });
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(digits).collect()
}

/// Head and body of a recorded HTTP message, the chunked framing undone.
fn split_http(message: &Value) -> (String, Vec<u8>) {
    let Some(text) = message["text"].as_str() else { return (String::new(), Vec::new()) };
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body.as_bytes()) } else { body.as_bytes().to_vec() };
    (head.to_owned(), body)
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let (size, chunk) = rest.split_at(end);
        let size = str::from_utf8(size).unwrap().split(';').next().unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        // A body may be cut within a chunk.
        let (content, after) = chunk.split_at((2 + size).min(chunk.len()));
        body.extend_from_slice(content.strip_prefix(b"\r\n").unwrap());
        rest = after.strip_prefix(b"\r\n").unwrap_or_default();
    }
    body
}

fn take_http_reply(call: &Recorded, response: &Value, found: &mut Vec<Recorded>) {
    let (head, body) = split_http(response);
    let Some(status) = head.split(' ').nth(1) else { return };
    if !status.starts_with('2') {
        return;
    }
    let is_stream = head.to_ascii_lowercase().contains("content-type: text/event-stream");
    let (place, bodies) = if is_stream {
        (Place::Event, event_data(str::from_utf8(&body).unwrap()))
    } else {
        (Place::Reply, vec![serde_json::from_slice(&body).unwrap()])
    };
    for body in bodies {
        let content = match call.binding {
            Binding::JsonRpc => match body.get("result") {
                Some(result) => result.clone(),
                None => continue,
            },
            Binding::HttpJson | Binding::Grpc if body.get("error").is_some() => continue,
            Binding::HttpJson | Binding::Grpc => body,
        };
        found.push(Recorded { place, content: Content::Json(content), ..call.clone() });
    }
}

/// The data of whole events.
fn event_data(body: &str) -> Vec<Value> {
    let body = body.replace("\r\n", "\n");
    let mut events: Vec<&str> = body.split("\n\n").collect();
    // What follows the last blank line is no whole event.
    events.pop();
    let data = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.collect::<Vec<_>>().join("\n")
    };
    events
        .into_iter()
        .map(data)
        .filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(&data).unwrap())
        .collect()
}
