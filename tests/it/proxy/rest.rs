//! HTTP+JSON as the field sends it: the path is forwarded in the client's spelling, and read.

use meddler::record::decode;

use super::recorded::Recorded;
use crate::support::raw::RawConn;

/// A request, the target the agent gets for it, and how it is recorded.
async fn check(forward: &str, line: &str, fields: &str, upstream_target: &str, recorded: &str) {
    let at = if forward.is_empty() {
        Recorded::start("", "[]").await
    } else {
        let agent = crate::support::raw::RawAgent::start().await;
        let more = format!("forward: \"http://localhost:{}{forward}\"", agent.addr.port());
        let mut at = Recorded::start(&more, "[]").await;
        at.agent = agent;
        at
    };
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(format!("{line} HTTP/1.1\r\nHost: p\r\n{fields}Content-Length: 0\r\n\r\n")).await;
    let mut upstream = at.agent.accept().await;
    let head = upstream.read_head().await;
    let method = line.split(' ').next().unwrap();
    assert!(
        head.starts_with(&format!("{method} {upstream_target} HTTP/1.1\r\n")),
        "{line}: {head}"
    );
    upstream.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    client.read_head().await;
    let exchange = at.exchange().await;
    let ids = &exchange.ids;
    let named = |name: &str, id: &Option<String>| id.as_ref().map(|id| format!("{name}={id}"));
    let words = [
        exchange.version.map(|version| version.to_string()),
        Some(exchange.operation.to_string()),
        named("tenant", &ids.tenant),
        named("task", &ids.task_id),
        named("context", &ids.context_id),
    ];
    let shown = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    assert_eq!(shown, recorded, "{line} {fields}");
}

const V1: &str = "A2A-Version: 1.0\r\n";

/// REST-01
#[tokio::test]
async fn a_colon_may_be_encoded_and_stays_so() {
    for (path, recorded) in [
        ("/message%3Asend", "1.0 SendMessage"),
        ("/message%3asend", "1.0 SendMessage"),
        ("/v1/message%3Astream", "0.3 SendStreamingMessage"),
        ("/tasks/t1%3Acancel", "1.0 CancelTask task=t1"),
        ("/tasks/t1:cancel", "1.0 CancelTask task=t1"),
        ("/tasks/a:b%3Acancel", "1.0 CancelTask task=a:b"),
    ] {
        check("", &format!("POST {path}"), "", path, recorded).await;
    }
}

/// REST-03
#[tokio::test]
async fn a_prefix_is_neither_added_nor_removed() {
    for (path, fields, recorded) in [
        ("/v1/message:send", "", "0.3 SendMessage"),
        ("/message:send", "", "1.0 SendMessage"),
        ("/message:send", "A2A-Version: 0.3\r\n", "0.3 SendMessage"),
        ("/v1/v1/message:send", "Content-Type: text/plain\r\n", "unknown"),
    ] {
        check("/api", &format!("POST {path}"), fields, &format!("/api{path}"), recorded).await;
    }
    // The interface's own address may end in `/v1`.
    check("/api/v1", "POST /message:send", "", "/api/v1/message:send", "1.0 SendMessage").await;
}

/// REST-04
#[tokio::test]
async fn a_tenant_may_stand_in_front() {
    for (line, fields, recorded) in [
        ("POST /acme/message:send", V1, "1.0 SendMessage tenant=acme"),
        ("GET /acme/tasks/t1", V1, "1.0 GetTask tenant=acme task=t1"),
        ("GET /acme/extendedAgentCard", V1, "1.0 GetExtendedAgentCard tenant=acme"),
        ("GET /tasks/tasks/t1", "", "1.0 GetTask tenant=tasks task=t1"),
        ("POST /v1/message:send", "", "0.3 SendMessage"),
        ("POST /v1/message:send", V1, "1.0 SendMessage tenant=v1"),
        ("GET /a/b/tasks/t1", V1, "unknown"),
    ] {
        let path = line.split(' ').nth(1).unwrap();
        check("", line, fields, path, recorded).await;
        check("/svc/billing", line, fields, &format!("/svc/billing{path}"), recorded).await;
    }
}

/// REST-04
#[tokio::test]
async fn a_rule_for_a_tenant_fires_for_that_tenant_only() {
    let rule = "[{ name: no, when: { tenant: acme, operation: GetTask }, inject: { error: TaskNotFound } }]";
    let at = Recorded::start("", rule).await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(format!("GET /acme/tasks/t1 HTTP/1.1\r\nHost: p\r\n{V1}\r\n")).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 404 ") && head.contains("meddler-fault: no\r\n"), "{head}");
    let (_client, _upstream) =
        at.ask(&format!("GET /globex/tasks/t1 HTTP/1.1\r\nHost: p\r\n{V1}\r\n")).await;
}

/// REST-06
#[tokio::test]
async fn a_subscription_is_one_with_either_method_and_a_query_passes_as_it_is() {
    for (line, recorded) in [
        ("POST /tasks/t1:subscribe", "1.0 SubscribeToTask task=t1"),
        ("GET /tasks/t1:subscribe", "1.0 SubscribeToTask task=t1"),
        ("GET /v1/tasks/t1:subscribe", "0.3 SubscribeToTask task=t1"),
        (
            "GET /tasks?contextId=c%2B1&status=TASK_STATE_WORKING&pageSize=10&pageToken=a%3D%3D&A2A-Version=1.0",
            "1.0 ListTasks context=c+1",
        ),
        ("GET /tasks/t1?historyLength=0&history_length=5", "1.0 GetTask task=t1"),
        ("GET /tasks?pageToken=a+b%20c&&x=%zz", "1.0 ListTasks"),
    ] {
        let target = line.split(' ').nth(1).unwrap();
        check("", line, "", target, recorded).await;
    }
}

/// REST-08
#[tokio::test]
async fn problem_details_are_read_as_the_error_they_name_or_imply() {
    let at_type = r#"{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task Not Found","status":404,"detail":"t1"}"#;
    let other = r#"{"kind":"about","summary":"There is no t1"}"#;
    let blank = r#"{"type":"about:blank","title":"Not Found","status":404}"#;
    for (body, name, inferred) in [
        (at_type, Some("TaskNotFoundError"), false),
        (other, Some("TaskNotFoundError"), true),
        (blank, None, false),
    ] {
        let at = Recorded::start("", "[]").await;
        let ask = format!("GET /tasks/t1 HTTP/1.1\r\nHost: p\r\n{V1}\r\n");
        let (mut client, mut upstream) = at.ask(&ask).await;
        let answer = format!(
            "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        upstream.write(&answer).await;
        let head = client.read_head().await;
        let came = client.read_exactly(body.len()).await;
        assert_eq!(format!("{head}{}", String::from_utf8(came).unwrap()), answer);
        let exchange = at.exchange().await;
        let error = decode::understand(&exchange).answer.unwrap().error.unwrap();
        let canonical = meddler::a2a::canonical::error(&error);
        assert_eq!(canonical.get("name").and_then(|name| name.as_str()), name, "{body}");
        assert_eq!(canonical.get("inferred").is_some(), inferred, "{body}");
    }
}

/// REST-03, REST-04
#[tokio::test]
async fn an_interface_below_a_path_is_read_below_it_once_its_card_has_told() {
    let other = crate::support::raw::RawAgent::start().await;
    let at = Recorded::start("", "[]").await;
    let (own, elsewhere) = (at.agent.addr.port(), other.addr.port());
    let card = format!(
        "{{\"name\":\"a\",\"supportedInterfaces\":[{{\"protocolBinding\":\"HTTP+JSON\",\"url\":\"http://localhost:{own}/a2a/rest/\",\"protocolVersion\":\"1.0\"}},\
         {{\"protocolBinding\":\"HTTP+JSON\",\"url\":\"http://localhost:{elsewhere}/svc\",\"protocolVersion\":\"1.0\"}}]}}"
    );
    let (mut client, mut upstream) =
        at.ask("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: p\r\n\r\n").await;
    upstream
        .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len()))
        .await;
    client.read_until("]}").await;
    let mut upstream_elsewhere = None;
    let to = format!("/.meddler/to/http/localhost:{elsewhere}/svc");
    for (path, target) in [
        ("/a2a/rest/tasks/t1".to_owned(), "/a2a/rest/tasks/t1"),
        ("/a2a/rest/acme/tasks/t1:subscribe".to_owned(), "/a2a/rest/acme/tasks/t1:subscribe"),
        ("/a2a/restless/tasks/t1".to_owned(), "/a2a/restless/tasks/t1"),
        (format!("{to}/acme/tasks/t1"), "/svc/acme/tasks/t1"),
    ] {
        client.write(format!("GET {path} HTTP/1.1\r\nHost: p\r\n{V1}\r\n")).await;
        let agent = if path.starts_with(&to) {
            upstream_elsewhere.insert(other.accept().await)
        } else {
            &mut upstream
        };
        assert!(agent.read_head().await.starts_with(&format!("GET {target} HTTP/1.1\r\n")));
        agent.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
        client.read_head().await;
    }
    let recording = at.recording(5).await;
    let exchanges = recording.exchanges(&meddler::record::query::Filter::default());
    let shown: Vec<_> = exchanges
        .iter()
        .map(|one| {
            let tenant = one.ids.tenant.as_deref().unwrap_or("-");
            format!("{} {tenant} {}", one.operation, one.request.base)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "AgentCard - ".to_owned(),
            "GetTask - /a2a/rest".to_owned(),
            "SubscribeToTask acme /a2a/rest".to_owned(),
            "unknown - ".to_owned(),
            format!("GetTask acme {to}"),
        ]
    );
    // What is written down is read back, and read the same way.
    let line = meddler::record::jsonl::exchange(&exchanges[1]);
    assert_eq!(line["request"]["base"], "/a2a/rest");
}
