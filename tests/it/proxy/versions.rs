//! Versions and extensions: what is declared passes as it is, and is recorded beside what is spoken.

use meddler::a2a::binding::ProtocolVersion;
use meddler::record::jsonl;
use serde_json::json;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawConn, within};

fn post(target: &str, fields: &str, method: &str) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": "t" } });
    let body = body.to_string();
    format!(
        "POST {target} HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\n{fields}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// VER-01
#[tokio::test]
async fn what_is_declared_passes_and_is_recorded_beside_what_is_spoken() {
    let line = |version: &str| format!("A2A-Version: {version}\r\n");
    for (target, fields, method, spoken, declared, problem) in [
        ("/", String::new(), "tasks/get", Some("0.3"), None, ""),
        ("/", String::new(), "acme/custom", Some("0.3"), None, ""),
        ("/", "A2A-Version:\r\n".to_owned(), "acme/custom", Some("0.3"), Some(""), ""),
        ("/", line("0.3"), "acme/custom", Some("0.3"), Some("0.3"), ""),
        ("/", line("0.3.0"), "tasks/get", Some("0.3"), Some("0.3.0"), ""),
        ("/", line("1.0"), "GetTask", Some("1.0"), Some("1.0"), ""),
        ("/", line("1.0.1"), "acme/custom", Some("1.0"), Some("1.0.1"), ""),
        ("/", line("0.30"), "acme/custom", None, Some("0.30"), ""),
        ("/", line("0.30"), "tasks/get", Some("0.3"), Some("0.30"), "version_mismatch"),
        ("/", line("2.0"), "acme/custom", None, Some("2.0"), ""),
        ("/", line("2.0"), "GetTask", Some("1.0"), Some("2.0"), "version_mismatch"),
        (
            "/",
            line("0.3") + &line("1.0"),
            "GetTask",
            Some("1.0"),
            Some("0.3, 1.0"),
            "version_mismatch",
        ),
        ("/", line("1.0, 0.3"), "GetTask", Some("1.0"), Some("1.0, 0.3"), "version_mismatch"),
        ("/", line("1.0") + &line("1.0"), "GetTask", Some("1.0"), Some("1.0"), ""),
        ("/?A2A-Version=1.0", String::new(), "acme/custom", Some("1.0"), Some("1.0"), ""),
        ("/", line("1.0"), "tasks/get", Some("0.3"), Some("1.0"), "version_mismatch"),
    ] {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(post(target, &fields, method)).await;
        let mut upstream = at.agent.accept().await;
        let head = upstream.read_head().await;
        assert!(head.contains(&fields), "{fields:?} passes: {head}");
        assert!(head.starts_with(&format!("POST {target} ")), "{head}");
        assert_eq!(head.matches("A2A-Version:").count(), fields.matches("A2A-Version:").count());
        let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32009,"message":"no"}}"#;
        upstream
            .write(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        let head = client.read_head().await;
        assert!(head.contains("A2A-Version: 1.0\r\n"), "VER-02: {head}");
        let exchange = at.exchange().await;
        let about = format!("{fields:?} {method}");
        assert_eq!(exchange.version.map(ProtocolVersion::as_str), spoken, "{about}");
        assert_eq!(exchange.declared_version.as_deref(), declared, "{about}");
        let found: Vec<_> = exchange.problems.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(found.join(" "), problem, "{about}");
    }
}

/// VER-02
#[tokio::test]
async fn the_version_reaches_the_agent_on_the_card_request_and_over_grpc() {
    let at = Recorded::start("", "[]").await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client
        .write("GET /.well-known/agent-card.json HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\n\r\n")
        .await;
    let mut upstream = at.agent.accept().await;
    assert!(upstream.read_head().await.contains("A2A-Version: 1.0\r\n"));

    let mut agent = Http2Agent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[config]);
    let mut client = Http2Client::connect(proxy.addr()).await;
    let fields = [
        ("content-type", "application/grpc"),
        ("a2a-version", "1.0"),
        ("a2a-extensions", "https://ext.test/a/v1, https://ext.test/b?x=1,2"),
        ("x-a2a-extensions", "https://ext.test/c"),
    ];
    let path = "/lf.a2a.v1.A2AService/GetTask";
    let (response, mut body) = client.request("POST", path, &fields, false).await;
    body.send_data(framed(b"\x12\x01t"), true).unwrap();
    let mut arrived = agent.next().await;
    for (name, value) in fields {
        assert_eq!(arrived.head.headers[name], value);
    }
    let mut sending =
        arrived.answer(&[("content-type", "application/grpc"), ("a2a-version", "1.0")]);
    sending.send_data(framed(b""), false).unwrap();
    let trailers = [
        ("grpc-status".parse().unwrap(), "0".parse().unwrap()),
        ("x-a2a-extensions".parse().unwrap(), "https://ext.test/a/v1".parse().unwrap()),
    ];
    sending.send_trailers(trailers.into_iter().collect()).unwrap();
    let (head, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(head.headers["a2a-version"], "1.0");
    assert_eq!(read(&mut body).await.1.unwrap()["x-a2a-extensions"], "https://ext.test/a/v1");
}

/// VER-04
#[tokio::test]
async fn on_one_connection_each_call_is_answered_in_its_own_version() {
    let rules = "[{ name: no, inject: { error: TaskNotFound }, mark: false }]";
    let at = Recorded::start("", rules).await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    for (method, has_details) in [
        ("message/send", false),
        ("SendMessage", true),
        ("message/send", false),
        ("SendMessage", true),
    ] {
        client.write(post("/", "", method)).await;
        let head = client.read_head().await.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
        let body = client.read_exactly(length.parse().unwrap()).await;
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], -32001);
        assert_eq!(body["error"]["data"].is_array(), has_details, "{method}: {body}");
    }
    let recording = at.recording(4).await;
    let exchanges = recording.exchanges(&meddler::record::query::Filter::default());
    let versions: Vec<_> = exchanges.iter().map(|one| one.version.unwrap().as_str()).collect();
    assert_eq!(versions, ["0.3", "1.0", "0.3", "1.0"]);
}

/// EXT-01
#[tokio::test]
async fn extensions_pass_under_their_own_names_and_lines_and_are_recorded_as_a_list() {
    let list = "X-A2A-Extensions: https://ext.test/a/v1, https://ext.test/b?x=1,2\r\n";
    let two =
        "A2A-Extensions: https://ext.test/a/v1\r\nA2A-Extensions: urn:b,https://ext.test/c\r\n";
    for (fields, expected) in [
        (list.to_owned(), json!(["https://ext.test/a/v1", "https://ext.test/b?x=1,2"])),
        (two.to_owned(), json!(["https://ext.test/a/v1", "urn:b", "https://ext.test/c"])),
        (
            format!("A2A-Extensions: urn:n\r\n{list}"),
            json!(["urn:n", "https://ext.test/a/v1", "https://ext.test/b?x=1,2"]),
        ),
        ("A2A-Extensions: ,, urn:a ,\r\n".to_owned(), json!(["urn:a"])),
        (String::new(), serde_json::Value::Null),
    ] {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(post("/", &fields, "GetTask")).await;
        let mut upstream = at.agent.accept().await;
        let head = upstream.read_head().await;
        assert!(head.contains(&fields), "{fields:?}: {head}");
        let answer =
            "HTTP/1.1 200 OK\r\nA2A-Extensions: https://ext.test/a/v1\r\nContent-Length: 0\r\n\r\n";
        upstream.write(answer).await;
        assert_eq!(client.read_head().await, answer);
        let line = jsonl::exchange(&*at.exchange().await);
        let found = line["request"].get("extensions").cloned().unwrap_or_default();
        assert_eq!(found, expected, "{fields:?}");
        assert_eq!(line["response"]["extensions"], json!(["https://ext.test/a/v1"]));
    }
}
