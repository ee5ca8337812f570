//! JSON-RPC as the field sends it: ids of every type, batches, numbers of every spelling, errors of
//! every layer. All of it passes as it came, and the recording says what it was.

use std::sync::Arc;

use meddler::a2a::model::Operation;
use meddler::record::decode;
use meddler::record::exchange::{Exchange, FaultVerdict, Outcome};
use meddler::record::jsonl;
use meddler::record::query::Filter;
use serde_json::{Value, json};

use super::recorded::Recorded;
use crate::support::raw::RawConn;

fn post(fields: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: p\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn json_post(body: &str) -> String {
    post("Content-Type: application/json\r\n", body)
}

fn response(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// An exchange of these octets, whole; the agent sees the request's body and the client the answer as
/// they were sent.
async fn pass(at: &Recorded, request: &str, answer: &str) {
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(request).await;
    let mut upstream = at.agent.accept().await;
    upstream.read_head().await;
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    assert_eq!(upstream.read_exactly(body.len()).await, body.as_bytes());
    upstream.write(answer).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let came = client.read_head().await;
    assert_eq!(came.lines().next(), head.lines().next());
    assert_eq!(client.read_exactly(body.len()).await, body.as_bytes());
}

/// ... and as it is recorded.
async fn passed(request: &str, answer: &str) -> Arc<Exchange> {
    let at = Recorded::start("", "[]").await;
    pass(&at, request, answer).await;
    at.exchange().await
}

fn problems(exchange: &Exchange) -> Vec<String> {
    exchange.problems.iter().map(|problem| format!("{} {}", problem.name, problem.at)).collect()
}

/// The line of an export.
fn line(exchange: &Exchange) -> Value {
    jsonl::exchange(exchange)
}

/// RPC-01
#[tokio::test]
async fn an_id_of_any_type_passes_as_it_is_spelled_and_is_recorded_so() {
    for id in ["42", "\"42\"", "0", "-1.5e3", "null", "9007199254740993", "\"\\u0061\""] {
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"id":"t1"}}}}"#);
        let answer =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32001,"message":"no"}}}}"#);
        let exchange = passed(&json_post(&call), &response(&answer)).await;
        assert_eq!(problems(&exchange), [""; 0], "{id}");
        let understood = decode::understand(&exchange);
        assert_eq!(understood.call.rpc_id.unwrap().get(), id);
        assert_eq!(exchange.operation, Operation::GetTask);
    }
}

/// RPC-01
#[tokio::test]
async fn an_error_without_the_id_belongs_to_its_exchange() {
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"id":"t1"}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    let exchange = passed(&json_post(call), &response(answer)).await;
    assert_eq!((problems(&exchange), exchange.outcome), (Vec::new(), Outcome::Error));
}

/// RPC-01
#[tokio::test]
async fn an_answer_that_a_rule_makes_has_the_id_as_it_was_spelled() {
    let rule = "[{ name: no, when: { operation: GetTask }, inject: { error: TaskNotFound } }]";
    for id in ["42", "\"42\"", "0", "-1.5e3", "null", "123456789012345678901234567890"] {
        let at = Recorded::start("", rule).await;
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/get","params":{{"id":"t1"}}}}"#);
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(json_post(&call)).await;
        client.read_head().await;
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
        assert_eq!(client.read_exactly(start.len()).await, start.as_bytes());
    }
}

const BATCH: &str = r#"[{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}},{"jsonrpc":"2.0","id":2,"method":"tasks/cancel","params":{"id":"t2"}},{"jsonrpc":"2.0","method":"x/notify"}]"#;

/// RPC-03
#[tokio::test]
async fn each_call_of_a_batch_is_recorded_and_matched_by_its_id() {
    let answer = r#"[{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"no"}},{"jsonrpc":"2.0","id":1,"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working"}}}]"#;
    let exchange = passed(&json_post(BATCH), &response(answer)).await;
    assert_eq!(exchange.wire_name, "[tasks/get, tasks/cancel, x/notify]");
    assert_eq!(exchange.outcome, Outcome::Error, "one of them failed");
    let members = decode::members(&exchange);
    let shown = members.iter().map(|member| {
        let call = &member.call;
        let task = call.ids.task_id.as_deref().unwrap_or("-");
        let id = call.rpc_id.as_ref().map_or("-", |id| id.get());
        format!("{id} {} {} {task} {}", call.operation, call.wire_name, member.outcome)
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "1 GetTask tasks/get t1 answered",
            "2 CancelTask tasks/cancel t2 error",
            "- unknown x/notify - unanswered",
        ]
    );
    assert_eq!(problems(&exchange), ["batch $", "notification $[2].id"]);
    let batch = &line(&exchange)["batch"];
    assert_eq!(batch[1]["operation"], "CancelTask");
    assert_eq!((&batch[1]["id"], &batch[1]["outcome"]), (&json!(2), &json!("error")));
}

/// RPC-03
#[tokio::test]
async fn what_is_no_batch_after_all_passes_for_the_agent_to_refuse() {
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}"#;
    for (body, expected) in [
        ("[]", &["batch $"][..]),
        ("[1]", &["batch $", "wrong_type $[0]"]),
        ("[1,[2]]", &["batch $", "wrong_type $[0]", "wrong_type $[1]"]),
        ("[{\"jsonrpc\":\"2.0\"", &["invalid_json $"]),
    ] {
        let exchange = passed(&json_post(body), &response(refusal)).await;
        assert_eq!(problems(&exchange), expected, "{body}");
    }
    // Answers that nobody waits for, and one that comes twice.
    let answer = r#"[{"jsonrpc":"2.0","id":9,"result":{}},{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":""}},{"jsonrpc":"2.0","id":1,"result":{}}]"#;
    let exchange = passed(&json_post(BATCH), &response(answer)).await;
    assert_eq!(
        problems(&exchange),
        [
            "batch $",
            "notification $[2].id",
            "wrong_id response: $[0].id",
            "wrong_id response: $[2].id"
        ]
    );
}

/// RPC-03
#[tokio::test]
async fn rules_do_not_apply_to_a_batch_and_its_secrets_are_masked() {
    let rules = "[{ name: no, when: { operation: [CancelTask, SendMessage] }, inject: { error: TaskNotFound } }]";
    let at = Recorded::start(", push: pass", rules).await;
    let body = r#"[{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"t2"}},{"jsonrpc":"2.0","id":2,"method":"tasks/pushNotificationConfig/set","params":{"taskId":"t","pushNotificationConfig":{"url":"http://w/","token":"s3cr3t-token"}}}]"#;
    pass(&at, &json_post(body), &response("[]")).await;
    let exchange = at.exchange().await;
    assert!(exchange.faults.iter().all(|fault| fault.verdict != FaultVerdict::Fired));
    let kept = String::from_utf8(exchange.request.body.kept.to_vec()).unwrap();
    assert!(
        !kept.contains("s3cr3t") && kept.contains("tasks/pushNotificationConfig/set"),
        "{kept}"
    );
}

/// RPC-04
#[tokio::test]
async fn numbers_keep_their_spelling_and_big_ones_their_digits() {
    let metadata = r#"{"order":9007199254740993,"huge":123456789012345678901234567890,"price":1.10,"e":1E2,"neg":-0}"#;
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}]}},"metadata":{metadata}}}}}"#
    );
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"message":{{"messageId":"r","role":"ROLE_AGENT","parts":[{{"text":"a"}}],"metadata":{metadata}}}}}}}"#
    );
    // With a rule on another operation, and with one that changes an unrelated part of this very answer.
    let other = "[{ name: other, when: { operation: CancelTask }, inject: empty }]";
    let at = Recorded::start("", other).await;
    pass(&at, &json_post(&call), &response(&answer)).await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.request.body.kept, call);
    let sent = line(&exchange)["request"]["body"]["text"].as_str().unwrap().to_owned();
    assert!(sent.contains(metadata), "{sent}");

    let hostile = "[{ name: h, inject: { hostile: {} }, mark: false }]";
    let at = Recorded::start("", hostile).await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(json_post(&call)).await;
    let mut upstream = at.agent.accept().await;
    upstream.read_until(metadata).await;
    upstream.write(response(&answer)).await;
    let head = client.read_head().await.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap();
    let body = client.read_exactly(length.parse().unwrap()).await;
    let body = String::from_utf8(body).unwrap();
    assert!(body.contains(metadata) && body.len() > answer.len(), "{body}");
}

/// RPC-06
#[tokio::test]
async fn method_names_are_exact() {
    for (method, operation, version) in [
        ("message/send", Operation::SendMessage, "0.3"),
        ("SendMessage", Operation::SendMessage, "1.0"),
        ("sendMessage", Operation::Unknown, "0.3"),
        ("Message/Send", Operation::Unknown, "0.3"),
        ("tasks/resubscribe", Operation::SubscribeToTask, "0.3"),
        ("SubscribeToTask", Operation::SubscribeToTask, "1.0"),
        ("tasks/pushNotificationConfig/set", Operation::CreateTaskPushNotificationConfig, "0.3"),
        ("acme/custom", Operation::Unknown, "0.3"),
        (" SendMessage", Operation::Unknown, "0.3"),
        ("", Operation::Unknown, "0.3"),
    ] {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} }).to_string();
        let answer = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        let exchange = passed(&json_post(&call), &response(answer)).await;
        assert_eq!(exchange.operation, operation, "{method}");
        assert_eq!(exchange.wire_name, method);
        assert_eq!(exchange.version.unwrap().to_string(), version, "{method}");
    }
}

/// RPC-07
#[tokio::test]
async fn an_error_is_recorded_in_both_of_its_layers() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}"#;
    let rpc = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}"#;
    for (head, body, code) in [
        ("400 Bad Request\r\nContent-Type: application/json", rpc, Some(-32602)),
        ("502 Bad Gateway\r\nContent-Type: text/html", "<html>Bad Gateway</html>", None),
        ("503 Service Unavailable\r\nRetry-After: 7", "", None),
        (
            "429 Too Many Requests\r\nContent-Type: application/json",
            r#"{"detail":"slow down"}"#,
            None,
        ),
    ] {
        let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let at = Recorded::start("", "[]").await;
        let (mut client, mut upstream) = at.ask(&json_post(call)).await;
        upstream.write(&answer).await;
        let came = client.read_until("\r\n\r\n").await;
        assert_eq!(came, answer[..answer.len() - body.len()], "all of the head is the agent's");
        assert_eq!(client.read_exactly(body.len()).await, body.as_bytes());
        let exchange = at.exchange().await;
        let status: u16 = head[..3].parse().unwrap();
        assert_eq!(exchange.response.as_ref().unwrap().status, status);
        let error = decode::understand(&exchange).answer.unwrap().error.unwrap();
        assert_eq!((error.code, error.http_status), (code, Some(status)), "{head}");
        assert_eq!((exchange.outcome, &exchange.upstream_error), (Outcome::Error, &None));
    }
}

/// RPC-07
#[tokio::test]
async fn an_agent_that_cannot_be_reached_is_told_from_one_that_says_502() {
    let at = Recorded::start("forward: \"http://127.0.0.1:1\"", "[]").await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(json_post(r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get"}"#)).await;
    let head = client.read_head().await;
    assert!(head.contains("meddler-error: connect_refused\r\n"), "{head}");
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::UpstreamError);
    assert_eq!(exchange.upstream_error.as_ref().unwrap().word, "connect_refused");
    assert!(exchange.response.is_none() && exchange.delivered.is_some());
}

fn send(method: &str, configuration: &str) -> String {
    let role = if method == "SendMessage" { "ROLE_USER" } else { "user" };
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{{"kind":"message","messageId":"m","role":"{role}","parts":[{{"kind":"text","text":"hi"}}]}}{configuration}}}}}"#
    )
}

/// RPC-08
#[tokio::test]
async fn waiting_is_recorded_as_it_was_asked() {
    use meddler::a2a::model::Request;

    for (method, configuration, asked) in [
        ("message/send", "", None),
        ("message/send", r#","configuration":{"blocking":true}"#, Some(false)),
        ("message/send", r#","configuration":{"blocking":false}"#, Some(true)),
        ("SendMessage", "", None),
        ("SendMessage", r#","configuration":{"returnImmediately":true}"#, Some(true)),
        ("SendMessage", r#","configuration":{"blocking":true}"#, None),
    ] {
        let call = send(method, configuration);
        let answer = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#;
        let exchange = passed(&json_post(&call), &response(answer)).await;
        let request = decode::understand(&exchange).call.request.unwrap();
        let Request::SendMessage(send) = request else { panic!("{request:?}") };
        let waits = send.configuration.and_then(|config| config.return_immediately);
        assert_eq!(waits, asked, "{method} {configuration}");
    }
}

fn task(id: &str, context: &str, state: &str) -> String {
    format!(
        r#"{{"kind":"task","id":"{id}","contextId":"{context}","status":{{"state":"{state}"}}}}"#
    )
}

fn result(body: &str) -> String {
    response(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#))
}

/// RPC-08
#[tokio::test]
async fn a_send_and_its_polls_are_one_delegation_that_ends_with_the_poll_that_ends_it() {
    let at = Recorded::start("", "[]").await;
    let send = send("message/send", r#","configuration":{"blocking":false}"#);
    pass(&at, &json_post(&send), &result(&task("t1", "c1", "working"))).await;
    let poll = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}"#;
    for state in ["working", "working", "completed", "completed"] {
        pass(&at, &json_post(poll), &result(&task("t1", "c1", state))).await;
    }
    let recording = at.recording(5).await;
    let delegations = recording.delegations(&Filter::default());
    assert_eq!(delegations.len(), 1);
    assert_eq!(delegations[0].outcome, Outcome::Completed);
    assert_eq!(delegations[0].states, ["working", "completed"]);
    assert_eq!(delegations[0].exchanges.len(), 5);
}

/// RPC-09
#[tokio::test]
async fn a_conversation_is_known_by_ids_that_only_answers_gave() {
    let at = Recorded::start("", "[]").await;
    let ids = |more: &str| send("message/send", "").replace("\"role\"", &format!("{more}\"role\""));
    pass(&at, &json_post(&ids("")), &result(&task("t9", "c9", "working"))).await;
    pass(&at, &json_post(&ids("\"contextId\":\"c9\",")), &result(&task("t10", "c9", "completed")))
        .await;
    pass(&at, &json_post(&ids("\"taskId\":\"t9\",")), &result(&task("t9", "c9", "completed")))
        .await;
    let recording = at.recording(3).await;
    let delegations = recording.delegations(&Filter::default());
    let contexts: Vec<_> = delegations.iter().map(|one| one.context_id.as_deref()).collect();
    assert_eq!(contexts, [Some("c9"); 3]);
    let tasks: Vec<_> = delegations.iter().map(|one| one.task_id.as_deref().unwrap()).collect();
    assert_eq!(tasks, ["t9", "t10", "t9"]);
}

/// RPC-09
#[tokio::test]
async fn a_task_is_known_although_the_client_gave_up_before_it_was_told() {
    let at = Recorded::start("", "[]").await;
    let (client, mut upstream) = at.ask(&json_post(&send("message/send", ""))).await;
    // The answer has begun, and does not fit the client's window: the agent has said it all.
    let whole = result(&task("t9", "c9", "working"));
    upstream.write(&whole).await;
    let mut client = client;
    client.read_until("contextId").await;
    client.reset();
    let exchange = at.exchange().await;
    assert_eq!(exchange.ids.task_id.as_deref(), Some("t9"));
    assert_eq!(exchange.ids.context_id.as_deref(), Some("c9"));
}

/// RPC-10
#[tokio::test]
async fn a_call_is_known_by_its_content_whatever_json_is_called() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t1"}}"#;
    let marked = format!("\u{feff} \n{call}");
    let answer = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}"#;
    for (kind, body, operation) in [
        ("Content-Type: application/json\r\n", call, Operation::GetTask),
        ("Content-Type: application/json;charset=UTF-8\r\n", call, Operation::GetTask),
        ("Content-Type: application/a2a+json\r\n", call, Operation::GetTask),
        ("Content-Type: application/json-rpc\r\n", call, Operation::GetTask),
        ("", call, Operation::GetTask),
        ("Content-Type: Application/JSON\r\n", &marked, Operation::GetTask),
        ("Content-Type: text/plain\r\n", call, Operation::Unknown),
    ] {
        let at = Recorded::start("", "[]").await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(post(kind, body)).await;
        let mut upstream = at.agent.accept().await;
        let head = upstream.read_head().await;
        assert!(kind.is_empty() != head.contains("Content-Type"), "{head}");
        assert!(head.contains(kind), "the type is never corrected: {head}");
        assert_eq!(upstream.read_exactly(body.len()).await, body.as_bytes());
        upstream.write(response(answer)).await;
        client.read_until("no\"}}").await;
        assert_eq!(at.exchange().await.operation, operation, "{kind}");
    }
}

/// RPC-13
#[tokio::test]
async fn nothing_is_said_in_good_form_on_json_rpc_and_http_json() {
    let stream = r#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;
    let rest = "POST /message:send HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let plain = json_post(&send("SendMessage", ""));
    let streaming = json_post(stream);
    for (faults, request, expected) in [
        (
            "[{ name: n, inject: { empty: nothing } }]",
            plain.as_str(),
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        ),
        ("[{ name: n, inject: { empty: nothing } }]", rest, "{}"),
        ("[{ name: n, inject: { empty: task } }]", &plain, "TASK_STATE_COMPLETED"),
        ("[{ name: n, inject: { empty: parts } }]", &plain, r#""parts":[]"#),
        ("[{ name: n, inject: { empty: initial } }]", &streaming, "TASK_STATE_SUBMITTED"),
        ("[{ name: n, inject: { empty: stream } }]", &streaming, ""),
    ] {
        let at = Recorded::start("", faults).await;
        let mut client = RawConn::connect(at.proxy.addr()).await;
        client.write(request.replace("Host: p", "Host: p\r\nConnection: close")).await;
        let (said, _) = client.read_to_end().await;
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{faults}: {said}");
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(body.contains(expected), "{faults}: {body}");
        assert_eq!(head.contains("text/event-stream"), request == streaming, "{faults}: {head}");
        assert!(!body.contains("COMPLETED") || !faults.contains("initial"), "{body}");
        let exchange = at.exchange().await;
        assert!(exchange.response.is_none(), "the agent was not asked");
        assert_eq!(exchange.faults[0].verdict, FaultVerdict::Fired);
    }
}
