//! Answers of Meddler's own: what it says when the agent cannot be asked.
//!
//! Never in the clothes of the agent: on the HTTP bindings problem details (RFC 9457), no JSON-RPC
//! envelope; on gRPC a Trailers-Only answer. Both with `meddler-error` and one of its words.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::Serialize;

use crate::net::trouble::{Trouble, Word};
use crate::proxy::body::{MadeBody, ResponseBody};
use crate::record::tap::{End, ExchangeTap, Lane};

/// Names the kind of trouble.
pub(super) const MEDDLER_ERROR: HeaderName = HeaderName::from_static("meddler-error");

/// ... and its word for a request that Meddler turned away without asking the agent.
const REFUSED: HeaderValue = HeaderValue::from_static("refused");

/// Names the rule behind an answer.
pub(super) const MEDDLER_FAULT: HeaderName = HeaderName::from_static("meddler-fault");

/// What `grpc-message` must not hold as it is.
const GRPC_MESSAGE: &AsciiSet = &CONTROLS.add(b'%').add(b'"').add(b'\\');

const GRPC_STATUS: &str = "grpc-status";
const GRPC: &str = "application/grpc";
const GRPC_UNAVAILABLE: u8 = 14;
const GRPC_DEADLINE_EXCEEDED: u8 = 4;

/// Which clothes an answer wears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clothes {
    /// An HTTP status and problem details.
    Http,
    /// A gRPC status.
    Grpc,
}

#[derive(Serialize)]
struct Problem<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Clothes {
    /// Those of whoever sent these header fields.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        let is_grpc = content_type.get(..GRPC.len()).is_some_and(|start| {
            start.eq_ignore_ascii_case(GRPC.as_bytes())
                && matches!(content_type.get(GRPC.len()), None | Some(b'+' | b';' | b' '))
        });
        if is_grpc { Self::Grpc } else { Self::Http }
    }
}

/// The answer when the agent cannot be reached or did not answer.
pub(super) fn trouble(clothes: Clothes, trouble: &Trouble) -> Response<ResponseBody> {
    let (status, grpc) = match trouble.word {
        Word::ConnectTimeout => (StatusCode::GATEWAY_TIMEOUT, GRPC_UNAVAILABLE),
        Word::FirstByteTimeout | Word::IdleTimeout => {
            (StatusCode::GATEWAY_TIMEOUT, GRPC_DEADLINE_EXCEEDED)
        }
        Word::Dns
        | Word::ConnectRefused
        | Word::Tls
        | Word::Reset
        | Word::Closed
        | Word::Protocol
        | Word::Loop => (StatusCode::BAD_GATEWAY, GRPC_UNAVAILABLE),
    };
    let mut answer = match clothes {
        Clothes::Http => problem(status, &trouble.text),
        Clothes::Grpc => grpc_status(grpc, &trouble.text),
    };
    let word = HeaderValue::from_static(trouble.word.as_str());
    answer.headers_mut().insert(MEDDLER_ERROR, word);
    answer
}

/// The answer to a request that Meddler itself refuses or that asks for something of its own.
pub(super) fn refusal(
    clothes: Clothes,
    status: StatusCode,
    detail: &str,
) -> Response<ResponseBody> {
    const GRPC_RESOURCE_EXHAUSTED: u8 = 8;
    const GRPC_UNIMPLEMENTED: u8 = 12;
    const GRPC_INTERNAL: u8 = 13;
    let grpc = match status {
        StatusCode::NOT_FOUND => GRPC_UNIMPLEMENTED,
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => GRPC_RESOURCE_EXHAUSTED,
        _ => GRPC_INTERNAL,
    };
    let mut answer = match clothes {
        Clothes::Http => problem(status, detail),
        Clothes::Grpc => grpc_status(grpc, detail),
    };
    answer.headers_mut().insert(MEDDLER_ERROR, REFUSED);
    answer
}

/// Notes a whole answer of Meddler's own as delivered.
pub(super) fn record(answer: &Response<ResponseBody>, version: Version, tap: &ExchangeTap) {
    let body = match answer.body() {
        ResponseBody::Made(made) => made.data(),
        ResponseBody::Passing(_) | ResponseBody::Worked(_) => Bytes::new(),
    };
    tap.head(Lane::Delivered, version, answer.status(), answer.headers());
    tap.data(Lane::Delivered, &body);
    tap.end(Lane::Delivered, End::Complete);
}

fn problem(status: StatusCode, detail: &str) -> Response<ResponseBody> {
    let title = status.canonical_reason().unwrap_or("Error");
    let problem = Problem { kind: "about:blank", title, status: status.as_u16(), detail };
    // A struct of texts and a number always becomes JSON.
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut answer = whole(status, HeaderMap::new(), Bytes::from(body), None);
    let kind = HeaderValue::from_static("application/problem+json");
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

fn grpc_status(code: u8, message: &str) -> Response<ResponseBody> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
    headers.insert(GRPC_STATUS, HeaderValue::from(u16::from(code)));
    let message = utf8_percent_encode(message, GRPC_MESSAGE).to_string();
    if let Ok(message) = HeaderValue::try_from(message) {
        headers.insert("grpc-message", message);
    }
    whole_without_length(StatusCode::OK, headers, Bytes::new(), None)
}

/// An answer that is all there, with its length.
pub(super) fn whole(
    status: StatusCode,
    mut headers: HeaderMap,
    body: Bytes,
    trailers: Option<HeaderMap>,
) -> Response<ResponseBody> {
    let may_have_body = !status.is_informational()
        && status != StatusCode::NO_CONTENT
        && status != StatusCode::NOT_MODIFIED;
    // gRPC's Trailers-Only has no body either.
    let is_trailers_only = headers.contains_key(GRPC_STATUS);
    if trailers.is_none() && may_have_body && !is_trailers_only {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    whole_without_length(status, headers, body, trailers)
}

fn whole_without_length(
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    trailers: Option<HeaderMap>,
) -> Response<ResponseBody> {
    let mut answer = Response::new(ResponseBody::Made(MadeBody::new(body, trailers)));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// A value for `meddler-fault`: the rule's name, with what a header cannot hold percent-encoded.
pub(super) fn fault_mark(rule: &str) -> HeaderValue {
    let text = utf8_percent_encode(rule, CONTROLS).to_string();
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("unnamed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_known_by_its_content_type() {
        for (content_type, expected) in [
            ("application/grpc", Clothes::Grpc),
            ("application/grpc+proto", Clothes::Grpc),
            ("Application/GRPC; charset=x", Clothes::Grpc),
            ("application/grpc-web", Clothes::Http),
            ("application/json", Clothes::Http),
        ] {
            let headers = [(CONTENT_TYPE, content_type.parse().unwrap())].into_iter().collect();
            assert_eq!(Clothes::of(&headers), expected, "{content_type}");
        }
    }

    #[test]
    fn trouble_has_a_status_for_each_binding_and_its_word() {
        for (word, http, grpc) in [
            (Word::Dns, 502, "14"),
            (Word::ConnectTimeout, 504, "14"),
            (Word::FirstByteTimeout, 504, "4"),
            (Word::Loop, 502, "14"),
        ] {
            let about = Trouble::new(word, "nobody \"there\"");
            let answer = trouble(Clothes::Http, &about);
            assert_eq!(answer.status(), http, "{word}");
            assert_eq!(answer.headers()[CONTENT_TYPE], "application/problem+json");
            assert_eq!(answer.headers()[MEDDLER_ERROR], word.as_str());
            let answer = trouble(Clothes::Grpc, &about);
            assert_eq!(answer.status(), 200, "{word}");
            assert_eq!(answer.headers()["grpc-status"], grpc, "{word}");
            assert_eq!(answer.headers()["grpc-message"], "nobody %22there%22");
        }
    }
}
