//! Holds an answer until it is whole: for the few that are edited. Bounded; what does not fit, or breaks
//! off, goes on as if nobody had looked.

use std::future::poll_fn;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Frame;

use crate::proxy::error::BodyError;
use crate::proxy::passing::Passing;

/// What became of it.
pub(super) enum Collected {
    /// All of it. `passing` is at its end, and can give it out again if it is put back.
    Whole { body: Bytes, trailers: Option<HeaderMap>, passing: Passing },
    /// More than the bound.
    TooLong(Passing),
    /// The agent broke off.
    Broken(Passing),
}

/// The next frame.
pub(super) async fn next(passing: &mut Passing) -> Option<Result<Frame<Bytes>, BodyError>> {
    poll_fn(|cx| passing.poll_agent(cx)).await
}

/// Reads up to `max` octets.
pub(super) async fn collect(mut passing: Passing, max: usize) -> Collected {
    let mut parts: Vec<Bytes> = Vec::new();
    let mut len = 0;
    let mut trailers = None;
    loop {
        match next(&mut passing).await {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    len += data.len();
                    parts.push(data);
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            },
            Some(Err(error)) => {
                passing.put_back(parts.into_iter().map(Frame::data));
                passing.break_off_again(error);
                return Collected::Broken(passing);
            }
            None => break,
        }
        if len > max {
            passing.put_back(parts.into_iter().map(Frame::data));
            return Collected::TooLong(passing);
        }
    }
    Collected::Whole { body: joined(parts, len), trailers, passing }
}

fn joined(mut parts: Vec<Bytes>, len: usize) -> Bytes {
    if parts.len() == 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut whole = BytesMut::with_capacity(len);
    for part in parts {
        whole.extend_from_slice(&part);
    }
    whole.freeze()
}
