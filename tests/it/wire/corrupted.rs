//! What is wrong with a message is named: one corruption, one problem. Nothing makes a reader fail.

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{
    Answer, Call, Head, WireAnswer, read_answer, read_call, write_event, write_reply,
    write_request, write_stream_end, write_stream_head,
};
use meddler::a2a::detect;
use meddler::a2a::model::{Operation, Reply};
use meddler::a2a::problem::{NAMES, Problem};
use proptest::prelude::*;

use super::round_trip::{call, view};
use super::samples;

fn shown(problems: &[Problem]) -> Vec<String> {
    for problem in problems {
        assert!(NAMES.iter().any(|row| row.0 == problem.name), "{} has no row", problem.name);
    }
    problems.iter().map(|problem| format!("{} at {}", problem.name, problem.at)).collect()
}

// ---- requests ----

fn asked(method: &str, target: &str, fields: &[(&'static str, &str)], body: &[u8]) -> Call {
    let method: Method = method.parse().unwrap();
    let uri: Uri = target.parse().unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    let head = Head { method: &method, uri: &uri, headers: &headers };
    read_call(head, &detect::recognize(head), body)
}

fn rpc(body: impl AsRef<[u8]>) -> Call {
    asked("POST", "/", &[("content-type", "application/json")], body.as_ref())
}

#[test]
fn a_corrupt_json_rpc_request_is_named() {
    let params = r#""params":{"id":"t1"}"#;
    for (body, expected) in [
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask",{params}}}"#), vec![]),
        (format!(r#"{{"id":1,"method":"GetTask",{params}}}"#), vec!["missing_field at $.jsonrpc"]),
        (
            format!(r#"{{"jsonrpc":"1.0","id":1,"method":"GetTask",{params}}}"#),
            vec!["wrong_jsonrpc at $.jsonrpc"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","method":"GetTask",{params}}}"#),
            vec!["notification at $.id"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":{{}},"method":"GetTask",{params}}}"#),
            vec!["wrong_type at $.id"],
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":1,{params}}}"#), vec!["missing_field at $.method"]),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":7,{params}}}"#),
            vec!["wrong_type at $.method"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask",{params}}}"#),
            vec!["duplicate_key at $.id"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"a","id":"b"}}"#
                .to_owned(),
            vec!["duplicate_key at $.params.id"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["t1"]}"#.to_owned(),
            vec!["wrong_type at $.params", "missing_field at $.params.id"],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}"#.to_owned(),
            vec!["wrong_type at $.params.id"],
        ),
        (r#"{"jsonrpc":"2.0","id":1,"#.to_owned(), vec!["invalid_json at $"]),
        (String::new(), vec!["invalid_json at $"]),
        ("7".to_owned(), vec!["wrong_type at $"]),
        ("[]".to_owned(), vec!["batch at $"]),
        (
            format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"GetTask",{params}}}]"#),
            vec!["batch at $"],
        ),
        (
            format!("\u{feff} \n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",{params}}}"),
            vec!["byte_order_mark at $"],
        ),
    ] {
        assert_eq!(shown(&rpc(&body).problems), expected, "{body}");
    }
    let octets =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"\xff\"}}";
    assert_eq!(shown(&rpc(octets).problems), ["invalid_utf8 at $"]);
}

#[test]
fn of_two_ids_the_last_counts() {
    let call =
        rpc(r#"{"jsonrpc":"2.0","id":1,"id":"b","method":"GetTask","params":{"id":"a","id":"b"}}"#);
    assert_eq!(call.rpc_id.unwrap().get(), "\"b\"");
    assert_eq!(call.ids.task_id.as_deref(), Some("b"));
}

#[test]
fn an_unknown_method_is_no_problem() {
    let call = rpc(r#"{"jsonrpc":"2.0","id":1,"method":"acme/custom","params":{}}"#);
    assert_eq!((call.operation, call.wire_name.as_str()), (Operation::Unknown, "acme/custom"));
    assert_eq!(call.binding, Some(Binding::JsonRpc));
    assert_eq!(call.problems, []);
}

#[test]
fn json_that_is_no_json_rpc_is_not_a2a() {
    let call =
        asked("POST", "/api/orders", &[("content-type", "application/json")], br#"{"order":1}"#);
    assert_eq!(call.binding, None);
    assert_eq!(call.wire_name, "POST /api/orders");
    assert_eq!(call.problems, []);
}

#[test]
fn a_declared_version_that_is_not_spoken_is_named() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"messageId":"m","role":"user","kind":"message","parts":[]}}}"#;
    for (declared, is_named) in [
        ("0.3", false),
        ("0.3.0", false),
        ("", false),
        ("1.0", true),
        ("0.30", true),
        ("2.0", true),
        ("0.3, 1.0", true),
    ] {
        let call = asked("POST", "/", &[("a2a-version", declared)], body.as_bytes());
        let named = call.problems.iter().any(|problem| problem.name == "version_mismatch");
        assert_eq!(named, is_named, "{declared}");
        assert_eq!(call.version, Some(ProtocolVersion::V0_3), "{declared}");
        assert_eq!(call.declared.as_deref(), Some(declared));
    }
}

#[test]
fn a_corrupt_http_json_request_is_named() {
    let v = ("a2a-version", "1.0");
    for (method, target, body, expected) in [
        ("POST", "/tasks/t1:cancel", r#"{"id":"t2"}"#, vec!["id_mismatch at $.id"]),
        ("GET", "/tasks/t1?historyLength=many", "", vec!["invalid_value at query: historyLength"]),
        ("POST", "/message:send", "{", vec!["invalid_json at $", "missing_field at $.message"]),
        ("POST", "/message:send", "", vec!["invalid_json at $", "missing_field at $.message"]),
        ("POST", "/message:send", "{}", vec!["missing_field at $.message"]),
        ("GET", "/tasks/t1?historyLength=0&history_length=x&other=1", "", vec![]),
    ] {
        let call = asked(method, target, &[v], body.as_bytes());
        assert_eq!(shown(&call.problems), expected, "{method} {target} {body}");
    }
    let call = asked("POST", "/tasks/t1:cancel", &[v], br#"{"id":"t2"}"#);
    assert_eq!(call.ids.task_id.as_deref(), Some("t1"), "the path counts");
}

#[test]
fn a_corrupt_grpc_request_is_named() {
    let fields = [("content-type", "application/grpc"), ("a2a-version", "1.0")];
    let whole = write_request(
        Binding::Grpc,
        ProtocolVersion::V1_0,
        Operation::GetTask,
        &samples::request(Operation::GetTask),
        "",
    )
    .body;
    let twice = [&whole[..], &whole].concat();
    let mut flagged = whole.to_vec();
    flagged[0] = 2;
    let cut = &whole[..whole.len() - 1];
    for (body, expected) in [
        (&whole[..], vec![]),
        (&[], vec!["missing_message at $"]),
        (&twice, vec!["too_many_messages at $"]),
        (&flagged, vec!["wrong_flag at $"]),
        (cut, vec!["unterminated at $", "missing_message at $"]),
        (b"\x00\x00\x00\x00\x02\xff\xff", vec!["invalid_protobuf at $"]),
        (b"\x01\x00\x00\x00\x02\xff\xff", vec!["invalid_compression at $"]),
    ] {
        let call = asked("POST", "/lf.a2a.v1.A2AService/GetTask", &fields, body);
        assert_eq!(shown(&call.problems), expected, "{}", body.escape_ascii());
    }
}

// ---- answers ----

/// An answer as a server writes it, then corrupted.
fn answered(
    binding: Binding,
    version: ProtocolVersion,
    operation: Operation,
    corrupt: impl FnOnce(&mut WireAnswer),
) -> Answer {
    let call = call(binding, version, operation);
    let mut wire = if operation.is_streaming() {
        let (status, headers) = write_stream_head(&call);
        let events: Vec<Bytes> =
            samples::events().iter().map(|event| write_event(&call, event)).collect();
        let trailers = write_stream_end(&call, None).trailers;
        WireAnswer { status, headers, body: events.concat().into(), trailers }
    } else {
        write_reply(&call, &samples::reply(operation).unwrap())
    };
    corrupt(&mut wire);
    read_answer(&call, view(&wire))
}

type Corrupt = fn(&mut WireAnswer);

fn text(wire: &WireAnswer) -> String {
    String::from_utf8(wire.body.to_vec()).unwrap()
}

fn swap(wire: &mut WireAnswer, from: &str, to: &str) {
    let changed = text(wire).replacen(from, to, 1);
    assert_ne!(changed, text(wire), "nothing to corrupt");
    wire.body = changed.into();
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain");

#[rustfmt::skip]
const CORRUPTIONS: &[(&str, Binding, Operation, Corrupt, &[&str])] = &[
    ("none", Binding::JsonRpc, Operation::GetTask, |_| {}, &[]),
    ("another id", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id-1\"", "\"id-2\""), &["wrong_id at response: $.id"]),
    ("the id of another type", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id-1\"", "1"), &["wrong_id at response: $.id"]),
    ("a null id", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id-1\"", "null"), &["wrong_id at response: $.id"]),
    ("no id", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id\":\"id-1\",", ""), &["missing_field at response: $.id"]),
    ("no version", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"jsonrpc\":\"2.0\",", ""), &["missing_field at response: $.jsonrpc"]),
    ("another JSON-RPC", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"2.0\"", "2"), &["wrong_jsonrpc at response: $.jsonrpc"]),
    ("result and error", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"result\"", "\"error\":{\"code\":-32001,\"message\":\"no\"},\"result\""), &["result_and_error at response: $"]),
    ("neither", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"result\"", "\"results\""), &["missing_result at response: $"]),
    ("an error that is a word", Binding::JsonRpc, Operation::GetTask, |wire| wire.body = r#"{"jsonrpc":"2.0","id":"id-1","error":"no"}"#.into(), &["wrong_type at response: $.error"]),
    ("an error without a code", Binding::JsonRpc, Operation::GetTask, |wire| wire.body = r#"{"jsonrpc":"2.0","id":"id-1","error":{"message":"no"}}"#.into(), &["missing_field at response: $.error.code"]),
    ("half a body", Binding::JsonRpc, Operation::GetTask, |wire| wire.body.truncate(40), &["invalid_json at response: $"]),
    ("no body", Binding::JsonRpc, Operation::GetTask, |wire| wire.body.clear(), &["empty_body at response: $"]),
    ("a list", Binding::JsonRpc, Operation::GetTask, |wire| wire.body = "[1]".into(), &["wrong_type at response: $"]),
    ("another object", Binding::JsonRpc, Operation::GetTask, |wire| wire.body = "{}".into(), &["missing_result at response: $"]),
    ("declared as text", Binding::JsonRpc, Operation::GetTask, |wire| { wire.headers.insert("content-type", PLAIN); }, &["wrong_content_type at response: content-type"]),
    ("declared as nothing", Binding::JsonRpc, Operation::GetTask, |wire| { wire.headers.clear(); }, &["wrong_content_type at response: content-type"]),
    ("HTML", Binding::JsonRpc, Operation::GetTask, |wire| { wire.body = "<html>".into(); wire.headers.insert("content-type", PLAIN); }, &["wrong_content_type at response: content-type"]),
    ("a task without an id", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id\":\"t-1\",", ""), &["missing_field at response: $.result.id"]),
    ("an unknown state", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WAITING"), &["unknown_enum at response: $.result.status.state"]),
    ("a duplicate member", Binding::JsonRpc, Operation::GetTask, |wire| swap(wire, "\"id\":\"t-1\"", "\"id\":\"t-0\",\"id\":\"t-1\""), &["duplicate_key at response: $.result.id"]),
    ("a stream to a call that is answered once", Binding::JsonRpc, Operation::GetTask, |wire| { wire.body = Bytes::new(); wire.headers.insert("content-type", STREAM); }, &["unexpected_stream at response: content-type"]),
    ("another id in an event", Binding::JsonRpc, Operation::SubscribeToTask, |wire| swap(wire, "\"id-1\",\"result\":{\"statusUpdate", "\"x\",\"result\":{\"statusUpdate"), &["wrong_id at response event 2: $.id"]),
    ("an event that is no JSON", Binding::JsonRpc, Operation::SubscribeToTask, |wire| swap(wire, "data: {", "data: "), &["invalid_json at response event 1: $"]),
    ("an event cut off", Binding::JsonRpc, Operation::SubscribeToTask, |wire| wire.body.truncate(wire.body.len() - 2), &["unterminated at response event 4"]),
    ("no stream", Binding::JsonRpc, Operation::SubscribeToTask, |wire| { wire.body = r#"{"jsonrpc":"2.0","id":"id-1","result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#.into(); wire.headers.insert("content-type", JSON); }, &["not_a_stream at response: $"]),
    ("an event of another shape", Binding::HttpJson, Operation::SubscribeToTask, |wire| swap(wire, "{\"statusUpdate\"", "{\"status\""), &["missing_field at response event 2: $"]),
    ("no JSON", Binding::HttpJson, Operation::GetTask, |wire| wire.body = "{".into(), &["invalid_json at response: $"]),
    ("no UTF-8", Binding::HttpJson, Operation::GetTask, |wire| { let mut body = wire.body.to_vec(); let at = body.len() - 4; body[at] = 0xff; wire.body = body.into(); }, &["invalid_utf8 at response: $", "invalid_json at response: $"]),
    ("no body", Binding::HttpJson, Operation::GetTask, |wire| wire.body.clear(), &["empty_body at response: $"]),
    ("declared as text", Binding::HttpJson, Operation::GetTask, |wire| { wire.headers.insert("content-type", PLAIN); }, &["wrong_content_type at response: content-type"]),
    ("a list", Binding::HttpJson, Operation::GetTask, |wire| wire.body = "[]".into(), &["wrong_type at response: $"]),
    ("no trailers", Binding::Grpc, Operation::GetTask, |wire| wire.trailers = None, &["missing_trailers at response: grpc-status"]),
    ("no status in the trailers", Binding::Grpc, Operation::GetTask, |wire| { wire.trailers = Some(HeaderMap::new()); }, &["missing_trailers at response: grpc-status"]),
    ("half a message", Binding::Grpc, Operation::GetTask, |wire| wire.body.truncate(wire.body.len() - 1), &["unterminated at response: $", "missing_message at response: $"]),
    ("two messages", Binding::Grpc, Operation::GetTask, |wire| wire.body = [&wire.body[..], &wire.body].concat().into(), &["too_many_messages at response: $"]),
    ("no message", Binding::Grpc, Operation::GetTask, |wire| wire.body.clear(), &["missing_message at response: $"]),
    ("a status out of range", Binding::Grpc, Operation::GetTask, |wire| { wire.trailers.as_mut().unwrap().insert("grpc-status", HeaderValue::from_static("77")); }, &["invalid_value at response: grpc-status"]),
    ("no protobuf", Binding::Grpc, Operation::GetTask, |wire| wire.body = Bytes::from_static(b"\x00\x00\x00\x00\x01\xff"), &["invalid_protobuf at response: $"]),
    ("an unknown compression", Binding::Grpc, Operation::GetTask, |wire| { let mut body = wire.body.to_vec(); body[0] = 1; wire.body = body.into(); wire.headers.insert("grpc-encoding", HeaderValue::from_static("snappy")); }, &["unknown_compression at response: $"]),
    ("half an event", Binding::Grpc, Operation::SubscribeToTask, |wire| wire.body.truncate(wire.body.len() - 1), &["unterminated at response: $"]),
    ("declared as HTML", Binding::Grpc, Operation::GetTask, |wire| { wire.headers.insert("content-type", HeaderValue::from_static("text/html")); wire.trailers = None; }, &["wrong_content_type at response: content-type"]),
];

#[test]
fn a_corrupt_answer_is_named() {
    let mut wrong = Vec::new();
    for (what, binding, operation, corrupt, expected) in CORRUPTIONS {
        let answer = answered(*binding, ProtocolVersion::V1_0, *operation, corrupt);
        let found = shown(&answer.problems);
        if found != *expected {
            wrong.push(format!("{binding} {operation}, {what}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_compressed_message_is_inflated() {
    let answer = answered(Binding::Grpc, ProtocolVersion::V1_0, Operation::GetTask, |wire| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&wire.body[5..]).unwrap();
        let packed = encoder.finish().unwrap();
        let mut body = vec![1];
        body.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        body.extend(packed);
        wire.body = body.into();
        wire.headers.insert("grpc-encoding", HeaderValue::from_static("gzip"));
    });
    assert_eq!(answer.problems, []);
    assert_eq!(answer.reply, samples::reply(Operation::GetTask));
}

#[test]
fn an_inflated_message_is_bounded() {
    let answer = answered(Binding::Grpc, ProtocolVersion::V1_0, Operation::GetTask, |wire| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..65 {
            encoder.write_all(&zeros).unwrap();
        }
        let packed = encoder.finish().unwrap();
        let mut body = vec![1];
        body.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
        body.extend(packed);
        wire.body = body.into();
    });
    assert_eq!(shown(&answer.problems), ["oversized at response: $"]);
}

#[test]
fn comments_alone_are_no_events() {
    let subscribe = Operation::SubscribeToTask;
    let answer = answered(Binding::JsonRpc, ProtocolVersion::V1_0, subscribe, |wire| {
        wire.body = Bytes::from_static(b": ping\n\n:\n\n: ping\n");
    });
    assert_eq!((answer.events.len(), answer.problems.len()), (0, 0));
    assert!(answer.is_stream);
}

#[test]
fn a_card_that_is_not_modified_is_no_error() {
    let call = asked("GET", "/.well-known/agent-card.json", &[], b"");
    let wire = WireAnswer {
        status: StatusCode::NOT_MODIFIED,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        trailers: None,
    };
    let answer = read_answer(&call, view(&wire));
    assert_eq!((answer.error, answer.problems.len()), (None, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_octets_make_a_reader_panic(
        body in proptest::collection::vec(any::<u8>(), 0..64),
        content_type in prop_oneof![
            Just("application/json"), Just("text/event-stream"), Just("application/grpc"), Just("text/plain")
        ],
        status in prop_oneof![Just(200_u16), Just(404), Just(304)],
    ) {
        for binding in samples::BINDINGS {
            for version in samples::VERSIONS {
                for operation in [Operation::SendMessage, Operation::SubscribeToTask] {
                    let call = call(*binding, *version, operation);
                    let mut headers = HeaderMap::new();
                    headers.insert("content-type", HeaderValue::from_static(content_type));
                    let status = StatusCode::from_u16(status).unwrap();
                    let wire = WireAnswer { status, headers, body: body.clone().into(), trailers: None };
                    let answer = read_answer(&call, view(&wire));
                    prop_assert!(!matches!(answer.reply, Some(Reply::Tasks(_))));
                }
            }
        }
        for target in ["/", "/message:send", "/lf.a2a.v1.A2AService/SendMessage"] {
            asked("POST", target, &[("content-type", content_type)], &body);
        }
    }
}
