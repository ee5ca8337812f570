//! The method of a JSON-RPC request is known as soon as it has gone by, and never guessed before.

use meddler::a2a::binding::ProtocolVersion;
use meddler::a2a::call::{peek_method, peek_rpc_id};
use meddler::a2a::model::Operation;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Checks that the method is told at the end of `known` and not one octet before.
#[track_caller]
fn check(known: &str, rest: &str, expected: Operation) {
    let body = format!("{known}{rest}");
    for at in 0..=body.len() {
        let told = peek_method(&body.as_bytes()[..at]).map(|(operation, _)| operation);
        let due = (at >= known.len()).then_some(expected);
        assert_eq!(told, due, "after {at} octets of {body}");
    }
}

#[test]
fn the_method_is_told_where_it_ends() {
    check(r#"{"method":"SendMessage""#, r#","id":1}"#, Operation::SendMessage);
    check(
        r#"{ "params" : {"method":"GetTask","a":["}",{"method":"x"}]} , "id":1e3,"method" : "message/stream""#,
        "}",
        Operation::SendStreamingMessage,
    );
    check(r#"{"a\"method":"GetTask","m":"\\","method":"tasks/get""#, "}", Operation::GetTask);
    check(r#"{"\u006dethod":"tasks\/cancel""#, "}", Operation::CancelTask);
    check("\u{feff} \n{\"method\":\"acme/custom\"", "}", Operation::Unknown);
}

#[test]
fn names_are_exact() {
    for (method, operation, version) in [
        ("message/send", Operation::SendMessage, Some(ProtocolVersion::V0_3)),
        ("SendMessage", Operation::SendMessage, Some(ProtocolVersion::V1_0)),
        ("tasks/resubscribe", Operation::SubscribeToTask, Some(ProtocolVersion::V0_3)),
        ("SubscribeToTask", Operation::SubscribeToTask, Some(ProtocolVersion::V1_0)),
        ("sendMessage", Operation::Unknown, None),
        ("Message/Send", Operation::Unknown, None),
        ("TaskSubscription", Operation::Unknown, None),
        ("AgentCard", Operation::Unknown, None),
        ("unknown", Operation::Unknown, None),
        ("", Operation::Unknown, None),
    ] {
        let body = format!(r#"{{"method":"{method}"}}"#);
        assert_eq!(peek_method(body.as_bytes()), Some((operation, version)), "{method}");
    }
}

#[test]
fn what_has_no_method_is_never_told() {
    for body in
        [r#"{"a":1}"#, "[]", r#"{"method":1}"#, r#"{"method":{"method":"GetTask"}}"#, "", "{"]
    {
        assert_eq!(peek_method(body.as_bytes()), None, "{body}");
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        r#"[a-z"\\{}\[\],: é]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![Just("method".to_owned()), r#"[a-z"\\{}:]{0,6}"#]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_agrees_with_a_parser(
        before in proptest::collection::vec((r#"[a-z"\\{}]{0,6}"#, json()), 0..4),
        method in prop_oneof![Just("GetTask"), Just("message/send"), Just("x\"}y")],
        after in json(),
        is_pretty in any::<bool>(),
    ) {
        let mut members: Map<String, Value> = before.into_iter().collect();
        members.remove("method");
        members.insert("method".to_owned(), Value::from(method));
        members.insert("~".to_owned(), after);
        let value = Value::Object(members);
        let body = if is_pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) }.unwrap();
        let expected = match method {
            "GetTask" => (Operation::GetTask, Some(ProtocolVersion::V1_0)),
            "message/send" => (Operation::SendMessage, Some(ProtocolVersion::V0_3)),
            _ => (Operation::Unknown, None),
        };
        prop_assert_eq!(peek_method(&body), Some(expected));
        for at in 0..body.len() {
            let told = peek_method(&body[..at]);
            prop_assert!(told.is_none() || told == Some(expected));
        }
    }

    #[test]
    fn no_octets_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..64)) {
        peek_method(&body);
        peek_method(&[b"{\"", body.as_slice()].concat());
    }
}

#[test]
fn the_id_is_known_as_soon_as_it_has_gone_by() {
    for (body, expected) in [
        (r#"{"jsonrpc":"2.0","id":41,"method":"m","params":{"t":"x"#, Some("41")),
        (r#"{"id" : "4\"1" , "params":{"id":7"#, Some(r#""4\"1""#)),
        ("\u{feff}{\"id\":-1.5e3,", Some("-1.5e3")),
        (r#"{"id":null,"#, Some("null")),
        (r#"{"params":{"id":7},"#, None),
        (r#"{"id":4"#, None),
        (r#"[{"id":4}]"#, None),
        ("", None),
    ] {
        let actual = peek_rpc_id(body.as_bytes());
        assert_eq!(actual.as_ref().map(|id| id.get()), expected, "{body}");
    }
}
