//! Interim answers, and uploads that wait for one.

use bytes::Bytes;

use crate::support::http2::{Http2Agent, Http2Client, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

const GET: &str = "GET / HTTP/1.1\r\nHost: p\r\n\r\n";
const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn interim_answers_reach_the_client_when_they_come() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    let mut upstream = None;
    for _ in 0..3 {
        client.write(GET).await;
        let mut conn = match upstream.take() {
            Some(conn) => conn,
            None => agent.accept().await,
        };
        conn.read_head().await;
        conn.write("HTTP/1.1 102 Processing\r\n\r\n").await;
        assert_eq!(client.read_head().await, "HTTP/1.1 102 Processing\r\n\r\n");
        conn.write(HINTS).await;
        assert_eq!(client.read_head().await, HINTS);
        conn.write(OK).await;
        assert_eq!(client.read_until("\r\n\r\nok").await, OK);
        // All in one segment as well.
        client.write(GET).await;
        conn.read_head().await;
        conn.write(format!("{HINTS}{OK}")).await;
        assert_eq!(client.read_until("\r\n\r\nok").await, format!("{HINTS}{OK}"));
        upstream = Some(conn);
    }
}

/// Pipelined requests must not have an interim answer in the middle of the answer before.
#[tokio::test]
async fn an_interim_answer_never_parts_another_answer() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(GET.repeat(2)).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let body = "y".repeat(20_000_000);
    upstream.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len())).await;
    let ((), head) = tokio::join!(
        async {
            upstream.write(&body).await;
            upstream.read_head().await;
            upstream.write(format!("{HINTS}{OK}")).await;
        },
        async {
            let head = client.read_head().await;
            assert_eq!(client.read_exactly(body.len()).await, body.as_bytes());
            head
        }
    );
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
    let rest = client.read_until("\r\n\r\nok").await;
    assert!(rest == OK || rest == format!("{HINTS}{OK}"), "{rest}");
}

#[tokio::test]
async fn clients_that_know_no_interim_answers_get_none() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut old = RawConn::connect(proxy.addr()).await;
    old.write("GET / HTTP/1.0\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write(format!("{HINTS}{OK}")).await;
    assert!(old.read_until("\r\n\r\nok").await.contains(" 200 OK\r\n"));
    let mut client = Http2Client::connect(proxy.addr()).await;
    let (response, _) = client.request("GET", "/", &[], true).await;
    upstream.read_head().await;
    upstream.write(format!("{HINTS}{OK}")).await;
    let mut body = within("an answer", response).await.unwrap().into_body();
    assert_eq!(read(&mut body).await.0, b"ok");
}

/// HTTP-01
#[tokio::test]
async fn an_upload_that_expects_a_word_goes_to_an_http2_agent_at_once() {
    let mut agent = Http2Agent::start().await;
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[forward]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client
        .write(
            "POST /message:send HTTP/1.1\r\nHost: p\r\nContent-Type: application/grpc\r\n\
             Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n",
        )
        .await;
    assert_eq!(client.read_head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    let body = vec![b'x'; 2_000_000];
    let mut arrived = agent.next().await;
    let ((), (came, _)) = tokio::join!(client.write(&body), arrived.read());
    assert_eq!(came.len(), body.len());
    let mut answer = arrived.answer(&[("x", "1")]);
    answer.send_data(Bytes::from_static(b"ok"), true).unwrap();
    assert!(client.read_head().await.starts_with("HTTP/1.1 200 OK\r\n"), "one 100 and no more");
}

/// HTTP-01
#[tokio::test]
async fn an_agent_that_answers_instead_of_the_word_is_heard_and_no_body_is_asked_for() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client
        .write(
            "POST / HTTP/1.1\r\nHost: p\r\nExpect: 100-continue\r\nContent-Length: 2000000\r\n\r\n",
        )
        .await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let answer =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 5\r\n\r\nlogin";
    upstream.write(answer).await;
    let came = client.read_until("login").await;
    assert!(came.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{came}");
    assert!(!came.contains(" 100 "), "{came}");
    let (rest, _) = upstream.read_to_end().await;
    assert_eq!(rest, "", "nothing of the body was sent");
}
