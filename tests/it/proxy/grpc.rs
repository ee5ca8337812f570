//! gRPC as it is on the wire: frames and trailers over HTTP/2.

use bytes::Bytes;
use h2::Reason;
use http::HeaderMap;
use meddler::a2a::model::Operation;
use meddler::record::exchange::Outcome;
use meddler::record::query::Filter;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed, next_data, read, reset_of};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

const GET_TASK: &str = "/lf.a2a.v1.A2AService/GetTask";
const STREAM: &str = "/lf.a2a.v1.A2AService/SendStreamingMessage";
const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// A proxy before an agent whose card need not be asked for.
async fn grpc_only() -> (Http2Agent, TestProxy, Http2Client) {
    let agent = Http2Agent::start().await;
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[forward]);
    let client = Http2Client::connect(proxy.addr()).await;
    (agent, proxy, client)
}

fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().into())).collect()
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// GRPC-02, GRPC-14
#[tokio::test]
async fn a_call_passes_with_its_metadata_and_trailers() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let sent = [
        GRPC,
        ("te", "trailers"),
        ("grpc-timeout", "20S"),
        ("a2a-version", "1.0"),
        ("x-bin", "AAEC"),
        ("authorization", "Bearer x"),
    ];
    let (response, mut upload) = client.request("POST", GET_TASK, &sent, false).await;
    upload.send_data(framed(b"who"), true).unwrap();
    let mut arrived = agent.next().await;
    assert_eq!(fields(&arrived.head.headers), pairs(&sent));
    assert_eq!(arrived.head.uri.to_string(), format!("http://{}{GET_TASK}", agent.addr));
    assert_eq!(arrived.read().await, (framed(b"who").to_vec(), None));
    let mut answer = arrived.answer(&[GRPC, ("x-initial", "1")]);
    answer.send_data(framed(b"me"), false).unwrap();
    let trailers = [("grpc-status", "0"), ("x-agent-cost", "12"), ("trace-bin", "AAEC")];
    answer.send_trailers(map(&trailers)).unwrap();
    let (head, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(fields(&head.headers), pairs(&[GRPC, ("x-initial", "1")]));
    let (octets, came) = read(&mut body).await;
    assert_eq!(octets, framed(b"me"));
    assert_eq!(fields(&came.unwrap()), pairs(&trailers));
}

fn map(fields: &[(&str, &str)]) -> HeaderMap {
    fields
        .iter()
        .map(|(name, value)| (http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap()))
        .collect()
}

/// GRPC-01
#[tokio::test]
async fn a_trailers_only_answer_is_one_frame_for_the_client_as_well() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let response = client.call(GET_TASK, b"x").await;
    let sent = [
        GRPC,
        ("grpc-status", "5"),
        ("grpc-message", "task%20gone"),
        ("grpc-status-details-bin", "CAUSBHRhc2s"),
    ];
    agent.next().await.answer_only(&sent);
    let (head, body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(fields(&head.headers), pairs(&sent));
    assert!(body.is_end_stream(), "END_STREAM stands on the HEADERS frame");
}

/// GRPC-07, GRPC-13
#[tokio::test]
async fn each_message_arrives_before_the_next_is_sent_in_both_directions() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let (response, mut upload) = client.request("POST", path, &[GRPC], false).await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[GRPC]);
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    for number in 0..3_u8 {
        upload.send_data(framed(&[number]), false).unwrap();
        assert_eq!(next_data(&mut arrived.body).await, framed(&[number]));
        answer.send_data(framed(&[number, number]), false).unwrap();
        assert_eq!(next_data(&mut body).await, framed(&[number, number]));
    }
    // The client's end is passed on, and ends nothing else.
    upload.send_data(Bytes::new(), true).unwrap();
    assert_eq!(arrived.read().await, (Vec::new(), None));
    answer.send_data(framed(b"late"), false).unwrap();
    assert_eq!(next_data(&mut body).await, framed(b"late"));
    answer.send_trailers(map(&[("grpc-status", "0")])).unwrap();
    assert_eq!(read(&mut body).await.1.unwrap()["grpc-status"], "0");
}

/// GRPC-11
#[tokio::test]
async fn a_clients_cancel_reaches_the_agent_and_no_other_call() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let other = client.call(GET_TASK, b"other").await;
    let mut other_arrived = agent.next().await;
    let response = client.call(STREAM, b"x").await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[GRPC]);
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    answer.send_data(framed(b"1"), false).unwrap();
    assert_eq!(next_data(&mut body).await, framed(b"1"));
    drop(body);
    let reason = std::future::poll_fn(|cx| answer.poll_reset(cx));
    assert_eq!(within("a reset", reason).await.unwrap(), Reason::CANCEL);
    assert_eq!(arrived.connection, other_arrived.connection, "both shared a connection");
    other_arrived.answer_only(&[GRPC, ("grpc-status", "0")]);
    assert_eq!(within("the other answer", other).await.unwrap().headers()["grpc-status"], "0");
}

#[tokio::test]
async fn a_cancel_before_the_answer_reaches_the_agent() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let response = client.call(GET_TASK, b"x").await;
    let mut arrived = agent.next().await;
    drop(response);
    let reason = std::future::poll_fn(|cx| arrived.respond.poll_reset(cx));
    assert_eq!(within("a reset", reason).await.unwrap(), Reason::CANCEL);
}

#[tokio::test]
async fn an_agents_reset_is_a_reset_for_the_client_after_all_that_came() {
    for (sent, seen) in [
        (Reason::INTERNAL_ERROR, Reason::INTERNAL_ERROR),
        (Reason::CANCEL, Reason::CANCEL),
        // hyper takes NO_ERROR for a good end, which it is not.
        (Reason::NO_ERROR, Reason::CANCEL),
    ] {
        let (mut agent, _proxy, mut client) = grpc_only().await;
        let response = client.call(STREAM, b"x").await;
        let mut arrived = agent.next().await;
        let mut answer = arrived.answer(&[GRPC]);
        let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
        answer.send_data(framed(b"1"), false).unwrap();
        assert_eq!(next_data(&mut body).await, framed(b"1"));
        answer.send_reset(sent);
        assert_eq!(reset_of(&mut body).await, Some(seen), "the agent sent {sent:?}");
    }
}

/// GRPC-04
#[tokio::test]
async fn a_message_larger_than_the_window_passes() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let response = client.call(GET_TASK, b"x").await;
    let mut arrived = agent.next().await;
    let mut answer = arrived.answer(&[GRPC]);
    let message = framed(&vec![7; 5_000_000]);
    answer.send_data(message.clone(), false).unwrap();
    answer.send_trailers(map(&[("grpc-status", "0")])).unwrap();
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    let (octets, trailers) = read(&mut body).await;
    assert_eq!(octets.len(), message.len());
    assert!(octets == message);
    assert!(trailers.is_some());
}

/// GRPC-13
#[tokio::test]
async fn services_that_are_not_of_a2a_pass_and_are_recorded_by_their_names() {
    let mut agent = Http2Agent::start().await;
    // A rule for operations of A2A, which these are not.
    let faults =
        "[{ name: all, when: { operation: [SendMessage, GetTask] }, inject: { error: {} } }]";
    let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), faults).await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let paths = [
        "/grpc.health.v1.Health/Check",
        "/grpc.health.v1.Health/Watch",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/acme.Billing/Charge",
        "/a2a.v1.A2AService/NewMethod",
    ];
    for path in paths {
        let response = client.call(path, b"x").await;
        let mut arrived = agent.next().await;
        assert_eq!(arrived.head.uri.path(), path);
        arrived.answer_only(&[GRPC, ("grpc-status", "12")]);
        let answer = within("an answer", response).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], "12", "{path}: the agent's own word");
    }
    let recording = at.recording(paths.len()).await;
    assert!(recording.delegations(&Filter::default()).is_empty());
    for (exchange, path) in recording.exchanges(&Filter::default()).iter().zip(paths) {
        assert_eq!(exchange.operation, Operation::Unknown, "{path}");
        assert!(exchange.request.target.ends_with(path), "{}", exchange.request.target);
        assert!(exchange.faults.is_empty(), "{path}: {:?}", exchange.faults);
    }
}

/// GRPC-01, GRPC-02
#[tokio::test]
async fn status_message_and_details_are_recorded_wherever_they_stood() {
    for is_trailers_only in [true, false] {
        let mut agent = Http2Agent::start().await;
        let at = Recorded::start(&format!("forward: \"grpc://{}\"", agent.addr), "[]").await;
        let mut client = Http2Client::connect(at.proxy.addr()).await;
        let response = client.call(GET_TASK, b"").await;
        let mut arrived = agent.next().await;
        let status = [
            ("grpc-status", "5"),
            ("grpc-message", "task%20gone"),
            ("grpc-status-details-bin", "CAUSBHRhc2s"),
        ];
        if is_trailers_only {
            arrived.answer_only(&[&[GRPC][..], &status].concat());
        } else {
            arrived.answer(&[GRPC]).send_trailers(map(&status)).unwrap();
        }
        let mut body = within("an answer", response).await.unwrap().into_body();
        read(&mut body).await;
        let exchange = at.exchange().await;
        let response = exchange.response.as_ref().unwrap();
        assert_eq!(response.grpc_status, Some(5));
        assert_eq!(exchange.outcome, Outcome::Error);
        let fields = if is_trailers_only { &response.headers } else { &response.trailers };
        assert!(fields.iter().any(|(name, _)| name == "grpc-status-details-bin"), "{fields:?}");
    }
}

/// KEEP-03
#[tokio::test]
async fn a_refused_call_is_sent_again_and_a_failed_one_is_not() {
    let (mut agent, _proxy, mut client) = grpc_only().await;
    let response = client.call(GET_TASK, b"x").await;
    let mut first = agent.next().await;
    first.respond.send_reset(Reason::REFUSED_STREAM);
    let mut second = agent.next().await;
    assert_eq!(second.read().await.0, framed(b"x"), "with its whole body");
    second.answer_only(&[GRPC, ("grpc-status", "0")]);
    assert_eq!(within("an answer", response).await.unwrap().headers()["grpc-status"], "0");

    let response = client.call(GET_TASK, b"y").await;
    agent.next().await.respond.send_reset(Reason::INTERNAL_ERROR);
    let answer = within("an answer", response).await.unwrap();
    assert_eq!(answer.headers()["grpc-status"], "14");
    assert_eq!(answer.headers()["meddler-error"], "reset");
    assert!(agent.is_left_alone(), "it may have been acted upon");
}

#[tokio::test]
async fn an_http_request_over_http2_reaches_an_http1_agent() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = Http2Client::connect(proxy.addr()).await;
    let fields = [("content-type", "application/json"), ("cookie", "a=1"), ("cookie", "b=2")];
    let (response, mut upload) = client.request("POST", "/x", &fields, false).await;
    upload.send_data(Bytes::from_static(b"{}"), true).unwrap();
    let mut upstream = agent.accept().await;
    let head = upstream.read_head().await;
    assert!(head.starts_with("POST /x HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {}\r\n", agent.addr)), "{head}");
    assert!(head.contains("cookie: a=1; b=2\r\n"), "{head}");
    upstream
        .write("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    upstream.write("2\r\nok\r\n0\r\n\r\n").await;
    let (head, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert!(head.headers.is_empty(), "{:?}", head.headers);
    assert_eq!(read(&mut body).await.0, b"ok");
}

/// GRPC-09
#[tokio::test]
async fn one_port_serves_http1_and_http2_however_the_preface_is_cut() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut raw = RawConn::connect(proxy.addr()).await;
    raw.write("PRI * HT").await;
    raw.write("TP/2.0\r\n\r\nSM\r\n\r\n").await;
    raw.write([0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
    let settings = raw.read_exactly(9).await;
    assert_eq!(settings[3], 4, "a SETTINGS frame answers: {settings:?}");
    let mut plain = RawConn::connect(proxy.addr()).await;
    plain.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(plain.read_head().await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn grpc_goes_to_the_interface_that_the_card_names() {
    let http = RawAgent::start().await;
    let mut grpc = Http2Agent::start().await;
    let proxy = TestProxy::before(http.addr);
    let mut client = Http2Client::connect(proxy.addr()).await;
    // The card has not passed yet: it is fetched, once for both calls.
    let first = client.call(GET_TASK, b"1").await;
    let second = client.call(GET_TASK, b"2").await;
    let card = format!(
        "{{\"name\":\"a\",\"supportedInterfaces\":[{{\"url\":\"http://{}/\",\"protocolBinding\":\"JSONRPC\",\"protocolVersion\":\"1.0\"}},\
         {{\"url\":\"{}\",\"protocolBinding\":\"GRPC\",\"protocolVersion\":\"1.0\"}}]}}",
        http.addr, grpc.addr
    );
    let mut fetching = http.accept().await;
    let head = fetching.read_head().await;
    assert!(head.starts_with("GET /.well-known/agent-card.json HTTP/1.1\r\n"), "{head}");
    fetching
        .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len()))
        .await;
    for response in [first, second] {
        grpc.next().await.answer_only(&[GRPC, ("grpc-status", "0")]);
        assert_eq!(within("an answer", response).await.unwrap().headers()["grpc-status"], "0");
    }
    assert!(http.is_left_alone());
}
