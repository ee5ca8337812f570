//! What rules ask for is done, in the call's own binding, and everything else passes.

use std::time::Duration;

use tokio::time::Instant;

use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, within};

const SSE: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn with_rules(agent: &RawAgent, faults: &'static str) -> TestProxy {
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}\" }}", agent.addr);
    TestProxy::within(&[config], Surroundings { faults, ..Surroundings::default() })
}

fn post(body: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn send(method: &str, text: &str) -> String {
    post(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":41,\"method\":\"{method}\",\"params\":{{\"message\":{{\"messageId\":\"m1\",\
         \"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"{text}\"}}]}}}}}}"
    ))
}

/// The head and the body (of a length) of the next answer.
async fn answer(client: &mut RawConn) -> (String, String) {
    let head = client.read_head().await;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
    });
    let body = client.read_exactly(length.unwrap().parse().unwrap()).await;
    (head, String::from_utf8(body).unwrap())
}

fn event(state: &str) -> String {
    format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{{\"statusUpdate\":{{\"taskId\":\"t1\",\
         \"contextId\":\"c1\",\"status\":{{\"state\":\"{state}\"}}}}}}}}\r\n\r\n"
    )
}

fn chunk(octets: &str) -> String {
    format!("{:X}\r\n{octets}\r\n", octets.len())
}

#[tokio::test]
async fn an_answer_in_the_agents_place_never_reaches_the_agent() {
    let agent = RawAgent::start().await;
    let proxy =
        with_rules(&agent, "[{ name: no refunds, when: { text: refund }, inject: { error: {} } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendMessage", "refund me")).await;
    let (head, body) = answer(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("meddler-fault: no refunds\r\n"), "{head}");
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(json["id"], 41);
    assert_eq!(json["result"]["task"]["status"]["state"], "TASK_STATE_FAILED");
    assert!(agent.is_left_alone());
    // The invented task is Meddler's to answer for.
    let id = json["result"]["task"]["id"].as_str().unwrap();
    let get = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":\"g\",\"method\":\"GetTask\",\"params\":{{\"id\":\"{id}\"}}}}"
    );
    client.write(post(&get)).await;
    let json: serde_json::Value = serde_json::from_str(&answer(&mut client).await.1).unwrap();
    assert_eq!((&json["id"], json["result"]["id"].as_str()), (&"g".into(), Some(id)));
    assert!(agent.is_left_alone());
    // A message that no rule means passes octet for octet, its read-ahead included.
    let request = send("SendMessage", "thank you");
    client.write(&request).await;
    let came =
        agent.accept().await.read_exactly(request.len() + agent.addr.to_string().len() - 1).await;
    assert_eq!(
        String::from_utf8(came).unwrap(),
        request.replace("Host: p\r\n", &format!("Host: {}\r\n", agent.addr))
    );
}

#[tokio::test]
async fn a_streaming_call_is_answered_by_a_stream() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: f, inject: { error: {} }, mark: false }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendStreamingMessage", "x")).await;
    let head = client.read_head().await;
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert!(!head.contains("meddler-fault"), "{head}");
    let events = client.read_until("0\r\n\r\n").await;
    assert!(events.contains("TASK_STATE_FAILED") && events.contains("\"id\":41"), "{events}");
}

#[tokio::test]
async fn a_grpc_call_is_answered_in_grpc() {
    let mut agent = Http2Agent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let faults = "[{ name: f, inject: { error: { grpc: RESOURCE_EXHAUSTED, message: later } } }]";
    let proxy = TestProxy::within(&[config], Surroundings { faults, ..Surroundings::default() });
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendMessage", b"").await;
    let (head, mut body) = within("an answer", response).await.unwrap().into_parts();
    let trailers = read(&mut body).await.1;
    let status =
        head.headers.get("grpc-status").or(trailers.as_ref().and_then(|t| t.get("grpc-status")));
    assert_eq!(status.unwrap(), "8");
    assert_eq!(head.headers["meddler-fault"], "f");
    assert!(agent.is_left_alone());
}

#[tokio::test]
async fn delays_are_waited_for_before_the_request_and_before_the_answer() {
    const WAIT: Duration = Duration::from_millis(50);
    for (faults, is_before_request) in [
        ("[{ inject: { delay: { fixed: 50ms, at: request } }, name: d }]", true),
        ("[{ inject: { delay: { fixed: 50ms, at: first_byte } }, name: d }]", false),
    ] {
        let agent = RawAgent::start().await;
        let proxy = with_rules(&agent, faults);
        let mut client = RawConn::connect(proxy.addr()).await;
        let begun = Instant::now();
        client.write(send("SendMessage", "x")).await;
        let mut upstream = agent.accept().await;
        assert!(!is_before_request || begun.elapsed() >= WAIT, "{faults}");
        upstream.read_head().await;
        let answered = Instant::now();
        upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        client.read_head().await;
        assert!(is_before_request || answered.elapsed() >= WAIT, "{faults}");
    }
}

#[tokio::test]
async fn a_stream_is_the_agents_until_the_event_where_it_becomes_ours() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: f, when: { event: 3 }, inject: { error: {} } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendStreamingMessage", "x")).await;
    let mut upstream = agent.accept().await;
    let head = upstream.read_head().await;
    assert!(
        head.contains("Accept-Encoding: identity\r\n"),
        "an answer that is edited is not packed"
    );
    upstream.write(SSE).await;
    client.read_head().await;
    for octets in
        [event("TASK_STATE_SUBMITTED"), ": ping\r\n\r\n".to_owned(), event("TASK_STATE_WORKING")]
    {
        upstream.write(chunk(&octets)).await;
        assert_eq!(client.read_until(&chunk(&octets)).await, chunk(&octets));
    }
    upstream.write(chunk(&event("TASK_STATE_COMPLETED"))).await;
    let rest = client.read_until("0\r\n\r\n").await;
    assert!(rest.contains("TASK_STATE_FAILED") && !rest.contains("COMPLETED"), "{rest}");
    assert!(rest.contains("\"taskId\":\"t1\"") && rest.contains("\"contextId\":\"c1\""), "{rest}");
    assert_eq!(upstream.read_to_end().await.0.matches("HTTP").count(), 0, "the agent is let go");
}

#[tokio::test]
async fn a_text_is_put_into_the_agents_plain_answer() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: h, inject: { hostile: injection } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendMessage", "x")).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("]}}}").await;
    let real = "{\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{\"message\":{\"messageId\":\"a\",\"role\":\
                \"ROLE_AGENT\",\"parts\":[{\"text\":\"hello\"}],\"n\":1.00}}}";
    let sent = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX: 1\r\n\r\n{real}", real.len());
    upstream.write(&sent).await;
    let (head, body) = answer(&mut client).await;
    assert!(head.contains("meddler-fault: h\r\n") && head.contains("X: 1\r\n"), "{head}");
    assert!(
        body.starts_with("{\"jsonrpc\":\"2.0\",\"id\":41,") && body.ends_with("\"n\":1.00}}}"),
        "{body}"
    );
    assert!(body.contains("hello") && body.len() > real.len(), "{body}");
    // An error has no place for it, and passes.
    client.write(send("SendMessage", "x")).await;
    upstream.read_until("]}}}").await;
    let error = "{\"jsonrpc\":\"2.0\",\"id\":41,\"error\":{\"code\":-32001,\"message\":\"no\"}}";
    let sent = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{error}", error.len());
    upstream.write(&sent).await;
    let came = client.read_exactly(sent.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), sent);
}

#[tokio::test]
async fn a_text_is_put_into_one_event_and_the_others_pass() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: h, inject: { hostile: injection } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendStreamingMessage", "x")).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("]}}}").await;
    upstream.write(SSE).await;
    client.read_head().await;
    let plain = event("TASK_STATE_WORKING");
    upstream.write(chunk(&plain)).await;
    let artifact = "data: {\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{\"artifactUpdate\":{\"taskId\":\"t1\",\
                    \"contextId\":\"c1\",\"artifact\":{\"artifactId\":\"a\",\"parts\":[{\"text\":\"real\"}]}}}}\r\n\r\n";
    upstream.write(chunk(artifact)).await;
    upstream.write(chunk(&plain)).await;
    upstream.write("0\r\n\r\n").await;
    let all = client.read_until("0\r\n\r\n").await;
    assert_eq!(all.matches(&plain).count() + usize::from(!all.contains(artifact)), 3, "{all}");
    assert!(all.contains("real"), "{all}");
}

#[tokio::test]
async fn a_cut_in_a_shaped_stream_is_still_a_cut() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: d, inject: { delay: { fixed: 1ms, at: event } } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendStreamingMessage", "x")).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("]}}}").await;
    upstream.write(SSE).await;
    let octets = event("TASK_STATE_WORKING");
    upstream.write(chunk(&octets)).await;
    upstream.write("8\r\ndata: ha\r\n").await;
    drop(upstream);
    let (text, _) = client.read_to_end().await;
    assert!(text.contains(&octets) && text.contains("data: ha"), "{text}");
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
}

#[tokio::test]
async fn a_client_that_leaves_a_shaped_stream_is_gone_for_the_agent() {
    let mut agent = Http2Agent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let faults = "[{ name: d, inject: { delay: { fixed: 1h, at: event } } }]";
    let proxy = TestProxy::within(&[config], Surroundings { faults, ..Surroundings::default() });
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendStreamingMessage", b"").await;
    let mut arrived = agent.next().await;
    let mut sending = arrived.answer(&[("content-type", "application/grpc")]);
    sending.send_data(framed(b""), false).unwrap();
    let (_, body) = within("an answer", response).await.unwrap().into_parts();
    drop(body);
    let reason = std::future::poll_fn(|cx| sending.poll_reset(cx));
    assert_eq!(within("a reset", reason).await.unwrap(), h2::Reason::CANCEL);
}

#[tokio::test]
async fn a_body_that_was_read_ahead_is_sent_whole_whatever_its_length() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: n, when: { text: never }, inject: { error: {} } }]");
    for length in [10, 100_000, 3_000_000] {
        let mut client = RawConn::connect(proxy.addr()).await;
        let text: String = ('a'..='w').cycle().take(length).collect();
        let request = send("SendMessage", &text);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let mut upstream = None;
        let writing = client.write(&request);
        let reading = async {
            let mut connection = agent.accept().await;
            connection.read_head().await;
            let came = connection.read_exactly(body.len()).await;
            upstream = Some(connection);
            came
        };
        let ((), came) = tokio::join!(writing, reading);
        assert!(came == body.as_bytes(), "{length} octets, {head}");
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        upstream.unwrap().write(answer).await;
        client.read_head().await;
    }
}

#[tokio::test]
async fn a_card_that_is_slowed_is_rewritten_all_the_same() {
    for at in ["request", "first_byte", "end"] {
        let agent = RawAgent::start().await;
        let faults = format!(
            "[{{ name: d, when: {{ operation: AgentCard }}, inject: {{ delay: {{ fixed: 1ms, at: {at} }} }} }}]"
        );
        let proxy = with_rules(&agent, faults.leak());
        let mut client = RawConn::connect(proxy.addr()).await;
        client
            .write("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test:8100\r\n\r\n")
            .await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        let card = format!("{{\"name\":\"a\",\"url\":\"http://{}/\"}}", agent.addr);
        upstream
            .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len()))
            .await;
        let (_, body) = answer(&mut client).await;
        assert_eq!(body, "{\"name\":\"a\",\"url\":\"http://proxy.test:8100/\"}", "delayed at {at}");
    }
}

#[tokio::test]
async fn a_request_longer_than_what_is_read_is_answered_with_its_own_id() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: e, inject: { error: {} } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendMessage", &"x".repeat(1_500_000))).await;
    let (head, body) = answer(&mut client).await;
    assert!(head.contains("meddler-fault: e\r\n"), "{head}");
    assert!(body.starts_with("{\"jsonrpc\":\"2.0\",\"id\":41,"), "{body}");
    assert!(agent.is_left_alone());
}

#[tokio::test]
async fn a_raw_answer_is_framed_for_its_connection_whatever_its_fields_say() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(
        &agent,
        "[{ name: r, inject: { custom: { raw: { status: 299, body: abc, headers: \
         { Transfer-Encoding: chunked, Content-Length: \"99\", Connection: close, X-A: b } } } } }]",
    );
    let mut client = RawConn::connect(proxy.addr()).await;
    for _ in 0..2 {
        client.write(send("SendMessage", "x")).await;
        let (head, body) = answer(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 299 ") && head.contains("x-a: b\r\n"), "{head}");
        assert_eq!(body, "abc");
    }
}

#[tokio::test]
async fn a_stream_given_to_a_plain_call_is_edited_event_by_event() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(&agent, "[{ name: h, inject: { hostile: injection } }]");
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendMessage", "x")).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("]}}}").await;
    upstream.write(SSE).await;
    client.read_head().await;
    let first = event("TASK_STATE_WORKING");
    upstream.write(chunk(&first)).await;
    // It arrives although the stream goes on.
    client.read_until(&first).await;
    let message = "data: {\"jsonrpc\":\"2.0\",\"id\":41,\"result\":{\"message\":{\"messageId\":\"a\",\
                   \"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"real\"}]}}}\r\n\r\n";
    upstream.write(format!("{}0\r\n\r\n", chunk(message))).await;
    let rest = client.read_until("0\r\n\r\n").await;
    assert!(rest.contains("real") && !rest.contains(message), "{rest}");
}

#[tokio::test]
async fn what_was_read_and_could_not_be_edited_is_slowed_whole() {
    let agent = RawAgent::start().await;
    let proxy = with_rules(
        &agent,
        "[{ name: h, inject: [{ hostile: injection }, { delay: { bandwidth: 10MiB/s } }] }]",
    );
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(send("SendMessage", "x")).await;
    let mut upstream = agent.accept().await;
    upstream.read_until("]}}}").await;
    let sent = "HTTP/1.1 200 OK\r\nContent-Encoding: odd\r\nContent-Length: 5\r\n\r\nabcde";
    upstream.write(sent).await;
    let came = client.read_exactly(sent.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), sent);
    // One that breaks off is broken off.
    client.write(send("SendMessage", "x")).await;
    upstream.read_until("]}}}").await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcde").await;
    drop(upstream);
    let (text, _) = client.read_to_end().await;
    assert!(text.ends_with("\r\n\r\nabcde"), "{text}");
}

#[tokio::test]
async fn the_end_of_an_answer_with_a_length_can_be_delayed() {
    let rules = [
        ("[{ name: d, inject: { delay: { fixed: 150ms, at: end } } }]", false),
        ("[{ name: d, inject: [{ error: {} }, { delay: { fixed: 150ms, at: end } }] }]", true),
    ];
    for (faults, is_made) in rules {
        let agent = RawAgent::start().await;
        let proxy = with_rules(&agent, faults);
        let mut client = RawConn::connect(proxy.addr()).await;
        let begun = Instant::now();
        client.write(send("SendMessage", "x")).await;
        if !is_made {
            let mut upstream = agent.accept().await;
            upstream.read_until("]}}}").await;
            upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde").await;
        }
        answer(&mut client).await;
        assert!(begun.elapsed() >= Duration::from_millis(150), "{faults}");
    }
}
