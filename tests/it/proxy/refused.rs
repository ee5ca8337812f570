//! What Meddler itself turns away, and what only looks as if it had to.

use meddler::record::exchange::Outcome;
use meddler::record::query::Filter;
use tokio::net::TcpListener;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

#[tokio::test]
async fn a_refusal_is_marked_and_recorded() {
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n".to_owned(), 400),
        ("GET /.meddler/nothing HTTP/1.1\r\nHost: p\r\n\r\n".to_owned(), 404),
        ("CONNECT a.test:1 HTTP/1.1\r\nHost: a.test:1\r\n\r\n".to_owned(), 405),
        (format!("GET / HTTP/1.1\r\nHost: p\r\nX: {}\r\n\r\n", "x".repeat(200_000)), 431),
    ] {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(&request).await;
        let head = client.read_head().await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(head.contains("meddler-error: refused\r\n"), "{head}");
        assert!(head.contains("content-type: application/problem+json\r\n"), "{head}");
        let exchange = at.exchange().await;
        assert_eq!(exchange.outcome, Outcome::Error, "{status}");
        assert!(exchange.upstream.is_none() && exchange.response.is_none());
        assert_eq!(exchange.delivered.as_ref().unwrap().status, status);
        assert!(at.agent.is_left_alone());
        assert!(at.recording(1).await.delegations(&Filter::default()).is_empty());
    }
}

#[tokio::test]
async fn a_path_too_long_is_refused_and_recorded() {
    let at = Recorded::start("forward: \"http://localhost:9/a-base-path\"", "[]").await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    let path = "x".repeat(65_525);
    client.write(format!("GET /{path} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 414 "), "{head}");
    assert_eq!(at.exchange().await.delivered.as_ref().unwrap().status, 414);
}

/// HTTP-13
#[tokio::test]
async fn a_header_section_over_the_limit_costs_one_stream_and_no_other() {
    let mut agent = Http2Agent::start().await;
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[forward]);
    let mut client = Http2Client::connect(proxy.addr()).await;
    let path = "/lf.a2a.v1.A2AService/GetTask";
    let other = client.call(path, b"x").await;
    let mut arrived = agent.next().await;
    let large = "x".repeat(50_000);
    let fields =
        [("content-type", "application/grpc"), ("a", &large), ("b", &large), ("c", &large)];
    let (response, _upload) = client.request("POST", path, &fields, false).await;
    let refused = within("a refusal", response).await.unwrap();
    assert_eq!(refused.headers()["grpc-status"], "8");
    assert_eq!(refused.headers()["meddler-error"], "refused");
    arrived.answer_only(&[("content-type", "application/grpc"), ("grpc-status", "0")]);
    assert_eq!(within("the other", other).await.unwrap().headers()["grpc-status"], "0");
    // A token of 20 kB and a status of 30 kB are nothing special.
    let fields = [("content-type", "application/grpc"), ("authorization", &large[..20_000])];
    let (response, mut upload) = client.request("POST", path, &fields, false).await;
    upload.send_data(framed(b"x"), true).unwrap();
    let mut arrived = agent.next().await;
    assert_eq!(arrived.head.headers["authorization"].len(), 20_000);
    let details = ("grpc-status-details-bin", &large[..30_000]);
    arrived.answer_only(&[("content-type", "application/grpc"), ("grpc-status", "3"), details]);
    let answer = within("an answer", response).await.unwrap();
    assert_eq!(answer.headers()["grpc-status-details-bin"].len(), 30_000);
}

#[tokio::test]
async fn a_rule_answers_a_grpc_call_before_any_card_is_asked_for() {
    let at = Recorded::start("", "[{ name: no, inject: { error: {} } }]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendMessage", b"").await;
    within("an answer", response).await.unwrap();
    assert_eq!(at.exchange().await.outcome, Outcome::AnsweredByFault);
    assert!(at.agent.is_left_alone());
}

#[tokio::test]
async fn a_grpc_call_is_recorded_with_the_interface_that_its_card_named() {
    let mut grpc = Http2Agent::start().await;
    let at = Recorded::start("", "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/GetTask", b"").await;
    let mut fetching = at.agent.accept().await;
    fetching.read_head().await;
    let card = format!(
        r#"{{"name":"a","supportedInterfaces":[{{"url":"localhost:{}","protocolBinding":"GRPC","protocolVersion":"1.0"}}]}}"#,
        grpc.addr.port()
    );
    fetching
        .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len()))
        .await;
    grpc.next().await.answer_only(&[("content-type", "application/grpc"), ("grpc-status", "5")]);
    within("an answer", response).await.unwrap();
    let expected = format!("http://localhost:{}", grpc.addr.port());
    assert_eq!(at.exchange().await.upstream.as_deref(), Some(expected.as_str()));
}

#[tokio::test]
async fn one_agent_may_stand_behind_another_and_a_ring_is_found_out() {
    let taken = [(); 3].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let [first, second, third] =
        taken.each_ref().map(|listener| listener.local_addr().unwrap().port());
    drop(taken);
    let agent = RawAgent::start().await;
    let entry = |listen, forward| {
        format!("{{ listen: \"127.0.0.1:{listen}\", forward: \"http://localhost:{forward}\" }}")
    };
    let chain = [entry(first, second), entry(second, third), entry(third, agent.addr.port())];
    let proxy = TestProxy::with(&chain);
    for _ in 0..2 {
        let mut client = RawConn::connect(proxy.at[0]).await;
        client.write("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut upstream = agent.accept().await;
        assert!(upstream.read_head().await.starts_with("GET /x HTTP/1.1\r\n"));
        upstream.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await;
        assert!(client.read_until("\r\n\r\nok").await.starts_with("HTTP/1.1 200 OK\r\n"));
    }
    proxy.stop(std::time::Duration::from_secs(1)).await;

    let ring = [entry(first, second), entry(second, third), entry(third, first)];
    let proxy = TestProxy::with(&ring);
    for at in &proxy.at {
        let mut client = RawConn::connect(*at).await;
        client.write("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let head = client.read_head().await;
        assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
        assert!(head.contains("meddler-error: loop\r\n"), "{head}");
    }
}

/// TIME-02: four ways to get no answer, each told apart; the fourth client leaves by itself.
#[tokio::test]
async fn a_client_that_gives_up_is_no_fault_of_the_agent() {
    let at = Recorded::start("", "[]").await;
    let (client, mut upstream) = at.ask("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    client.reset();
    upstream.read_to_end().await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::CutByClient);
    assert!(exchange.response.is_none() && exchange.delivered.is_none());
}

#[tokio::test]
async fn the_text_of_a_refusal_names_no_part_of_the_inside() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = TestProxy::before(free);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let text = client.read_until("}").await;
    for word in ["hyper", "h2::", "tokio", "src/", "os error"] {
        assert!(!text.contains(word), "{text}");
    }
}
