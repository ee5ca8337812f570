//! Messages out of a gRPC body: unframed, and inflated under a bound.

use std::io::Read;

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;

use crate::a2a::binding::shared;
use crate::a2a::frame::{self, Frame, GrpcSplitter, Payload};
use crate::a2a::problem::Problem;
use crate::base::limits::Limits;

/// The messages of a body.
pub(super) struct Messages {
    /// All of them, as they came.
    pub(super) frames: Vec<Frame>,
    /// The first, inflated.
    first: Option<Bytes>,
}

impl Messages {
    /// The first message, if it could be read.
    pub(super) fn first(&self) -> Option<&Bytes> {
        self.first.as_ref()
    }
}

/// Splits a body. Half a message at its end is a problem.
pub(super) fn messages(
    body: &[u8],
    headers: &HeaderMap,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Messages {
    let mut splitter = GrpcSplitter::new(Limits::default().frame_bytes);
    let (frames, leftover) = frame::split(&mut splitter, body);
    let encoding = headers.get("grpc-encoding").and_then(|value| value.to_str().ok());
    let first = frames.first().and_then(|frame| message(frame, encoding, at, problems));
    if let Some(leftover) = leftover {
        let text = format!(
            "the body ends {} octets into message {}",
            leftover.raw.len(),
            frames.len() + 1
        );
        problems.push(Problem::new("unterminated", at, text));
    }
    Messages { frames, first }
}

/// The message of a frame, inflated. Without a declared encoding it is told by its first octets.
pub(super) fn message(
    frame: &Frame,
    encoding: Option<&str>,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Option<Bytes> {
    match &frame.payload {
        Payload::Message { data, is_compressed } => {
            let flag = frame.raw.first().copied().unwrap_or_default();
            if flag > 1 {
                let text = format!("the flag before a message is 0 or 1, not {flag}");
                problems.push(Problem::new("wrong_flag", at, text));
            }
            if *is_compressed { inflate(data, encoding, at, problems) } else { Some(data.clone()) }
        }
        Payload::Oversized => {
            problems.push(shared::oversized(at));
            None
        }
        Payload::Event { .. } | Payload::Silent => None,
    }
}

fn inflate(
    data: &Bytes,
    encoding: Option<&str>,
    at: &str,
    problems: &mut Vec<Problem>,
) -> Option<Bytes> {
    let told = if data.starts_with(b"\x1f\x8b") { "gzip" } else { "deflate" };
    let limit = Limits::default().inflated_bytes;
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut inflated = Vec::new();
    let result = match encoding.unwrap_or(told) {
        "gzip" => MultiGzDecoder::new(data.as_ref()).take(bound).read_to_end(&mut inflated),
        "deflate" => ZlibDecoder::new(data.as_ref()).take(bound).read_to_end(&mut inflated),
        other => {
            let text = format!("compressed by `{other}`, which is not read");
            problems.push(Problem::new("unknown_compression", at, text));
            return None;
        }
    };
    match result {
        Ok(_) if inflated.len() > limit => {
            let text = format!("inflates to more than {limit} octets; not read");
            problems.push(Problem::new("oversized", at, text));
            None
        }
        Ok(_) => Some(Bytes::from(inflated)),
        Err(error) => {
            let text = format!("cannot be inflated: {error}");
            problems.push(Problem::new("invalid_compression", at, text));
            None
        }
    }
}
