//! Content codings: passed on as they came, read beside.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use h2::Reason;
use meddler::record::exchange::Outcome;

use super::recorded::{Recorded, send};
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::raw::within;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: CODING\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";

fn event(number: u8) -> Vec<u8> {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"n\":{number}}}}}\n\n").into_bytes()
}

/// Events, each followed by a sync flush, as an agent streams them.
fn gzipped(count: u8) -> Vec<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for number in 0..count {
        encoder.write_all(&event(number)).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces.push(encoder.finish().unwrap());
    pieces
}

fn zstd_pieces(count: u8) -> Vec<Vec<u8>> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 0).unwrap();
    let mut pieces = Vec::new();
    for number in 0..count {
        encoder.write_all(&event(number)).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces.push(encoder.finish().unwrap());
    pieces
}

/// COMP-01
#[tokio::test]
async fn a_compressed_stream_passes_piece_by_piece_and_is_read_event_by_event() {
    for (coding, pieces) in [("gzip", gzipped(3)), ("zstd", zstd_pieces(3))] {
        for is_cut in [false, true] {
            let at = Recorded::start("", "[]").await;
            let ask = send("x").replace("Host: p", "Host: p\r\nAccept-Encoding: gzip, br, zstd");
            let (mut client, mut upstream) = at.ask(&ask).await;
            let head = HEAD.replace("CODING", coding);
            upstream.write(&head).await;
            assert_eq!(client.read_head().await, head);
            for (index, piece) in pieces.iter().enumerate() {
                let is_last = index + 2 == pieces.len();
                let piece = if is_cut && is_last { &piece[..piece.len() / 2] } else { piece };
                if is_cut && index + 1 == pieces.len() {
                    break;
                }
                let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                upstream.write(&chunk).await;
                let came = client.read_exactly(chunk.len()).await;
                assert!(came.eq_ignore_ascii_case(&chunk), "at once, and unchanged");
            }
            if is_cut {
                drop(upstream);
                client.read_to_end().await;
            } else {
                upstream.write("0\r\n\r\n").await;
                client.read_until("0\r\n\r\n").await;
            }
            let exchange = at.exchange().await;
            let response = exchange.response.as_ref().unwrap();
            assert_eq!(response.body.encoding, coding);
            let whole = if is_cut { 2 } else { 3 };
            let expected: Vec<u8> = (0..whole).flat_map(event).collect();
            assert!(
                response.body.kept.starts_with(&expected),
                "{coding}: {:?}",
                response.body.kept
            );
            assert!(response.events.len() >= usize::from(whole), "{coding} {is_cut}");
            assert_eq!(exchange.outcome == Outcome::CutByAgent, is_cut, "{coding}");
        }
    }
}

/// COMP-01
#[tokio::test]
async fn a_coding_nobody_knows_passes_and_is_marked() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(&send("x")).await;
    let answer = "HTTP/1.1 200 OK\r\nContent-Encoding: x-foo\r\nContent-Length: 4\r\n\r\n\u{1}\u{2}\u{3}\u{4}";
    upstream.write(answer).await;
    assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    let exchange = at.exchange().await;
    let body = &exchange.response.as_ref().unwrap().body;
    // Nobody could say what secrets are in it: what is kept is what it was called, its length and digest.
    assert_eq!((body.encoding.as_str(), body.bytes, body.truncated), ("x-foo", 4, true));
    assert_ne!(body.sha256, [0; 32]);
    assert!(exchange.problems.iter().any(|problem| problem.name == "content_coding"));
}

/// COMP-02
#[tokio::test]
async fn what_the_client_accepts_is_what_the_agent_is_told() {
    for accepts in ["", "Accept-Encoding: identity;q=1, *;q=0\r\n", "Accept-Encoding: \r\n"] {
        let at = Recorded::start("", "[]").await;
        let ask = format!("GET /x HTTP/1.1\r\nHost: p\r\n{accepts}\r\n");
        let mut client = crate::support::raw::RawConn::connect(at.proxy.addr()).await;
        client.write(&ask).await;
        let mut upstream = at.agent.accept().await;
        let head = upstream.read_head().await;
        let came: String = head
            .split_inclusive("\r\n")
            .filter(|line| line.to_lowercase().starts_with("accept-encoding"))
            .collect();
        assert_eq!(came.trim(), accepts.trim());
        let answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
        upstream.write(answer).await;
        assert_eq!(client.read_exactly(answer.len()).await, answer.as_bytes());
    }
}

fn flagged(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut framed = framed(message).to_vec();
    framed[0] = flag;
    framed
}

/// COMP-04
#[tokio::test]
async fn grpc_messages_are_passed_as_compressed_as_they_came_and_read_by_their_own_flags() {
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"compressed").unwrap();
    let request = [flagged(1, &encoder.finish().unwrap()), flagged(0, b"plain")].concat();
    let fields = [("content-type", "application/grpc"), ("grpc-encoding", "gzip")];
    let (response, mut upload) = client.request("POST", "/x.Y/Both", &fields, false).await;
    upload.send_data(request.clone().into(), true).unwrap();
    let mut arrived = agent.next().await;
    assert_eq!(arrived.head.headers["grpc-encoding"], "gzip");
    assert_eq!(arrived.read().await.0, request);
    // An answer whose flag has no coding to it.
    let mut answer =
        arrived.answer(&[("content-type", "application/grpc"), ("grpc-encoding", "identity")]);
    let odd = flagged(1, b"odd");
    answer.send_data(odd.clone().into(), false).unwrap();
    let trailer =
        (http::HeaderName::from_static("grpc-status"), http::HeaderValue::from_static("0"));
    answer.send_trailers([trailer].into_iter().collect()).unwrap();
    let (head, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(head.headers["grpc-encoding"], "identity");
    assert_eq!(read(&mut body).await.0, odd);
    let exchange = at.exchange().await;
    let kept = &exchange.request.body.kept;
    assert!(kept.windows(10).any(|part| part == b"compressed"), "{kept:?}");
    assert!(kept.ends_with(b"plain"));
}

/// COMP-04
#[tokio::test]
async fn a_refused_compression_passes_with_what_would_be_taken() {
    let mut agent = Http2Agent::start().await;
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let fields = [("content-type", "application/grpc"), ("grpc-encoding", "zstd")];
    let (response, mut upload) = client.request("POST", "/x.Y/Z", &fields, false).await;
    upload.send_data(flagged(1, b"zzz").into(), true).unwrap();
    let mut arrived = agent.next().await;
    arrived.answer_only(&[
        ("content-type", "application/grpc"),
        ("grpc-status", "12"),
        ("grpc-accept-encoding", "gzip"),
    ]);
    let answer = within("an answer", response).await.unwrap();
    assert_eq!(answer.headers()["grpc-accept-encoding"], "gzip");
    assert_eq!(at.exchange().await.response.as_ref().unwrap().grpc_status, Some(12));
}

/// GRPC-05
#[tokio::test]
async fn messages_are_found_however_the_frames_are_cut_and_a_cut_message_is_told_apart() {
    for is_cut in [false, true] {
        let mut agent = Http2Agent::start().await;
        let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
        let mut client = Http2Client::connect(at.proxy.addr()).await;
        let response = client.call("/lf.a2a.v1.A2AService/SendStreamingMessage", b"").await;
        let mut arrived = agent.next().await;
        let mut answer = arrived.answer(&[("content-type", "application/grpc")]);
        let all = [framed(&[0; 10]), framed(&[0; 300])].concat();
        let mut body = within("an answer", response).await.unwrap().into_body();
        let mut came = 0;
        for end in [2, 18, 120, 320].into_iter().take(if is_cut { 3 } else { 4 }) {
            answer.send_data(all[came..end].to_vec().into(), false).unwrap();
            while came < end {
                came += crate::support::http2::next_data(&mut body).await.len();
            }
        }
        if is_cut {
            answer.send_reset(Reason::NO_ERROR);
            assert!(crate::support::http2::reset_of(&mut body).await.is_some());
        } else {
            let trailer =
                (http::HeaderName::from_static("grpc-status"), http::HeaderValue::from_static("0"));
            answer.send_trailers([trailer].into_iter().collect()).unwrap();
            read(&mut body).await;
        }
        let exchange = at.exchange().await;
        let response = exchange.response.as_ref().unwrap();
        if is_cut {
            assert_eq!(exchange.outcome, Outcome::CutByAgent);
            assert_eq!((response.events.len(), response.body.bytes), (1, 120));
            assert!(exchange.problems.iter().any(|problem| problem.name == "unterminated"));
        } else {
            let marks: Vec<_> = response.events.iter().map(|mark| mark.len).collect();
            assert_eq!(marks, [15, 305]);
        }
    }
}
