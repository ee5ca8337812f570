//! Time: none of Meddler's own, unless it is configured.

use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use meddler::record::exchange::Outcome;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

const ASK: &str = "POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}";
const STREAM: &str = "/lf.a2a.v1.A2AService/SendStreamingMessage";

/// The sockets are real and the clock is not: what waits for octets lets hours pass in between.
async fn let_pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// TIME-01, KEEP-01
#[tokio::test]
async fn an_answer_may_take_an_hour_and_fall_silent_for_another() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    let_pass(Duration::from_hours(1)).await;
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    upstream.write(head).await;
    assert_eq!(client.read_head().await, head);
    upstream.write("9\r\ndata: 1\n\n\r\n").await;
    client.read_until("data: 1\n\n\r\n").await;
    let_pass(Duration::from_hours(1)).await;
    assert!(client.is_quiet(), "nothing is said that the agent did not say");
    upstream.write("9\r\ndata: 2\n\n\r\n0\r\n\r\n").await;
    assert_eq!(client.read_until("0\r\n\r\n").await, "9\r\ndata: 2\n\n\r\n0\r\n\r\n");
}

/// TIME-01: a limit that is set fires under its own name.
#[tokio::test]
async fn a_limit_that_is_set_is_named_in_answer_and_recording() {
    let at = Recorded::start(", timeout: { first_byte: 50ms }", "[]").await;
    let (mut client, upstream) = at.ask("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
    assert!(head.contains("meddler-error: first_byte_timeout\r\n"), "{head}");
    let exchange = at.exchange().await;
    assert_eq!(exchange.upstream_error.as_ref().unwrap().word, "first_byte_timeout");
    drop(upstream);
}

async fn grpc_only() -> (Http2Agent, TestProxy, Http2Client) {
    let agent = Http2Agent::start().await;
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[forward]);
    let client = Http2Client::connect(proxy.addr()).await;
    (agent, proxy, client)
}

/// GRPC-10: the deadline is between client and agent; a half-closed request starts no clock (GRPC-07).
#[tokio::test]
async fn a_deadline_passes_unchanged_and_is_the_clients_to_keep() {
    for timeout in [Some("120S"), None, Some("99999999H"), Some("200m"), Some("soon")] {
        let (mut agent, _proxy, mut client) = grpc_only().await;
        let mut fields = vec![("content-type", "application/grpc"), ("te", "trailers")];
        fields.extend(timeout.map(|timeout| ("grpc-timeout", timeout)));
        let (response, mut upload) = client.request("POST", STREAM, &fields, false).await;
        upload.send_data(framed(b"x"), true).unwrap();
        let mut arrived = agent.next().await;
        let came = arrived.head.headers.get("grpc-timeout").map(|value| value.to_str().unwrap());
        assert_eq!(came, timeout);
        arrived.read().await;
        // Less than what a connection may be silent for, more than any deadline of ours could be.
        let_pass(Duration::from_secs(59)).await;
        if timeout == Some("200m") {
            upload.send_reset(Reason::CANCEL);
            let reason = std::future::poll_fn(|cx| arrived.respond.poll_reset(cx));
            assert_eq!(within("a reset", reason).await.unwrap(), Reason::CANCEL);
            continue;
        }
        let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
        answer.send_data(Bytes::from_static(b"late"), true).unwrap();
        let mut body = within("an answer", response).await.unwrap().into_body();
        assert_eq!(read(&mut body).await.0, b"late");
    }
}

/// GRPC-10
#[tokio::test]
async fn a_call_that_its_deadline_ended_is_recorded_as_left_by_the_client() {
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let fields = [("content-type", "application/grpc"), ("grpc-timeout", "200m")];
    let (response, mut upload) = client.request("POST", STREAM, &fields, false).await;
    upload.send_data(framed(b"x"), true).unwrap();
    let mut arrived = agent.next().await;
    upload.send_reset(Reason::CANCEL);
    let reason = std::future::poll_fn(|cx| arrived.respond.poll_reset(cx));
    assert_eq!(within("a reset", reason).await.unwrap(), Reason::CANCEL);
    drop(response);
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::CutByClient);
    let timeout = exchange.request.headers.iter().find(|(name, _)| name == "grpc-timeout");
    assert_eq!(timeout.unwrap().1, "200m");
}
