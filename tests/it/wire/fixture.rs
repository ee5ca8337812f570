//! The recorded traffic of the official SDKs, `fixtures/wire`, as requests and answers.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{Answer, Call, Head, WireView, read_answer, read_call};
use meddler::a2a::detect;
use serde_json::Value;

/// One recorded call.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// File and line, for messages.
    pub(crate) at: String,
    /// The harness operation that caused it.
    pub(crate) op: String,
    pub(crate) binding: Binding,
    /// The version of the agent, by the folder.
    pub(crate) version: ProtocolVersion,
    pub(crate) request: Asked,
    /// `None`: no answer came.
    pub(crate) response: Option<Answered>,
    pub(crate) is_complete: bool,
    pub(crate) is_push: bool,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An answer, chunked framing undone.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Asked {
    pub(crate) fn head(&self) -> Head<'_> {
        Head { method: &self.method, uri: &self.uri, headers: &self.headers }
    }
}

impl Answered {
    pub(crate) fn view(&self) -> WireView<'_> {
        WireView {
            status: self.status,
            headers: &self.headers,
            body: &self.body,
            trailers: self.trailers.as_ref(),
        }
    }
}

impl Line {
    /// The request as understood.
    pub(crate) fn call(&self) -> Call {
        let head = self.request.head();
        let recognized =
            if self.is_push { detect::push_delivery(head) } else { detect::recognize(head) };
        read_call(head, &recognized, &self.request.body)
    }

    /// The answer as understood.
    pub(crate) fn answer(&self, call: &Call) -> Option<Answer> {
        self.response.as_ref().map(|response| read_answer(call, response.view()))
    }
}

/// The folder of the recorded traffic.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire")
}

/// A card or other file of the recorded traffic.
pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

/// Every recorded call.
pub(crate) fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for (folder_name, version) in [
        ("0.3", ProtocolVersion::V0_3),
        ("0.3-on-1.0", ProtocolVersion::V0_3),
        ("1.0", ProtocolVersion::V1_0),
    ] {
        let mut files: Vec<PathBuf> = fs::read_dir(folder().join(folder_name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(path).unwrap();
            for (number, line) in (1..).zip(text.lines()) {
                let at = format!("{folder_name}/{name}:{number}");
                lines.extend(line_of(at, &name, version, &serde_json::from_str(line).unwrap()));
            }
        }
    }
    lines
}

fn line_of(at: String, file: &str, version: ProtocolVersion, line: &Value) -> Option<Line> {
    if line.get("connection").is_some() {
        return None;
    }
    let is_push = file.starts_with("push");
    let op = line["op"].as_str().unwrap().to_owned();
    // The card of gRPC's client is fetched over HTTP.
    let is_grpc = file.starts_with("grpc") && line.get("method").is_some();
    let binding = match file.split('.').next() {
        Some("jsonrpc") => Binding::JsonRpc,
        Some("grpc") if is_grpc => Binding::Grpc,
        Some("rest" | "push" | "grpc") => Binding::HttpJson,
        other => panic!("{at}: no binding for {other:?}"),
    };
    let (request, response, is_complete) = if is_grpc { grpc(line) } else { http(line) };
    Some(Line { at, op, binding, version, request, response, is_complete, is_push })
}

fn http(line: &Value) -> (Asked, Option<Answered>, bool) {
    let octets = octets(&line["request"]).unwrap();
    let (start, headers, body) = parts(&octets);
    let mut start = start.split(' ');
    let request = Asked {
        method: start.next().unwrap().parse().unwrap(),
        uri: start.next().unwrap().parse().unwrap(),
        headers,
        body,
    };
    let response = octets_of_response(line).map(|octets| {
        let (start, headers, body) = parts(&octets);
        let status = start.split(' ').nth(1).unwrap().parse().unwrap();
        Answered { status, headers, body, trailers: None }
    });
    let is_complete = line.get("end").is_none_or(|end| end == "complete");
    (request, response, is_complete)
}

fn octets_of_response(line: &Value) -> Option<Vec<u8>> {
    line.get("response").filter(|response| !response.is_null()).and_then(octets)
}

fn octets(value: &Value) -> Option<Vec<u8>> {
    match (value.get("text"), value.get("base64")) {
        (Some(text), _) => Some(text.as_str()?.as_bytes().to_vec()),
        (None, Some(base64)) => STANDARD.decode(base64.as_str()?).ok(),
        (None, None) => None,
    }
}

/// Start line, fields and body, chunked framing undone.
fn parts(octets: &[u8]) -> (String, HeaderMap, Bytes) {
    let end = octets.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(octets[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let start = lines.next().unwrap().to_owned();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value.trim()).unwrap(),
        );
    }
    let body = &octets[end + 4..];
    let is_chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
    let body = if is_chunked { unchunked(body) } else { Bytes::copy_from_slice(body) };
    (start, headers, body)
}

fn unchunked(mut rest: &[u8]) -> Bytes {
    let mut body = BytesMut::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let len = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let chunk = &rest[end + 2..];
        if len == 0 {
            break;
        }
        body.put_slice(&chunk[..len.min(chunk.len())]);
        rest = chunk.get(len + 2..).unwrap_or_default();
    }
    body.freeze()
}

fn grpc(line: &Value) -> (Asked, Option<Answered>, bool) {
    let request = Asked {
        method: Method::POST,
        uri: line["method"].as_str().unwrap().parse().unwrap(),
        headers: fields(&line["request_headers"]),
        body: messages(&line["request_messages"]),
    };
    let trailers = line.get("trailers").filter(|trailers| !trailers.is_null()).map(fields);
    let body = messages(&line["response_messages"]);
    let is_complete = trailers.is_some();
    let response = match line.get("response_headers").filter(|headers| !headers.is_null()) {
        Some(headers) => {
            Some(Answered { status: StatusCode::OK, headers: fields(headers), body, trailers })
        }
        // Trailers only: they are the head.
        None => trailers.map(|headers| Answered {
            status: StatusCode::OK,
            headers,
            body,
            trailers: None,
        }),
    };
    (request, response, is_complete)
}

/// The messages with gRPC's prefix.
fn messages(list: &Value) -> Bytes {
    let mut body = BytesMut::new();
    for message in list.as_array().into_iter().flatten() {
        let message = unhex(message.as_str().unwrap());
        body.put_u8(0);
        body.put_u32(u32::try_from(message.len()).unwrap());
        body.put_slice(&message);
    }
    body.freeze()
}

/// Fields without the pseudo fields. Raw octets after a NUL, which a Rust HTTP/2 stack never sees,
/// become the base64 it does see.
fn fields(list: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for field in list.as_array().into_iter().flatten() {
        let name = field[0].as_str().unwrap();
        if name.starts_with(':') {
            continue;
        }
        let octets = match &field[1] {
            Value::String(text) => text.as_bytes().to_vec(),
            other => unhex(other["hex"].as_str().unwrap()),
        };
        let octets = match octets.split_first() {
            Some((0, raw)) => STANDARD.encode(raw).into_bytes(),
            Some(_) | None => octets,
        };
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(&octets).unwrap(),
        );
    }
    headers
}

fn unhex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
