//! Errors of the protocol and below it, in every form in which peers send them.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{Answer, Call, WireAnswer, read_answer};
use meddler::a2a::model::{ErrorKind, GrpcCode, Operation};

use super::round_trip::{call, view};
use super::samples;

/// What is read of an answer with this status, content type and body.
fn error_of(call: &Call, status: u16, content_type: &'static str, body: &'static str) -> Answer {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert("content-type", HeaderValue::from_static(content_type));
    }
    let status = StatusCode::from_u16(status).unwrap();
    let body = Bytes::from_static(body.as_bytes());
    read_answer(call, view(&WireAnswer { status, headers, body, trailers: None }))
}

#[test]
fn an_error_below_the_protocol_is_no_problem() {
    for (status, content_type, body, message) in [
        (401, "text/plain", "login needed", "Unauthorized"),
        (401, "application/json", r#"{"error":"unauthorized"}"#, "unauthorized"),
        (502, "text/html", "<html>Bad Gateway</html>", "Bad Gateway"),
        (503, "", "", "Service Unavailable"),
        (429, "application/json", r#"{"detail":"slow down"}"#, "slow down"),
        (
            502,
            "application/problem+json",
            r#"{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"connect_refused"}"#,
            "connect_refused",
        ),
    ] {
        for binding in samples::BINDINGS {
            for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
                let call = call(*binding, ProtocolVersion::V1_0, operation);
                let answer = error_of(&call, status, content_type, body);
                let at = format!("{binding} {status} {body}");
                assert_eq!(answer.problems, [], "{at}");
                let error = answer.error.unwrap();
                assert_eq!((error.kind, error.http_status), (None, Some(status)), "{at}");
                assert_eq!(error.message, message, "{at}");
                assert!(!answer.is_stream, "{at}");
            }
        }
    }
}

#[test]
fn one_error_has_one_kind_in_all_its_forms() {
    let rpc = r#"{"jsonrpc":"2.0","id":"id-1","error":{"code":-32004,"message":"x"}}"#;
    let rest = r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"x"}}"#;
    let rpc_event = "data: {\"jsonrpc\":\"2.0\",\"id\":\"id-1\",\"error\":{\"code\":-32004,\"message\":\"x\"}}\n\n";
    let rest_event =
        "data: {\"error\":{\"code\":400,\"status\":\"FAILED_PRECONDITION\",\"message\":\"x\"}}\n\n";
    for (binding, status, content_type, body) in [
        (Binding::JsonRpc, 200, "application/json", rpc),
        (Binding::JsonRpc, 400, "application/json", rpc),
        (Binding::JsonRpc, 200, "text/event-stream", rpc_event),
        (Binding::HttpJson, 400, "application/json", rest),
        (Binding::HttpJson, 200, "text/event-stream", rest_event),
    ] {
        let subscribe = Operation::SubscribeToTask;
        let call = call(binding, ProtocolVersion::V1_0, subscribe);
        let answer = error_of(&call, status, content_type, body);
        assert_eq!(answer.problems, [], "{body}");
        let error = answer.error.unwrap();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (Some(ErrorKind::UnsupportedOperation), "x"),
            "{body}"
        );
    }
}

#[test]
fn a_problem_type_names_the_error() {
    let body = r#"{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task Not Found","status":404,"detail":"t1"}"#;
    let call = call(Binding::HttpJson, ProtocolVersion::V1_0, Operation::GetTask);
    let answer = error_of(&call, 404, "application/problem+json", body);
    let error = answer.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (Some(ErrorKind::TaskNotFound), "t1"));
}

#[test]
fn a_trailers_only_error_is_read_from_the_head() {
    let call = call(Binding::Grpc, ProtocolVersion::V1_0, Operation::GetTask);
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/grpc"),
        ("grpc-status", "5"),
        ("grpc-message", "task%20gone"),
        ("grpc-status-details-bin", "CAUSCXRhc2sgZ29uZQ"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let wire = WireAnswer { status: StatusCode::OK, headers, body: Bytes::new(), trailers: None };
    let answer = read_answer(&call, view(&wire));
    assert_eq!(answer.problems, []);
    assert_eq!(answer.grpc_status, GrpcCode::of_name("NOT_FOUND"));
    let error = answer.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (Some(ErrorKind::TaskNotFound), "task gone"));
}

#[test]
fn an_error_answers_a_request_whose_id_was_not_understood() {
    let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;
    let call = call(Binding::JsonRpc, ProtocolVersion::V0_3, Operation::SendMessage);
    let answer = error_of(&call, 200, "application/json", body);
    assert_eq!(answer.problems, []);
    assert_eq!(answer.error.unwrap().kind, Some(ErrorKind::ParseError));
}
