//! Connections to the agent: used again while they are good, and never at the request's cost.

use std::time::Duration;

use bytes::Bytes;
use meddler::base::limits::Limits;

use crate::support::http2::{Http2Agent, Http2Client};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, spawn, within};

const ASK: &str = "POST / HTTP/1.1\r\nHost: p\r\nContent-Length: 2\r\n\r\n{}";
const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn answer(upstream: &mut RawConn) {
    upstream.read_until("{}").await;
    upstream.write(ANSWER).await;
}

async fn expect_answer(client: &mut RawConn) {
    let came = client.read_exactly(ANSWER.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), ANSWER);
}

#[tokio::test]
async fn a_connection_is_used_again_by_any_client() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut first = RawConn::connect(proxy.addr()).await;
    let mut second = RawConn::connect(proxy.addr()).await;
    first.write(ASK).await;
    let mut upstream = agent.accept().await;
    answer(&mut upstream).await;
    expect_answer(&mut first).await;
    for _ in 0..3 {
        for client in [&mut first, &mut second] {
            client.write(ASK).await;
            answer(&mut upstream).await;
            expect_answer(client).await;
        }
    }
    assert!(agent.is_left_alone());
}

/// KEEP-02
#[tokio::test]
async fn a_connection_the_agent_has_closed_costs_no_request() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    for _ in 0..20 {
        client.write(ASK).await;
        let mut upstream = agent.accept().await;
        answer(&mut upstream).await;
        expect_answer(&mut client).await;
        drop(upstream);
    }
}

#[tokio::test]
async fn a_connection_the_agent_wants_closed_is_not_used_again() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    for _ in 0..3 {
        client.write(ASK).await;
        let mut upstream = agent.accept().await;
        upstream.read_until("{}").await;
        upstream.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await;
        expect_answer(&mut client).await;
        assert_eq!(upstream.read_to_end().await.0, "");
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK.repeat(3)).await;
    let mut upstream = agent.accept().await;
    for number in 0..3 {
        upstream.read_until("{}").await;
        upstream.write(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}")).await;
    }
    for number in 0..3 {
        client.read_head().await;
        assert_eq!(client.read_exactly(1).await, format!("{number}").as_bytes());
    }
}

/// KEEP-05
#[tokio::test]
async fn a_connection_past_its_age_takes_no_further_request() {
    let limits = Limits { connection_age: Duration::ZERO, ..Limits::default() };
    let agent = RawAgent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}\" }}", agent.addr);
    let around = Surroundings { limits: limits.clone(), ..Surroundings::default() };
    let proxy = TestProxy::within(&[config], around);
    let mut client = RawConn::connect(proxy.addr()).await;
    for _ in 0..2 {
        client.write(ASK).await;
        let mut upstream = agent.accept().await;
        answer(&mut upstream).await;
        expect_answer(&mut client).await;
        assert_eq!(upstream.read_to_end().await.0, "", "it is closed");
    }
    let mut agent = Http2Agent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::within(&[config], Surroundings { limits, ..Surroundings::default() });
    let mut client = Http2Client::connect(proxy.addr()).await;
    let running = client.call("/x.Y/Z", b"1").await;
    let mut first = agent.next().await;
    let next = client.call("/x.Y/Z", b"2").await;
    let mut second = agent.next().await;
    assert_ne!(first.connection, second.connection);
    for (arrived, call) in [(&mut second, next), (&mut first, running)] {
        arrived.answer_only(&[("content-type", "application/grpc"), ("grpc-status", "0")]);
        let answer = within("an answer", call).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], "0", "what is under way may end");
    }
}

/// KEEP-05: `localhost` has two addresses, and the agent listens at one of them.
#[tokio::test]
async fn an_address_that_does_not_answer_is_passed_over() {
    let agent = RawAgent::start().await;
    let port = agent.addr.port();
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://localhost:{port}\" }}");
    let proxy = TestProxy::with(&[config]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    answer(&mut upstream).await;
    expect_answer(&mut client).await;
}

/// One port for everything, as agents have it: HTTP/2 there is for gRPC, and for nothing else.
#[tokio::test]
async fn a_connection_for_grpc_is_never_used_for_http() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut grpc = Http2Client::connect(proxy.addr()).await;
    let answered = grpc.call("/lf.a2a.v1.A2AService/GetTask", b"x").await;

    let mut asked = agent.accept().await;
    asked.read_head().await;
    let card = format!(
        r#"{{"name":"a","supportedInterfaces":[{{"url":"{}","protocolBinding":"GRPC","protocolVersion":"1.0"}}]}}"#,
        agent.addr
    );
    let head =
        format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", card.len());
    asked.write(head + &card).await;
    let mut over_http2 =
        within("a handshake", h2::server::handshake(agent.accept().await.into_stream()))
            .await
            .unwrap();
    let (_, mut respond) = within("a call", over_http2.accept()).await.unwrap().unwrap();
    let ok = http::Response::builder()
        .header("content-type", "application/grpc")
        .header("grpc-status", "5")
        .body(())
        .unwrap();
    respond.send_response(ok, true).unwrap();
    let driven = spawn(async move { over_http2.accept().await.is_none() });
    assert_eq!(within("an answer", answered).await.unwrap().headers()["grpc-status"], "5");

    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    answer(&mut upstream).await;
    expect_answer(&mut client).await;
    let (response, mut upload) =
        grpc.request("POST", "/", &[("content-type", "application/json")], false).await;
    upload.send_data(Bytes::from_static(b"{}"), true).unwrap();
    answer(&mut upstream).await;
    assert_eq!(within("an answer", response).await.unwrap().status(), 200);
    driven.abort();
}
