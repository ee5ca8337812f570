//! Every place where a webhook can be registered over HTTP, and every answer that shows it again.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use meddler::a2a::model::Operation;

use super::{Bench, V0_3, V1_0, answer, given_in, post, read_message};

/// Registers through a request, reads back, delivers. `URL` stands for the webhook's address in request
/// and answer; what else stands there must pass octet for octet.
async fn check(path: &str, fields: &str, request: &str, content_type: &str, reply: &str) {
    let bench = Bench::new().await;
    let with = |text: &str, url: &str| text.replace("URL", url);
    let mut client = bench.client().await;
    client.write(post(path, fields, &with(request, &bench.url()))).await;
    let mut upstream = bench.agent.accept().await;
    let (head, body) = read_message(&mut upstream).await;
    let given = given_in(&body);
    assert_eq!(body, with(request, &given), "{path}");
    let expected =
        post(path, fields, &body).replace("proxy.test:8100", &bench.agent.addr.to_string());
    assert!(expected.starts_with(&head), "{head} is the start of {expected}");

    upstream.write(answer(content_type, &with(reply, &given))).await;
    let (head, body) = read_message(&mut client).await;
    assert_eq!(body, with(reply, &bench.url()), "{path}");
    let expected = answer(content_type, &body);
    assert!(
        expected.to_lowercase().starts_with(&head.to_lowercase()),
        "{head} is the start of {expected}"
    );

    let task = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let token = given.rsplit('/').next().unwrap();
    let mut agent =
        bench.deliver(&format!("/.meddler/push/{token}"), "X-Odd: a  b\r\n", task).await;
    let mut webhook = bench.webhook.accept().await;
    let (head, body) = read_message(&mut webhook).await;
    let expected = format!(
        "POST /hook?k=s3cret-abc HTTP/1.1\r\nHost: {}\r\nX-First: 1\r\nX-Odd: a  b\r\nContent-Length: {}\r\n\r\n",
        bench.webhook.addr,
        task.len()
    );
    assert_eq!((head.as_str(), body.as_str()), (expected.as_str(), task), "{path}");
    webhook.write("HTTP/1.1 202 Noted\r\nX-Back: 1\r\nContent-Length: 2\r\n\r\nok").await;
    let (head, body) = read_message(&mut agent).await;
    assert_eq!(head, "HTTP/1.1 202 Noted\r\nX-Back: 1\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(body, "ok");
    drop((client, agent, upstream, webhook));

    let exchanges = bench.exchanges(2).await;
    let kept = String::from_utf8_lossy(&exchanges[0].request.body.kept).into_owned();
    let masked = bench.url().replace("s3cret-abc", "**********");
    let expected = with(request, &masked);
    let expected =
        expected.replace("tok-7f3a-99", "***********").replace("cred-91bb-00", "************");
    assert_eq!(kept, expected, "the request is kept as it came, but for its secrets");
    let edit = &exchanges[0].edits[0];
    assert_eq!((edit.kind.as_str(), edit.from.as_str()), ("webhook", masked.as_str()), "{edit:?}");
    let delivery = &exchanges[1];
    assert_eq!(delivery.operation, Operation::PushNotification);
    assert_eq!(delivery.ids.task_id.as_deref(), Some("t1"), "{path}");
    assert_eq!(delivery.edits[0].to, masked);
    assert!(delivery.delivered.is_none(), "what was delivered is what the webhook answered");
    bench.keeps_none_of(&["s3cret-abc", token]);
}

/// PUSH-01
#[tokio::test]
async fn a_webhook_in_a_send_is_given_an_address_of_ours() {
    let v0_3 = |method: &str| {
        format!(
            r#"{{ "jsonrpc":"2.0", "id":7.0,"method":"{method}","params":{{"message":{{"kind":"message","messageId":"m1","role":"user","parts":[{{"kind":"text","text":"see http://x"}}]}},"configuration":{{"blocking":false,"pushNotificationConfig":{{"id":"c1","url" : "URL","token":"tok-7f3a-99","x":1e2}}}}}}}}"#
        )
    };
    let task = r#"{"jsonrpc":"2.0","id":7.0,"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted"},"metadata":{"sent":["URL"]}}}"#;
    check("/", V0_3, &v0_3("message/send"), "application/json", task).await;
    let event = "data: {\"jsonrpc\":\"2.0\",\"id\":7.0,\"result\":{}}\r\n\r\n";
    check("/", V0_3, &v0_3("message/stream"), "text/event-stream", event).await;

    let v1_0 = |method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","params":{{"configuration":{{"taskPushNotificationConfig":{{"url":"URL","authentication":{{"scheme":"Bearer","credentials":"cred-91bb-00"}}}}}},"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"hi"}}]}}}},"id":"a","method":"{method}"}}"#
        )
    };
    let task = r#"{"jsonrpc":"2.0","id":"a","result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}}"#;
    check("/", V1_0, &v1_0("SendMessage"), "application/json", task).await;
    check("/", V1_0, &v1_0("SendStreamingMessage"), "text/event-stream", event).await;
}

/// PUSH-01
#[tokio::test]
async fn a_webhook_in_a_send_over_http_json_is_given_an_address_of_ours() {
    let v1_0 = r#"{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]},"configuration":{"taskPushNotificationConfig":{"url":"URL"}}}"#;
    let task = r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}"#;
    check("/message:send", V1_0, v1_0, "application/a2a+json", task).await;
    check("/acme/message:send", V1_0, v1_0, "application/a2a+json", task).await;
    check("/message%3Asend", V1_0, v1_0, "application/a2a+json", task).await;
    check("/message:stream", V1_0, v1_0, "text/event-stream", "data: {}\n\n").await;
    for name in ["pushNotification", "push_notification", "pushNotificationConfig"] {
        let v0_3 = format!(
            r#"{{"request":{{"messageId":"m1","role":"ROLE_USER","content":[{{"text":"hi"}}]}},"configuration":{{"{name}":{{"url":"URL","token":"tok-7f3a-99"}}}}}}"#
        );
        check("/v1/message:send", V0_3, &v0_3, "application/json", task).await;
    }
}

/// PUSH-01
#[tokio::test]
async fn a_config_is_given_an_address_of_ours_and_read_back_as_it_was() {
    let set = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"t1","pushNotificationConfig":{"url":"URL"}}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"t1","pushNotificationConfig":{"url":"URL","id":"c1"}}}"#;
    check("/", V0_3, set, "application/json", reply).await;
    let create = r#"{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":"t1","url":"URL"}}"#;
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"t1","url":"URL","id":"c1"}}"#;
    check("/", V1_0, create, "application/json", reply).await;
    let path = "/tasks/t1/pushNotificationConfigs";
    check(path, V1_0, r#"{"url":"URL"}"#, "application/json", r#"{"id":"c1","url":"URL"}"#).await;
    let wrapped = r#"{"parent":"tasks/t1","configId":"c1","config":{"pushNotificationConfig":{"url":"URL"}}}"#;
    let flat = r#"{"name":"tasks/t1/pushNotificationConfigs/c1","push_notification_config":{"url":"URL"}}"#;
    for body in [wrapped, flat] {
        let path = "/v1/tasks/t1/pushNotificationConfigs";
        check(path, V0_3, body, "application/json", flat).await;
    }
}

/// PUSH-01
#[tokio::test]
async fn spellings_of_json_change_nothing() {
    let batch = r#" [{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}, {"jsonrpc":"2.0","id":2,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"t1","pushNotificationConfig":{"url":"URL"}}}]"#;
    let reply = r#"[{"jsonrpc":"2.0","id":2,"result":{"url":"URL"}}]"#;
    check_without_task("/", V0_3, batch, reply).await;
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"message\/send","params":{"configuration":{"\u0070ushNotificationConfig":{"u\u0072l":"URL"}},"message":{"messageId":"m","role":"user","parts":[]}}}"#;
    let task = r#"{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t1","contextId":"c","status":{"state":"working"}}}"#;
    check("/", V0_3, escaped, "application/json", task).await;
}

/// The part of [`check`] that needs no delegation.
async fn check_without_task(path: &str, fields: &str, request: &str, reply: &str) {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    client.write(post(path, fields, &request.replace("URL", &bench.url()))).await;
    let mut upstream = bench.agent.accept().await;
    let (_, body) = read_message(&mut upstream).await;
    let given = given_in(&body);
    assert_eq!(body, request.replace("URL", &given));
    let escaped = given.replace('/', "\\/");
    upstream.write(answer("application/json", &reply.replace("URL", &escaped))).await;
    let (_, body) = read_message(&mut client).await;
    assert_eq!(body, reply.replace("URL", &bench.url()));
}

/// PUSH-01
#[tokio::test]
async fn each_config_of_a_list_is_read_back_as_it_was() {
    let bench = Bench::new().await;
    let mut given = Vec::new();
    for number in 0..2 {
        let url = format!("{}&n={number}", bench.url());
        given.push(bench.register(&format!(r#"{{"url":"{url}"}}"#)).await);
    }
    let mut client = bench.client().await;
    let ask = "GET /tasks/t1/pushNotificationConfigs HTTP/1.1\r\nHost: proxy.test:8100\r\nA2A-Version: 1.0\r\n\r\n";
    client.write(ask).await;
    let mut upstream = bench.agent.accept().await;
    upstream.read_head().await;
    let list = |one: &str, other: &str| {
        format!(
            r#"{{"configs":[{{"url":"{one}"}},{{ "url":"{other}","x":null}},{{"url":"http://else.test/"}}]}}"#
        )
    };
    let ours = |path: &str| format!("http://proxy.test:8100{path}");
    // Without a length, in two portions.
    let body = list(&ours(&given[0]), &ours(&given[1]));
    let (one, other) = body.split_at(40);
    upstream.write(format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n", one.len())).await;
    upstream.write(format!("{:x}\r\n{other}\r\n0\r\n\r\n", other.len())).await;
    let expected = list(&format!("{}&n=0", bench.url()), &format!("{}&n=1", bench.url()));
    assert_eq!(read_message(&mut client).await.1, expected);
}

/// PUSH-01
#[tokio::test]
async fn a_compressed_request_goes_on_plain_with_the_address_in_it() {
    let bench = Bench::new().await;
    let body = format!(r#"{{"url":"{}"}}"#, bench.url());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let mut client = bench.client().await;
    let head = post("/tasks/t1/pushNotificationConfigs", V1_0, "");
    let head = head.replace(
        "Content-Length: 0",
        &format!("Content-Encoding: gzip\r\nContent-Length: {}", packed.len()),
    );
    client.write([head.as_bytes(), &packed].concat()).await;
    let mut upstream = bench.agent.accept().await;
    let (head, sent) = read_message(&mut upstream).await;
    assert_eq!(sent, body.replace(&bench.url(), &given_in(&sent)));
    assert!(!head.contains("Content-Encoding"), "{head}");
    // The answer may be compressed as well.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(sent.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let head = answer("application/json", "").replace(
        "Content-Length: 0",
        &format!("Content-Encoding: gzip\r\nContent-Length: {}", packed.len()),
    );
    upstream.write([head.as_bytes(), &packed].concat()).await;
    let (head, back) = read_message(&mut client).await;
    assert_eq!(back, body);
    assert!(!head.to_lowercase().contains("content-encoding"), "{head}");
}

#[tokio::test]
async fn an_address_in_the_text_of_an_error_is_the_orchestrators_own() {
    let bench = Bench::new().await;
    let path = bench.register(&format!(r#"{{"url":"{}"}}"#, bench.url())).await;
    let mut client = bench.client().await;
    client
        .write(post(
            "/",
            V1_0,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}"#,
        ))
        .await;
    let mut upstream = bench.agent.accept().await;
    read_message(&mut upstream).await;
    let error = |url: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"bad","data":"input_value='{url}'"}}}}"#
        )
    };
    let ours = format!("http://proxy.test:8100{path}");
    upstream.write(answer("application/json", &error(&ours))).await;
    assert_eq!(read_message(&mut client).await.1, error(&bench.url()));
}
