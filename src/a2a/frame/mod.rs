//! Splitting a body into frames: push-based, so that any split of the octets gives the same frames.
//!
//! A splitter looks at each octet once and copies it once, into its own buffer; frames are cut off
//! that buffer without copying. What a frame *means* is the bindings' business.

mod grpc;
mod sse;

use std::borrow::Cow;

use bytes::Bytes;
pub use grpc::GrpcSplitter;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
pub use sse::SseSplitter;

use crate::base::limits::Limits;

/// One frame of a stream: an SSE event, or a gRPC message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Offset of its first octet in the body.
    pub start: u64,
    /// All its octets, separators and prefixes included: the frames and the leftover of a body,
    /// joined, are the body.
    pub raw: Bytes,
    /// What it carries.
    pub payload: Payload,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// An SSE event that has data: its `data` lines joined with LF, and its `event` field if any.
    Event {
        /// The joined data.
        data: Bytes,
        /// The `event` field; empty when absent.
        name: String,
    },
    /// SSE octets without an event: comments, `retry`, empty lines.
    Silent,
    /// A gRPC message without its five-octet prefix.
    Message {
        /// The message, still compressed if the flag says so.
        data: Bytes,
        /// The prefix's compressed flag.
        is_compressed: bool,
    },
    /// More octets than a frame may have: passed on, not looked at. Such a frame comes in pieces of
    /// the limit's size, so that it is never held whole.
    Oversized,
}

/// Takes octets in any portions, gives whole frames.
pub trait Splitter: Send {
    /// The frames that these octets complete.
    fn push(&mut self, octets: &[u8]) -> Vec<Frame>;

    /// What is left when the body ends: octets that are no whole frame (an SSE event without its
    /// blank line, half a gRPC message). `None` when nothing is.
    fn finish(&mut self) -> Option<Leftover>;
}

/// Octets at the end of a body that are no whole frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Offset of the first of them.
    pub start: u64,
    /// The octets.
    pub raw: Bytes,
}

/// The splitter for a body with these header fields, by its content type; `None` for a plain body.
pub fn splitter(headers: &HeaderMap) -> Option<Box<dyn Splitter>> {
    let frame_bytes = Limits::default().frame_bytes;
    match &*media_type(headers) {
        "text/event-stream" => Some(Box::new(SseSplitter::new(frame_bytes))),
        media_type if is_grpc(media_type) => Some(Box::new(GrpcSplitter::new(frame_bytes))),
        _ => None,
    }
}

/// A whole body at once.
pub fn split(splitter: &mut dyn Splitter, body: &[u8]) -> (Vec<Frame>, Option<Leftover>) {
    let frames = splitter.push(body);
    (frames, splitter.finish())
}

/// The media type that a head declares, in lower case and without parameters; empty when absent.
/// Asked of every request by every binding, so nearly always it is a part of what stands there.
pub(crate) fn media_type(headers: &HeaderMap) -> Cow<'_, str> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Cow::Borrowed("") };
    let octets = value.as_bytes();
    let end = memchr::memchr(b';', octets).unwrap_or(octets.len());
    let essence = octets.get(..end).unwrap_or_default().trim_ascii();
    if essence.iter().any(u8::is_ascii_uppercase) {
        Cow::Owned(String::from_utf8_lossy(essence).to_ascii_lowercase())
    } else {
        String::from_utf8_lossy(essence)
    }
}

/// Whether a media type is gRPC with protobuf messages: `application/grpc`, `application/grpc+proto`.
pub(crate) fn is_grpc(media_type: &str) -> bool {
    matches!(media_type, "application/grpc" | "application/grpc+proto")
}
