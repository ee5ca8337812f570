//! What JSON-RPC and HTTP+JSON share: JSON bodies, and streams of server-sent events.

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::errors;
use crate::a2a::call::{Answer, Call, Event, WireAnswer, WireView};
use crate::a2a::frame::{self, Frame, Leftover, Payload, SseSplitter};
use crate::a2a::model::{Operation, Reply, StreamResponse};
use crate::a2a::problem::Problem;
use crate::base::limits::Limits;

/// The content type of an event stream, as the official servers spell it.
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// Reads the frame of an event as an event of the stream.
pub(crate) type ReadEvent<'a> = &'a dyn Fn(&Frame, &mut Vec<Problem>) -> Option<Event>;

/// Reads a body that is an event stream.
pub(crate) fn read_stream(call: &Call, wire: WireView<'_>, read_event: ReadEvent<'_>) -> Answer {
    let mut answer = Answer { is_stream: true, ..Answer::default() };
    if !call.operation.is_streaming() {
        let text = format!("{} was answered by a stream", call.operation);
        answer.problems.push(Problem::new("unexpected_stream", "response: content-type", text));
    }
    let mut splitter = SseSplitter::new(Limits::default().frame_bytes);
    let (frames, leftover) = frame::split(&mut splitter, wire.body);
    for frame in &frames {
        let mut problems = Vec::new();
        let event = read_event(frame, &mut problems);
        let number = answer.events.len() + 1;
        super::add(&mut answer, &format!("response event {number}"), problems);
        answer.events.extend(event);
    }
    if let Some(leftover) = leftover.filter(has_fields) {
        let text = format!(
            "the stream ends after {} octets of an event that no empty line ends",
            leftover.raw.len()
        );
        let at = format!("response event {}", answer.events.len() + 1);
        answer.problems.push(Problem::new("unterminated", at, text));
    }
    super::sum_up(&mut answer);
    if !wire.status.is_success() && answer.error.is_none() {
        answer.error = Some(errors::of_http_status(wire.status));
    }
    answer
}

/// Whether what is left holds more than line ends and comments.
fn has_fields(leftover: &Leftover) -> bool {
    leftover
        .raw
        .split(|octet| matches!(octet, b'\r' | b'\n'))
        .any(|line| !line.is_empty() && line.first() != Some(&b':'))
}

/// The data and name of a frame that is an event. Clients pass over events with empty data, so they
/// are none. An oversized frame is a problem.
pub(crate) fn event_of<'f>(
    frame: &'f Frame,
    problems: &mut Vec<Problem>,
) -> Option<(&'f Bytes, &'f str)> {
    match &frame.payload {
        Payload::Event { data, name } if !data.is_empty() => Some((data, name)),
        Payload::Event { .. } | Payload::Silent | Payload::Message { .. } => None,
        Payload::Oversized => {
            problems.push(super::oversized("$"));
            None
        }
    }
}

/// The head of an event stream.
pub(crate) fn stream_head() -> (StatusCode, HeaderMap) {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, EVENT_STREAM);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    (StatusCode::OK, headers)
}

/// One event. The data is one line: JSON writers escape line ends.
pub(crate) fn event(name: &str, data: &str) -> Bytes {
    let mut event = BytesMut::with_capacity(data.len() + name.len() + 24);
    if !name.is_empty() {
        event.put_slice(b"event: ");
        event.put_slice(name.as_bytes());
        event.put_slice(b"\r\n");
    }
    event.put_slice(b"data: ");
    event.put_slice(data.as_bytes());
    event.put_slice(b"\r\n\r\n");
    event.freeze()
}

/// The same frame with other data. Its other lines, and the way its lines end, stay.
pub(crate) fn with_data(frame: &Frame, data: &str) -> Bytes {
    let mut changed = BytesMut::with_capacity(frame.raw.len() + data.len());
    let mut is_written = false;
    for line in lines(&frame.raw) {
        let (text, end) = split_line_end(line);
        let unmarked = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if !matches!(unmarked.strip_prefix(b"data"), Some([] | [b':', ..])) {
            changed.put_slice(line);
            continue;
        }
        if !std::mem::replace(&mut is_written, true) {
            changed.put_slice(text.get(..text.len() - unmarked.len()).unwrap_or_default());
            for part in data.split('\n') {
                changed.put_slice(b"data: ");
                changed.put_slice(part.as_bytes());
                changed.put_slice(end);
            }
        }
    }
    changed.freeze()
}

/// The lines of a frame, each with its end.
fn lines(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let end = memchr::memchr2(b'\r', b'\n', rest);
        let len = match end {
            Some(at) if rest.get(at..at + 2) == Some(b"\r\n".as_slice()) => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(len);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

fn split_line_end(line: &[u8]) -> (&[u8], &[u8]) {
    let len = line.iter().take_while(|octet| !matches!(octet, b'\r' | b'\n')).count();
    line.split_at(len)
}

/// The problem of a body whose content type is not JSON.
pub(crate) fn wrong_content_type(media_type: &str) -> Problem {
    let found = if media_type.is_empty() { "none" } else { media_type };
    let text = format!("a JSON body is declared as such, found {found}");
    Problem::new("wrong_content_type", "response: content-type", text)
}

/// The problem of a streaming operation that is answered once.
pub(crate) fn not_a_stream(call: &Call) -> Problem {
    let text = format!("{} is answered by a stream, this is a single answer", call.operation);
    Problem::new("not_a_stream", "$", text)
}

/// The reply that an event is, when it stands alone.
pub(crate) fn reply_of_event(event: StreamResponse) -> Option<Reply> {
    match event {
        StreamResponse::Task(task) => Some(Reply::Task(task)),
        StreamResponse::Message(message) => Some(Reply::Message(message)),
        StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => None,
    }
}

/// A plain JSON answer.
pub(crate) fn json_answer(
    status: StatusCode,
    media_type: &'static str,
    body: String,
) -> WireAnswer {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    WireAnswer { status, headers, body: Bytes::from(body), trailers: None }
}

/// The header fields of a JSON request.
pub(crate) fn request_headers(accept: &'static str, version: Option<&'static str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    if let Some(version) = version {
        headers.insert(super::VERSION, HeaderValue::from_static(version));
    }
    headers
}

/// What is to be accepted in answer to an operation.
pub(crate) fn accept(operation: Operation, plain: &'static str) -> &'static str {
    if operation.is_streaming() { "text/event-stream" } else { plain }
}
