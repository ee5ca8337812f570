//! Leaving, half-closing, breaking off: what one side does is what the other sees, and what is recorded.

use h2::Reason;
use meddler::record::exchange::{Exchange, Outcome};
use meddler::record::query::Filter;

use super::recorded::{Recorded, send};
use crate::support::http2::{Http2Agent, Http2Client, framed, next_data};
use crate::support::raw::{Ending, RawConn, within};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn stream_request() -> String {
    let request = send("x").replace("SendMessage", "SendStreamingMessage");
    // The body grew by the length of `Streaming`.
    let length =
        send("x").split("Content-Length: ").nth(1).unwrap().split('\r').next().unwrap().to_owned();
    let longer: usize = length.parse::<usize>().unwrap() + "Streaming".len();
    request.replace(&format!("Content-Length: {length}"), &format!("Content-Length: {longer}"))
}

fn chunk(text: &str) -> String {
    format!("{:X}\r\n{text}\r\n", text.len())
}

fn event(state: &str) -> String {
    chunk(&format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"statusUpdate\":{{\"taskId\":\"t1\",\"contextId\":\"c1\",\
         \"status\":{{\"state\":\"{state}\"}}}}}}}}\n\n"
    ))
}

/// A stream of two events, both with the client.
async fn streaming(at: &Recorded) -> (RawConn, RawConn) {
    let (mut client, mut upstream) = at.ask(&stream_request()).await;
    upstream.write(HEAD).await;
    assert_eq!(client.read_head().await, HEAD);
    for _ in 0..2 {
        upstream.write(event("TASK_STATE_WORKING")).await;
        client.read_until(&event("TASK_STATE_WORKING")).await;
    }
    (client, upstream)
}

fn events(exchange: &Exchange) -> usize {
    exchange.response.as_ref().unwrap().events.len()
}

/// CAN-01
#[tokio::test]
async fn a_client_that_leaves_in_mid_stream_is_gone_for_the_agent_and_recorded_so() {
    for ending in ["FIN", "RST"] {
        let at = Recorded::start("", "[]").await;
        let (client, mut upstream) = streaming(&at).await;
        if ending == "RST" {
            client.reset();
        } else {
            drop(client);
            // A FIN alone may be a half-close: the next event settles it.
            upstream.write(event("TASK_STATE_WORKING")).await;
        }
        upstream.read_to_end().await;
        let exchange = at.exchange().await;
        assert_eq!(exchange.outcome, Outcome::CutByClient, "{ending}");
        assert!(events(&exchange) >= 2, "{ending}: {}", events(&exchange));
    }
}

/// CAN-01: the agent learns it at once although it sends nothing more, when half-closing is denied.
#[tokio::test]
async fn a_client_that_may_not_half_close_leaves_with_its_fin() {
    let at = Recorded::start(", half_close: deny", "[]").await;
    let (client, mut upstream) = streaming(&at).await;
    drop(client);
    assert_eq!(upstream.read_to_end().await.1, Ending::Closed);
    assert_eq!(at.exchange().await.outcome, Outcome::CutByClient);
}

/// CAN-01, GRPC-11
#[tokio::test]
async fn a_grpc_client_that_cancels_is_recorded_with_what_it_had_been_sent() {
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendStreamingMessage", b"").await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
    let mut body = within("an answer", response).await.unwrap().into_body();
    for _ in 0..2 {
        answer.send_data(framed(b""), false).unwrap();
        next_data(&mut body).await;
    }
    drop(body);
    let reason = std::future::poll_fn(|cx| answer.poll_reset(cx));
    assert_eq!(within("a reset", reason).await.unwrap(), Reason::CANCEL);
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::CutByClient);
    assert_eq!(events(&exchange), 2);
}

/// HTTP/2 error codes are a matter of one connection. While the request is under way the client's is handed
/// on; after that hyper has no place for one, and CANCEL says what is the case: the answer is not wanted
/// any more (RFC 9113, section 7).
#[tokio::test]
async fn what_the_client_says_in_leaving_its_request_the_agent_hears() {
    for (reason, is_whole, expected) in [
        (Reason::CANCEL, true, Reason::CANCEL),
        (Reason::INTERNAL_ERROR, true, Reason::CANCEL),
        (Reason::NO_ERROR, true, Reason::CANCEL),
        (Reason::CANCEL, false, Reason::CANCEL),
        (Reason::INTERNAL_ERROR, false, Reason::INTERNAL_ERROR),
        (Reason::NO_ERROR, false, Reason::CANCEL),
    ] {
        let mut agent = Http2Agent::start().await;
        let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
        let mut client = Http2Client::connect(at.proxy.addr()).await;
        let fields = [("content-type", "application/grpc")];
        let (response, mut upload) = client.request("POST", "/x.Y/Z", &fields, false).await;
        upload.send_data(framed(b"x"), is_whole).unwrap();
        let mut arrived = agent.next().await;
        assert_eq!(next_data(&mut arrived.body).await, framed(b"x"));
        upload.send_reset(reason);
        let heard = std::future::poll_fn(|cx| arrived.respond.poll_reset(cx));
        let heard = within("a reset", heard).await.unwrap();
        assert_eq!(heard, expected, "{reason:?} {is_whole}");
        drop(response);
        assert_eq!(at.exchange().await.outcome, Outcome::CutByClient);
    }
}

/// CAN-03
#[tokio::test]
async fn a_client_that_half_closes_gets_its_answer_whole() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&stream_request()).await;
    client.half_close().await;
    upstream.write(HEAD).await;
    upstream.write(event("TASK_STATE_COMPLETED")).await;
    upstream.write("0\r\n\r\n").await;
    let (text, ending) = client.read_to_end().await;
    assert!(text.ends_with("0\r\n\r\n"), "{text}");
    assert_eq!(ending, Ending::Closed);
    assert_eq!(at.exchange().await.outcome, Outcome::Completed);
}

/// CAN-03
#[tokio::test]
async fn a_half_close_that_is_denied_is_recorded_as_leaving() {
    let at = Recorded::start(", half_close: deny", "[]").await;
    let (mut client, mut upstream) = at.ask(&stream_request()).await;
    client.half_close().await;
    upstream.read_to_end().await;
    assert_eq!(at.exchange().await.outcome, Outcome::CutByClient);
}

/// CAN-04
#[tokio::test]
async fn a_stream_that_the_agent_breaks_off_is_broken_for_the_client_and_in_the_recording() {
    for last in ["1a\r\ndata: {\"half\": \"of an even", "0\r\n"] {
        for ending in ["FIN", "RST"] {
            let at = Recorded::start("", "[]").await;
            let (mut client, mut upstream) = streaming(&at).await;
            upstream.write(last).await;
            if ending == "RST" {
                // Once the client has it, the proxy has read it: a reset overtakes what is on the way.
                if last.contains("data") {
                    client.read_until("even").await;
                }
                upstream.reset();
            } else {
                drop(upstream);
            }
            let (text, _) = client.read_to_end().await;
            assert!(!text.contains("0\r\n\r\n"), "{ending} after {last:?}: {text:?}");
            assert_eq!(at.exchange().await.outcome, Outcome::CutByAgent, "{ending} after {last:?}");
        }
    }
}

/// CAN-04
#[tokio::test]
async fn a_stream_that_breaks_off_is_a_reset_for_an_http2_client() {
    let at = Recorded::start("", "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let fields = [("content-type", "application/json")];
    let (response, mut upload) = client.request("POST", "/", &fields, false).await;
    upload.send_data(bytes::Bytes::from_static(b"{}"), true).unwrap();
    let mut upstream = at.agent.accept().await;
    upstream.read_until("{}").await;
    upstream.write(HEAD).await;
    upstream.write("3\r\nabc\r\n").await;
    let mut body = within("an answer", response).await.unwrap().into_body();
    assert_eq!(next_data(&mut body).await, "abc");
    drop(upstream);
    let error = within("a reset", body.data()).await.unwrap().unwrap_err();
    assert!(error.is_reset(), "{error}");
    assert_eq!(at.exchange().await.outcome, Outcome::CutByAgent);
}

/// CAN-05
#[tokio::test]
async fn a_body_that_ends_by_closing_is_broken_by_a_reset_only() {
    let half = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"task\":{\"id\":\"t1\",";
    let whole = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"task\":{\"id\":\"t1\",\"contextId\":\"c\",\
                 \"status\":{\"state\":\"TASK_STATE_COMPLETED\"}}}}";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    for (body, ending, outcome) in [
        (half, "RST", Outcome::CutByAgent),
        (half, "FIN", Outcome::Malformed),
        (whole, "FIN", Outcome::Completed),
    ] {
        let at = Recorded::start("", "[]").await;
        let (mut client, mut upstream) = at.ask(&send("x")).await;
        upstream.write(format!("{head}{body}")).await;
        client.read_until(body).await;
        let text = if ending == "RST" {
            upstream.reset();
            client.read_to_end().await.0
        } else {
            drop(upstream);
            client.read_until("0\r\n\r\n").await
        };
        assert_eq!(text.ends_with("0\r\n\r\n"), ending == "FIN", "{ending}: {text:?}");
        assert_eq!(at.exchange().await.outcome, outcome, "{ending} after {body}");
    }
}

fn call(method: &str, params: &str) -> String {
    let body =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"{method}\",\"params\":{params}}}");
    format!(
        "POST / HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// CAN-07
#[tokio::test]
async fn a_cancel_beside_the_stream_belongs_to_the_same_delegation() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = streaming(&at).await;
    let (mut second, mut beside) = at.ask(&call("CancelTask", "{\"id\":\"t1\"}")).await;
    let canceled = "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"id\":\"t1\",\"contextId\":\"c1\",\
                    \"status\":{\"state\":\"TASK_STATE_CANCELED\"}}}";
    beside
        .write(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{canceled}",
            canceled.len()
        ))
        .await;
    second.read_until(canceled).await;
    upstream.write(event("TASK_STATE_CANCELED") + "0\r\n\r\n").await;
    client.read_until("0\r\n\r\n").await;
    let recording = at.recording(2).await;
    let delegations = recording.delegations(&Filter::default());
    assert_eq!(delegations.len(), 1);
    assert_eq!(delegations[0].outcome, Outcome::Canceled);
    assert_eq!(delegations[0].exchanges.len(), 2);
}

/// CAN-08
#[tokio::test]
async fn how_far_a_stream_came_is_told_apart_from_how_it_ended() {
    for (last, outcome) in [
        ("TASK_STATE_WORKING", Outcome::Incomplete),
        ("TASK_STATE_INPUT_REQUIRED", Outcome::InputRequired),
        ("TASK_STATE_COMPLETED", Outcome::Completed),
        ("TASK_STATE_FAILED", Outcome::Failed),
    ] {
        let at = Recorded::start("", "[]").await;
        let (mut client, mut upstream) = streaming(&at).await;
        upstream.write(event(last) + "0\r\n\r\n").await;
        let text = client.read_until("0\r\n\r\n").await;
        assert_eq!(text, event(last) + "0\r\n\r\n", "a clean end stays clean");
        assert_eq!(at.exchange().await.outcome, outcome, "{last}");
    }
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&stream_request()).await;
    let message = chunk(
        "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"message\":{\"messageId\":\"a\",\"role\":\"ROLE_AGENT\",\
         \"parts\":[{\"text\":\"hi\"}]}}}\n\n",
    );
    upstream.write(format!("{HEAD}{message}0\r\n\r\n")).await;
    client.read_until("0\r\n\r\n").await;
    assert_eq!(at.exchange().await.outcome, Outcome::Message);
}

/// CAN-08: over gRPC a status of 0 is no better an end.
#[tokio::test]
async fn a_grpc_stream_that_ends_well_before_an_end_state_is_incomplete() {
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendStreamingMessage", b"").await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
    // StreamResponse { status_update: { task_id: "t", context_id: "c", status: { state: WORKING } } }
    let update = [b"\x1a\x0a\x0a\x01t\x12\x01c\x1a\x02\x08\x02".as_slice()].concat();
    answer.send_data(framed(&update), false).unwrap();
    let status =
        [(http::HeaderName::from_static("grpc-status"), http::HeaderValue::from_static("0"))];
    answer.send_trailers(status.into_iter().collect()).unwrap();
    let mut body = within("an answer", response).await.unwrap().into_body();
    crate::support::http2::read(&mut body).await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::Incomplete, "{:?}", exchange.problems);
    assert_eq!(exchange.ids.task_id.as_deref(), Some("t"));
}

/// CAN-10
#[tokio::test]
async fn a_stream_that_is_taken_up_again_is_the_same_delegation_and_another_exchange() {
    let at = Recorded::start("", "[]").await;
    let (client, mut upstream) = streaming(&at).await;
    client.reset();
    upstream.read_to_end().await;
    at.recording(1).await;
    let again = call("SubscribeToTask", "{\"id\":\"t1\"}")
        .replace("Host: p", "Host: p\r\nLast-Event-ID: 2");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(&again).await;
        let mut upstream = at.agent.accept().await;
        let head = upstream.read_head().await;
        assert!(head.contains("Last-Event-ID: 2\r\n"), "{head}");
        upstream.write(HEAD).await;
        client.read_head().await;
        open.push((client, upstream));
    }
    for (client, upstream) in &mut open {
        upstream
            .write(event("TASK_STATE_COMPLETED").replace("\"id\":1", "\"id\":2") + "0\r\n\r\n")
            .await;
        client.read_until("0\r\n\r\n").await;
    }
    let recording = at.recording(3).await;
    let delegations = recording.delegations(&Filter::default());
    assert_eq!(delegations.len(), 1);
    assert_eq!(delegations[0].exchanges.len(), 3);
    assert_eq!(delegations[0].outcome, Outcome::Completed);
    let counts: Vec<_> =
        recording.exchanges(&Filter::default()).iter().map(|it| events(it)).collect();
    assert_eq!(counts, [2, 1, 1], "each has its own events");
}
