//! Other protocols on an HTTP/1.1 connection.

use meddler::record::exchange::Outcome;

use super::recorded::Recorded;
use crate::support::raw::{Ending, RawConn};

const ASK: &str = "GET /ws HTTP/1.1\r\nHost: p\r\nConnection: keep-alive, Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n\r\n";
const AGREED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\
                      Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";

/// A client and an agent that have agreed on WebSocket.
async fn upgraded(at: &Recorded) -> (RawConn, RawConn) {
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = at.agent.accept().await;
    let head = upstream.read_head().await;
    assert!(head.starts_with("GET /ws HTTP/1.1\r\n"), "{head}");
    for field in
        ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZQ=="]
    {
        assert!(head.to_lowercase().contains(&format!("{}\r\n", field.to_lowercase())), "{head}");
    }
    // The first frame comes with the agreement.
    upstream.write(format!("{AGREED}hello")).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    assert!(head.to_lowercase().contains("connection: upgrade\r\n"), "{head}");
    assert!(head.to_lowercase().contains("upgrade: websocket\r\n"), "{head}");
    assert!(head.to_lowercase().contains("sec-websocket-accept: x\r\n"), "{head}");
    assert_eq!(client.read_exactly(5).await, b"hello");
    (client, upstream)
}

/// HTTP-10
#[tokio::test]
async fn octets_of_another_protocol_pass_both_ways_and_are_counted() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = upgraded(&at).await;
    for number in 0..3_u8 {
        client.write([number; 3]).await;
        assert_eq!(upstream.read_exactly(3).await, [number; 3]);
        upstream.write([0x80 | number; 2]).await;
        assert_eq!(client.read_exactly(2).await, [0x80 | number; 2]);
    }
    drop(client);
    assert_eq!(upstream.read_to_end().await, (String::new(), Ending::Closed));
    drop(upstream);
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::Completed);
    let response = exchange.response.as_ref().unwrap();
    assert_eq!((response.status, response.body.bytes), (101, 11));
    assert_eq!(exchange.request.body.bytes, 9);
    assert!(response.headers.iter().any(|(name, value)| name == "upgrade" && value == "websocket"));
}

/// HTTP-10
#[tokio::test]
async fn an_agent_that_closes_the_other_protocol_closes_it_for_the_client() {
    let at = Recorded::start("", "[]").await;
    let (mut client, upstream) = upgraded(&at).await;
    drop(upstream);
    assert_eq!(client.read_to_end().await, (String::new(), Ending::Closed));
    // A reset is an end as well.
    drop(client);
    let (client, mut upstream) = upgraded(&at).await;
    client.reset();
    upstream.read_to_end().await;
    at.recording(2).await;
}

/// HTTP-10
#[tokio::test]
async fn an_agent_that_does_not_agree_answers_as_ever() {
    for (answer, field) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ""),
        (
            "HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\n\
             Content-Length: 2\r\n\r\nok",
            "upgrade: chat/2\r\n",
        ),
    ] {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(ASK).await;
        let mut upstream = at.agent.accept().await;
        upstream.read_head().await;
        upstream.write(answer).await;
        let came = client.read_until("\r\n\r\nok").await;
        assert_eq!(came.lines().next(), answer.lines().next());
        assert!(came.to_lowercase().contains(field), "{came}");
        // It is an HTTP connection still.
        client.write("GET /next HTTP/1.1\r\nHost: p\r\n\r\n").await;
        upstream.read_until("/next").await;
    }
}

/// HTTP-10: Java's client asks for it with its first request, and would be lost from sight.
#[tokio::test]
async fn http2_by_upgrade_is_not_asked_for() {
    let at = Recorded::start("", "[]").await;
    let ask = "GET / HTTP/1.1\r\nHost: p\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
               HTTP2-Settings: AAEAAEAA\r\nX: 1\r\n\r\n";
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(ask).await;
    let mut upstream = at.agent.accept().await;
    let head = upstream.read_head().await;
    assert_eq!(
        head,
        format!("GET / HTTP/1.1\r\nHost: localhost:{}\r\nX: 1\r\n\r\n", at.agent.addr.port())
    );
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.read_until("\r\n\r\nok").await;
}

/// HTTP-10
#[tokio::test]
async fn a_stop_ends_what_has_been_upgraded() {
    let at = Recorded::start("", "[]").await;
    let (mut client, _upstream) = upgraded(&at).await;
    at.proxy.stop(std::time::Duration::from_millis(20)).await;
    client.read_to_end().await;
    assert_eq!(at.exchange().await.outcome, Outcome::OpenAtStop);
}
