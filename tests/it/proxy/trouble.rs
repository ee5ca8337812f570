//! Upstream trouble is never hidden, and says by a word what it is.

use std::time::Duration;

use tokio::net::TcpListener;

use crate::support::http2::Http2Client;
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, spawn, within};

/// What clients of both kinds are told about an agent with this configuration.
async fn check(agent: &str, http: &str, word: &str, grpc: &str) {
    let proxy = TestProxy::with(&[format!("{{ listen: \"127.0.0.1:0\", {agent} }}")]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}").await;
    let head = client.read_head().await;
    assert!(head.starts_with(&format!("HTTP/1.1 {http} ")), "{agent}: {head}");
    assert!(head.contains(&format!("meddler-error: {word}\r\n")), "{agent}: {head}");
    assert!(head.contains("content-type: application/problem+json\r\n"), "{agent}: {head}");
    assert!(client.read_until("}").await.contains("\"detail\":\""), "{agent}");
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/GetTask", b"x").await;
    let response = within("an answer", response).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["grpc-status"], grpc, "{agent}");
    assert_eq!(response.headers()["meddler-error"], word, "{agent}");
    assert!(response.body().is_end_stream(), "{agent}: Trailers-Only");
}

/// TIME-02
#[tokio::test]
async fn an_agent_that_is_not_there_is_told_from_one_that_does_not_exist() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    check(&format!("forward: \"http://{free}\""), "502", "connect_refused", "14").await;
    check("forward: \"http://agent.invalid:9\"", "502", "dns", "14").await;
}

/// TIME-01, TIME-02
#[tokio::test]
async fn a_silent_agent_is_waited_for_only_as_long_as_configured() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let silent = spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            open.push(stream);
        }
    });
    let config = format!("forward: \"http://{addr}\", timeout: {{ first_byte: 50ms }}");
    check(&config, "504", "first_byte_timeout", "4").await;
    // A TLS handshake that is never answered counts as connecting.
    let config = format!("forward: \"https://{addr}\", timeout: {{ connect: 50ms }}");
    check(&config, "504", "connect_timeout", "14").await;
    silent.abort();
}

#[tokio::test]
async fn an_agent_that_speaks_no_tls_or_no_http_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let babbling = spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 1024];
            drop(stream.read(&mut buffer).await);
            drop(stream.write_all(b"220 mail.test ESMTP\r\n\r\n\r\n").await);
            drop(stream.shutdown().await);
        }
    });
    check(&format!("forward: \"https://{addr}\", tls: {{ insecure: true }}"), "502", "tls", "14")
        .await;
    let proxy = TestProxy::before(addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.contains("meddler-error: protocol\r\n"), "{head}");
    babbling.abort();
}

/// HTTP-10
#[tokio::test]
async fn an_agent_that_switches_protocols_unasked_is_refused() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream
        .write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
        .await;
    let head = client.read_head().await;
    assert!(head.contains("meddler-error: protocol\r\n"), "{head}");
    assert_eq!(upstream.read_to_end().await.0, "");
}

/// KEEP-02
#[tokio::test]
async fn an_agent_that_closes_without_an_answer_is_not_asked_twice() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    for ending in ["closed", "reset"] {
        let mut client = RawConn::connect(proxy.addr()).await;
        client.write("POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}").await;
        let mut upstream = agent.accept().await;
        upstream.read_until("{}").await;
        if ending == "reset" {
            upstream.reset();
        } else {
            drop(upstream);
        }
        let head = client.read_head().await;
        assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
        assert!(head.contains(&format!("meddler-error: {ending}\r\n")), "{head}");
        assert!(agent.is_left_alone(), "it may have begun the work");
    }
}

#[tokio::test]
async fn an_answer_that_falls_silent_is_cut_when_that_is_configured() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://{}\", timeout: {{ idle: 50ms }} }}",
        agent.addr
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").await;
    let (text, _) = client.read_to_end().await;
    assert!(text.ends_with("1\r\na\r\n"), "{text}");
    assert_eq!(upstream.read_to_end().await.0, "", "the agent is let go as well");
}

#[tokio::test]
async fn a_request_that_comes_round_is_refused() {
    // The port must be known before the agent is: take one, and let it go again.
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let agent = format!("{{ listen: \"127.0.0.1:{port}\", forward: \"http://localhost:{port}\" }}");
    let proxy = TestProxy::within(&[agent], Surroundings::default());
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    assert!(head.contains("meddler-error: loop\r\n"), "{head}");
    proxy.stop(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_port_in_use_is_an_error_at_start() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = taken.local_addr().unwrap();
    let agent = format!("{{ listen: \"{addr}\", forward: \"http://127.0.0.1:9\" }}");
    let error = TestProxy::try_within(&[agent], Surroundings::default()).err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(error.to_string(), "agent `agent0`: cannot start");
    assert_eq!(source, format!("cannot listen on {addr}"));
}
