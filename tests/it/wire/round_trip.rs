//! What we write we read as what it was, in every binding and version.

use bytes::BytesMut;
use http::{HeaderMap, StatusCode, Uri};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{
    Answer, Call, Head, WireAnswer, WireRequest, WireView, read_answer, read_call, write_event,
    write_reply, write_request, write_stream_end, write_stream_head,
};
use meddler::a2a::model::{A2aError, ErrorKind, GrpcCode, Operation, Reply, StreamResponse};
use meddler::a2a::{detect, dialect};

use super::fixture;
use super::samples::{self, BINDINGS, VERSIONS};

pub(super) fn understood(wire: &WireRequest) -> Call {
    let path = if wire.path.is_empty() { "/" } else { &wire.path };
    let uri: Uri = path.parse().unwrap();
    let head = Head { method: &wire.method, uri: &uri, headers: &wire.headers };
    read_call(head, &detect::recognize(head), &wire.body)
}

/// A call of this kind, as its receiver understands it.
pub(super) fn call(binding: Binding, version: ProtocolVersion, operation: Operation) -> Call {
    let request = samples::request(operation);
    let wire = write_request(binding, version, operation, &request, "\"id-1\"");
    understood(&wire)
}

pub(super) fn view(wire: &WireAnswer) -> WireView<'_> {
    WireView {
        status: wire.status,
        headers: &wire.headers,
        body: &wire.body,
        trailers: wire.trailers.as_ref(),
    }
}

fn each(mut check: impl FnMut(Binding, ProtocolVersion, Operation, &str)) {
    for binding in BINDINGS {
        for version in VERSIONS {
            for operation in samples::operations(*binding, *version) {
                let at = format!("{binding} {version} {operation}");
                check(*binding, *version, operation, &at);
            }
        }
    }
}

#[test]
fn every_request_is_read_as_it_was_written() {
    each(|binding, version, operation, at| {
        let request = samples::request(operation);
        let wire = write_request(binding, version, operation, &request, "17");
        if operation == Operation::PushNotification {
            let uri: Uri = "/hook".parse().unwrap();
            let head = Head { method: &wire.method, uri: &uri, headers: &wire.headers };
            let call = read_call(head, &detect::push_delivery(head), &wire.body);
            assert_eq!(call.request, Some(request), "{at}");
            assert_eq!(call.version, Some(version), "{at}");
            return;
        }
        let call = understood(&wire);
        assert_eq!(call.problems, [], "{at}");
        assert_eq!(call.request, Some(request), "{at}");
        assert_eq!(call.binding, Some(binding), "{at}");
        assert_eq!(call.operation, operation, "{at}");
        let is_discovery = operation == Operation::AgentCard;
        assert_eq!(call.version, (!is_discovery).then_some(version), "{at}");
        let rpc_id = call.rpc_id.as_ref().map(|id| id.get());
        assert_eq!(rpc_id, (binding == Binding::JsonRpc).then_some("17"), "{at}");
    });
}

#[test]
fn every_reply_is_read_as_it_was_written() {
    each(|binding, version, operation, at| {
        let Some(reply) = samples::reply(operation) else { return };
        let mut call = call(binding, version, operation);
        if operation == Operation::PushNotification {
            call = Call { binding: Some(binding), operation, ..Call::default() };
        }
        let answer = read_answer(&call, view(&write_reply(&call, &reply)));
        assert_eq!(answer.problems, [], "{at}");
        assert_eq!(answer.reply, Some(reply), "{at}");
        assert_eq!(answer.error, None, "{at}");
    });
}

#[test]
fn every_card_is_read_as_it_was_written() {
    for (file, version) in [("0.3/agent-card.json", "0.3"), ("1.0/agent-card.json", "1.0")] {
        let value = serde_json::from_slice(&fixture::file(file)).unwrap();
        let card = dialect::read_card(&value, &mut Vec::new());
        for binding in BINDINGS {
            let call = call(*binding, version.parse().unwrap(), Operation::GetExtendedAgentCard);
            let reply = Reply::Card(Box::new(card.clone()));
            let answer = read_answer(&call, view(&write_reply(&call, &reply)));
            assert_eq!(answer.problems, [], "{binding} {version}");
            let Some(Reply::Card(read)) = answer.reply else { panic!("{binding} {version}") };
            assert_eq!(read.interfaces, card.interfaces, "{binding} {version}");
            assert_eq!(read.skills, card.skills, "{binding} {version}");
        }
    }
}

/// A whole stream on the wire, read.
fn streamed(call: &Call, events: &[StreamResponse], error: Option<&A2aError>) -> Answer {
    let (status, headers) = write_stream_head(call);
    let mut body = BytesMut::new();
    for event in events {
        body.extend_from_slice(&write_event(call, event));
    }
    let end = write_stream_end(call, error);
    body.extend_from_slice(&end.body);
    assert!(!end.abort, "an error that is said need not be shown by breaking off");
    let trailers = end.trailers;
    read_answer(
        call,
        WireView { status, headers: &headers, body: &body, trailers: trailers.as_ref() },
    )
}

/// 0.3 requires `final`, so its readers know more than was written.
fn without_last(event: &StreamResponse) -> StreamResponse {
    let mut event = event.clone();
    if let StreamResponse::StatusUpdate(update) = &mut event {
        update.last = None;
    }
    event
}

#[test]
fn every_stream_is_read_as_it_was_written() {
    for binding in BINDINGS {
        for version in VERSIONS {
            for operation in [Operation::SendStreamingMessage, Operation::SubscribeToTask] {
                let call = call(*binding, *version, operation);
                let answer = streamed(&call, &samples::events(), None);
                let at = format!("{binding} {version} {operation}");
                assert_eq!(answer.problems, [], "{at}");
                let read: Vec<StreamResponse> = answer
                    .events
                    .iter()
                    .map(|event| without_last(event.event.as_ref().unwrap()))
                    .collect();
                assert_eq!(read, samples::events(), "{at}");
                assert!(answer.is_stream && answer.error.is_none(), "{at}");
                assert_eq!(answer.ids.task_id.as_deref(), Some("t-1"), "{at}");
            }
        }
    }
}

/// 0.3's HTTP+JSON says only words and a status, which several errors share.
fn is_told(binding: Binding, version: ProtocolVersion) -> bool {
    !(binding == Binding::HttpJson && version == ProtocolVersion::V0_3)
}

#[test]
fn every_error_is_read_as_it_was_written() {
    for binding in BINDINGS {
        for version in VERSIONS {
            for operation in [Operation::GetTask, Operation::SendStreamingMessage] {
                let call = call(*binding, *version, operation);
                for kind in ErrorKind::all() {
                    let at = format!("{binding} {version} {operation} {kind:?}");
                    let error = A2aError::of(kind, "no: 100% é");
                    let wire = write_reply(&call, &Reply::Error(error));
                    let answer = read_answer(&call, view(&wire));
                    assert_eq!(answer.problems, [], "{at}");
                    let read = answer.error.unwrap();
                    assert_eq!(read.message, "no: 100% é", "{at}");
                    if is_told(*binding, *version) {
                        assert_eq!(read.kind, Some(kind), "{at}");
                        assert_eq!(read.code, Some(kind.code()), "{at}");
                    }
                }
            }
        }
    }
}

#[test]
fn an_error_after_events_is_read_as_it_was_written() {
    for binding in BINDINGS {
        for version in VERSIONS {
            let call = call(*binding, *version, Operation::SendStreamingMessage);
            if !is_told(*binding, *version) {
                let end = write_stream_end(&call, Some(&A2aError::of(ErrorKind::Internal, "no")));
                assert!(end.abort && end.body.is_empty(), "there is no form for it: broken off");
                continue;
            }
            for kind in ErrorKind::all() {
                let at = format!("{binding} {version} {kind:?}");
                let error = A2aError::of(kind, "no more");
                let answer = streamed(&call, &samples::events()[..1], Some(&error));
                assert_eq!(answer.problems, [], "{at}");
                assert_eq!(answer.events[0].event, Some(samples::events().remove(0)), "{at}");
                let read = answer.error.unwrap();
                assert_eq!((read.kind, read.message.as_str()), (Some(kind), "no more"), "{at}");
            }
        }
    }
}

#[test]
fn explicit_numbers_are_kept_and_missing_ones_follow_the_tables() {
    let http = |status| A2aError { http_status: Some(status), ..A2aError::default() };
    let code = |code| A2aError { code: Some(code), ..A2aError::default() };
    let grpc = |name| A2aError { grpc_status: GrpcCode::of_name(name), ..A2aError::default() };
    let kind = A2aError::of(ErrorKind::TaskNotCancelable, "no");
    let v0_3 = ProtocolVersion::V0_3;
    let v1_0 = ProtocolVersion::V1_0;
    for (error, version, rpc, rest, status) in [
        (http(503), v1_0, (503, -32603), 503, "UNAVAILABLE"),
        (http(400), v1_0, (400, -32603), 400, "INTERNAL"),
        (http(401), v0_3, (401, -32603), 401, "UNAUTHENTICATED"),
        (http(418), v1_0, (418, -32603), 418, "UNKNOWN"),
        (grpc("UNAVAILABLE"), v1_0, (503, -32603), 503, "UNAVAILABLE"),
        (grpc("RESOURCE_EXHAUSTED"), v0_3, (429, -32603), 429, "RESOURCE_EXHAUSTED"),
        (code(-32603), v1_0, (200, -32603), 500, "INTERNAL"),
        (code(-32099), v1_0, (200, -32099), 500, "UNKNOWN"),
        (code(-32001), v1_0, (200, -32001), 404, "NOT_FOUND"),
        (kind.clone(), v1_0, (200, -32002), 400, "FAILED_PRECONDITION"),
        (kind.clone(), v0_3, (200, -32002), 409, "UNIMPLEMENTED"),
        (
            A2aError { http_status: Some(404), ..kind },
            v1_0,
            (404, -32002),
            404,
            "FAILED_PRECONDITION",
        ),
    ] {
        let wire = |binding| {
            let call = call(binding, version, Operation::GetTask);
            write_reply(&call, &Reply::Error(error.clone()))
        };
        let answer = wire(Binding::JsonRpc);
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let found = (answer.status.as_u16(), body["error"]["code"].as_i64().unwrap());
        assert_eq!(found, rpc, "JSON-RPC {version} {error:?}");
        assert_eq!(body["id"], "id-1");
        assert_eq!(wire(Binding::HttpJson).status.as_u16(), rest, "HTTP+JSON {version} {error:?}");
        let answer = wire(Binding::Grpc);
        let number: u8 = answer.headers["grpc-status"].to_str().unwrap().parse().unwrap();
        assert_eq!(GrpcCode::new(number).unwrap().name(), status, "gRPC {version} {error:?}");
        assert!(answer.body.is_empty() && answer.trailers.is_none(), "Trailers-Only");
        assert_eq!(answer.status, StatusCode::OK);
    }
}

/// The official servers' own errors: what we would send is what they sent.
#[test]
fn errors_are_written_as_the_official_servers_write_them() {
    let mut compared = 0;
    for line in fixture::lines() {
        // The mixed server answers 0.3's clients in ways of its own.
        if line.at.starts_with("0.3-on-1.0") || !line.is_complete {
            continue;
        }
        let call = line.call();
        let (Some(answer), Some(recorded)) = (line.answer(&call), &line.response) else { continue };
        // Errors without a kind are the web framework's.
        let error = answer.error.filter(|error| error.kind.is_some());
        let Some(error) = error.filter(|_| line.op.starts_with("err-")) else { continue };
        // Only kind and words, so that the numbers come from the tables.
        let error = A2aError { http_status: None, grpc_status: None, ..error };
        let wire = write_reply(&call, &Reply::Error(error));
        assert_eq!(wire.status, recorded.status, "{}", line.at);
        assert_eq!(wire.headers["content-type"], recorded.headers["content-type"], "{}", line.at);
        for name in ["grpc-status", "grpc-message"] {
            assert_eq!(wire.headers.get(name), recorded.headers.get(name), "{}", line.at);
        }
        assert_eq!(
            value(&wire.body, &wire.headers),
            value(&recorded.body, &recorded.headers),
            "{}",
            line.at
        );
        compared += 1;
    }
    assert!(compared > 50, "only {compared} errors");
}

/// The JSON of a body: plain, or of its only event.
fn value(body: &[u8], headers: &HeaderMap) -> serde_json::Value {
    let text = std::str::from_utf8(body).unwrap();
    if headers["content-type"].to_str().unwrap().starts_with("text/event-stream") {
        return serde_json::from_str(text.strip_prefix("data: ").unwrap().trim()).unwrap();
    }
    serde_json::from_str(text).unwrap_or_default()
}

#[test]
fn headers_are_those_of_the_official_servers() {
    for (binding, version, plain, stream) in [
        (Binding::JsonRpc, "0.3", "application/json", "text/event-stream; charset=utf-8"),
        (Binding::JsonRpc, "1.0", "application/json", "text/event-stream; charset=utf-8"),
        (Binding::HttpJson, "0.3", "application/json", "text/event-stream; charset=utf-8"),
        (Binding::HttpJson, "1.0", "application/a2a+json", "text/event-stream; charset=utf-8"),
        (Binding::Grpc, "0.3", "application/grpc", "application/grpc"),
        (Binding::Grpc, "1.0", "application/grpc", "application/grpc"),
    ] {
        let call = call(binding, version.parse().unwrap(), Operation::GetTask);
        let wire = write_reply(&call, &samples::reply(Operation::GetTask).unwrap());
        assert_eq!(wire.headers["content-type"], plain, "{binding} {version}");
        let (status, headers) = write_stream_head(&call);
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (StatusCode::OK, stream));
    }
}

#[test]
fn an_event_is_framed_as_the_official_servers_frame_it() {
    let event = StreamResponse::Task(samples::task());
    for (version, error_name) in [("0.3", ""), ("1.0", "event: error\r\n")] {
        let call = call(Binding::JsonRpc, version.parse().unwrap(), Operation::SubscribeToTask);
        let written = write_event(&call, &event);
        assert!(written.starts_with(b"data: {") && written.ends_with(b"}\r\n\r\n"), "{version}");
        let end = write_stream_end(&call, Some(&A2aError::of(ErrorKind::Internal, "x")));
        assert!(end.body.starts_with(format!("{error_name}data: {{").as_bytes()), "{version}");
    }
}

#[test]
fn an_answer_carries_the_id_as_it_was_written() {
    for id in ["42", "\"42\"", "0", "-1.5e3", "null", "9007199254740993", "\"\\u0061\""] {
        let request = samples::request(Operation::GetTask);
        let wire = write_request(
            Binding::JsonRpc,
            ProtocolVersion::V1_0,
            Operation::GetTask,
            &request,
            id,
        );
        let call = understood(&wire);
        assert_eq!(call.rpc_id.as_ref().unwrap().get(), id);
        let answer = write_reply(&call, &samples::reply(Operation::GetTask).unwrap());
        let needle = format!("\"id\":{id},");
        assert!(std::str::from_utf8(&answer.body).unwrap().contains(&needle), "{id}");
        assert_eq!(read_answer(&call, view(&answer)).problems, [], "{id}");
    }
}
