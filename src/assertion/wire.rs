//! `on: wire`: what really came, before it was made canonical.

use std::sync::Arc;

use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use crate::a2a::call;
use crate::a2a::frame::Payload;
use crate::record::exchange::{Exchange, RecordedResponse};

/// The body of the answer as JSON; of a stream, the list of what its events carry. `Ok(None)` when
/// nothing came.
pub(super) fn document(exchange: Option<Arc<Exchange>>) -> Result<Option<Value>, String> {
    let exchange = exchange.ok_or(NOT_HERE)?;
    let Some(response) = delivered(&exchange) else { return Ok(None) };
    let Some(mut splitter) = call::splitter(&content_type(response)) else {
        if response.body.kept.is_empty() {
            return Ok(None);
        }
        let body = serde_json::from_slice(&response.body.kept);
        return body.map(Some).map_err(|error| format!("the body on the wire is no JSON: {error}"));
    };
    let mut events = Vec::new();
    for frame in splitter.push(&response.body.kept) {
        match frame.payload {
            Payload::Event { data, .. } => match serde_json::from_slice(&data) {
                Ok(event) => events.push(event),
                Err(error) => return Err(format!("an event on the wire is no JSON: {error}")),
            },
            Payload::Message { .. } => {
                return Err(
                    "gRPC carries protobuf, not JSON; leave `wire` out to see the canonical reply"
                        .to_owned(),
                );
            }
            Payload::Silent | Payload::Oversized => {}
        }
    }
    Ok(Some(Value::Array(events)))
}

/// The body of the answer as text.
pub(super) fn text(exchange: Option<Arc<Exchange>>) -> Result<String, String> {
    let exchange = exchange.ok_or(NOT_HERE)?;
    let body = delivered(&exchange).map(|response| &response.body.kept);
    Ok(body.map_or(String::new(), |body| String::from_utf8_lossy(body).into_owned()))
}

const NOT_HERE: &str = "the exchange is not in this recording";

/// What the orchestrator got.
fn delivered(exchange: &Exchange) -> Option<&RecordedResponse> {
    exchange.delivered.as_ref().or(exchange.response.as_ref())
}

/// The only field of the head that says how a body is framed.
fn content_type(response: &RecordedResponse) -> HeaderMap {
    let named = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-type");
    let value = response.headers.iter().find(named).map(|(_, value)| value.as_str());
    let mut head = HeaderMap::new();
    if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
        head.insert(CONTENT_TYPE, value);
    }
    head
}
