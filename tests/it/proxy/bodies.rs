//! Big bodies and slow readers: nothing is held that nobody asked for.

use std::time::Duration;

use meddler::a2a::model::Operation;
use meddler::base::limits::Limits;
use meddler::record::exchange::{FaultVerdict, Outcome};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::recorded::{Recorded, send};
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, spawn, within};

const BIG: usize = 64 << 20;

/// Memory of this process, by the system's own account.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// BIG-01
#[tokio::test]
async fn a_large_body_passes_both_ways_in_little_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = TestProxy::before(listener.local_addr().unwrap());
    let echo = spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 65536];
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut octet = [0];
            stream.read_exact(&mut octet).await.unwrap();
            head.push(octet[0]);
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {BIG}\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let mut left = BIG;
        while left > 0 {
            let count = stream.read(&mut buffer).await.unwrap();
            stream.write_all(&buffer[..count]).await.unwrap();
            left -= count;
        }
        stream
    });
    let client = TcpStream::connect(proxy.addr()).await.unwrap();
    let (mut reader, mut writer) = client.into_split();
    let before = resident_bytes();
    let sending = spawn(async move {
        let head = format!("POST / HTTP/1.1\r\nHost: p\r\nContent-Length: {BIG}\r\n\r\n");
        writer.write_all(head.as_bytes()).await.unwrap();
        let portion = vec![b'x'; 65536];
        for _ in 0..BIG / portion.len() {
            writer.write_all(&portion).await.unwrap();
        }
        writer
    });
    let mut most = 0;
    let mut came = 0;
    let mut buffer = vec![0; 65536];
    while came < BIG {
        let count = within("the echo", reader.read(&mut buffer)).await.unwrap();
        assert!(count > 0, "the answer ended after {came}");
        came += count;
        most = most.max(resident_bytes().saturating_sub(before));
    }
    drop((sending.await.unwrap(), echo.await.unwrap()));
    // Other tests run beside this one: the bound is a quarter of the body, not the few buffers it needs.
    assert!(most < BIG / 4, "{most} octets more than before");
}

/// BIG-03
#[tokio::test]
async fn a_client_that_does_not_read_slows_the_agent_and_no_one_else() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n").await;
    let portion = vec![b'x'; 1 << 20];
    let mut sent = 0;
    // Sooner or later it cannot send on.
    while tokio::time::timeout(Duration::from_millis(200), upstream.write(&portion)).await.is_ok() {
        sent += portion.len();
        assert!(sent < 64 << 20, "{sent} octets went nowhere");
    }
    let mut other = RawConn::connect(proxy.addr()).await;
    other.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut second = agent.accept().await;
    second.read_head().await;
    second.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(other.read_head().await.starts_with("HTTP/1.1 200"));
}

/// A message of 1.0 with a text of this length.
fn large(text: usize) -> String {
    send(&"x".repeat(text))
}

/// BIG-01
#[tokio::test]
async fn of_a_body_beyond_the_limit_head_length_and_digest_are_recorded() {
    let limits = Limits { body_bytes: 64 * 1024, ..Limits::default() };
    let at = Recorded::within("", "[]", limits).await;
    let request = large(1_000_000);
    let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
    let (mut client, mut upstream) = at.ask(&request).await;
    assert_eq!(upstream.read_exactly(body.len()).await, body.as_bytes());
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let ((), came) = tokio::join!(upstream.write(&answer), client.read_exactly(answer.len()));
    assert!(came == answer.as_bytes());
    let exchange = at.exchange().await;
    let digest: [u8; 32] = Sha256::digest(body.as_bytes()).into();
    let response = exchange.response.as_ref().unwrap();
    for recorded in [&exchange.request.body, &response.body] {
        assert!(recorded.truncated && recorded.kept.len() <= 64 * 1024);
        assert_eq!((recorded.bytes, recorded.sha256), (body.len() as u64, digest));
    }
    assert_eq!(exchange.operation, Operation::SendMessage, "early fields are read all the same");
}

/// BIG-04
#[tokio::test]
async fn three_mebibytes_pass_on_every_binding() {
    let size = 3 << 20;
    let at = Recorded::start("", "[]").await;
    let rest = format!(
        "POST /message:send HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n\
         Content-Length: {size}\r\n\r\n{}",
        " ".repeat(size)
    );
    for request in [large(size), rest] {
        let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
        let mut client = RawConn::connect(at.proxy.addr()).await;
        let exchange = async {
            let mut upstream = at.agent.accept().await;
            upstream.read_head().await;
            assert!(upstream.read_exactly(body.len()).await == body.as_bytes());
            let head = format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            upstream.write(head + &body).await;
        };
        let asking = async {
            client.write(&request).await;
            client.read_head().await;
            assert!(client.read_exactly(body.len()).await == body.as_bytes());
        };
        tokio::join!(exchange, asking);
    }
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let message = vec![b'x'; size];
    let response = client.call("/lf.a2a.v1.A2AService/SendMessage", &message).await;
    let mut arrived = agent.next().await;
    assert!(arrived.read().await.0 == framed(&message));
    let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
    answer.send_data(framed(&message), true).unwrap();
    let mut body = within("an answer", response).await.unwrap().into_body();
    assert!(read(&mut body).await.0 == framed(&message));
}

/// BIG-04, BIG-01
#[tokio::test]
async fn a_rule_that_would_need_more_of_a_body_than_is_read_is_skipped_and_says_so() {
    let limits = Limits { peek_bytes: 64 * 1024, ..Limits::default() };
    let faults = "[{ name: t, when: { text: never }, inject: { error: {} } }]";
    let at = Recorded::within("", faults, limits).await;
    let request = large(1_000_000);
    let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
    let (mut client, mut upstream) = at.ask(&request).await;
    assert!(upstream.read_exactly(body.len()).await == body.as_bytes(), "it goes on unchanged");
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    upstream.write(answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    let exchange = at.exchange().await;
    assert_ne!(exchange.outcome, Outcome::AnsweredByFault);
    let fault = &exchange.faults[0];
    assert_eq!(fault.verdict, FaultVerdict::NotApplicable, "{fault:?}");
    assert!(!fault.note.is_empty());
}
