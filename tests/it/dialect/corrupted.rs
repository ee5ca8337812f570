//! What is wrong with a message is named, with its place, and the rest of it is read all the same.

use meddler::a2a::dialect::{self, DIALECTS, Dialect};
use meddler::a2a::model::{
    Operation, PartContent, Reply, Request, Role, StreamResponse, TaskState,
};
use meddler::a2a::problem::{NAMES, Problem};
use serde_json::{Value, json};

const SCHEMA: &str = "0.3 JSON schema";
const PROTO: &str = "0.3 ProtoJSON";
const V1_0: &str = "1.0";

fn dialect(name: &str) -> &'static dyn Dialect {
    DIALECTS.iter().find(|row| row.name == name).unwrap().dialect
}

/// A message that is right, in each dialect.
fn message(name: &str) -> Value {
    match name {
        SCHEMA => json!({ "kind": "message", "messageId": "m", "role": "user",
            "parts": [{ "kind": "text", "text": "hi" }] }),
        PROTO => json!({ "messageId": "m", "role": "ROLE_USER", "content": [{ "text": "hi" }] }),
        _ => json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hi" }] }),
    }
}

/// A task that is right, in each dialect.
fn task(name: &str) -> Value {
    match name {
        SCHEMA => json!({ "kind": "task", "id": "t", "contextId": "c",
            "status": { "state": "working", "timestamp": "2026-11-30T15:56:10Z" } }),
        _ => json!({ "id": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_WORKING", "timestamp": "2026-11-30T15:56:10Z" } }),
    }
}

/// The value with a member replaced, or taken away by `null`.
fn with(mut value: Value, pointer: &str, member: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap();
    match (parent, member) {
        (Value::Object(members), Value::Null) => {
            members.shift_remove(name);
        }
        (Value::Object(members), member) => {
            members.insert(name.to_owned(), member);
        }
        (Value::Array(items), member) => {
            *items.get_mut(name.parse::<usize>().unwrap()).unwrap() = member;
        }
        (other, _) => unreachable!("{other} has no members"),
    }
    value
}

fn found(problems: &[Problem]) -> Vec<String> {
    for problem in problems {
        assert!(
            NAMES.iter().any(|(name, _)| *name == problem.name),
            "{} is not listed",
            problem.name
        );
    }
    problems.iter().map(|problem| format!("{} at {}", problem.name, problem.at)).collect()
}

/// A send of this message has exactly these problems, and is a send all the same.
#[track_caller]
fn check_message(name: &str, said: &Value, expected: &[&str]) {
    let mut problems = Vec::new();
    let value = json!({ "message": said });
    let read = dialect(name).read_request(Operation::SendMessage, &value, &mut problems);
    assert_eq!(found(&problems), expected, "{name}: {value}");
    assert!(matches!(read, Some(Request::SendMessage(_))), "{name}: {value}");
}

/// This task as an answer has exactly these problems, and is a task all the same.
#[track_caller]
fn check_task(name: &str, task: &Value, expected: &[&str]) {
    let mut problems = Vec::new();
    let read = dialect(name).read_reply(Operation::GetTask, task, &mut problems);
    assert_eq!(found(&problems), expected, "{name}: {task}");
    assert!(matches!(read, Some(Reply::Task(_))), "{name}: {task}");
}

/// This event has exactly these problems.
#[track_caller]
fn check_event(name: &str, event: &Value, expected: &[&str]) -> Option<StreamResponse> {
    let mut problems = Vec::new();
    let read = dialect(name).read_event(event, &mut problems);
    assert_eq!(found(&problems), expected, "{name}: {event}");
    read
}

#[test]
fn what_is_right_has_no_problems() {
    for row in DIALECTS {
        check_message(row.name, &message(row.name), &[]);
        check_task(row.name, &task(row.name), &[]);
    }
}

#[test]
fn a_missing_member_is_named() {
    for row in DIALECTS {
        for (member, at) in [("messageId", "$.message.messageId"), ("role", "$.message.role")] {
            let said = with(message(row.name), &format!("/{member}"), Value::Null);
            check_message(row.name, &said, &[&format!("missing_field at {at}")]);
        }
        let problem = "missing_field at $.status";
        check_task(row.name, &with(task(row.name), "/status", Value::Null), &[problem]);
        let problem = "missing_field at $.id";
        check_task(row.name, &with(task(row.name), "/id", Value::Null), &[problem]);
    }
    let without = |name, member| with(message(name), member, Value::Null);
    check_message(V1_0, &without(V1_0, "/parts"), &["missing_field at $.message.parts"]);
    check_message(SCHEMA, &without(SCHEMA, "/parts"), &["missing_field at $.message.parts"]);
    check_message(PROTO, &without(PROTO, "/content"), &["missing_field at $.message.content"]);
    check_message(
        SCHEMA,
        &without(SCHEMA, "/parts/0/kind"),
        &["missing_field at $.message.parts[0].kind"],
    );
    for name in [SCHEMA, PROTO] {
        let problem = "missing_field at $.contextId";
        check_task(name, &with(task(name), "/contextId", Value::Null), &[problem]);
    }
    for name in [SCHEMA, V1_0] {
        let problem = "missing_field at $.status.state";
        check_task(name, &with(task(name), "/status/state", Value::Null), &[problem]);
    }
}

#[test]
fn an_empty_list_of_parts_is_missed_where_one_is_needed() {
    let empty = with(message(V1_0), "/parts", json!([]));
    check_message(V1_0, &empty, &["missing_field at $.message.parts"]);
    // The 0.3 schema takes an empty list.
    check_message(SCHEMA, &with(message(SCHEMA), "/parts", json!([])), &[]);
}

#[test]
fn another_type_is_named() {
    for row in DIALECTS {
        for (member, value, at) in [
            ("/messageId", json!(7), "$.message.messageId"),
            ("/contextId", json!({}), "$.message.contextId"),
            ("/metadata", json!([]), "$.message.metadata"),
            ("/extensions", json!("uri"), "$.message.extensions"),
            ("/extensions", json!(["uri", 1]), "$.message.extensions[1]"),
        ] {
            let said = with(message(row.name), member, value);
            check_message(row.name, &said, &[&format!("wrong_type at {at}")]);
        }
        let problem = "wrong_type at $.artifacts";
        check_task(row.name, &with(task(row.name), "/artifacts", json!({})), &[problem]);
        let problem = "wrong_type at $.history[0]";
        check_task(row.name, &with(task(row.name), "/history", json!(["hi"])), &[problem]);
        check_message(row.name, &json!("hi"), &["wrong_type at $.message"]);
    }
}

#[test]
fn a_word_that_no_version_knows_is_named_and_kept() {
    for row in DIALECTS {
        let said = with(message(row.name), "/role", json!("critic"));
        check_message(row.name, &said, &["unknown_enum at $.message.role"]);

        let mut problems = Vec::new();
        let value = with(task(row.name), "/status/state", json!("exploded"));
        let read = row.dialect.read_reply(Operation::GetTask, &value, &mut problems);
        assert_eq!(found(&problems), ["unknown_enum at $.status.state"], "{}", row.name);
        let Some(Reply::Task(task)) = read else { panic!("{}: no task", row.name) };
        assert_eq!(task.status.state, TaskState::Unspecified("exploded".to_owned()));
    }
}

#[test]
fn another_versions_spelling_is_named_and_understood() {
    for (name, role, state) in
        [(V1_0, "user", "input-required"), (SCHEMA, "ROLE_USER", "TASK_STATE_INPUT_REQUIRED")]
    {
        let said = with(message(name), "/role", json!(role));
        check_message(name, &said, &["foreign_spelling at $.message.role"]);
        let value = with(task(name), "/status/state", json!(state));
        check_task(name, &value, &["foreign_spelling at $.status.state"]);
    }
    // 0.3's protobuf writes it with two l.
    let value = with(task(PROTO), "/status/state", json!("TASK_STATE_CANCELED"));
    check_task(PROTO, &value, &["foreign_spelling at $.status.state"]);
}

#[test]
fn the_protobuf_dialect_of_0_3_takes_the_json_schemas_shapes_and_older_names() {
    let reads_alike = |value: Value| {
        let mut problems = Vec::new();
        let read = dialect(PROTO).read_request(Operation::SendMessage, &value, &mut problems);
        assert_eq!(found(&problems), Vec::<String>::new(), "{value}");
        let Some(Request::SendMessage(send)) = read else { panic!("{value}: no send") };
        assert_eq!(send.message.message_id, "m", "{value}");
        assert_eq!(send.message.role, Role::User, "{value}");
        assert_eq!(send.message.parts[0].as_text(), Some("hi"), "{value}");
    };
    reads_alike(json!({ "message": message(PROTO) }));
    reads_alike(json!({ "request": message(PROTO) }));
    reads_alike(json!({ "message": message(SCHEMA) }));
    reads_alike(json!({ "request": { "message_id": "m", "role": "ROLE_USER",
        "content": [{ "text": "hi" }] } }));
    let bare = dialect(PROTO).read_event(&task(SCHEMA), &mut Vec::new());
    assert!(matches!(bare, Some(StreamResponse::Task(_))));
}

#[test]
fn a_part_without_content_is_named() {
    for (name, part, problem) in [
        (V1_0, json!({ "metadata": {} }), "empty_part at $.message.parts[0]"),
        (V1_0, json!({ "kind": "file", "file": {} }), "empty_part at $.message.parts[0]"),
        (SCHEMA, json!({ "kind": "text" }), "empty_part at $.message.parts[0]"),
        (SCHEMA, json!({ "kind": "file" }), "empty_part at $.message.parts[0]"),
        (SCHEMA, json!({ "kind": "file", "file": {} }), "empty_part at $.message.parts[0].file"),
        (SCHEMA, json!({ "kind": "video" }), "unknown_kind at $.message.parts[0]"),
        (PROTO, json!({ "metadata": {} }), "empty_part at $.message.content[0]"),
        (PROTO, json!({ "file": {} }), "empty_part at $.message.content[0].file"),
    ] {
        let parts = if name == PROTO { "/content/0" } else { "/parts/0" };
        let value = json!({ "message": with(message(name), parts, part.clone()) });
        let mut problems = Vec::new();
        let read = dialect(name).read_request(Operation::SendMessage, &value, &mut problems);
        assert_eq!(found(&problems), [problem], "{name}: {part}");
        let Some(Request::SendMessage(send)) = read else { panic!("{name}: no send") };
        assert_eq!(send.message.parts[0].content, PartContent::Empty, "{name}: {part}");
    }
}

#[test]
fn more_than_one_member_of_a_union_is_named() {
    let two = json!({ "text": "hi", "url": "https://a.example" });
    let said = with(message(V1_0), "/parts/0", two);
    check_message(V1_0, &said, &["several_members at $.message.parts[0]"]);

    let two = json!({ "text": "hi", "data": { "data": {} } });
    let said = with(message(PROTO), "/content/0", two);
    check_message(PROTO, &said, &["several_members at $.message.content[0]"]);

    let two = json!({ "kind": "file", "file": { "bytes": "", "uri": "https://a.example" } });
    let said = with(message(SCHEMA), "/parts/0", two);
    check_message(SCHEMA, &said, &["several_members at $.message.parts[0].file"]);

    for name in [V1_0, PROTO] {
        let both = json!({ "task": task(name), "message": message(name) });
        check_event(name, &both, &["several_members at $"]);
    }
}

#[test]
fn an_event_of_no_known_kind_is_named() {
    for (name, event, problem) in [
        (V1_0, json!({}), "missing_field at $"),
        (V1_0, task(SCHEMA), "unknown_kind at $"),
        (V1_0, json!([]), "wrong_type at $"),
        (PROTO, json!({}), "missing_field at $"),
        (PROTO, json!({ "kind": "rumour" }), "unknown_kind at $"),
        (SCHEMA, json!({}), "missing_field at $"),
        (SCHEMA, json!({ "kind": "rumour" }), "unknown_kind at $"),
        (SCHEMA, json!({ "kind": 3 }), "unknown_kind at $"),
    ] {
        assert_eq!(check_event(name, &event, &[problem]), None, "{name}: {event}");
    }
    let without_kind = with(task(SCHEMA), "/kind", Value::Null);
    let read = check_event(SCHEMA, &without_kind, &["missing_field at $"]);
    assert!(matches!(read, Some(StreamResponse::Task(_))), "what it must be is read as that");
}

#[test]
fn an_event_in_the_place_of_an_answer_is_named() {
    let event = json!({ "kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
        "status": { "state": "completed" } });
    let mut problems = Vec::new();
    let read = dialect(SCHEMA).read_reply(Operation::SendMessage, &event, &mut problems);
    assert_eq!((read, found(&problems)), (None, vec!["unknown_kind at $".to_owned()]));
}

#[test]
fn a_status_update_of_0_3_says_whether_it_is_the_last() {
    let event = json!({ "kind": "status-update", "taskId": "t", "contextId": "c",
        "status": { "state": "working" } });
    check_event(SCHEMA, &event, &["missing_field at $.final"]);
    let event = with(event, "/final", json!("yes"));
    check_event(SCHEMA, &event, &["wrong_type at $.final"]);
}

#[test]
fn base64_that_is_none_is_named_and_kept_as_it_is() {
    for (name, part, at) in [
        (V1_0, json!({ "raw": "not base64!" }), "$.message.parts[0].raw"),
        (
            SCHEMA,
            json!({ "kind": "file", "file": { "bytes": "not base64!" } }),
            "$.message.parts[0].file.bytes",
        ),
        (
            PROTO,
            json!({ "file": { "fileWithBytes": "not base64!" } }),
            "$.message.content[0].file.fileWithBytes",
        ),
    ] {
        let parts = if name == PROTO { "/content/0" } else { "/parts/0" };
        let said = with(message(name), parts, part);
        check_message(name, &said, &[&format!("invalid_base64 at {at}")]);
    }
}

#[test]
fn a_time_that_is_none_is_named_and_kept() {
    for row in DIALECTS {
        let value = with(task(row.name), "/status/timestamp", json!("yesterday"));
        check_task(row.name, &value, &["invalid_timestamp at $.status.timestamp"]);
        let value = with(task(row.name), "/status/timestamp", json!(1_700_000_000));
        check_task(row.name, &value, &["wrong_type at $.status.timestamp"]);
    }
    // 0.3's schema says ISO 8601, which knows times without an offset.
    let value = with(task(SCHEMA), "/status/timestamp", json!("2026-11-30T15:56:10"));
    check_task(SCHEMA, &value, &[]);
}

#[test]
fn a_name_of_0_3_has_its_form() {
    for (operation, value, problem) in [
        (Operation::GetTask, json!({ "name": "jobs/t" }), "invalid_name at $"),
        (Operation::GetTask, json!({}), "missing_field at $.name"),
        (
            Operation::GetTaskPushNotificationConfig,
            json!({ "name": "tasks/t" }),
            "invalid_name at $",
        ),
    ] {
        let mut problems = Vec::new();
        dialect(PROTO).read_request(operation, &value, &mut problems);
        assert_eq!(found(&problems), [problem], "{operation} {value}");
    }
}

#[test]
fn members_that_1_0_does_not_know_are_none_of_our_business() {
    let said = with(message(V1_0), "/tomorrow", json!({ "any": ["thing"] }));
    check_message(V1_0, &said, &[]);
}

#[test]
fn a_push_config_without_an_address_is_named() {
    let config = json!({ "id": "c", "authentication": { "credentials": "x" } });
    let mut problems = Vec::new();
    let operation = Operation::CreateTaskPushNotificationConfig;
    dialect(V1_0).read_request(operation, &config, &mut problems);
    assert_eq!(
        found(&problems),
        ["missing_field at $.url", "missing_field at $.authentication.scheme"]
    );
}

#[test]
fn a_card_without_addresses_is_named() {
    let mut problems = Vec::new();
    let card = json!({ "name": "a", "description": "b", "version": "1", "capabilities": {} });
    dialect::read_card(&card, &mut problems);
    assert_eq!(found(&problems), ["missing_field at $.supportedInterfaces"]);

    problems.clear();
    dialect::read_card(&with(card, "/supportedInterfaces", json!([{}])), &mut problems);
    assert_eq!(
        found(&problems),
        [
            "missing_field at $.supportedInterfaces[0].url",
            "missing_field at $.supportedInterfaces[0].protocolBinding",
        ]
    );
}

/// Whether a send waits is read as it was asked, and another version's word for it asks nothing.
#[test]
fn waiting_is_read_as_it_was_asked() {
    for (name, configuration, expected) in [
        (V1_0, json!({}), None),
        (V1_0, json!({ "returnImmediately": true }), Some(true)),
        (V1_0, json!({ "blocking": true }), None),
        (SCHEMA, json!({}), None),
        (SCHEMA, json!({ "blocking": true }), Some(false)),
        (SCHEMA, json!({ "blocking": false }), Some(true)),
        (SCHEMA, json!({ "returnImmediately": true }), None),
        // In 0.3's protobuf false is not written, so a configuration that says nothing says false.
        (PROTO, json!({}), Some(true)),
        (PROTO, json!({ "blocking": true }), Some(false)),
    ] {
        let value = json!({ "message": message(name), "configuration": configuration });
        let read = dialect(name).read_request(Operation::SendMessage, &value, &mut Vec::new());
        let Some(Request::SendMessage(send)) = read else { panic!("{name}: no send") };
        let found = send.configuration.unwrap().return_immediately;
        assert_eq!(found, expected, "{name}: {configuration}");
    }
}
