//! What our own parts of the hot path cost, each alone: recognise, peek, judge, split, tap.
//!
//! `cargo bench` prints the median of nine runs in nanoseconds a call. Compare ratios within one run only:
//! absolute times mean nothing on another machine. For counts that do not mind a busy machine:
//! `valgrind --tool=callgrind target/release/deps/hot_path-* NAME`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Uri};
use meddler::a2a::call::{self, Head};
use meddler::a2a::detect;
use meddler::fault::facts::Facts;
use meddler::fault::rule::{RuleConfig, RuleSet};
use serde_json::json;

/// A request of 2 KiB and an answer of 8 KiB: what the side-by-side benchmark sends too.
const REQUEST_BYTES: usize = 2 * 1024;
const EVENT_BYTES: usize = 512;
const EVENTS: usize = 50;

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for (name, run) in CASES {
        if only.as_ref().is_none_or(|only| name.contains(only.as_str())) {
            run(name);
        }
    }
}

/// Measures one part under its name.
type Case = fn(&str);

/// One row a part.
const CASES: &[(&str, Case)] = &[
    ("judge 200 rules that do not match", |name| judge(name, 200)),
    ("judge no rules", |name| judge(name, 0)),
    ("peek the method", peek),
    ("read a call", read),
    ("recognise a head", recognise),
    ("split SSE, per event", split),
];

/// Prints the median time of a call.
fn measure<T>(name: &str, per_call: usize, mut call: impl FnMut() -> T) {
    const RUN: Duration = Duration::from_millis(60);
    let mut runs: Vec<f64> = (0..9)
        .map(|_| {
            let begun = now();
            let mut calls = 0_u32;
            while begun.elapsed() < RUN {
                for _ in 0..16 {
                    black_box(call());
                }
                calls += 16;
            }
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let median = runs.get(4).copied().unwrap_or_default();
    let each = median / f64::from(u32::try_from(per_call).unwrap_or(1));
    report(&format!("{name:<40} {each:>10.1} ns"));
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn report(line: &str) {
    println!("{line}");
}

fn request_body() -> Bytes {
    let text = "x".repeat(REQUEST_BYTES - 200);
    let body = json!({"jsonrpc": "2.0", "id": "7", "method": "SendMessage", "params": {"message": {
        "messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}}});
    Bytes::from(body.to_string())
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("a2a-version", HeaderValue::from_static("1.0"));
    headers
}

fn recognise(name: &str) {
    let (method, uri, headers) = (Method::POST, Uri::from_static("/"), headers());
    let head = Head { method: &method, uri: &uri, headers: &headers };
    measure(name, 1, || detect::recognize(head));
}

fn peek(name: &str) {
    let body = request_body();
    measure(name, 1, || call::peek_method(&body));
}

fn read(name: &str) {
    let (method, uri, headers, body) =
        (Method::POST, Uri::from_static("/"), headers(), request_body());
    let head = Head { method: &method, uri: &uri, headers: &headers };
    let recognized = detect::recognize(head);
    measure(name, 1, || call::read_call(head, &recognized, &body));
}

fn judge(name: &str, rules: usize) {
    let rules: Vec<RuleConfig> = (0..rules)
        .filter_map(|n| {
            let rule = json!({"name": format!("rule {n}"), "when": {"header": {"x-none": "never"}},
                "inject": {"error": "failed"}, "seed": 1});
            serde_json::from_value(rule).ok()
        })
        .collect();
    let Ok(rules) = RuleSet::new(rules) else { return };
    let (method, uri, headers, body) =
        (Method::POST, Uri::from_static("/"), headers(), request_body());
    let head = Head { method: &method, uri: &uri, headers: &headers };
    let call = call::read_call(head, &detect::recognize(head), &body);
    let facts = Facts {
        agent: "billing",
        session: "run",
        orchestrator: "127.0.0.1",
        headers: &headers,
        call: &call,
        body_is_read: true,
    };
    measure(name, 1, || rules.judge(&facts));
}

fn split(name: &str) {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/event-stream"));
    let event = format!("data: {}\r\n\r\n", "x".repeat(EVENT_BYTES));
    let body = event.repeat(EVENTS);
    measure(name, EVENTS, || {
        let mut splitter = call::splitter(&headers)?;
        Some(body.as_bytes().chunks(4096).map(|chunk| splitter.push(chunk).len()).sum::<usize>())
    });
}
