//! A stop lets what is under way end, and cuts what does not.

use std::time::Duration;

use meddler::base::shutdown::Stopped;
use tokio::net::TcpStream;

use crate::support::http2::{Http2Agent, Http2Client, framed, next_data, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

#[tokio::test]
async fn a_stop_waits_for_the_answers_that_are_under_way() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let idle = RawConn::connect(proxy.addr()).await;
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    proxy.tasks.drain();
    // New connections are refused, idle ones end.
    let mut idle = idle;
    assert_eq!(idle.read_to_end().await.0, "");
    within("the port to close", async {
        while TcpStream::connect(proxy.addr()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
    assert!(client.read_to_end().await.0.ends_with("\r\n\r\nok"));
    assert_eq!(proxy.stop(Duration::from_secs(10)).await, Stopped::Drained);
}

/// KEEP-03
#[tokio::test]
async fn a_grpc_stream_ends_in_peace_and_new_calls_are_turned_away() {
    let mut agent = Http2Agent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[config]);
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SubscribeToTask", b"x").await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    proxy.tasks.drain();
    answer.send_data(framed(b"1"), false).unwrap();
    assert_eq!(next_data(&mut body).await, framed(b"1"));
    let trailers = [("grpc-status", "0")].map(|(name, value)| {
        (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
    });
    answer.send_trailers(trailers.into_iter().collect()).unwrap();
    assert!(read(&mut body).await.1.is_some());
    drop((arrived, answer));
    assert_eq!(proxy.stop(Duration::from_secs(10)).await, Stopped::Drained);
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_on_both_sides() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").await;
    client.read_until("1\r\na\r\n").await;
    match proxy.stop(Duration::from_millis(50)).await {
        Stopped::Cut(_) => {}
        Stopped::Drained => panic!("the stream was still open"),
    }
    assert_eq!(client.read_to_end().await.0, "", "no last chunk");
    upstream.read_to_end().await;
}
