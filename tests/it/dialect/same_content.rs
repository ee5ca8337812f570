//! The same content has the same canonical JSON, whatever wire carried it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use meddler::a2a::canonical;
use regex::Regex;
use serde_json::Value;

use super::traffic::{Place, Read, Recorded, messages};

/// The answers that all others must equal.
const MEASURE: &str = "1.0/grpc.python";

/// A harness operation whose answers do not hang on timing.
struct Case {
    name: &'static str,
    /// A member of the answer that the versions fill differently, and why.
    left_out: Option<(&'static str, &'static str)>,
    /// Why some SDKs get fewer answers; those they get must be among the others'.
    fewer: Option<&'static str>,
}

const fn case(name: &'static str) -> Case {
    Case { name, left_out: None, fewer: None }
}

const CASES: &[Case] = &[
    Case {
        left_out: Some(("history", "0.3 takes a history length of 0 for all of it, 1.0 for none")),
        ..case("get")
    },
    case("parts"),
    Case {
        fewer: Some("no 0.3 SDK has all calls of push configs on all bindings"),
        ..case("push-crud")
    },
    case("send-echo"),
    case("send-fail"),
    case("send-message"),
    case("send-reject"),
    case("send-task"),
    case("stream-chunks"),
    case("stream-fail"),
    case("stream-message"),
    case("stream-task"),
    case("turns"),
];

#[test]
fn one_operation_has_one_canonical_answer_on_every_wire() {
    let all = messages();
    for case in CASES {
        let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let answers = all.iter().filter(|one| one.case == case.name && one.place != Place::Request);
        for message in answers {
            files.entry(&message.file).or_default().push(answer(message, case));
        }
        for answers in files.values_mut() {
            answers.sort();
        }
        assert!(files.len() >= 12, "{}: only in {:?}", case.name, files.keys());
        let expected = &files[MEASURE];
        for (file, answers) in &files {
            let is_same = match case.fewer {
                Some(_) => answers.iter().all(|answer| expected.contains(answer)),
                None => answers == expected,
            };
            assert!(
                is_same,
                "{} in {file}:\n{answers:#?}\nbut in {MEASURE}:\n{expected:#?}",
                case.name
            );
        }
    }
}

fn answer(message: &Recorded, case: &Case) -> String {
    let value = match message.read(&mut Vec::new()).unwrap() {
        Read::Request(request) => canonical::request(&request),
        Read::Reply(reply) => canonical::reply(&reply),
        Read::Event(event) => canonical::event(&event),
    };
    let mut value = plain(&value);
    if let (Some((member, _)), Some(members)) = (case.left_out, value.as_object_mut()) {
        members.shift_remove(member);
    }
    value.to_string()
}

/// Without times, ids as `ID`, members in order. The media type of data goes too: 0.3 cannot say it.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_data = members.get("kind").is_some_and(|kind| kind == "data");
            let kept: BTreeMap<&String, Value> = members
                .iter()
                .filter(|(key, _)| key.as_str() != "timestamp")
                .filter(|(key, _)| !(is_data && key.as_str() == "mediaType"))
                .map(|(key, value)| (key, plain(value)))
                .collect();
            kept.into_iter().map(|(key, value)| (key.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) => UUID.replace_all(text, "ID").into_owned().into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

static UUID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").unwrap()
});
