//! Event streams as the standard allows them: octets pass at once, and events are found beside.

use std::sync::Arc;
use std::time::Duration;

use meddler::record::exchange::{Exchange, Outcome};
use tokio::time::Instant;

use super::recorded::{Recorded, send};
use crate::support::raw::RawConn;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A call of 0.3.
fn ask(method: &str) -> String {
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{\"message\":{{\"kind\":\"message\",\
         \"messageId\":\"m\",\"role\":\"user\",\"parts\":[{{\"kind\":\"text\",\"text\":\"x\"}}]}}}}}}"
    );
    format!(
        "POST / HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\n\
         Accept: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn chunk(octets: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", octets.len()).as_bytes(), octets, b"\r\n"].concat()
}

/// Lets these segments pass, each before the next is sent, and gives what was recorded.
async fn stream(method: &str, head: &str, segments: &[&[u8]]) -> Arc<Exchange> {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&ask(method)).await;
    upstream.write(head).await;
    assert_eq!(client.read_head().await, head);
    for segment in segments {
        pass(&mut upstream, &mut client, &chunk(segment)).await;
    }
    pass(&mut upstream, &mut client, b"0\r\n\r\n").await;
    at.exchange().await
}

async fn pass(from: &mut RawConn, to: &mut RawConn, octets: &[u8]) {
    from.write(octets).await;
    let came = to.read_exactly(octets.len()).await;
    assert!(came.eq_ignore_ascii_case(octets), "{:?}", String::from_utf8_lossy(&came));
}

/// The recorded events, as text.
fn events(exchange: &Exchange) -> Vec<String> {
    let response = exchange.response.as_ref().unwrap();
    let frame = |start: u64, len: u64| {
        let start = usize::try_from(start).unwrap();
        &response.body.kept[start..start + usize::try_from(len).unwrap()]
    };
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    response.events.iter().map(|mark| text(frame(mark.start, mark.len))).collect()
}

fn problems(exchange: &Exchange) -> Vec<&str> {
    exchange.problems.iter().map(|problem| problem.name.as_str()).collect()
}

/// SSE-01
#[tokio::test]
async fn lines_may_end_in_cr_lf_or_both_wherever_they_are_cut() {
    let message = |id: &str| {
        format!(
            "\"result\":{{\"kind\":\"message\",\"messageId\":\"{id}\",\"role\":\"agent\",\"parts\":[]}}}}"
        )
    };
    let exchange = stream(
        "message/stream",
        HEAD,
        &[
            b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\r",
            format!("\ndata: {}\r", message("m1")).as_bytes(),
            b"\n\r\n",
            format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,{}\r\r", message("m2")).as_bytes(),
        ],
    )
    .await;
    let events = events(&exchange);
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events[0].contains("m1") && events[1].contains("m2"), "{events:?}");
    assert!(!problems(&exchange).contains(&"invalid_json"), "{:?}", exchange.problems);
}

/// SSE-02
#[tokio::test]
async fn an_event_of_many_lines_is_one_event() {
    let exchange = stream(
        "message/stream",
        HEAD,
        &[b"retry: 3000\nid: 41\nevent: message\ndata:{\"jsonrpc\":\"2.0\",\ndata:\"id\":1,\"result\":\n\
            data:{\"kind\":\"task\",\"id\":\"t1\",\"contextId\":\"c1\",\"status\":{\"state\":\"working\"}}}\n\n"],
    )
    .await;
    assert_eq!(events(&exchange).len(), 1);
    assert_eq!(exchange.ids.task_id.as_deref(), Some("t1"));
    assert_eq!(exchange.outcome, Outcome::Incomplete);
    assert!(events(&exchange)[0].contains("id: 41"), "id, event and retry are kept");
}

/// SSE-03
#[tokio::test]
async fn comments_pass_at_once_and_are_no_events() {
    let exchange = stream(
        "message/stream",
        HEAD,
        &[
            b": ping\n\n",
            b":\n\n",
            b": ping - 2026-01-01 10:00:00\n\n",
            b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"status-update\",\"taskId\":\"t1\",\
              \"contextId\":\"c1\",\"status\":{\"state\":\"completed\"},\"final\":true}}\n\n",
            b":bye\n\n",
        ],
    )
    .await;
    assert_eq!(events(&exchange).len(), 1, "{:?}", events(&exchange));
    assert_eq!(exchange.outcome, Outcome::Completed);
    assert!(exchange.problems.is_empty(), "{:?}", exchange.problems);
}

/// SSE-04
#[tokio::test]
async fn a_character_cut_in_two_is_neither_held_back_nor_spoilt() {
    let exchange = stream(
        "message/stream",
        HEAD,
        &[
            b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"message\",\"messageId\":\"m\",\
              \"role\":\"agent\",\"parts\":[{\"kind\":\"text\",\"text\":\"\xe4\xb8",
            b"\x96 \xf0\x9f",
            b"\x98\x80\"}]}}\n\n",
        ],
    )
    .await;
    assert!(events(&exchange)[0].contains("\u{4e16} \u{1f600}"), "{:?}", events(&exchange));
    assert!(exchange.problems.is_empty(), "{:?}", exchange.problems);
}

/// SSE-06
#[tokio::test]
async fn a_last_event_without_its_blank_line_is_kept_and_not_counted() {
    let working =
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"task\",\"id\":\"t1\",\
                    \"contextId\":\"c1\",\"status\":{\"state\":\"working\"}}}\n\n";
    let last = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"status-update\",\"taskId\":\"t1\",\
                 \"contextId\":\"c1\",\"status\":{\"state\":\"completed\"},\"final\":true}}\n";
    let exchange = stream("message/stream", HEAD, &[working, last]).await;
    assert_eq!(exchange.outcome, Outcome::Incomplete);
    assert!(problems(&exchange).contains(&"unterminated"), "{:?}", exchange.problems);
    assert!(exchange.response.as_ref().unwrap().body.kept.ends_with(last), "kept raw");
    // The same, and the agent resets the connection.
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&ask("message/stream")).await;
    upstream.write(HEAD).await;
    client.read_head().await;
    pass(&mut upstream, &mut client, &chunk(working)).await;
    pass(&mut upstream, &mut client, &chunk(last)).await;
    upstream.reset();
    assert!(!client.read_to_end().await.0.contains("0\r\n\r\n"));
    assert_eq!(at.exchange().await.outcome, Outcome::CutByAgent);
}

/// SSE-07
#[tokio::test]
async fn a_plain_answer_to_a_streaming_call_is_read_as_what_it_is() {
    let error =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,\"message\":\"no streaming\"}}";
    for (head, body, status) in [
        ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", error, 200),
        (
            "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\nWWW-Authenticate: Bearer\r\n",
            "login needed",
            401,
        ),
        ("HTTP/1.1 200 OK\r\n", error, 200),
    ] {
        let at = Recorded::start("", "[]").await;
        let (mut client, mut upstream) = at.ask(&ask("message/stream")).await;
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        pass(&mut upstream, &mut client, answer.as_bytes()).await;
        let exchange = at.exchange().await;
        assert_eq!(exchange.outcome, Outcome::Error, "{head}");
        let response = exchange.response.as_ref().unwrap();
        assert_eq!((response.status, response.events.len()), (status, 0));
    }
}

/// SSE-09
#[tokio::test]
async fn a_stream_is_known_by_its_type_however_that_is_written_and_passes_in_any_case() {
    let event = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"message\",\"messageId\":\"m\",\
                  \"role\":\"agent\",\"parts\":[]}}\n\n";
    for (content_type, count) in [
        ("text/event-stream; charset=utf-8", 2),
        ("Text/Event-Stream", 2),
        ("text/event-stream;element-type=\"application/json\"", 2),
        ("text/plain", 0),
        ("application/x-ndjson", 0),
    ] {
        let head = HEAD.replace("text/event-stream", content_type);
        let exchange = stream("message/stream", &head, &[event, event]).await;
        assert_eq!(events(&exchange).len(), count, "{content_type}");
        let response = exchange.response.as_ref().unwrap();
        assert_eq!(response.body.kept, [&event[..], event].concat(), "{content_type}");
        assert!(response.headers.iter().any(|(_, value)| value == content_type));
    }
}

/// SSE-10
#[tokio::test]
async fn each_event_is_recorded_with_its_own_time_and_none_waits_for_the_next() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&ask("message/stream")).await;
    upstream.write(HEAD).await;
    assert_eq!(client.read_head().await, HEAD, "the head does not wait for an event");
    let begun = Instant::now();
    for _ in 0..2 {
        pass(&mut upstream, &mut client, &chunk(b"data: {}\n\n")).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    pass(&mut upstream, &mut client, b"0\r\n\r\n").await;
    let all = begun.elapsed();
    let exchange = at.exchange().await;
    let marks = &exchange.response.as_ref().unwrap().events;
    let between = Duration::from_micros(marks[1].at_us - marks[0].at_us);
    assert!(between >= Duration::from_millis(29) && between <= all, "{between:?} of {all:?}");
}

/// SSE-13
#[tokio::test]
async fn a_huge_event_passes_as_it_comes_and_the_next_is_still_read() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&ask("message/stream")).await;
    upstream.write(HEAD).await;
    client.read_head().await;
    pass(&mut upstream, &mut client, &chunk(b"data: \"")).await;
    for _ in 0..768 {
        upstream.write(chunk(&[b'A'; 16 * 1024])).await;
        // It may have been read in two pieces, and then it leaves in two.
        let mut came = 0;
        while came < 16 * 1024 {
            let line = client.read_until("\r\n").await;
            let size = usize::from_str_radix(line.trim(), 16).unwrap();
            client.read_exactly(size + 2).await;
            came += size;
        }
    }
    pass(&mut upstream, &mut client, &chunk(b"\"\n\n")).await;
    pass(&mut upstream, &mut client, &chunk(b"data: {\"last\":1}\n\n")).await;
    pass(&mut upstream, &mut client, b"0\r\n\r\n").await;
    let exchange = at.exchange().await;
    let body = &exchange.response.as_ref().unwrap().body;
    assert!(body.truncated, "past the limit the head is kept");
    assert_eq!(body.bytes, 7 + 768 * 16 * 1024 + 3 + 18, "and the length of all");
}

/// SSE-14
#[tokio::test]
async fn a_stream_that_answers_a_single_call_is_passed_read_and_marked() {
    let event = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"kind\":\"message\",\"messageId\":\"m\",\
                  \"role\":\"agent\",\"parts\":[]}}\n\n";
    for method in ["message/send", "tasks/get"] {
        let exchange = stream(method, HEAD, &[event, event]).await;
        assert_eq!(events(&exchange).len(), 2, "{method}");
        assert!(problems(&exchange).contains(&"unexpected_stream"), "{:?}", exchange.problems);
    }
}

/// SSE-16
#[tokio::test]
async fn a_failure_before_the_first_event_is_an_error_in_every_shape() {
    let plain = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32004,\"message\":\"ended\"}}";
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&ask("tasks/resubscribe")).await;
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{plain}",
        plain.len()
    );
    pass(&mut upstream, &mut client, answer.as_bytes()).await;
    assert_eq!(at.exchange().await.outcome, Outcome::Error);
    let in_stream =
        stream("tasks/resubscribe", HEAD, &[format!("data: {plain}\n\n").as_bytes()]).await;
    assert_eq!(in_stream.outcome, Outcome::Error);
    assert_eq!(events(&in_stream).len(), 1);
    // HTTP+JSON, where the event is the error.
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at
        .ask("POST /tasks/t1:subscribe HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\nContent-Length: 0\r\n\r\n")
        .await;
    let event = b"data: {\"error\":{\"code\":400,\"status\":\"FAILED_PRECONDITION\",\"message\":\"x\"}}\n\n";
    pass(&mut upstream, &mut client, HEAD.as_bytes()).await;
    pass(&mut upstream, &mut client, &chunk(event)).await;
    pass(&mut upstream, &mut client, b"0\r\n\r\n").await;
    assert_eq!(at.exchange().await.outcome, Outcome::Error);
}

/// SSE-14: what comes is passed by what it is, whatever was asked (1.0).
#[tokio::test]
async fn a_single_answer_and_a_stream_may_follow_on_one_connection() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&send("x")).await;
    pass(&mut upstream, &mut client, HEAD.as_bytes()).await;
    pass(&mut upstream, &mut client, &chunk(b"data: {}\n\n")).await;
    pass(&mut upstream, &mut client, b"0\r\n\r\n").await;
    client.write(send("y")).await;
    upstream.read_head().await;
    pass(&mut upstream, &mut client, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
    at.recording(2).await;
}
