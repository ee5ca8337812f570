//! What the head of a request alone tells.

use http::{HeaderMap, HeaderValue, Method, Uri};
use meddler::a2a::binding::Binding;
use meddler::a2a::call::{Head, Recognized};
use meddler::a2a::detect;

fn recognize(method: &str, target: &str, fields: &[(&'static str, &str)]) -> Recognized {
    let method: Method = method.parse().unwrap();
    let uri: Uri = target.parse().unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    detect::recognize(Head { method: &method, uri: &uri, headers: &headers })
}

fn shown(recognized: &Recognized) -> String {
    let named =
        |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}={value}"));
    let words = [
        Some(recognized.binding.map_or_else(|| "-".to_owned(), |binding| binding.to_string())),
        recognized.version.map(|version| version.to_string()),
        recognized.operation.map(|operation| operation.to_string()),
        named("tenant", &recognized.tenant),
        named("task", &recognized.task_id),
        named("config", &recognized.config_id),
    ];
    words.into_iter().flatten().collect::<Vec<String>>().join(" ")
}

#[track_caller]
fn check(method: &str, target: &str, version: Option<&str>, expected: &str) {
    let mut fields = vec![("content-type", "application/json")];
    fields.extend(version.map(|version| ("a2a-version", version)));
    assert_eq!(
        shown(&recognize(method, target, &fields)),
        expected,
        "{method} {target} {version:?}"
    );
}

#[test]
fn paths_of_1_0_have_no_prefix() {
    let v = Some("1.0");
    check("POST", "/message:send", v, "http+json 1.0 SendMessage");
    check("POST", "/message:stream", None, "http+json 1.0 SendStreamingMessage");
    check("GET", "/tasks", v, "http+json 1.0 ListTasks");
    check("GET", "/tasks/t1?historyLength=0", v, "http+json 1.0 GetTask task=t1");
    check("POST", "/tasks/t1:cancel", v, "http+json 1.0 CancelTask task=t1");
    check("POST", "/tasks/t1:subscribe", v, "http+json 1.0 SubscribeToTask task=t1");
    check("GET", "/tasks/t1:subscribe", v, "http+json 1.0 SubscribeToTask task=t1");
    let configs = "/tasks/t1/pushNotificationConfigs";
    check("POST", configs, v, "http+json 1.0 CreateTaskPushNotificationConfig task=t1");
    check("GET", configs, v, "http+json 1.0 ListTaskPushNotificationConfigs task=t1");
    let config = "/tasks/t1/pushNotificationConfigs/c1";
    check("GET", config, v, "http+json 1.0 GetTaskPushNotificationConfig task=t1 config=c1");
    check("DELETE", config, v, "http+json 1.0 DeleteTaskPushNotificationConfig task=t1 config=c1");
    check("GET", "/extendedAgentCard", v, "http+json 1.0 GetExtendedAgentCard");
}

#[test]
fn paths_of_0_3_stand_under_v1() {
    check("POST", "/v1/message:send", None, "http+json 0.3 SendMessage");
    check("POST", "/v1/message:send", Some("0.3"), "http+json 0.3 SendMessage");
    check("GET", "/v1/tasks/t1:subscribe", None, "http+json 0.3 SubscribeToTask task=t1");
    check("POST", "/v1/tasks/t1:subscribe", None, "http+json 0.3 SubscribeToTask task=t1");
    check("GET", "/v1/card", None, "http+json 0.3 GetExtendedAgentCard");
    check("GET", "/agent/authenticatedExtendedCard", None, "http+json 0.3 GetExtendedAgentCard");
    check("POST", "/team/agent/v1/message:send", None, "http+json 0.3 SendMessage");
    check("POST", "/message:send", Some("0.3"), "http+json 0.3 SendMessage");
}

/// REST-04
#[test]
fn a_tenant_may_stand_in_front() {
    let v = Some("1.0");
    check("POST", "/acme/message:send", v, "http+json 1.0 SendMessage tenant=acme");
    check("GET", "/acme/tasks/t1", v, "http+json 1.0 GetTask tenant=acme task=t1");
    check("GET", "/acme/extendedAgentCard", v, "http+json 1.0 GetExtendedAgentCard tenant=acme");
    check("GET", "/tasks/tasks/t1", v, "http+json 1.0 GetTask tenant=tasks task=t1");
    check("POST", "/v1/message:send", v, "http+json 1.0 SendMessage tenant=v1");
    check("GET", "/ac%20me/tasks/t%2F1", v, "http+json 1.0 GetTask tenant=ac me task=t/1");
}

#[test]
fn other_paths_are_not_taken_for_ours() {
    // A POST of JSON may still be JSON-RPC.
    check("POST", "/a/b/message:send", None, "jsonrpc");
    check("POST", "/v1/v1/message:send", None, "jsonrpc");
    check("GET", "/a/b/tasks/t1", None, "- unknown");
    check("GET", "/card", None, "- unknown");
    check("GET", "/message:send", None, "- unknown");
    check("PUT", "/tasks/t1", None, "- unknown");
    check("GET", "/", None, "- unknown");
}

/// REST-01
#[test]
fn a_colon_may_be_encoded() {
    check("POST", "/message%3Asend", None, "http+json 1.0 SendMessage");
    check("POST", "/message%3asend", None, "http+json 1.0 SendMessage");
    check("POST", "/v1/message%3Astream", None, "http+json 0.3 SendStreamingMessage");
    check("POST", "/tasks/t1%3Acancel", None, "http+json 1.0 CancelTask task=t1");
}

/// CARD-08, CARD-20
#[test]
fn card_discovery_has_two_names_anywhere() {
    for target in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/team/agent/.well-known/agent-card.json",
        "/.well-known/agent-card.json/",
    ] {
        check("GET", target, None, "http+json AgentCard");
        check("HEAD", target, None, "http+json AgentCard");
    }
    check("GET", "/my-well-known/agent-card.json", None, "- unknown");
}

/// VER-04
#[test]
fn grpc_names_the_version_by_the_service() {
    for (path, version, expected) in [
        ("/lf.a2a.v1.A2AService/SendMessage", None, "grpc 1.0 SendMessage"),
        ("/lf.a2a.v1.A2AService/SubscribeToTask", None, "grpc 1.0 SubscribeToTask"),
        ("/a2a.v1.A2AService/SendMessage", None, "grpc 0.3 SendMessage"),
        ("/a2a.v1.A2AService/TaskSubscription", None, "grpc 0.3 SubscribeToTask"),
        ("/a2a.v1.A2AService/GetAgentCard", None, "grpc 0.3 GetExtendedAgentCard"),
        // 1.0's release candidate.
        ("/a2a.v1.A2AService/SubscribeToTask", None, "grpc 1.0 SubscribeToTask"),
        ("/a2a.v1.A2AService/SendMessage", Some("1.0"), "grpc 1.0 SendMessage"),
        ("/a2a.v1.A2AService/SendMessage", Some("0.3"), "grpc 0.3 SendMessage"),
        ("/lf.a2a.v1.A2AService/TaskSubscription", None, "grpc unknown"),
        ("/a2a.v1.A2AService/NewMethod", None, "grpc unknown"),
        ("/grpc.health.v1.Health/Check", None, "grpc unknown"),
    ] {
        for content_type in ["application/grpc", "application/grpc+proto"] {
            let mut fields = vec![("content-type", content_type)];
            fields.extend(version.map(|version| ("a2a-version", version)));
            let recognized = recognize("POST", path, &fields);
            assert_eq!(shown(&recognized), expected, "{path}");
            assert_eq!(recognized.wire_name, path);
        }
    }
}

/// RPC-10
#[test]
fn json_that_is_posted_may_be_json_rpc() {
    for (content_type, is_candidate) in [
        ("application/json", true),
        ("application/json;charset=UTF-8", true),
        ("Application/JSON", true),
        ("application/a2a+json", true),
        ("application/json-rpc", true),
        ("text/plain", false),
        ("application/grpc-web", false),
    ] {
        let recognized = recognize("POST", "/rpc", &[("content-type", content_type)]);
        let expected = is_candidate.then_some(Binding::JsonRpc);
        assert_eq!(recognized.binding, expected, "{content_type}");
        assert_eq!(recognized.operation.is_none(), is_candidate, "{content_type}");
    }
    assert_eq!(recognize("POST", "/", &[]).binding, Some(Binding::JsonRpc));
}

/// VER-01
#[test]
fn the_declared_version_is_kept_as_written() {
    let declared =
        |target: &str, fields: &[(&'static str, &str)]| recognize("GET", target, fields).declared;
    assert_eq!(declared("/tasks", &[]), None);
    assert_eq!(declared("/tasks", &[("a2a-version", "")]).as_deref(), Some(""));
    assert_eq!(declared("/tasks", &[("a2a-version", "0.30")]).as_deref(), Some("0.30"));
    assert_eq!(declared("/tasks?a=1&A2A-Version=1.0", &[]).as_deref(), Some("1.0"));
    let twice = [("a2a-version", "0.3"), ("a2a-version", "1.0")];
    assert_eq!(declared("/tasks", &twice).as_deref(), Some("0.3, 1.0"));
    let header_wins = declared("/tasks?A2A-Version=1.0", &[("a2a-version", "0.3")]);
    assert_eq!(header_wins.as_deref(), Some("0.3"));
}

#[test]
fn names_of_paths_leave_the_ids_out() {
    let name =
        |method, target, version| recognize(method, target, &[("a2a-version", version)]).wire_name;
    assert_eq!(
        name("GET", "/tasks/t1/pushNotificationConfigs/c", "1.0"),
        "GET /tasks/{id}/pushNotificationConfigs/{configId}"
    );
    assert_eq!(name("POST", "/v1/tasks/t1:cancel", "0.3"), "POST /v1/tasks/{id}:cancel");
    assert_eq!(name("POST", "/acme/message:send", "1.0"), "POST /{tenant}/message:send");
    assert_eq!(name("GET", "/else/where?x=1", "1.0"), "GET /else/where");
}
