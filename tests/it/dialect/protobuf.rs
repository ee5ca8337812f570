//! Protobuf by its schema: what is unknown, broken or refused is said.

use bytes::Bytes;
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::dialect;
use meddler::a2a::dialect::protobuf::{Message, from_json, to_json};
use meddler::a2a::model::{FileSource, Operation, PartContent, Request, TaskState};
use meddler::a2a::problem::Problem;
use serde_json::{Value, json};

const TASK: (Operation, Message) = (Operation::GetTask, Message::Response);

fn read(octets: &[u8]) -> (Option<Value>, Vec<Problem>) {
    let mut problems = Vec::new();
    let value = to_json(ProtocolVersion::V1_0, TASK.0, TASK.1, octets, &mut problems);
    (value, problems)
}

fn task() -> Vec<u8> {
    let value = json!({ "id": "t", "status": { "state": "TASK_STATE_WORKING" } });
    from_json(ProtocolVersion::V1_0, TASK.0, TASK.1, &value).unwrap()
}

#[test]
fn a_field_that_the_schema_does_not_know_is_named_with_its_place() {
    // Field 99, a varint of 1, at the end of the task; and in its status, which has length 2.
    let mut octets = task();
    octets.extend([0x98, 0x06, 0x01]);
    let (value, problems) = read(&octets);
    assert_eq!(value.unwrap()["id"], "t");
    assert_eq!(problems[0].to_string(), "unknown_field at $: field 99 is not in lf.a2a.v1.Task");

    let octets = [0x0a, 0x01, b't', 0x1a, 0x05, 0x08, 0x02, 0x98, 0x06, 0x01];
    let (value, problems) = read(&octets);
    assert_eq!(value.unwrap()["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(problems[0].at, "$.status");
}

#[test]
fn octets_that_are_no_protobuf_are_named() {
    let mut octets = task();
    octets.pop();
    for octets in [octets.as_slice(), &[0xff; 8]] {
        let (value, problems) = read(octets);
        assert_eq!(value, None);
        assert_eq!(problems[0].name, "invalid_protobuf");
    }
}

#[test]
fn nesting_without_end_is_refused_and_not_followed() {
    // A list in a list in a list: each level is a `Value` (field 6) and a `ListValue` (field 1).
    let mut value = Vec::new();
    for _ in 0..200 {
        let list = field(1, &value);
        value = field(6, &list);
    }
    let part = field(4, &value);
    let artifact = field(4, &part);
    let (value, problems) = read(&field(4, &artifact));
    assert_eq!(value, None);
    assert_eq!(problems[0].name, "invalid_protobuf");
}

/// A length-delimited field.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut octets = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        octets.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    octets.push(u8::try_from(length).unwrap());
    octets.extend(content);
    octets
}

#[test]
fn a_state_that_the_schema_has_no_name_for_keeps_its_number() {
    // `status { state: 77 }`
    let octets = [0x0a, 0x01, b't', 0x1a, 0x02, 0x08, 77];
    let (value, mut problems) = read(&octets);
    let value = value.unwrap();
    let dialect = dialect::of(ProtocolVersion::V1_0, Binding::Grpc);
    let reply = dialect.read_reply(TASK.0, &value, &mut problems).unwrap();
    assert_eq!(
        problems[0].to_string(),
        "unknown_enum at $.status.state: `77` is not a value of `state`"
    );
    let meddler::a2a::model::Reply::Task(task) = &reply else { panic!("no task") };
    assert_eq!(task.status.state, TaskState::Unspecified("77".to_owned()));

    let written = dialect.write_reply(TASK.0, &reply);
    assert_eq!(from_json(ProtocolVersion::V1_0, TASK.0, TASK.1, &written).unwrap(), octets);
}

#[test]
fn a_refused_value_is_told_where_and_why() {
    for (value, expected) in [
        (
            json!({ "status": { "state": "TASK_STATE_EXPLODED" } }),
            "lf.a2a.v1.TaskStatus is refused at $.status: ",
        ),
        (
            json!({ "history": [{ "messageId": "m" }, { "kind": "message" }] }),
            "lf.a2a.v1.Message is refused at $.history[1]: ",
        ),
        (json!([]), "lf.a2a.v1.Task is refused at $: "),
    ] {
        let error = from_json(ProtocolVersion::V1_0, TASK.0, TASK.1, &value).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let none = from_json(ProtocolVersion::V0_3, Operation::ListTasks, Message::Request, &json!({}));
    assert_eq!(none.unwrap_err(), "0.3 has no gRPC message for ListTasks");
}

#[test]
fn whole_numbers_of_a_struct_are_integers() {
    let value =
        json!({ "id": "t", "metadata": { "z": 1, "a": [2, 2.5, 9_007_199_254_740_991_i64] } });
    let octets = from_json(ProtocolVersion::V1_0, TASK.0, TASK.1, &value).unwrap();
    let (read, problems) = read(&octets);
    assert_eq!(problems, []);
    assert_eq!(
        read.unwrap().to_string(),
        r#"{"id":"t","metadata":{"a":[2,2.5,9007199254740991],"z":1}}"#,
        "and members have one order"
    );
}

/// The fault that the official 0.3 SDKs have with each other: Python puts base64 text into the
/// `bytes` field, JavaScript the octets. Both are the same file.
#[test]
fn the_two_ways_of_0_3_to_send_a_file_give_the_same_octets() {
    let dialect = dialect::of(ProtocolVersion::V0_3, Binding::HttpJson);
    for (text, media_type, expected) in [
        ("AAECAwQ=", "application/octet-stream", &[0, 1, 2, 3, 4][..]),
        ("QUFFQ0F3UT0=", "application/octet-stream", &[0, 1, 2, 3, 4]),
        // `test` is base64 of what is no text.
        ("dGVzdA==", "text/plain", b"test"),
        ("ZEdWemRBPT0=", "text/plain", b"test"),
    ] {
        let value = json!({ "message": { "messageId": "m", "role": "ROLE_USER",
            "content": [{ "file": { "fileWithBytes": text, "mimeType": media_type } }] } });
        let read = dialect.read_request(Operation::SendMessage, &value, &mut Vec::new());
        let Some(Request::SendMessage(send)) = read else { panic!("no send") };
        let expected = Bytes::copy_from_slice(expected);
        assert_eq!(
            send.message.parts[0].content,
            PartContent::File(FileSource::Raw(expected)),
            "{text}"
        );
    }
}

/// A card that the JSON schema spells goes out over gRPC as well.
#[test]
fn a_card_of_the_json_schema_becomes_a_message_of_0_3() {
    let card = json!({
        "protocolVersion": "0.3.0", "name": "a", "description": "b", "version": "1",
        "url": "http://a.example/", "capabilities": { "streaming": true },
        "securitySchemes": { "bearer": { "type": "http", "scheme": "Bearer" } },
        "security": [{ "bearer": [] }], "supportedInterfaces": [{ "url": "of 1.0" }],
        "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
    });
    let call = (ProtocolVersion::V0_3, Operation::GetExtendedAgentCard, Message::Response);
    let octets = from_json(call.0, call.1, call.2, &card).unwrap();
    let mut problems = Vec::new();
    let value = to_json(call.0, call.1, call.2, &octets, &mut problems).unwrap();
    let read = dialect::read_card(&value, &mut problems);
    assert_eq!(problems, []);
    assert_eq!(read.interfaces[0].url, "http://a.example/");
    assert_eq!(read.security_schemes, ["bearer"]);
    assert_eq!(
        value["securitySchemes"]["bearer"],
        json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } })
    );
}

#[test]
fn the_generated_types_speak_the_same_schemas() {
    use meddler::a2a::dialect::generated::v1_0;
    use prost::Message as _;

    let (value, problems) = read(&task());
    assert_eq!(problems, []);
    let task = v1_0::Task::decode(task().as_slice()).unwrap();
    assert_eq!(value.unwrap()["id"], task.id);
    assert_eq!(task.status.unwrap().state(), v1_0::TaskState::Working);
}
