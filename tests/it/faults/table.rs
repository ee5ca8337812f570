//! The table family × binding × version × (plain answer, stream, stream from its second event): what is
//! written for each cell is read back without a problem, and means what was promised.

use meddler::a2a::binding::Binding;
use meddler::a2a::binding::ProtocolVersion::{V0_3, V1_0};
use meddler::a2a::model::{ErrorKind, GrpcCode, Operation};
use serde_json::{Value, json};

use super::wire::{Cell, Delivered, cells, deliver, told};

const PLAIN: Operation = Operation::SendMessage;
const STREAM: Operation = Operation::SendStreamingMessage;

/// The answer in every cell: as a plain one, as a stream, and as a stream that was the agent's until its
/// second event. `None`: not applicable, which the unit tests of the family show.
#[track_caller]
fn check(inject: &Value, plain: Option<&str>, stream: Option<&str>, late: Option<&str>) {
    for cell in cells() {
        for (operation, event, expected) in
            [(PLAIN, None, plain), (STREAM, None, stream), (STREAM, Some(2), late)]
        {
            let Some(expected) = expected else { continue };
            let delivered = deliver(&cell.call(operation), inject, event);
            let at = format!("{inject} as {operation} from {event:?} on {cell:?}");
            assert_eq!(told(&delivered), expected, "{at}: {delivered:?}");
            assert_eq!(delivered.answer.problems, [], "{at}");
            check_ids(&delivered, event, &at);
        }
    }
}

/// A client must be able to follow: one task, one context, none of them empty.
#[track_caller]
fn check_ids(delivered: &Delivered, event: Option<u64>, at: &str) {
    let events = delivered.answer.events.iter().filter_map(|event| event.event.as_ref());
    let mut ids: Vec<(Option<&str>, Option<&str>)> =
        events.map(|event| (event.task_id(), event.context_id())).collect();
    ids.dedup();
    assert!(ids.len() <= 1, "{at}: {ids:?}");
    if let (Some(ids), Some(2)) = (ids.first(), event) {
        assert_eq!(*ids, (Some(super::wire::TASK), Some(super::wire::CONTEXT)), "{at}");
    }
    assert!(ids.iter().all(|(task, _)| *task != Some("")), "{at}: {ids:?}");
}

#[test]
fn error_failed_and_rejected_are_tasks() {
    check(
        &json!({ "error": { "message": "no" } }),
        Some("task failed(no)"),
        Some("[task submitted, failed(no)]"),
        Some("[task working, failed(no)]"),
    );
    check(
        &json!({ "error": { "state": "rejected", "message": "no" } }),
        Some("task rejected(no)"),
        Some("[task submitted, rejected(no)]"),
        Some("[task working, rejected(no)]"),
    );
}

#[test]
fn empty_says_nothing() {
    check(
        &json!({ "empty": "task" }),
        Some("task completed"),
        Some("[task submitted, completed]"),
        Some("[task working, completed]"),
    );
    check(
        &json!({ "empty": "message" }),
        Some("message()"),
        Some("[message()]"),
        Some("[task working, completed()]"),
    );
    check(&json!({ "empty": "stream" }), None, Some("[]"), Some("[task working]"));
    check(&json!({ "empty": "body" }), None, None, Some("[task working]"));
}

#[test]
fn custom_says_what_was_written() {
    check(
        &json!({ "custom": "hello" }),
        Some("message(hello)"),
        Some("[message(hello)]"),
        Some("[task working, completed(hello)]"),
    );
    check(
        &json!({ "custom": { "state": "input_required", "text": "Which order?" } }),
        Some("task input_required(Which order?)"),
        Some("[task submitted, input_required(Which order?)]"),
        Some("[task working, input_required(Which order?)]"),
    );
    check(
        &json!({ "custom": { "artifacts": [
            { "name": "invoice", "text": "42", "data": { "total": 42 },
              "files": [{ "name": "a.csv", "media_type": "text/csv", "text": "a" }] },
        ] } }),
        Some("task completed(42)"),
        Some("[task submitted, (42), completed]"),
        Some("[task working, (42), completed]"),
    );
    check(
        &json!({ "custom": { "events": [
            { "state": "working", "text": "a moment" },
            { "artifact": { "text": "4" }, "last_chunk": false },
            { "artifact": { "text": "2" }, "append": true },
            { "state": "completed" },
        ] } }),
        Some("task completed(4|2)"),
        Some("[task submitted, working(a moment), (4), (2), completed]"),
        Some("[task working, working(a moment), (4), (2), completed]"),
    );
}

#[test]
fn a_made_hostile_answer_is_well_formed() {
    for spot in ["text", "data", "artifact", "file", "metadata", "status"] {
        for family in ["injection", "hidden_unicode", "terminal_escapes", "markup"] {
            let inject = json!({ "hostile": { "family": family, "in": spot, "answer": "made" } });
            for cell in cells() {
                for (operation, event) in [(PLAIN, None), (STREAM, None), (STREAM, Some(2))] {
                    let delivered = deliver(&cell.call(operation), &inject, event);
                    let at = format!("{inject} as {operation} from {event:?} on {cell:?}");
                    assert_eq!(delivered.answer.problems, [], "{at}");
                    let read = format!("{:?}", delivered.answer);
                    assert!(read.contains("mdl-"), "{at}: {read}");
                    check_ids(&delivered, event, &at);
                }
            }
        }
    }
}

/// An A2A error by name is that very error to the client, in every cell.
#[test]
fn errors_by_name_are_that_error() {
    for kind in ErrorKind::all() {
        let inject = json!({ "error": kind.name() });
        for cell in cells() {
            for operation in [PLAIN, STREAM, Operation::GetTask] {
                let delivered = deliver(&cell.call(operation), &inject, None);
                let at = format!("{inject} as {operation} on {cell:?}");
                let error = delivered.answer.error.as_ref().unwrap_or_else(|| panic!("{at}"));
                assert_eq!(delivered.answer.problems, [], "{at}");
                assert!(!is_named(cell) || error.kind == Some(kind), "{at}: {error:?}");
                check_numbers(cell, kind, &delivered, &at);
            }
        }
    }
}

/// Whether the answer names the error: 0.3's HTTP+JSON has a status and words, and errors share statuses.
fn is_named(cell: Cell) -> bool {
    !matches!((cell.binding, cell.version), (Binding::HttpJson, V0_3))
}

#[track_caller]
fn check_numbers(cell: Cell, kind: ErrorKind, delivered: &Delivered, at: &str) {
    let status = delivered.status.as_u16();
    match (cell.binding, cell.version) {
        (Binding::JsonRpc, version) => {
            assert_eq!(status, 200, "{at}");
            let body: Value = serde_json::from_slice(json_of(&delivered.body)).unwrap();
            assert_eq!(body["error"]["code"], json!(kind.code()), "{at}");
            assert_eq!(body["id"], json!("id-1"), "{at}");
            let reason = body["error"]["data"][0]["reason"].as_str();
            let expected = (version == V1_0).then(|| kind.reason());
            assert_eq!(reason, expected, "{at}: {body}");
        }
        (Binding::HttpJson, V1_0) => assert_eq!(status, kind.http_status(), "{at}"),
        (Binding::HttpJson, V0_3) => assert_eq!(status, kind.http_status_v0_3(), "{at}"),
        (Binding::Grpc, V1_0) => {
            assert_eq!(delivered.answer.grpc_status, Some(kind.grpc_status()), "{at}");
        }
        (Binding::Grpc, V0_3) => {
            assert_eq!(delivered.answer.grpc_status, Some(kind.grpc_status_v0_3()), "{at}");
        }
    }
}

/// The JSON of a plain body, or of the first SSE event.
fn json_of(body: &[u8]) -> &[u8] {
    let text = std::str::from_utf8(body).unwrap();
    match text.split_once("data:") {
        Some((_, data)) => data.lines().next().unwrap().trim().as_bytes(),
        None => text.as_bytes(),
    }
}

#[test]
fn a_bare_status_has_its_counterpart_on_every_binding() {
    for cell in cells() {
        for operation in [PLAIN, STREAM] {
            let inject = json!({ "error": { "status": 503, "retry_after": "5s" } });
            let delivered = deliver(&cell.call(operation), &inject, None);
            let at = format!("{operation} on {cell:?}: {delivered:?}");
            assert_eq!(delivered.headers["retry-after"], "5", "{at}");
            assert!(delivered.answer.error.is_some(), "{at}");
            match cell.binding {
                Binding::Grpc => {
                    assert_eq!(delivered.status, 200, "{at}");
                    assert_eq!(delivered.answer.grpc_status, Some(GrpcCode::UNAVAILABLE), "{at}");
                }
                Binding::HttpJson => assert_eq!(delivered.status, 503, "{at}"),
                Binding::JsonRpc => {
                    assert_eq!(delivered.status, 503, "{at}");
                    let body: Value = serde_json::from_slice(json_of(&delivered.body)).unwrap();
                    assert_eq!(body["error"]["code"], json!(-32603), "{at}");
                    assert_eq!(body["id"], json!("id-1"), "{at}");
                }
            }
        }
    }
}

#[test]
fn a_grpc_status_has_its_counterpart_on_every_binding() {
    for cell in cells() {
        let inject = json!({ "error": { "grpc": "PERMISSION_DENIED", "message": "no" } });
        let delivered = deliver(&cell.call(PLAIN), &inject, None);
        let at = format!("{cell:?}: {delivered:?}");
        match cell.binding {
            Binding::Grpc => {
                assert_eq!(
                    delivered.answer.grpc_status.map(GrpcCode::name),
                    Some("PERMISSION_DENIED")
                );
            }
            Binding::HttpJson | Binding::JsonRpc => assert_eq!(delivered.status, 403, "{at}"),
        }
        let error = delivered.answer.error.unwrap();
        assert_eq!(error.message, "no", "{cell:?}");
    }
}

/// Inside a running stream an error is the stream's end, told as the official server of that version
/// tells it: as an event, as the gRPC status, or by breaking off.
#[test]
fn an_error_inside_a_stream_ends_it() {
    for cell in cells() {
        let inject = json!({ "error": "InternalError" });
        let delivered = deliver(&cell.call(STREAM), &inject, Some(2));
        let at = format!("{cell:?}: {delivered:?}");
        assert!(told(&delivered).starts_with("[task working]"), "{at}");
        assert_eq!(delivered.is_cut, cell.is_cut_by_errors(), "{at}");
        if !delivered.is_cut {
            let error = delivered.answer.error.as_ref().unwrap_or_else(|| panic!("{at}"));
            assert_eq!(error.kind, Some(ErrorKind::Internal), "{at}");
        }
    }
}

/// On the operations that poll or follow a task the answer is that very task.
#[test]
fn polls_are_answered_with_the_task_they_asked_for() {
    for cell in cells() {
        for (operation, expected) in [
            (Operation::GetTask, "task failed(no)"),
            (Operation::CancelTask, "task failed(no)"),
            (Operation::SubscribeToTask, "[task working, failed(no)]"),
        ] {
            let inject = json!({ "error": { "message": "no" } });
            let delivered = deliver(&cell.call(operation), &inject, None);
            assert_eq!(told(&delivered), expected, "{operation} on {cell:?}: {delivered:?}");
            assert_eq!(delivered.answer.problems, [], "{operation} on {cell:?}");
            assert_eq!(
                delivered.answer.ids.task_id.as_deref(),
                Some(super::wire::TASK),
                "{operation} on {cell:?}"
            );
        }
    }
}

#[test]
fn an_empty_body_has_a_head_and_nothing_more() {
    for cell in cells() {
        for operation in [PLAIN, STREAM] {
            let delivered = deliver(&cell.call(operation), &json!({ "empty": "body" }), None);
            assert_eq!((delivered.status.as_u16(), delivered.body.len()), (200, 0), "{cell:?}");
        }
    }
}

/// Parts may not be empty by the specification, which is the point; the rest is in order.
#[test]
fn a_message_without_parts_is_in_order_but_for_its_parts() {
    for cell in cells() {
        for (operation, expected) in [(PLAIN, "message()"), (STREAM, "[message()]")] {
            let delivered = deliver(&cell.call(operation), &json!({ "empty": "parts" }), None);
            assert_eq!(told(&delivered), expected, "{cell:?}: {delivered:?}");
            for problem in &delivered.answer.problems {
                assert!(
                    problem.at.ends_with("parts") || problem.at.ends_with("content"),
                    "{problem}"
                );
            }
        }
    }
}

#[test]
fn a_raw_answer_is_octet_for_octet_what_was_written() {
    for cell in cells() {
        let inject = json!({ "custom": { "raw": {
            "status": 418, "headers": { "x-tea": ["black", "green"] }, "body": "short and stout",
        } } });
        let delivered = deliver(&cell.call(PLAIN), &inject, None);
        assert_eq!(delivered.status, 418);
        assert_eq!(delivered.headers.get_all("x-tea").iter().count(), 2);
        assert_eq!(delivered.body, "short and stout");
    }
}
