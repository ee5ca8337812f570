//! The recorded traffic of the official SDKs, reported to a tap as the proxy would report it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version};
use jiff::Timestamp;
use meddler::base::Side;
use meddler::base::clock::WallClock;
use meddler::base::id::IdSource;
use meddler::base::limits::Limits;
use meddler::record::query::Recording;
use meddler::record::recorder::{self, RecorderConfig, RecorderHandle};
use meddler::record::redact::RedactConfig;
use meddler::record::store::Store;
use meddler::record::store::memory::MemoryStore;
use meddler::record::tap::{End, ExchangeTap, Lane, Start, Tap, WhenFull};
use serde_json::Value;
use tokio::time::Instant;

/// A recorder, and what is needed to report to it.
pub(super) struct Bench {
    pub(super) tap: Tap,
    pub(super) recorder: RecorderHandle,
    pub(super) store: Arc<dyn Store>,
    ids: IdSource,
    started_us: AtomicU64,
}

impl std::fmt::Debug for Bench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.tap, self.recorder)
    }
}

/// One request and its answer, as octets.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    pub(super) op: String,
    pub(super) n: u64,
    pub(super) version: Version,
    pub(super) method: Method,
    pub(super) target: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) answer: Option<WireAnswer>,
}

#[derive(Clone, Debug)]
pub(super) struct WireAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) pieces: Vec<Bytes>,
    pub(super) trailers: Option<HeaderMap>,
    pub(super) end: End,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(Limits::default(), WhenFull::Wait, RedactConfig::default())
    }

    pub(super) fn with(limits: Limits, when_full: WhenFull, redact: RedactConfig) -> Self {
        Self::into_store(limits, when_full, redact, Arc::new(MemoryStore::new()))
    }

    pub(super) fn into_store(
        limits: Limits,
        when_full: WhenFull,
        redact: RedactConfig,
        store: Arc<dyn Store>,
    ) -> Self {
        let clock = WallClock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
        let ids = IdSource::seeded(clock.clone(), 7);
        let instance = ids.instance();
        let secrets = Vec::new();
        let config = RecorderConfig { limits, when_full, redact, secrets, instance, clock };
        let (tap, recorder) = recorder::start(config, Arc::clone(&store)).unwrap();
        Self { tap, recorder, store, ids, started_us: AtomicU64::new(1_800_000_000_000_000) }
    }

    /// The start of an exchange, a second after the one before.
    pub(super) fn start(&self, agent: &str, wire: &Wire) -> Start {
        let us = self.started_us.fetch_add(1_000_000, Ordering::SeqCst);
        Start {
            id: self.ids.exchange(),
            started: Timestamp::from_microsecond(i64::try_from(us).unwrap()).unwrap(),
            at: Instant::now(),
            agent: agent.into(),
            session: None,
            orchestrator: "127.0.0.1".into(),
            upstream: Some("http://agent.test/".into()),
            method: wire.method.clone(),
            target: wire.target.clone(),
            base: None,
            version: wire.version,
            headers: wire.headers.clone(),
        }
    }

    /// Reports a whole exchange.
    pub(super) fn play(&self, agent: &str, wire: &Wire) {
        let tap = self.tap.begin(self.start(agent, wire));
        report(&tap, wire);
    }

    /// Everything that has ended, as a reader sees it.
    pub(super) async fn recording(&self) -> Recording {
        self.recorder.flush().await.unwrap();
        Recording::of_store(&*self.store).unwrap()
    }
}

/// Reports an exchange that has begun.
pub(super) fn report(tap: &ExchangeTap, wire: &Wire) {
    tap.data(Lane::Request, &wire.body);
    tap.end(Lane::Request, End::Complete);
    if let Some(answer) = &wire.answer {
        tap.head(Lane::Response, wire.version, answer.status, &answer.headers);
        for piece in &answer.pieces {
            tap.data(Lane::Response, piece);
        }
        if let Some(trailers) = &answer.trailers {
            tap.trailers(Lane::Response, trailers);
        }
        tap.end(Lane::Response, answer.end.clone());
    }
}

impl Wire {
    /// A JSON-RPC call and its answer.
    pub(super) fn rpc(request: &str, answer: &str) -> Self {
        Self {
            op: String::new(),
            n: 1,
            version: Version::HTTP_11,
            method: Method::POST,
            target: "/".parse().unwrap(),
            headers: fields(&[("content-type", "application/json"), ("a2a-version", "1.0")]),
            body: Bytes::from(request.to_owned()),
            answer: Some(WireAnswer {
                status: StatusCode::OK,
                headers: fields(&[("content-type", "application/json")]),
                pieces: vec![Bytes::from(answer.to_owned())],
                trailers: None,
                end: End::Complete,
            }),
        }
    }

    /// A message that is sent, and its answer (the `result`).
    pub(super) fn send(id: &str, text: &str, result: &str) -> Self {
        Self::rpc(
            &format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"{id}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
            ),
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#),
        )
    }

    pub(super) fn answer(&mut self) -> &mut WireAnswer {
        self.answer.as_mut().unwrap()
    }
}

impl WireAnswer {
    pub(super) fn body(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

pub(super) fn fields(fields: &[(&'static str, &str)]) -> HeaderMap {
    fields
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
        .collect()
}

/// The files of recorded traffic, by their path below `fixtures/wire`.
pub(super) fn files() -> Vec<String> {
    let root = root();
    let mut files = Vec::new();
    for folder in ["0.3", "0.3-on-1.0", "1.0"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|ending| ending == "jsonl") {
                files.push(format!("{folder}/{name}"));
            }
        }
    }
    files.sort();
    files
}

/// The exchanges of a file.
pub(super) fn read(file: &str) -> Vec<Wire> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("connection").is_none()).map(|line| wire(&line)).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire")
}

fn wire(line: &Value) -> Wire {
    let op = line["op"].as_str().unwrap().to_owned();
    let n = line["n"].as_u64().unwrap();
    let mut wire = if line.get("method").is_some() { grpc(line) } else { http(line) };
    wire.op = op;
    wire.n = n;
    wire
}

fn http(line: &Value) -> Wire {
    let request = octets(&line["request"]);
    let (head, body) = split_head(&request);
    let mut words = head[0].split(' ');
    let method = words.next().unwrap().parse().unwrap();
    let target = words.next().unwrap().parse().unwrap();
    let headers = http_fields(&head[1..]);
    let body = Bytes::from(unframed(&headers, body));
    let answer = match line.get("response") {
        Some(Value::Null) => None,
        Some(response) => Some(http_answer(&octets(response), line)),
        // The webhook's answer was not written down.
        None => Some(WireAnswer {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            pieces: Vec::new(),
            trailers: None,
            end: End::Complete,
        }),
    };
    let version = Version::HTTP_11;
    Wire { op: String::new(), n: 0, version, method, target, headers, body, answer }
}

fn http_answer(response: &[u8], line: &Value) -> WireAnswer {
    let (head, body) = split_head(response);
    let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    let headers = http_fields(&head[1..]);
    let body = Bytes::from(unframed(&headers, body));
    // As it was read: some octets now, some later.
    let pieces = body.chunks(1000).map(|piece| body.slice_ref(piece)).collect();
    let end = match line["end"].as_str().unwrap() {
        "complete" => End::Complete,
        "cut by server" => End::Cut(Side::Upstream),
        "cut by client" | "cut by nobody" => End::Cut(Side::Downstream),
        other => unreachable!("unknown end {other}"),
    };
    WireAnswer { status, headers, pieces, trailers: None, end }
}

fn grpc(line: &Value) -> Wire {
    let (pseudo, headers) = grpc_fields(&line["request_headers"]);
    let of = |name: &str| pseudo.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let target = format!("http://{}{}", of(":authority"), of(":path")).parse().unwrap();
    let body = frames(&line["request_messages"]);
    let (_, trailers) = grpc_fields(&line["trailers"]);
    let is_cut = trailers.is_empty();
    let end = if is_cut { End::Cut(Side::Downstream) } else { End::Complete };
    let is_trailers_only = line["response_headers"].is_null();
    let headers_and_trailers = if is_trailers_only {
        (trailers, None)
    } else {
        (grpc_fields(&line["response_headers"]).1, (!is_cut).then_some(trailers))
    };
    let answer = WireAnswer {
        status: StatusCode::OK,
        headers: headers_and_trailers.0,
        pieces: vec![frames(&line["response_messages"])],
        trailers: headers_and_trailers.1,
        end,
    };
    Wire {
        op: String::new(),
        n: 0,
        version: Version::HTTP_2,
        method: Method::POST,
        target,
        headers,
        body,
        answer: Some(answer),
    }
}

fn frames(messages: &Value) -> Bytes {
    let mut body = Vec::new();
    for message in messages.as_array().into_iter().flatten() {
        let octets = unhex(message.as_str().unwrap());
        body.push(0);
        body.extend(u32::try_from(octets.len()).unwrap().to_be_bytes());
        body.extend(octets);
    }
    Bytes::from(body)
}

/// Pseudo-header fields, and the others. Binary ones are written in base64, as HTTP libraries have them.
fn grpc_fields(fields: &Value) -> (Vec<(String, String)>, HeaderMap) {
    let mut pseudo = Vec::new();
    let mut headers = HeaderMap::new();
    for field in fields.as_array().into_iter().flatten() {
        let name = field[0].as_str().unwrap();
        let value = match field[1].as_str() {
            Some(text) => text.to_owned(),
            // True binary metadata begins with a zero octet; otherwise it is base64 already.
            None => match unhex(field[1]["hex"].as_str().unwrap()).as_slice() {
                [0, raw @ ..] => STANDARD.encode(raw),
                text => String::from_utf8(text.to_vec()).unwrap(),
            },
        };
        if name.starts_with(':') {
            pseudo.push((name.to_owned(), value));
        } else {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
    }
    (pseudo, headers)
}

fn octets(value: &Value) -> Vec<u8> {
    match value["text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => STANDARD.decode(value["base64"].as_str().unwrap()).unwrap(),
    }
}

fn split_head(message: &[u8]) -> (Vec<String>, &[u8]) {
    let end = message.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(message[..end].to_vec()).unwrap();
    (head.split("\r\n").map(str::to_owned).collect(), &message[end + 4..])
}

fn http_fields(lines: &[String]) -> HeaderMap {
    let field = |line: &String| {
        let (name, value) = line.split_once(':').unwrap();
        (name.parse::<HeaderName>().unwrap(), value.trim().parse::<HeaderValue>().unwrap())
    };
    lines.iter().map(field).collect()
}

/// The body without the framing of chunks.
fn unframed(headers: &HeaderMap, mut body: &[u8]) -> Vec<u8> {
    if headers.get("transfer-encoding").is_none_or(|value| value != "chunked") {
        return body.to_vec();
    }
    let mut plain = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let rest = &body[end + 2..];
        plain.extend_from_slice(&rest[..size.min(rest.len())]);
        body = rest.get(size + 2..).unwrap_or_default();
        if size == 0 {
            break;
        }
    }
    plain
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// Lets the recorder's thread come by without an answer from it, until `done` says so.
pub(super) async fn eventually(mut done: impl FnMut() -> bool) {
    let deadline = Duration::from_secs(5);
    tokio::time::timeout(deadline, async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("it happens within five seconds");
}
