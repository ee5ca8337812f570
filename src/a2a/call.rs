//! One call, whole: a request as understood, the answer as understood, and how to write both.
//!
//! This is the front door for every other module. Readers take octets and give a model and a list of
//! problems; writers take a model and give octets in the binding and version of the call.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::a2a::binding::{self, Binding, ProtocolVersion};
use crate::a2a::frame::{self, Frame, Splitter};
use crate::a2a::model::{A2aError, GrpcCode, Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;

/// The head of a request, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The HTTP method.
    pub method: &'a Method,
    /// The request target; only path and query matter.
    pub uri: &'a Uri,
    /// The header fields.
    pub headers: &'a HeaderMap,
}

/// What the head of a request alone tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognized {
    /// `None`: not A2A.
    pub binding: Option<Binding>,
    /// The version that is *spoken*; for JSON-RPC the method name in the body decides, so `None`.
    pub version: Option<ProtocolVersion>,
    /// The version that is *declared*: header or query parameter `A2A-Version`, as written.
    pub declared: Option<String>,
    /// `None`: the name is in the body (JSON-RPC).
    pub operation: Option<Operation>,
    /// The name on the wire: JSON-RPC method, `POST /v1/message:send`, gRPC path. Empty until known.
    pub wire_name: String,
    /// The tenant in an HTTP+JSON path.
    pub tenant: Option<String>,
    /// The task in an HTTP+JSON path.
    pub task_id: Option<String>,
    /// The push config in an HTTP+JSON path.
    pub config_id: Option<String>,
}

/// Ids of the peers, as far as an exchange names them. Opaque.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// Of the orchestrator's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// Of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Of the push config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_id: Option<String>,
    /// 1.0's tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

/// A request as understood.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// `None`: not A2A.
    pub binding: Option<Binding>,
    /// The version that is spoken.
    pub version: Option<ProtocolVersion>,
    /// The version that is declared.
    pub declared: Option<String>,
    /// What is asked.
    pub operation: Operation,
    /// By which name.
    pub wire_name: String,
    /// The JSON-RPC id as it was written, so that an answer carries the very same (a big integer
    /// keeps its digits). `None` when absent; `null` is `Some`.
    pub rpc_id: Option<Box<RawValue>>,
    /// Ids that the request names.
    pub ids: Ids,
    /// The request itself, as far as it could be read.
    pub request: Option<Request>,
    /// The calls of a JSON-RPC batch, in order. The batch itself has no operation: its members have.
    pub batch: Vec<Self>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

/// An answer as it came off the wire, whole, content coding already undone.
#[derive(Clone, Copy, Debug)]
pub struct WireView<'a> {
    /// The HTTP status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: &'a [u8],
    /// The trailer fields. A Trailers-Only gRPC answer has its status in `headers`.
    pub trailers: Option<&'a HeaderMap>,
}

/// An answer as understood.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The one answer, when it is not a stream.
    pub reply: Option<Reply>,
    /// The events of a stream, in order. Frames without an event (comments) are left out.
    pub events: Vec<Event>,
    /// Whether it was a stream (SSE, or a streaming gRPC method that sent no error before its first
    /// message).
    pub is_stream: bool,
    /// The error that ended it: the reply's, a stream's last event, or the gRPC status.
    pub error: Option<A2aError>,
    /// The gRPC status, from trailers or a Trailers-Only head.
    pub grpc_status: Option<GrpcCode>,
    /// Ids that the answer names (task and context of a new task).
    pub ids: Ids,
    /// The answers to the calls of a batch, each with the place of its call in [`Call::batch`]: they may
    /// come in any order.
    pub batch: Vec<(usize, Self)>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

/// One event of a stream and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Offset of the frame's first octet in the body.
    pub start: u64,
    /// Length of the whole frame, separators included.
    pub len: u64,
    /// What it says; `None` when it could not be read (the problems say why).
    pub event: Option<StreamResponse>,
    /// An error sent as an event.
    pub error: Option<A2aError>,
}

/// A whole answer to be sent.
#[derive(Clone, Debug)]
pub struct WireAnswer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The header fields: content type and what the error asks for; no length, no date.
    pub headers: HeaderMap,
    /// The body, for gRPC with its length prefix.
    pub body: Bytes,
    /// The trailer fields (gRPC).
    pub trailers: Option<HeaderMap>,
}

/// The end of a stream that is being sent.
#[derive(Clone, Debug, Default)]
pub struct StreamEnd {
    /// A last frame: an error as an event.
    pub body: Bytes,
    /// The trailer fields (gRPC).
    pub trailers: Option<HeaderMap>,
    /// Whether the connection must be broken off after it, which is how the 0.3 SDK's HTTP servers
    /// end a stream that fails.
    pub abort: bool,
}

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct WireRequest {
    /// The HTTP method.
    pub method: Method,
    /// Path and query, to be put below the interface's address. Empty for JSON-RPC, which posts to
    /// the address itself.
    pub path: String,
    /// The header fields, version header included.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// What a JSON-RPC body says of its operation, read from as much of it as is there: `None` until the
/// top-level `method` has gone by. Used by `proxy::peek` to stop early.
pub fn peek_method(body: &[u8]) -> Option<(Operation, Option<ProtocolVersion>)> {
    binding::peek_method(body)
}

/// The JSON-RPC id in as much of a body as is there: `None` when it has not gone by.
pub fn peek_rpc_id(body: &[u8]) -> Option<Box<RawValue>> {
    binding::peek_rpc_id(body)
}

/// The URIs of the extensions that these fields name, under the name of either version. A comma separates
/// them, but may also stand in one: what follows it and has no scheme is more of the same.
pub fn extensions<'h>(fields: impl IntoIterator<Item = (&'h str, &'h str)>) -> Vec<String> {
    let mut uris: Vec<String> = Vec::new();
    for (name, value) in fields {
        if !binding::EXTENSIONS.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            continue;
        }
        let mut is_first = true;
        for part in value.split(',').filter(|part| !part.trim().is_empty()) {
            match uris.last_mut() {
                Some(uri) if !is_first && !has_scheme(part.trim()) => {
                    uri.push(',');
                    uri.push_str(part);
                }
                _ => uris.push(part.trim().to_owned()),
            }
            is_first = false;
        }
    }
    uris.into_iter().map(|uri| uri.trim().to_owned()).collect()
}

fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Reads a whole request. The body has its content coding undone.
pub fn read_call(head: Head<'_>, recognized: &Recognized, body: &[u8]) -> Call {
    let mut call = call_of_head(recognized);
    if let Some(carrier) = binding::carrier(recognized.binding) {
        carrier.read_call(head, recognized, body, &mut call);
    }
    call
}

/// What is known of a request from its head alone (no body read): ids from the path, the operation if
/// the path names it, no `request`.
pub fn call_of_head(recognized: &Recognized) -> Call {
    Call {
        binding: recognized.binding,
        version: recognized.version,
        declared: recognized.declared.clone(),
        operation: recognized.operation.unwrap_or_default(),
        wire_name: recognized.wire_name.clone(),
        ids: Ids {
            task_id: recognized.task_id.clone(),
            config_id: recognized.config_id.clone(),
            tenant: recognized.tenant.clone(),
            ..Ids::default()
        },
        ..Call::default()
    }
}

/// Reads a whole answer to `call`.
pub fn read_answer(call: &Call, wire: WireView<'_>) -> Answer {
    binding::carrier(call.binding)
        .map_or_else(Answer::default, |carrier| carrier.read_answer(call, wire))
}

/// The splitter for an answer with this head, if its body is a sequence of frames: SSE by content
/// type, gRPC by content type. `None` for a plain body.
pub fn splitter(headers: &HeaderMap) -> Option<Box<dyn Splitter>> {
    frame::splitter(headers)
}

/// The splitter for an answer to `call`, if it is a stream: SSE is one whatever was called, gRPC only
/// where the operation streams, because there a plain answer is framed as well.
pub fn stream_splitter(call: &Call, headers: &HeaderMap) -> Option<Box<dyn Splitter>> {
    let is_framed_anyway = frame::is_grpc(&frame::media_type(headers));
    let is_plain = is_framed_anyway && !call.operation.is_streaming();
    if is_plain { None } else { frame::splitter(headers) }
}

/// Reads one frame of a stream answering `call`. `None` for frames that carry no event.
pub fn read_event(call: &Call, frame: &Frame, problems: &mut Vec<Problem>) -> Option<Event> {
    binding::carrier(call.binding)?.read_event(call, frame, problems)
}

/// Writes a plain answer (an error included) in the binding and version of the call.
pub fn write_reply(call: &Call, reply: &Reply) -> WireAnswer {
    binding::carrier_or_plain(call.binding).write_reply(call, reply)
}

/// Writes an answer that is well formed and says nothing: a `result` of null, an empty object, a message of
/// no octets.
pub fn write_nothing(call: &Call) -> WireAnswer {
    binding::carrier_or_plain(call.binding).write_nothing(call)
}

/// The head of a stream in the binding of the call: status, content type.
pub fn write_stream_head(call: &Call) -> (StatusCode, HeaderMap) {
    binding::carrier_or_plain(call.binding).write_stream_head()
}

/// One event of a stream: an SSE event or a gRPC message, whole.
pub fn write_event(call: &Call, event: &StreamResponse) -> Bytes {
    binding::carrier_or_plain(call.binding).write_event(call, event)
}

/// The end of a stream that has begun; with an error, as the official SDK server of that binding and
/// version ends a stream that fails, in the form that its clients read.
pub fn write_stream_end(call: &Call, error: Option<&A2aError>) -> StreamEnd {
    binding::carrier_or_plain(call.binding).write_stream_end(call, error)
}

/// Writes a request. `rpc_id` is the JSON text of the JSON-RPC id.
pub fn write_request(
    binding: Binding,
    version: ProtocolVersion,
    operation: Operation,
    request: &Request,
    rpc_id: &str,
) -> WireRequest {
    let carrier = binding::carrier_or_plain(Some(binding));
    carrier.write_request(version, operation, request, rpc_id)
}
