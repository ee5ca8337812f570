//! Bodies are kept whole up to a limit, with the times at which their parts arrived.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use meddler::base::Side;
use meddler::base::limits::Limits;
use meddler::record::exchange::{Exchange, Outcome};
use meddler::record::query::Filter;
use meddler::record::redact::RedactConfig;
use meddler::record::tap::{End, Lane, WhenFull};
use sha2::{Digest, Sha256};

use super::wire::{Bench, Wire, fields, report};

const STREAM: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}}"#,
];

const TASK: &str = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}"#;

/// A message that is answered by a stream, of which the agent has sent nothing yet.
fn streaming() -> Wire {
    let mut wire = Wire::send("m1", "hello", "{}");
    wire.body = String::from_utf8(wire.body.to_vec())
        .unwrap()
        .replace("SendMessage", "SendStreamingMessage")
        .into();
    let answer = wire.answer();
    answer.headers = fields(&[("content-type", "text/event-stream")]);
    answer.pieces.clear();
    wire
}

async fn only(bench: &Bench) -> Exchange {
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    assert_eq!(exchanges.len(), 1);
    (*exchanges[0]).clone()
}

#[tokio::test(start_paused = true)]
async fn each_event_has_the_time_at_which_its_last_octet_arrived() {
    for is_compressed in [false, true] {
        let bench = Bench::new();
        let mut wire = streaming();
        let mut answer = wire.answer.take().unwrap();
        if is_compressed {
            answer.headers.extend(fields(&[("content-encoding", "gzip")]));
        }
        let tap = bench.tap.begin(bench.start("billing", &wire));
        report(&tap, &wire);
        tap.head(Lane::Response, wire.version, answer.status, &answer.headers);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for data in STREAM {
            let frame = format!(": ping\n\ndata: {data}\n\n");
            for half in [&frame[..40], &frame[40..]] {
                tokio::time::advance(Duration::from_millis(100)).await;
                let octets = if is_compressed {
                    gzip.write_all(half.as_bytes()).unwrap();
                    gzip.flush().unwrap();
                    std::mem::take(gzip.get_mut())
                } else {
                    half.as_bytes().to_vec()
                };
                tap.data(Lane::Response, &Bytes::from(octets));
            }
        }
        tokio::time::advance(Duration::from_millis(50)).await;
        tap.end(Lane::Response, End::Complete);
        drop(tap);
        let exchange = only(&bench).await;
        let response = exchange.response.as_ref().unwrap();
        let times: Vec<u64> = response.events.iter().map(|mark| mark.at_us).collect();
        assert_eq!(times, [200_000, 400_000, 600_000], "compressed: {is_compressed}");
        for (mark, data) in response.events.iter().zip(STREAM) {
            let start = usize::try_from(mark.start).unwrap();
            let end = start + usize::try_from(mark.len).unwrap();
            let frame = String::from_utf8_lossy(&response.body.kept[start..end]).into_owned();
            assert!(frame.contains(data) && frame.ends_with("\n\n"), "{frame}");
        }
        assert_eq!(exchange.timings.first_event_us, Some(200_000));
        assert_eq!(exchange.timings.head_us, Some(0));
        assert_eq!(exchange.timings.end_us, Some(650_000));
        assert_eq!(exchange.outcome, Outcome::Completed);
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_kept_as_head_length_and_digest() {
    let limits = Limits { body_bytes: 1000, ..Limits::default() };
    let bench = Bench::with(limits, WhenFull::Wait, RedactConfig::default());
    let wire = Wire::send("m1", &"x".repeat(100_000), &format!(r#"{{"task":{TASK}}}"#));
    bench.play("billing", &wire);
    let exchange = only(&bench).await;
    let body = &exchange.request.body;
    assert!(body.truncated);
    assert_eq!(body.kept, wire.body.slice(..1000));
    assert_eq!(body.bytes, wire.body.len() as u64);
    assert_eq!(body.sha256, <[u8; 32]>::from(Sha256::digest(&wire.body)));
    assert_eq!(exchange.operation.as_str(), "SendMessage");
    assert_eq!(exchange.problems, [], "what the limit cut is no mistake of the peer");
}

#[tokio::test]
async fn open_exchanges_share_a_bound_as_well() {
    let limits = Limits { open_bytes: 1500, ..Limits::default() };
    let bench = Bench::with(limits, WhenFull::Wait, RedactConfig::default());
    let wire = Wire::send("m1", &"x".repeat(1000), "{}");
    let taps: Vec<_> = (0..2).map(|_| bench.tap.begin(bench.start("billing", &wire))).collect();
    for tap in &taps {
        tap.data(Lane::Request, &wire.body);
    }
    bench.recorder.flush().await.unwrap();
    for tap in taps {
        report(&tap, &Wire { body: Bytes::new(), ..wire.clone() });
    }
    bench.recorder.flush().await.unwrap();
    // Their room is free again.
    bench.play("billing", &wire);
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    let truncated = exchanges.iter().map(|exchange| exchange.request.body.truncated);
    assert_eq!(truncated.collect::<Vec<_>>().iter().filter(|it| **it).count(), 1);
    assert!(!exchanges[2].request.body.truncated);
}

#[tokio::test]
async fn how_a_stream_ended_is_told_apart() {
    let check = async |events: usize, end: End, expected: Outcome| {
        let bench = Bench::new();
        let mut wire = streaming();
        let answer = wire.answer();
        answer.pieces =
            STREAM[..events].iter().map(|data| format!("data: {data}\n\n").into()).collect();
        answer.end = end.clone();
        bench.play("billing", &wire);
        let exchange = only(&bench).await;
        assert_eq!(exchange.outcome, expected, "{events} events, then {end:?}");
    };
    check(3, End::Complete, Outcome::Completed).await;
    check(2, End::Complete, Outcome::Incomplete).await;
    check(0, End::Complete, Outcome::Incomplete).await;
    check(2, End::Cut(Side::Upstream), Outcome::CutByAgent).await;
    check(3, End::Cut(Side::Upstream), Outcome::CutByAgent).await;
    check(2, End::Cut(Side::Downstream), Outcome::CutByClient).await;
    check(3, End::Cut(Side::Downstream), Outcome::Completed).await;
    check(1, End::Stopped, Outcome::OpenAtStop).await;
}

#[tokio::test]
async fn an_exchange_whose_tap_is_dropped_is_recorded_with_what_it_has() {
    let bench = Bench::new();
    let wire = streaming();
    let tap = bench.tap.begin(bench.start("billing", &wire));
    tap.data(Lane::Request, &wire.body);
    drop(tap);
    let exchange = only(&bench).await;
    assert_eq!(exchange.outcome, Outcome::CutByClient);
    assert_eq!(exchange.request.body.kept, wire.body);
    assert_eq!(exchange.response, None);
}

#[tokio::test]
async fn of_two_answers_the_one_that_was_used_is_kept() {
    let bench = Bench::new();
    let wire = Wire::send("m1", "hello", &format!(r#"{{"task":{TASK}}}"#));
    let answer = wire.answer.as_ref().unwrap();
    let tap = bench.tap.begin(bench.start("billing", &wire));
    tap.head(Lane::Response, wire.version, http::StatusCode::NOT_FOUND, &http::HeaderMap::new());
    tap.data(Lane::Response, &Bytes::from_static(b"not here"));
    tap.head(Lane::Response, wire.version, answer.status, &answer.headers);
    tap.end(Lane::Response, End::Cut(Side::Downstream));
    report(&tap, &Wire { answer: None, ..wire.clone() });
    for piece in &answer.pieces {
        tap.data(Lane::Response, piece);
    }
    tap.end(Lane::Response, End::Complete);
    drop(tap);
    let exchange = only(&bench).await;
    let response = exchange.response.unwrap();
    assert_eq!((response.status, response.body.kept.to_vec()), (200, answer.body()));
    assert_eq!(exchange.outcome, Outcome::Completed);
}

#[tokio::test]
async fn an_exchange_that_is_open_at_the_stop_is_recorded_so() {
    let bench = Bench::new();
    let wire = Wire { answer: None, ..streaming() };
    let tap = bench.tap.begin(bench.start("billing", &wire));
    report(&tap, &wire);
    bench.recorder.stop().await.unwrap();
    bench.recorder.stop().await.unwrap();
    assert!(bench.recorder.flush().await.is_err());
    tap.end(Lane::Response, End::Complete);
    let recording = meddler::record::query::Recording::of_store(&*bench.store).unwrap();
    assert_eq!(recording.exchanges(&Filter::default())[0].outcome, Outcome::OpenAtStop);
}

#[tokio::test]
async fn an_answer_that_was_changed_is_kept_as_received_and_as_delivered() {
    let bench = Bench::new();
    let wire = Wire::send("m1", "hello", r#"{"message":{"messageId":"a","role":"ROLE_AGENT"}}"#);
    let tap = bench.tap.begin(bench.start("billing", &wire));
    tap.edit(meddler::record::exchange::EditRecord {
        kind: "card_address".to_owned(),
        at: "$.url".to_owned(),
        from: "http://a/".to_owned(),
        to: "http://b/".to_owned(),
    });
    report(&tap, &wire);
    // The recorder comes by between the two.
    bench.recorder.flush().await.unwrap();
    let answer = wire.answer.as_ref().unwrap();
    tap.head(Lane::Delivered, wire.version, answer.status, &answer.headers);
    tap.data(Lane::Delivered, &Bytes::from_static(b"{\"changed\":true}"));
    tap.end(Lane::Delivered, End::Complete);
    let clone = tap.clone();
    drop(tap);
    let exchange = only(&bench).await;
    drop(clone);
    assert_eq!(exchange.response.unwrap().body.kept, answer.body());
    assert_eq!(exchange.delivered.unwrap().body.kept, b"{\"changed\":true}"[..]);
}
