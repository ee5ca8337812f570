//! Interim answers (1xx) on their way to an HTTP/1.1 client, such as 103 with links to fetch early.
//!
//! hyper tells of those that come, and writes none but `100 Continue`, which it writes when the body is
//! asked for. So the octets of the others are put on the wire beside it, where one message has ended
//! and the next has not begun (see [`Wire::interject`]). HTTP/2 clients do not get them: hyper shows
//! nobody the place.

use std::fmt::Write;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, Version};
use tokio::sync::Notify;

use crate::proxy::headers;
use crate::proxy::wire::Wire;

/// Octets of one interim answer; a larger one is left out.
const INTERIM_BYTES_MAX: usize = 16 * 1024;

/// Sees to it that interim answers to this request reach the client. `on_continue` hears of a 100.
pub(super) fn pass(
    parts: &mut Parts,
    came_as: Version,
    wire: &Arc<Wire>,
    on_continue: Option<Arc<Notify>>,
) {
    let wire = (came_as == Version::HTTP_11).then(|| Arc::clone(wire));
    if wire.is_none() && on_continue.is_none() {
        return;
    }
    let mut probe = Request::new(());
    *probe.extensions_mut() = std::mem::take(&mut parts.extensions);
    hyper::ext::on_informational(&mut probe, move |interim| {
        if interim.status() == StatusCode::CONTINUE {
            if let Some(asked) = &on_continue {
                asked.notify_one();
            }
        } else if let Some(wire) = &wire
            && let Some(octets) = written(interim.status(), interim.headers())
        {
            wire.interject(&octets);
        }
    });
    parts.extensions = std::mem::take(probe.extensions_mut());
}

/// As it stands on the wire. `None`: it is too large.
fn written(status: StatusCode, fields: &HeaderMap) -> Option<Vec<u8>> {
    let mut fields = fields.clone();
    headers::strip(&mut fields, Version::HTTP_11);
    let mut text = String::new();
    let reason = status.canonical_reason().unwrap_or_default();
    // Writing to a string cannot fail.
    let _ok = write!(text, "HTTP/1.1 {} {reason}\r\n", status.as_u16());
    let mut octets = text.into_bytes();
    for (name, value) in &fields {
        octets.extend_from_slice(name.as_str().as_bytes());
        octets.extend_from_slice(b": ");
        octets.extend_from_slice(value.as_bytes());
        octets.extend_from_slice(b"\r\n");
    }
    octets.extend_from_slice(b"\r\n");
    (octets.len() <= INTERIM_BYTES_MAX).then_some(octets)
}
