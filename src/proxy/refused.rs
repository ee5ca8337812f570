//! Requests that Meddler itself turns away: recorded like any other, with the answer that was given.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use http::{Response, Version};
use hyper::body::Incoming;
use tracing::debug;

use crate::base::limits::Limits;
use crate::proxy::answer::{self, Clothes};
use crate::proxy::body::ResponseBody;
use crate::proxy::exchange::Connection;
use crate::proxy::flow::{Flow, Look};
use crate::record::tap::ExchangeTap;

/// Whether a head is larger than the limit. The lines of HTTP/1 are counted as HTTP/2 counts them, so
/// that a limit means the same on both.
pub(super) fn is_too_large(parts: &Parts, limits: &Limits) -> bool {
    const FIELD: usize = 32;
    let target = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = parts.headers.iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + FIELD);
    target + fields.sum::<usize>() > limits.header_bytes
}

/// Turns a request away.
pub(super) fn refuse(
    conn: &Arc<Connection>,
    request: (Incoming, Version),
    tap: Option<ExchangeTap>,
    clothes: Clothes,
    (status, why): (StatusCode, &str),
) -> Response<ResponseBody> {
    debug!(agent = %conn.agent.name, %status, why, "refused");
    let answer = answer::refusal(clothes, status, why);
    let (incoming, version) = request;
    if let Some(tap) = &tap {
        answer::record(&answer, version, tap);
    }
    // What has been sent of the body is not read: dropping it says so to the client.
    Flow::new(incoming, version, Look::Away, tap, Arc::clone(&conn.wire)).answered();
    answer
}
