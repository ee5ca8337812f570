//! `on: wire` looks at what really came.

use std::sync::Arc;

use meddler::assertion::Lists;
use meddler::record::exchange::{Payload, RecordedResponse};

use super::world::{judge, recording, shown};

/// The small recording, with this answer to billing.
fn answered(content_type: &str, body: &str) -> Lists {
    let mut source = recording();
    let mut exchange = (*source.exchanges[1]).clone();
    exchange.response = Some(RecordedResponse {
        status: 200,
        headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
        body: Payload { kept: body.to_owned().into(), ..Payload::default() },
        ..RecordedResponse::default()
    });
    source.exchanges[1] = Arc::new(exchange);
    source
}

#[track_caller]
fn check(source: &Lists, assertion: &str, expected: &str) {
    let assertion = format!("{{ {assertion}, on: {{ agent: billing, sees: wire }} }}");
    assert_eq!(shown(&judge(&assertion, source)), expected, "{assertion}");
}

#[test]
fn a_plain_answer_is_its_body() {
    let source = answered(
        "application/json",
        r#"{"result": {"status": {"state": "TASK_STATE_COMPLETED"}}}"#,
    );
    check(
        &source,
        "json_path: { path: \"$.result.status.state\", equals: TASK_STATE_COMPLETED }",
        "held",
    );
    check(&source, "contains: TASK_STATE_COMPLETED", "held");
    check(
        &source,
        "json_path: { path: \"$.result.status.state\", equals: completed }",
        "failed: $.result.status.state equals \"completed\" / $['result']['status']['state'] is \"TASK_STATE_COMPLETED\"",
    );
}

#[test]
fn a_stream_is_the_list_of_its_events() {
    let source =
        answered("text/event-stream", ": ping\n\ndata: {\"a\": 1}\n\ndata: {\"a\":\ndata: 2}\n\n");
    check(&source, "json_path: { path: \"$[*].a\", count: 2 }", "held");
    check(&source, "json_path: { path: \"$[1].a\", equals: 2 }", "held");
}

#[test]
fn what_is_no_json_cannot_be_judged_by_path() {
    check(
        &answered("text/html", "<html>"),
        "json_path: { path: $.a, exists: true }",
        "error: $.a exists / the body on the wire is no JSON: expected value at line 1 column 1",
    );
    check(
        &answered("application/grpc", "\u{0}\u{0}\u{0}\u{0}\u{1}x"),
        "json_path: { path: $.a, exists: true }",
        "error: $.a exists / gRPC carries protobuf, not JSON; leave `wire` out to see the canonical reply",
    );
}
