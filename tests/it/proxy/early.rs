//! An answer that comes before its request has ended.

use bytes::Bytes;
use h2::Reason;
use meddler::record::exchange::Outcome;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, next_data, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, spawn, within};

const UPLOAD: &str = "POST / HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n";
const REFUSAL: &str =
    "HTTP/1.1 413 Content Too Large\r\nContent-Length: 16\r\n\r\n{\"error\":\"much\"}";

/// HTTP-03
#[tokio::test]
async fn an_agent_that_refuses_and_closes_is_heard_and_the_sending_stops() {
    for _ in 0..10 {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(UPLOAD).await;
        client.write("10000\r\n").await;
        client.write(vec![b'x'; 0x10000]).await;
        client.write("\r\n").await;
        let mut upstream = at.agent.accept().await;
        upstream.read_until("\r\n\r\n").await;
        // What is unread when it closes makes its kernel reset the connection, after the answer.
        upstream.write(REFUSAL).await;
        drop(upstream);
        // A client that does not look: it sends until it cannot.
        let (mut reader, mut writer) = client.into_stream().into_split();
        let sending = spawn(async move {
            use tokio::io::AsyncWriteExt;
            let portion = [b"8000\r\n".to_vec(), vec![b'x'; 0x8000], b"\r\n".to_vec()].concat();
            let mut portions = 0;
            while writer.write_all(&portion).await.is_ok() {
                portions += 1;
                assert!(portions < 6_400, "200 MB went nowhere");
            }
        });
        let mut came = vec![0; REFUSAL.len()];
        within("the refusal", tokio::io::AsyncReadExt::read_exact(&mut reader, &mut came))
            .await
            .unwrap();
        assert_eq!(String::from_utf8(came).unwrap(), REFUSAL);
        within("the sending to stop", sending).await.unwrap();
        let exchange = at.exchange().await;
        assert_eq!(exchange.outcome, Outcome::Error);
        assert_eq!(exchange.response.as_ref().unwrap().status, 413);
        assert!(exchange.request.body.bytes >= 0x10000, "{}", exchange.request.body.bytes);
    }
}

/// HTTP-03
#[tokio::test]
async fn an_agent_that_answers_early_and_reads_on_gets_the_whole_request() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(UPLOAD).await;
    client.write("3\r\nabc\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_until("abc\r\n").await;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    upstream.write(answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    client.write("3\r\ndef\r\n").await;
    assert_eq!(upstream.read_until("def\r\n").await, "3\r\ndef\r\n");
    client.write("0\r\n\r\n").await;
    assert_eq!(upstream.read_until("0\r\n\r\n").await, "0\r\n\r\n");
    // Both connections are as good as before.
    client.write("GET /next HTTP/1.1\r\nHost: p\r\n\r\n").await;
    assert!(upstream.read_head().await.starts_with("GET /next HTTP/1.1\r\n"));
    upstream.write(answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    assert!(agent.is_left_alone());
}

/// HTTP-03
#[tokio::test]
async fn a_client_that_leaves_after_an_early_answer_ends_the_upload() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(UPLOAD).await;
    client.write("3\r\nabc\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_until("abc\r\n").await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    client.read_until("\r\n\r\nok").await;
    drop(client);
    assert_eq!(upstream.read_to_end().await.0, "", "no last chunk");
}

/// HTTP-03
#[tokio::test]
async fn an_early_refusal_over_http2_is_heard_whether_or_not_the_stream_is_reset() {
    for then in [Some(Reason::NO_ERROR), None] {
        let mut agent = Http2Agent::start().await;
        let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
        let proxy = TestProxy::with(&[forward]);
        let mut client = Http2Client::connect(proxy.addr()).await;
        let fields = [("content-type", "application/grpc")];
        let (response, mut upload) = client.request("POST", "/x.Y/Upload", &fields, false).await;
        upload.send_data(Bytes::from(vec![b'x'; 65_536]), false).unwrap();
        let mut arrived = agent.next().await;
        let mut answer = arrived.answer(&[]);
        let mut body = within("an answer", response).await.unwrap().into_body();
        answer.send_data(Bytes::from_static(b"too much"), true).unwrap();
        assert_eq!(next_data(&mut body).await, "too much");
        // The peer of this test would throw away what it has not sent yet.
        if let Some(reason) = then {
            answer.send_reset(reason);
        }
        assert_eq!(read(&mut body).await.0, b"");
    }
}
