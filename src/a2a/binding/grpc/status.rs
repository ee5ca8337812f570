//! How a call went: `grpc-status`, `grpc-message` and `grpc-status-details-bin`.
//!
//! The same fields stand in the trailers, or in the head of an answer that has nothing else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, utf8_percent_encode};
use serde_json::{Value, json};

use crate::a2a::binding::shared::errors::{DOMAIN, ERROR_INFO};
use crate::a2a::dialect::protobuf;
use crate::a2a::model::GrpcCode;
use crate::a2a::problem::Problem;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// What gRPC percent-encodes in a message: all but printable ASCII, and the percent sign.
const ENCODED: &AsciiSet = &CONTROLS.add(b'%');

/// How a call went.
#[derive(Debug)]
pub(super) struct Status {
    pub(super) code: GrpcCode,
    /// Decoded.
    pub(super) message: String,
    /// The typed details, as JSON.
    pub(super) details: Option<Value>,
    /// What is wrong with the fields it was read from.
    pub(super) problem: Option<Problem>,
}

/// The status in trailers, or in the head of a Trailers-Only answer; `None` when there is none.
pub(super) fn read(headers: &HeaderMap) -> Option<Status> {
    let number = headers.get(STATUS)?.to_str().unwrap_or_default();
    let code = number.trim().parse().ok().and_then(GrpcCode::new);
    let message = headers.get(MESSAGE).map(HeaderValue::as_bytes).unwrap_or_default();
    let message = percent_decode(message).decode_utf8_lossy().into_owned();
    let mut problem = code.is_none().then(|| {
        let text = format!("a status is a number from 0 to 16, not `{number}`");
        Problem::new("invalid_value", "response: grpc-status", text)
    });
    let details =
        headers.get(DETAILS).map(|value| protobuf::status_details_to_json(value.as_bytes()));
    if details == Some(None) {
        let text = "no google.rpc.Status in base64";
        problem = Some(Problem::new("invalid_value", "response: grpc-status-details-bin", text));
    }
    let details = details.flatten().and_then(|status| status.get("details").cloned());
    let details = details.filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
    Some(Status { code: code.unwrap_or(GrpcCode::UNKNOWN), message, details, problem })
}

/// The trailers of a call that went well.
pub(super) fn ok() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    trailers
}

/// Puts a status into trailers or head.
pub(super) fn write(headers: &mut HeaderMap, status: &Status) {
    headers.insert(STATUS, HeaderValue::from(u16::from(status.code.number())));
    let message = utf8_percent_encode(&status.message, ENCODED).to_string();
    if let Ok(message) = HeaderValue::from_str(&message) {
        headers.insert(MESSAGE, message);
    }
    if let Some(list) = &status.details {
        let octets = STANDARD_NO_PAD.encode(details(status, list));
        if let Ok(value) = HeaderValue::from_str(&octets) {
            headers.insert(DETAILS, value);
        }
    }
}

/// The details of a status, in octets. Those that the schema refuses (JSON peers put anything into
/// them) are left out, but for the one that names the error.
fn details(status: &Status, details: &Value) -> Vec<u8> {
    // The official clients compare code and message with the fields beside it.
    let whole = json!({
        "code": status.code.number(),
        "message": status.message,
        "details": details,
    });
    protobuf::status_details_from_json(&whole).unwrap_or_else(|_| {
        let info = details
            .as_array()
            .into_iter()
            .flatten()
            .find(|detail| detail.get("@type").and_then(Value::as_str) == Some(ERROR_INFO));
        let member = |name: &str| info.and_then(|info| info.get(name));
        let metadata = member("metadata").and_then(Value::as_object).into_iter().flatten();
        let metadata: Vec<(String, String)> =
            metadata.map(|(name, value)| (name.clone(), words(value))).collect();
        let reason = member("reason").map(words).unwrap_or_default();
        protobuf::status_details(status.code, &status.message, &reason, DOMAIN, &metadata)
    })
}

/// A value as the text that an `ErrorInfo` can hold.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
