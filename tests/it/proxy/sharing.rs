//! HTTP/2 connections to the agent: shared by as many calls as the agent takes, and never at a call's
//! cost when the agent goes.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use tokio::net::{TcpListener, TcpStream};

use crate::support::http2::{Http2Client, framed};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, spawn, within};

const GET_TASK: &str = "/lf.a2a.v1.A2AService/GetTask";

type H2 = h2::server::Connection<TcpStream, Bytes>;

async fn proxy_before(agent: SocketAddr) -> (TestProxy, Http2Client) {
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{agent}\" }}");
    let proxy = TestProxy::with(&[forward]);
    let client = Http2Client::connect(proxy.addr()).await;
    (proxy, client)
}

async fn accept(agent: &RawAgent) -> H2 {
    let stream = agent.accept().await.into_stream();
    within("a handshake", h2::server::handshake(stream)).await.unwrap()
}

fn ok(respond: &mut SendResponse<Bytes>) {
    let fields = [("content-type", "application/grpc"), ("grpc-status", "0")];
    let mut response = http::Response::builder();
    for (name, value) in fields {
        response = response.header(name, value);
    }
    respond.send_response(response.body(()).unwrap(), true).unwrap();
}

/// Takes one call on a connection and answers it.
async fn answer_one(connection: &mut H2) {
    let (_, mut respond) = within("a call", connection.accept()).await.unwrap().unwrap();
    ok(&mut respond);
    // The answer leaves when the connection is driven, which `accept` does.
    let cx = &mut std::task::Context::from_waker(std::task::Waker::noop());
    assert!(connection.poll_closed(cx).is_pending());
}

async fn expect_ok(response: h2::client::ResponseFuture) {
    let response = within("an answer", response).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "0", "{:?}", response.headers());
}

/// Answers every call only when `count` calls are open at once, over connections that take `max` each.
/// Gives the number of connections.
async fn hold_until(listener: TcpListener, max: u32, count: usize) -> usize {
    let (send, mut held) = tokio::sync::mpsc::channel(1024);
    let mut connections = 0;
    let mut open = Vec::new();
    let mut tasks = tokio::task::JoinSet::new();
    while open.len() < count {
        tokio::select! {
            accepted = listener.accept() => {
                connections += 1;
                let (stream, send) = (accepted.unwrap().0, send.clone());
                tasks.spawn(async move {
                    let mut builder = h2::server::Builder::new();
                    let serving = builder.max_concurrent_streams(max).handshake(stream);
                    let mut serving: H2 = serving.await.unwrap();
                    while let Some(Ok((_, respond))) = serving.accept().await {
                        send.send(respond).await.unwrap();
                    }
                });
            }
            Some(respond) = held.recv() => open.push(respond),
        }
    }
    for mut respond in open {
        ok(&mut respond);
    }
    while tasks.join_next().await.is_some() {}
    connections
}

/// No call waits behind another that may never end: what one connection does not take, the next does.
#[tokio::test]
async fn more_calls_than_a_connection_takes_open_another() {
    for (max, count) in [(100, 300), (7, 40), (1, 5), (u32::MAX, 300)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (proxy, mut client) = proxy_before(listener.local_addr().unwrap()).await;
        let agent = spawn(hold_until(listener, max, count));
        let mut calls = Vec::new();
        for _ in 0..count {
            calls.push(client.call(GET_TASK, b"x").await);
        }
        for call in calls {
            expect_ok(call).await;
        }
        proxy.stop(std::time::Duration::ZERO).await;
        drop(client);
        let connections = within("the agent's account", agent).await.unwrap();
        let least = count.div_ceil(max as usize);
        assert_eq!(connections, least, "{count} calls over connections of {max}");
    }
}

/// KEEP-03
#[tokio::test]
async fn a_connection_that_the_agent_leaves_costs_no_call_that_came_too_late() {
    for reason in [Reason::NO_ERROR, Reason::ENHANCE_YOUR_CALM] {
        let agent = RawAgent::start().await;
        let (_proxy, mut client) = proxy_before(agent.addr).await;
        let first = client.call(GET_TASK, b"1").await;
        let mut raw = agent.accept().await;
        let preface = raw.read_exactly(24).await;
        assert!(preface.starts_with(b"PRI * HTTP/2.0"));
        raw.write([0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
        read_headers_of(&mut raw, 1).await;
        let second = client.call(GET_TASK, b"2").await;
        // The second call has been written: stream 3. The agent says it has seen up to 1, and leaves.
        read_headers_of(&mut raw, 3).await;
        let code = u8::try_from(u32::from(reason)).unwrap();
        raw.write([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, code]).await;
        let mut fresh = accept(&agent).await;
        answer_one(&mut fresh).await;
        let fresh = spawn(async move { while fresh.accept().await.is_some() {} });
        expect_ok(second).await;
        // The first may have been acted upon: its connection ends, and it fails.
        drop(raw);
        let answer = within("an answer", first).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], "14");
        assert!(agent.is_left_alone(), "it is not sent again");
        fresh.abort();
    }
}

/// Reads frames until the HEADERS of this stream.
async fn read_headers_of(raw: &mut RawConn, stream: u8) {
    loop {
        let head = raw.read_exactly(9).await;
        let len = usize::from(head[1]) << 8 | usize::from(head[2]);
        raw.read_exactly(len).await;
        if head[3] == 1 && head[8] == stream {
            return;
        }
    }
}

/// KEEP-02
#[tokio::test]
async fn an_idle_connection_that_the_agent_closed_costs_no_call() {
    let agent = RawAgent::start().await;
    let (_proxy, mut client) = proxy_before(agent.addr).await;
    for round in 0..20 {
        let call = client.call(GET_TASK, b"x").await;
        let mut connection = accept(&agent).await;
        answer_one(&mut connection).await;
        if round % 2 == 0 {
            // With a goodbye ...
            connection.graceful_shutdown();
        }
        let serving = spawn(async move { while connection.accept().await.is_some() {} });
        expect_ok(call).await;
        // ... or without.
        serving.abort();
        drop(serving.await);
    }
}

/// KEEP-03
#[tokio::test]
async fn calls_go_to_a_new_connection_while_the_old_one_ends_in_peace() {
    let agent = RawAgent::start().await;
    let (_proxy, mut client) = proxy_before(agent.addr).await;
    let running = client.call(GET_TASK, b"1").await;
    let mut old = accept(&agent).await;
    let (_, mut respond) = within("a call", old.accept()).await.unwrap().unwrap();
    old.graceful_shutdown();
    let old = spawn(async move { while old.accept().await.is_some() {} });
    let mut calls = Vec::new();
    for _ in 0..10 {
        calls.push(client.call(GET_TASK, framed(b"x").as_ref()).await);
    }
    let mut fresh = accept(&agent).await;
    for _ in 0..10 {
        answer_one(&mut fresh).await;
    }
    let fresh = spawn(async move { while fresh.accept().await.is_some() {} });
    for call in calls {
        expect_ok(call).await;
    }
    ok(&mut respond);
    expect_ok(running).await;
    within("the old connection to end", old).await.unwrap();
    fresh.abort();
}
