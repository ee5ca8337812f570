//! Time: what comes is passed on at once, and an end on one side is an end on the other.

use crate::support::proxies::TestProxy;
use crate::support::raw::{Ending, RawAgent, RawConn};

const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const ASK: &str = "POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}";

/// A client and an agent between whom a stream has begun.
struct Begun {
    client: RawConn,
    upstream: RawConn,
    proxy: TestProxy,
    _agent: RawAgent,
}

async fn begin() -> Begun {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    upstream.write(STREAM).await;
    assert_eq!(client.read_head().await, STREAM);
    Begun { client, upstream, proxy, _agent: agent }
}

/// SSE-10
#[tokio::test]
async fn an_event_arrives_before_the_next_one_is_sent() {
    let mut begun = begin().await;
    for event in ["data: 1\r\n\r\n", "data: 2\r\n\r\n", ": ping\r\n\r\n", "d", "ata: 3\n\n"] {
        let chunk = format!("{:X}\r\n{event}\r\n", event.len());
        begun.upstream.write(&chunk).await;
        let came = begun.client.read_exactly(chunk.len()).await;
        assert_eq!(String::from_utf8(came).unwrap(), chunk);
    }
    begun.upstream.write("0\r\n\r\n").await;
    assert_eq!(begun.client.read_until("0\r\n\r\n").await, "0\r\n\r\n");
}

#[tokio::test]
async fn an_upload_is_passed_on_as_it_comes() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 6\r\n\r\nab").await;
    let mut upstream = agent.accept().await;
    upstream.read_until("\r\n\r\nab").await;
    client.write("cd").await;
    assert_eq!(upstream.read_exactly(2).await, b"cd");
    client.write("ef").await;
    assert_eq!(upstream.read_exactly(2).await, b"ef");
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    client.read_head().await;
}

/// CAN-04
#[tokio::test]
async fn a_stream_cut_by_the_agent_is_cut_for_the_client_after_all_that_came() {
    for (last, ending) in [
        ("1a\r\ndata: {\"half\": \"of an even", "FIN"),
        ("1a\r\ndata: {\"half\": \"of an even", "RST"),
        ("5\r\nhello\r\n0\r\n", "FIN"),
    ] {
        let mut begun = begin().await;
        begun.upstream.write("3\r\nabc\r\n").await;
        assert_eq!(begun.client.read_until("3\r\nabc\r\n").await, "3\r\nabc\r\n");
        begun.upstream.write(last).await;
        if ending == "RST" {
            // The octets must have arrived: a reset overtakes what is still on the way.
            begun.client.read_until("even").await;
            begun.upstream.reset();
        } else {
            drop(begun.upstream);
        }
        let (text, _) = begun.client.read_to_end().await;
        assert!(!text.contains("0\r\n\r\n"), "{ending} after {last:?} ended well: {text:?}");
        if ending == "FIN" {
            let octets = last.split("\r\n").nth(1).unwrap();
            assert!(text.contains(octets), "{octets:?} was lost: {text:?}");
        }
    }
}

#[tokio::test]
async fn a_body_shorter_than_promised_is_as_short_for_the_client() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"only\": \"this\"";
    upstream.write(answer).await;
    drop(upstream);
    let (text, _) = client.read_to_end().await;
    assert_eq!(text, answer);
}

/// CAN-05
#[tokio::test]
async fn a_body_ended_by_closing_is_passed_on_whole() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    upstream.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello").await;
    drop(upstream);
    assert!(client.read_until("0\r\n\r\n").await.contains("5\r\nhello\r\n"));
}

/// CAN-01
#[tokio::test]
async fn a_client_that_resets_is_gone_for_the_agent_at_once() {
    // While the answer is awaited ...
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    client.reset();
    assert_eq!(upstream.read_to_end().await, (String::new(), Ending::Closed));
    // ... and in the middle of it, without a further octet from the agent.
    let mut begun = begin().await;
    begun.client.reset();
    assert_eq!(begun.upstream.read_to_end().await, (String::new(), Ending::Closed));
}

#[tokio::test]
async fn a_client_that_closes_in_mid_stream_is_gone_with_the_next_event() {
    let mut begun = begin().await;
    drop(begun.client);
    begun.upstream.write("3\r\nabc\r\n").await;
    assert_eq!(begun.upstream.read_to_end().await.1, Ending::Closed);
    drop(begun.proxy);
}

/// CAN-03
#[tokio::test]
async fn a_client_that_only_ends_its_own_direction_gets_its_answer() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    client.half_close().await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    let (text, ending) = client.read_to_end().await;
    assert_eq!(text, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    assert_eq!(ending, Ending::Closed);
}

/// CAN-03
#[tokio::test]
async fn half_close_can_be_taken_for_leaving() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://{}\", half_close: deny }}",
        agent.addr
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("{}").await;
    client.half_close().await;
    assert_eq!(upstream.read_to_end().await, (String::new(), Ending::Closed));
}

#[tokio::test]
async fn a_client_that_leaves_during_its_upload_is_no_end_of_the_upload() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client
        .write("POST / HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .await;
    let mut upstream = agent.accept().await;
    upstream.read_until("3\r\nabc\r\n").await;
    drop(client);
    let (text, _) = upstream.read_to_end().await;
    assert_eq!(text, "", "the last chunk must not be sent");
}

/// HTTP-03
#[tokio::test]
async fn an_early_answer_reaches_a_client_that_is_still_sending() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 200000000\r\n\r\nabc").await;
    let mut upstream = agent.accept().await;
    upstream.read_until("abc").await;
    let answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!";
    upstream.write(answer).await;
    let came = client.read_exactly(answer.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), answer);
}

/// HTTP-01
#[tokio::test]
async fn the_agent_decides_whether_an_expected_upload_goes_on() {
    let ask = "POST / HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    // It says no: the body is not asked for.
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ask).await;
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.contains("Expect: 100-continue\r\n"));
    let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n";
    upstream.write(answer).await;
    let came = client.read_exactly("HTTP/1.1 401".len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), "HTTP/1.1 401");
    // It says yes.
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ask).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 100 Continue\r\n\r\n").await;
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.write("abc").await;
    assert_eq!(upstream.read_exactly(3).await, b"abc");
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 200 OK\r\n"), "one 100 and no more");
}

/// HTTP-01
#[tokio::test]
async fn an_agent_that_knows_no_expectations_gets_the_upload_all_the_same() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    let ask = "POST / HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    client.write(ask).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.write("abc").await;
    assert_eq!(upstream.read_exactly(3).await, b"abc");
}
