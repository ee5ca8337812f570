//! Nobody is called but who was registered, and what cannot be intercepted passes, and is told.

use meddler::a2a::model::Operation;

use super::{Bench, V0_3, V1_0, answer, path_in, post, read_message};
use crate::support::http2::{Http2Client, read};
use crate::support::raw::within;

const TASK: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// What the agent gets of a registration, and the events that are recorded.
async fn check_passes(push: &str, more: &str, url: &str, why: Option<&str>) {
    let bench = Bench::with(push, more, "[]").await;
    let mut client = bench.client().await;
    let config = format!(r#"{{"url":"{url}"}}"#);
    client.write(post("/tasks/t1/pushNotificationConfigs", V1_0, &config)).await;
    let mut upstream = bench.agent.accept().await;
    assert_eq!(read_message(&mut upstream).await.1, config, "{url}");
    upstream.write(answer("application/json", &config)).await;
    assert_eq!(read_message(&mut client).await.1, config);
    drop((client, upstream));
    let exchange = bench.exchanges(1).await.remove(0);
    let kinds: Vec<_> = exchange.edits.iter().map(|edit| edit.kind.as_str()).collect();
    let recording = bench.recording();
    let events: Vec<_> = recording.events().iter().map(|event| event.text.as_str()).collect();
    match why {
        None => assert_eq!((kinds.len(), events.len()), (0, 0), "{events:?}"),
        Some(why) => {
            assert_eq!(kinds, ["webhook_not_intercepted"], "{url}");
            assert!(events.iter().any(|text| text.contains(why)), "{why} in {events:?}");
        }
    }
}

/// PUSH-04
#[tokio::test]
async fn what_may_not_be_called_passes_unrewritten() {
    let metadata = "http://169.254.169.254/x";
    check_passes("rewrite", "", metadata, Some("not allowed")).await;
    check_passes("{ deny: [127.0.0.1] }", "", "http://127.0.0.1:4555/cb", Some("not allowed"))
        .await;
    check_passes("{ allow: ['*.client.test'] }", "", "http://other.test/", Some("not allowed"))
        .await;
    for url in ["ftp://client.test/x", "/hook", "client.test/hook", "http://a b/", ""] {
        check_passes("rewrite", "", url, Some("no address that can be called")).await;
    }
}

#[tokio::test]
async fn the_switch_leaves_webhooks_alone() {
    check_passes("pass", "", "http://client.test/hook", None).await;
    check_passes("{ mode: pass }", "", "http://client.test/hook", None).await;
    check_passes("rewrite", ", push: pass", "http://client.test/hook", None).await;
}

/// PUSH-04
#[tokio::test]
async fn a_name_that_leads_to_a_denied_address_is_not_called() {
    let bench = Bench::with("{ deny: [127.0.0.0/8, '::1'] }", "", "[]").await;
    let url = format!("http://localhost:{}/hook", bench.webhook.addr.port());
    let path = bench.register(&format!(r#"{{"url":"{url}"}}"#)).await;
    let mut agent = bench.deliver(&path, "", TASK).await;
    let (head, body) = read_message(&mut agent).await;
    assert!(head.contains("meddler-error: connect_refused"), "{head}");
    assert!(body.contains("no address that may be called"), "{body}");
    assert!(bench.webhook.is_left_alone());
}

/// PUSH-04
#[tokio::test]
async fn an_address_that_was_never_given_leads_nowhere_and_is_recorded() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let mut guessed = path.clone().into_bytes();
    let last = guessed.last_mut().unwrap();
    *last = if *last == b'A' { b'B' } else { b'A' };
    let guessed = String::from_utf8(guessed).unwrap();
    let more = format!("{path}/more");
    for path in [guessed.as_str(), "/.meddler/push/", "/.meddler/push/1", &more] {
        let mut agent = bench.deliver(path, "", TASK).await;
        let (head, body) = read_message(&mut agent).await;
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
        assert!(body.contains("no webhook is registered at this address"), "{body}");
    }
    assert!(bench.webhook.is_left_alone() && bench.agent.is_left_alone());
    let exchanges = bench.exchanges(5).await;
    for exchange in &exchanges[1..] {
        assert_eq!(exchange.operation, Operation::PushNotification);
        assert_eq!(exchange.delivered.as_ref().unwrap().status, 404);
        assert_eq!(
            (exchange.upstream.as_ref(), exchange.ids.task_id.as_deref()),
            (None, Some("t1"))
        );
    }
}

/// PUSH-04
#[tokio::test]
async fn a_giant_for_nobody_is_not_read() {
    let bench = Bench::new().await;
    let mut agent = bench.client().await;
    agent
        .write("POST /.meddler/push/x HTTP/1.1\r\nHost: p\r\nContent-Length: 1073741824\r\n\r\n{")
        .await;
    assert!(agent.read_head().await.starts_with("HTTP/1.1 404 "));
}

/// PUSH-04
#[tokio::test]
async fn a_redirect_is_the_agents_to_follow() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    for location in ["http://169.254.169.254/x", "/elsewhere", "//other.test/"] {
        let mut agent = bench.deliver(&path, "", TASK).await;
        let mut webhook = bench.webhook.accept().await;
        read_message(&mut webhook).await;
        let answer =
            format!("HTTP/1.1 307 Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        webhook.write(&answer).await;
        assert_eq!(read_message(&mut agent).await.0, answer);
    }
    assert!(bench.webhook.is_left_alone() && bench.agent.is_left_alone());
}

#[tokio::test]
async fn a_request_too_long_to_be_read_ahead_goes_on_as_it_is_and_is_told() {
    let bench = Bench::new().await;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"message/send","params":{{"configuration":{{"pushNotificationConfig":{{"url":"{}"}}}},"message":{{"messageId":"m","role":"user","parts":[{{"kind":"text","text":"{}"}}]}}}}}}"#,
        bench.url(),
        "x".repeat(2 * 1024 * 1024)
    );
    let mut client = bench.client().await;
    let request = post("/", V0_3, &body);
    let ((), received) = tokio::join!(client.write(&request), async {
        let mut upstream = bench.agent.accept().await;
        read_message(&mut upstream).await.1
    });
    assert_eq!(received.len(), body.len());
    assert!(received == body, "it is what was sent");
    drop(client);
    let exchange = bench.exchanges(1).await.remove(0);
    assert_eq!(exchange.edits[0].kind, "webhook_not_intercepted");
    let recording = bench.recording();
    assert!(recording.events()[0].text.contains("1048576 octets"), "{:?}", recording.events());
}

/// BIG-04
#[tokio::test]
async fn a_delivery_of_three_mebibytes_passes() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let body = "y".repeat(3 * 1024 * 1024);
    let (_agent, received) = tokio::join!(bench.deliver(&path, "", &body), async {
        let mut webhook = bench.webhook.accept().await;
        read_message(&mut webhook).await.1
    });
    assert!(received == body, "{} octets", received.len());
}

#[tokio::test]
async fn other_traffic_is_not_held() {
    let bench = Bench::new().await;
    // A call that registers nothing goes on while its body is still on the way.
    let mut client = bench.client().await;
    let head = "POST / HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n";
    client.write(format!("{head}{{\"method\":\"tasks/get\",")).await;
    let mut upstream = bench.agent.accept().await;
    upstream.read_until("\"tasks/get\",").await;
    // So does what is no JSON at all.
    let mut client = bench.client().await;
    client
        .write(
            "POST /x HTTP/1.1\r\nHost: p\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n",
        )
        .await;
    bench.agent.accept().await.read_head().await;
}

#[tokio::test]
async fn an_address_of_ours_that_an_agent_passes_on_leads_to_the_webhook() {
    let bench = Bench::new().await;
    let first = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    // The agent is an orchestrator too, and hands the address on as its own.
    let passed_on = format!(r#"{{"url":"http://proxy.test:8100{first}"}}"#);
    let mut client = bench.client().await;
    client.write(post("/tasks/t2/pushNotificationConfigs", V1_0, &passed_on)).await;
    let mut upstream = bench.agent.accept().await;
    let (_, body) = read_message(&mut upstream).await;
    let second = path_in(&body);
    assert_ne!(first, second);
    upstream.write(answer("application/json", &body)).await;
    assert_eq!(read_message(&mut client).await.1, passed_on, "it sees what it registered");
    let _agent = bench.deliver(&second, "", TASK).await;
    let mut webhook = bench.webhook.accept().await;
    assert!(read_message(&mut webhook).await.0.starts_with("POST /hook?k=s3cret-abc "));
}

#[tokio::test]
async fn a_delivery_over_http2_reaches_a_webhook_of_http1() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let mut agent = Http2Client::connect(bench.proxy.addr()).await;
    let fields = [("content-type", "application/json"), ("x-a2a-notification-token", "t")];
    let (response, mut body) = agent.request("POST", &path, &fields, false).await;
    body.send_data(TASK.into(), true).unwrap();
    let mut webhook = bench.webhook.accept().await;
    let head = webhook.read_head().await;
    assert!(head.starts_with("POST /hook?k=s3cret-abc HTTP/1.1\r\n"), "{head}");
    webhook.read_until("}}}").await;
    webhook.write("HTTP/1.1 204 No Content\r\n\r\n").await;
    let mut response = within("an answer", response).await.unwrap();
    assert_eq!(response.status(), 204);
    assert!(read(response.body_mut()).await.0.is_empty());
}
