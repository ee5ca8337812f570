//! Big bodies and slow readers: nothing is held that nobody asked for.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, spawn, within};

const BIG: usize = 64 << 20;

/// Memory of this process, by the system's own account.
fn resident_bytes() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

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
