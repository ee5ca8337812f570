//! From the head of a request to binding, version and operation.
//!
//! What is *declared* (`A2A-Version`) and what is *spoken* (method name, path, gRPC package) are two
//! fields: peers get them wrong independently.

use url::form_urlencoded;

use crate::a2a::binding::{BINDINGS, Binding, ProtocolVersion, VERSION};
use crate::a2a::call::{Head, Recognized};
use crate::a2a::model::Operation;

/// What the head alone tells. The path is the one below the agent's own base path.
pub fn recognize(head: Head<'_>) -> Recognized {
    let found = BINDINGS.iter().find_map(|carrier| carrier.recognize(head));
    let mut recognized = found.unwrap_or_else(|| Recognized {
        operation: Some(Operation::Unknown),
        wire_name: request_line(head),
        ..Recognized::default()
    });
    recognized.declared = declared(head);
    recognized
}

/// What is known of a delivery to a webhook, whose address only its registration tells. Its version is
/// in its body: a server may send another one than the client registered with.
pub fn push_delivery(head: Head<'_>) -> Recognized {
    Recognized {
        binding: Some(Binding::HttpJson),
        declared: declared(head),
        operation: Some(Operation::PushNotification),
        wire_name: request_line(head),
        ..Recognized::default()
    }
}

/// The version that is declared, as written: by header, else by query parameter. Header lines that
/// differ are all of it.
pub(crate) fn declared(head: Head<'_>) -> Option<String> {
    // One line, nearly always.
    let mut values = head.headers.get_all(VERSION).iter();
    if let (Some(value), None) = (values.next(), values.next()) {
        return Some(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    let mut lines: Vec<String> = head
        .headers
        .get_all(VERSION)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    lines.dedup();
    if !lines.is_empty() {
        return Some(lines.join(", "));
    }
    form_urlencoded::parse(head.uri.query()?.as_bytes())
        .find(|(name, _)| name.eq_ignore_ascii_case(VERSION.as_str()))
        .map(|(_, value)| value.into_owned())
}

/// The declared version, if it is one that is alive.
pub(crate) fn declared_version(head: Head<'_>) -> Option<ProtocolVersion> {
    declared(head).as_deref().and_then(ProtocolVersion::parse)
}

/// Method and path, the name of what has no other.
pub(crate) fn request_line(head: Head<'_>) -> String {
    format!("{} {}", head.method, head.uri.path())
}
