//! The conformance lint: the official SDKs pass, planted errors are named.
#![expect(clippy::needless_pass_by_value, reason = "a row writes its values in place")]

use std::collections::BTreeSet;

use meddler::assertion::Style;
use meddler::assertion::lint::report::{LINT_FORMATS, LintReport, Listed};
use meddler::assertion::lint::{self, Accepted, Flaw};
use meddler::record::exchange::{Exchange, Outcome};
use meddler::record::query::Filter;
use serde_json::{Value, json};

use super::sdks;
use super::traffic::{Made, ask, card, message, recording, rpc, status, task};

const ACCEPTED: &str = include_str!("../../../fixtures/lint/accepted.yaml");

#[test]
fn the_official_sdks_pass_or_the_reason_is_kept() {
    let accepted = Accepted::parse("accepted.yaml", ACCEPTED, &|_| None).unwrap();
    let exchanges: Vec<_> = sdks::linted().into_iter().map(std::sync::Arc::new).collect();
    assert!(exchanges.len() > 900, "{}", exchanges.len());
    let (left, _, idle) = accepted.sift(lint::lint(&exchanges));
    let lines: BTreeSet<String> = left.iter().map(line).collect();
    assert!(lines.is_empty(), "{} flaws\n{}", left.len(), Vec::from_iter(lines).join("\n"));
    assert_eq!(idle, Vec::<String>::new(), "rows that accept nothing");
}

fn line(flaw: &Flaw) -> String {
    let text: String = flaw.text.chars().take(150).collect();
    format!("{} {} {} | {} | {text}", flaw.level.as_str(), flaw.rule, flaw.agent, flaw.at)
}

/// The rules that these exchanges break.
fn broken(made: Vec<Made>) -> BTreeSet<&'static str> {
    let exchanges: Vec<Exchange> = (1..).zip(made).map(|(n, made)| made.number(n)).collect();
    let exchanges: Vec<_> = exchanges.into_iter().map(std::sync::Arc::new).collect();
    lint::lint(&exchanges).into_iter().map(|flaw| flaw.rule).collect()
}

fn send(id: &str, text: &str) -> Made {
    rpc("SendMessage", json!({ "message": message(id, text) }))
}

fn sent(result: Value) -> Made {
    send("m1", "hello").result(result)
}

fn stream(events: &[Value]) -> Made {
    rpc("SendStreamingMessage", json!({ "message": message("m1", "hello") })).stream(events)
}

fn chunk(artifact: &str, append: bool, last: bool) -> Value {
    json!({ "artifactUpdate": {
        "taskId": "t1", "contextId": "c1", "append": append, "lastChunk": last,
        "artifact": { "artifactId": artifact, "parts": [{ "text": "x" }] },
    } })
}

fn done() -> Made {
    sent(json!({ "task": task("t1", "COMPLETED") }))
}

fn continued(context: &str) -> Made {
    let mut message = message("m2", "more");
    message["taskId"] = json!("t1");
    message["contextId"] = json!(context);
    rpc("SendMessage", json!({ "message": message }))
}

/// A 1.0 card with these members in place of its own.
fn card_with(members: Value) -> Made {
    let mut whole = json!({
        "name": "billing", "description": "bills", "version": "1.0.0",
        "supportedInterfaces": [{ "url": "http://agent.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": false, "pushNotifications": false },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "refund", "name": "Refunds", "description": "x", "tags": ["money"] }],
    });
    for (name, value) in members.as_object().unwrap() {
        whole[name] = value.clone();
    }
    card(&whole)
}

fn rest(method: &str, path: &str, body: &Value) -> Made {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    ask(method, path, &body)
}

fn old(method: &str, params: Value) -> Made {
    rpc(method, params).header("a2a-version", None)
}

fn old_message() -> Value {
    json!({ "message": { "kind": "message", "messageId": "m1", "role": "user", "parts": [{ "kind": "text", "text": "hi" }] } })
}

fn old_status(task: &str, state: &str, is_final: bool) -> Value {
    json!({ "kind": "status-update", "taskId": task, "contextId": "c1", "final": is_final, "status": { "state": state } })
}

fn push(body: &Value) -> Made {
    rest("POST", "/.meddler/push/abc", body)
}

/// Traffic without a flaw, so that the rows below break what they say and nothing hides.
#[test]
fn sound_traffic_breaks_nothing() {
    let exchanges = vec![
        card_with(json!({ "capabilities": { "streaming": true, "pushNotifications": true } })),
        done(),
        stream(&[json!({ "task": task("t2", "WORKING") }), status("t2", "COMPLETED")]),
        rpc("GetTask", json!({ "id": "t2" })).result(task("t2", "COMPLETED")),
        send("m3", "who?").result(json!({ "message": {
            "messageId": "r1", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{ "text": "me" }] } })),
        old("message/stream", json!({ "message": { "kind": "message", "messageId": "m9", "role": "user", "parts": [{ "kind": "text", "text": "hi" }] } }))
            .stream(&[old_status("t9", "working", false), old_status("t9", "completed", true)]),
    ];
    let found = broken(exchanges);
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn each_planted_error_is_named() {
    let rows: Vec<(&str, Vec<Made>)> = planted();
    let mut wrong = Vec::new();
    let mut named = BTreeSet::new();
    for (rule, made) in rows {
        let found = broken(made);
        if !found.contains(rule) {
            wrong.push(format!("{rule}: found {found:?}"));
        }
        named.insert(rule);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<&str> = lint::all()
        .map(|rule| rule.id)
        .filter(|id| !named.contains(id) && !UNPLANTED.contains(id))
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "rules that no row plants");
}

/// Read by `a2a` out of broken octets, which its own tests plant.
const UNPLANTED: &[&str] = &[
    "base64",
    "body-present",
    "field-type",
    "grpc-framing",
    "grpc-one-message",
    "grpc-status",
    "json-duplicate-key",
    "jsonrpc-batch",
    "jsonrpc-notification",
    "jsonrpc-version",
    "member-of-union",
    "part-content",
    "protobuf-known",
    "protobuf-valid",
    "push-token-shown",
    "readable-size",
    "resource-name",
    "service-parameter",
    "stream-framing",
    "utf8",
    "version-spoken",
    "error-grpc-http-status",
    "error-grpc-status",
    "enum-spelling",
];

#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "a table: one row a rule")]
fn planted() -> Vec<(&'static str, Vec<Made>)> {
    let working = || json!({ "task": task("t1", "WORKING") });
    let completed = || status("t1", "COMPLETED");
    let needs_key = || card_with(json!({
        "securitySchemes": { "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer" } } },
        "securityRequirements": [{ "schemes": { "bearer": { "list": [] } } }],
    }));
    vec![
        ("artifact-append-first", vec![stream(&[working(), chunk("a1", true, false), completed()])]),
        ("artifact-after-last-chunk", vec![stream(&[working(), chunk("a1", false, true), chunk("a1", true, false), completed()])]),
        ("stream-after-end", vec![stream(&[working(), completed(), chunk("a1", false, true)])]),
        ("stream-context", vec![stream(&[working(), json!({ "statusUpdate": { "taskId": "t1", "contextId": "c2", "status": { "state": "TASK_STATE_COMPLETED" } } })])]),
        ("stream-end-state", vec![stream(&[working(), status("t1", "WORKING")])]),
        ("stream-final", vec![old("message/stream", old_message()).stream(&[old_status("t1", "working", true)])]),
        ("stream-first-event", vec![stream(&[completed()])]),
        ("stream-message-alone", vec![stream(&[working(), json!({ "message": { "messageId": "r", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{ "text": "x" }] } })])]),
        ("stream-not-empty", vec![stream(&[])]),
        ("stream-state-machine", vec![stream(&[working(), completed(), status("t1", "WORKING")])]),
        ("stream-task", vec![stream(&[working(), status("t9", "COMPLETED")])]),
        ("subscribe-first-event", vec![rpc("SubscribeToTask", json!({ "id": "t1" })).stream(&[completed()])]),
        ("artifact-id", vec![sent(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" }, "artifacts": [
            { "artifactId": "a", "parts": [{ "text": "x" }] }, { "artifactId": "a", "parts": [{ "text": "y" }] }] } }))]),
        ("artifact-parts", vec![sent(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" }, "artifacts": [{ "artifactId": "a", "parts": [] }] } }))]),
        ("blocking", vec![sent(working())]),
        ("blocking", vec![old("message/send", { let mut it = old_message(); it["configuration"] = json!({ "blocking": true, "acceptedOutputModes": [] }); it }).result(json!({ "kind": "task", "id": "t1", "contextId": "c1", "status": { "state": "working" } }))]),
        ("cancel-ended", vec![done(), rpc("CancelTask", json!({ "id": "t1" })).result(task("t1", "COMPLETED"))]),
        ("context-given", vec![sent(json!({ "task": { "id": "t1", "status": { "state": "TASK_STATE_COMPLETED" } } }))]),
        ("context-kept", vec![{ let mut it = message("m1", "hi"); it["contextId"] = json!("mine"); rpc("SendMessage", json!({ "message": it })).result(json!({ "task": task("t1", "COMPLETED") })) }]),
        ("context-of-task", vec![sent(json!({ "task": task("t1", "INPUT_REQUIRED") })), continued("other").result(json!({ "task": task("t1", "COMPLETED") }))]),
        ("ended-for-good", vec![done(), rpc("GetTask", json!({ "id": "t1" })).result(task("t1", "WORKING"))]),
        ("get-the-asked", vec![rpc("GetTask", json!({ "id": "t1" })).result(task("t2", "COMPLETED"))]),
        ("history-length", vec![rpc("GetTask", json!({ "id": "t1", "historyLength": 0 })).result(json!({ "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" }, "history": [message("m0", "x")] }))]),
        ("list-artifacts", vec![rpc("ListTasks", json!({})).result(json!({ "tasks": [{ "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" }, "artifacts": [{ "artifactId": "a", "parts": [{ "text": "x" }] }] }], "nextPageToken": "", "pageSize": 1, "totalSize": 1 }))]),
        ("list-order", vec![rpc("ListTasks", json!({})).result(json!({ "tasks": [
            { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T10:00:00Z" } },
            { "id": "t2", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "2026-11-30T11:00:00Z" } }], "nextPageToken": "", "pageSize": 2, "totalSize": 2 }))]),
        ("list-page-size", vec![rpc("ListTasks", json!({ "pageSize": 1 })).result(json!({ "tasks": [task("t1", "COMPLETED"), task("t2", "COMPLETED")], "nextPageToken": "", "pageSize": 1, "totalSize": 2 }))]),
        ("send-to-ended", vec![done(), continued("c1").result(json!({ "task": task("t1", "COMPLETED") }))]),
        ("state-known", vec![sent(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_UNSPECIFIED" } } }))]),
        ("subscribe-to-ended", vec![done(), rpc("SubscribeToTask", json!({ "id": "t1" })).stream(&[json!({ "task": task("t1", "COMPLETED") })])]),
        ("message-id-given", vec![send("", "hello").result(json!({ "task": task("t1", "COMPLETED") }))]),
        ("message-id-reused", vec![done(), send("m1", "something else").result(json!({ "task": task("t2", "COMPLETED") }))]),
        ("message-parts", vec![rpc("SendMessage", json!({ "message": { "messageId": "m1", "role": "ROLE_USER", "parts": [] } }))]),
        ("message-role-agent", vec![sent(json!({ "message": { "messageId": "r1", "contextId": "c1", "role": "ROLE_USER", "parts": [{ "text": "x" }] } }))]),
        ("message-role-user", vec![rpc("SendMessage", json!({ "message": { "messageId": "m1", "role": "ROLE_AGENT", "parts": [{ "text": "x" }] } }))]),
        ("operation-known", vec![rpc("SendMesage", json!({})).error(json!({ "code": -32601, "message": "no such method" }))]),
        ("output-modes", vec![rpc("SendMessage", json!({ "message": message("m1", "hi"), "configuration": { "acceptedOutputModes": ["application/pdf"] } })).result(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" }, "artifacts": [{ "artifactId": "a", "parts": [{ "text": "x" }] }] } }))]),
        ("error-challenge", vec![send("m1", "hi").answered(401, "")]),
        ("error-code-known", vec![send("m1", "hi").error(json!({ "code": -32055, "message": "odd" }))]),
        ("error-http-body", vec![rest("GET", "/tasks/t1", &Value::Null).answered(404, r#"{"message": "nope"}"#)]),
        ("error-http-status", vec![rest("GET", "/tasks/t1", &Value::Null).answered(500, r#"{"error": {"code": 500, "status": "NOT_FOUND", "message": "nope", "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}}"#)]),
        ("error-info", vec![rpc("GetTask", json!({ "id": "t1" })).error(json!({ "code": -32001, "message": "no" }))]),
        ("error-message", vec![rpc("GetTask", json!({ "id": "t1" })).error(json!({ "code": -32001, "message": "" }))]),
        ("auth-sent", vec![needs_key(), done()]),
        ("extended-card-undeclared", vec![card_with(json!({})), rpc("GetExtendedAgentCard", json!({})).result(serde_json::from_slice(&card_with(json!({})).0.response.unwrap().body.kept).unwrap())]),
        ("extension-required", vec![card_with(json!({ "capabilities": { "extensions": [{ "uri": "https://x.test/e", "required": true }] } })), done()]),
        ("push-asked", vec![card_with(json!({})), rpc("CreateTaskPushNotificationConfig", json!({ "taskId": "t1", "url": "https://hook.test/" })).error(json!({ "code": -32003, "message": "no" }))]),
        ("push-undeclared", vec![card_with(json!({})), rpc("CreateTaskPushNotificationConfig", json!({ "taskId": "t1", "url": "https://hook.test/" })).result(json!({ "taskId": "t1", "id": "p1", "url": "https://hook.test/" }))]),
        ("streaming-asked", vec![card_with(json!({})), stream(&[working(), completed()])]),
        ("streaming-undeclared", vec![card_with(json!({})), stream(&[working(), completed()])]),
        ("card-content-type", vec![{ let mut it = card_with(json!({})); it.answer_header("content-type", "text/html"); it }]),
        ("card-interface", vec![card_with(json!({ "supportedInterfaces": [{ "url": "", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }] }))]),
        ("card-interface-binding", vec![card_with(json!({ "supportedInterfaces": [{ "url": "http://a.test/", "protocolBinding": "json-rpc", "protocolVersion": "1.0" }] }))]),
        ("card-interface-version", vec![card_with(json!({ "supportedInterfaces": [{ "url": "http://a.test/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0.1" }] }))]),
        ("card-path", vec![ask("GET", "/.well-known/agent.json", "").answered(404, "")]),
        ("card-security-scheme", vec![card_with(json!({ "securityRequirements": [{ "schemes": { "oauth": { "list": [] } } }] }))]),
        ("card-signature", vec![card_with(json!({ "signatures": [{ "protected": "bm8", "signature": "AAAA" }] }))]),
        ("card-skill-id", vec![card_with(json!({ "skills": [{ "id": "a", "name": "A", "description": "", "tags": [] }, { "id": "a", "name": "B", "description": "", "tags": [] }] }))]),
        ("push-task", vec![push(&json!({ "statusUpdate": { "taskId": "", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" } } }))]),
        ("push-token", vec![rpc("CreateTaskPushNotificationConfig", json!({ "taskId": "t1", "url": "https://hook.test/", "token": "secret-token" })).result(json!({ "taskId": "t1", "id": "p1", "url": "https://hook.test/" })), push(&json!({ "task": task("t1", "COMPLETED") }))]),
        ("push-url", vec![rpc("CreateTaskPushNotificationConfig", json!({ "taskId": "t1", "url": "hook.test/x" })).error(json!({ "code": -32602, "message": "bad url" }))]),
        ("extensions-header", vec![done().header("x-a2a-extensions", Some("https://x.test/e"))]),
        ("version-declared", vec![done().header("a2a-version", None)]),
        ("version-form", vec![done().header("a2a-version", Some("1.0.1"))]),
        ("content-type", vec![{ let mut it = done(); it.answer_header("content-type", "text/html"); it }]),
        ("enum-known", vec![sent(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_DONE" } } }))]),
        ("json-valid", vec![send("m1", "hi").answered(200, "{oops")]),
        ("jsonrpc-id", vec![send("m1", "hi").answered(200, &json!({ "jsonrpc": "2.0", "id": 2, "result": { "task": task("t1", "COMPLETED") } }).to_string())]),
        ("jsonrpc-one-outcome", vec![send("m1", "hi").answered(200, r#"{"jsonrpc": "2.0", "id": 1}"#)]),
        ("required-field", vec![sent(json!({ "task": { "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED" } } }))]),
        ("stream-where-due", vec![rpc("SendStreamingMessage", json!({ "message": message("m1", "hi") })).result(json!({ "task": task("t1", "COMPLETED") }))]),
        ("timestamp", vec![sent(json!({ "task": { "id": "t1", "contextId": "c1", "status": { "state": "TASK_STATE_COMPLETED", "timestamp": "yesterday" } } }))]),
    ]
}

#[test]
fn what_a_fault_rule_answered_is_not_the_agents_flaw() {
    let mut made = sent(json!({ "task": task("t1", "WORKING") }));
    made.0.delivered = made.0.response.take();
    made.0.outcome = Outcome::AnsweredByFault;
    assert_eq!(broken(vec![made]), BTreeSet::new());
}

#[test]
fn a_report_is_written_in_every_format() {
    let recording = recording(vec![
        sent(json!({ "task": task("t1", "WORKING") })),
        card_with(json!({ "skills": [] })),
        send("m1", "hi").answered(401, ""),
    ]);
    let exchanges = recording.exchanges(&Filter::default());
    let flaws = lint::lint(&exchanges);
    let listed = flaws
        .into_iter()
        .map(|flaw| Listed { show: recording.short('x', flaw.exchange), flaw })
        .collect();
    let report = LintReport { exchanges: exchanges.len(), flaws: listed, accepted: 0 };
    for format in LINT_FORMATS {
        let mut octets = Vec::new();
        format.write(&report, Style::Plain, &mut octets).unwrap();
        insta::assert_snapshot!(
            format!("lint.{}", format.extension),
            String::from_utf8(octets).unwrap()
        );
    }
}

#[test]
fn a_kept_list_wants_a_reason_and_known_rules() {
    for (text, expected) in [
        ("version: 1\naccept: [{ rule: blocking }]", "`reason` is missing"),
        ("version: 1\naccept: [{ rule: bloking, reason: x }]", "did you mean `blocking`?"),
        ("version: 1\naccept: [{ rule: blocking, reson: x, reason: y }]", "unknown key `reson`"),
    ] {
        let told = Accepted::parse("a.yaml", text, &|_| None).unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
    let text =
        "version: 1\naccept: [{ rule: blocking, reason: old SDK }, { rule: utf8, reason: never }]";
    let accepted = Accepted::parse("a.yaml", text, &|_| None).unwrap();
    let recording = recording(vec![sent(json!({ "task": task("t1", "WORKING") }))]);
    let (left, taken, idle) = accepted.sift(lint::lint(&recording.exchanges(&Filter::default())));
    assert_eq!((left.len(), taken), (0, 1));
    assert_eq!(idle, ["line 2: `utf8` accepts nothing here (never)"]);
}
