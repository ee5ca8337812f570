//! Changes to an agent's real answer: what a hostile fault puts in, and nothing else moves.

mod json;
mod plan;
mod protobuf;

use bytes::Bytes;
pub(crate) use json::insert_into_json;
pub(crate) use protobuf::insert_into_protobuf;

use crate::a2a::binding;
use crate::a2a::call::{Call, WireView};
use crate::a2a::frame::Frame;

/// Something to be put into an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insertion {
    /// Where in the message.
    pub spot: Spot,
    /// Beside what is there, or in its place.
    pub how: How,
    /// The text.
    pub text: String,
}

/// Where in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The first text part the orchestrator would read: of a message, of a task's status message, else
    /// of its first artifact.
    Text,
    /// A data part (one is added where there is none).
    Data,
    /// The text of an artifact.
    Artifact,
    /// A file part's name.
    File,
    /// The metadata of the message, task or event.
    Metadata,
    /// The status message of a task.
    Status,
}

/// Beside or instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// After what is there.
    Append,
    /// In its place.
    Replace,
}

/// The member under which a text is put into data and metadata, which have no text of their own.
const NOTE: &str = "note";

/// Puts something into a plain answer (content coding undone; for gRPC the body with its prefix). The
/// error says why it cannot be done: the answer is an error, is malformed, has no such place.
pub fn insert_into_reply(
    call: &Call,
    wire: WireView<'_>,
    insertion: &Insertion,
) -> Result<Bytes, String> {
    let carrier = binding::carrier(call.binding).ok_or(NOT_A2A)?;
    carrier.insert_into_reply(call, wire, insertion)
}

/// Puts something into one event of a stream and gives the whole new frame.
pub fn insert_into_event(
    call: &Call,
    frame: &Frame,
    insertion: &Insertion,
) -> Result<Bytes, String> {
    let carrier = binding::carrier(call.binding).ok_or(NOT_A2A)?;
    carrier.insert_into_event(call, frame, insertion)
}

const NOT_A2A: &str = "the request is not A2A";
