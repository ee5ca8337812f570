//! What the official SDKs send is read without a complaint.

use std::fs;
use std::path::Path;

use meddler::a2a::dialect;
use meddler::a2a::model::Operation;
use meddler::a2a::problem::NAMES;

use super::traffic::{Place, messages};

/// Cases whose message is wrong on purpose: harness operation, place, problem.
const WRONG: &[(&str, Place, &str)] = &[("err-empty", Place::Request, "missing_field")];

#[test]
fn all_recorded_messages_are_read_without_problems() {
    let mut wrong = Vec::new();
    for message in messages() {
        let mut problems = Vec::new();
        let read = message.read(&mut problems);
        let expected = WRONG.iter().find(|(case, place, _)| {
            *case == message.case && *place == message.place && read.is_some()
        });
        problems.retain(|problem| expected.is_none_or(|(.., name)| problem.name != *name));
        if read.is_none() || !problems.is_empty() {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            wrong.push(format!(
                "{} {} {}: {:?} of {}: {}",
                message.file,
                message.case,
                message.n,
                message.place,
                message.operation,
                problems.join("; ")
            ));
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_message_that_is_wrong_on_purpose_is_noticed() {
    let message = messages()
        .into_iter()
        .find(|message| message.case == "err-empty" && message.place == Place::Request)
        .unwrap();
    let mut problems = Vec::new();
    message.read(&mut problems);
    assert_eq!(problems[0].to_string(), "missing_field at $.message.parts: `parts` is missing");
    assert!(NAMES.iter().any(|(name, _)| *name == problems[0].name));
}

/// Every operation is among the recordings, so that the test above is about all of them.
#[test]
fn the_recordings_cover_every_operation() {
    let messages = messages();
    for operation in Operation::all().filter(|operation| *operation != Operation::Unknown) {
        let is_there = messages.iter().any(|message| message.operation == operation);
        assert!(is_there, "{operation} is in no recording");
    }
}

#[test]
fn the_cards_of_all_versions_name_all_their_addresses() {
    let both = [
        "http://127.0.0.1:18241/ JSONRPC 1.0",
        "http://127.0.0.1:18241 HTTP+JSON 1.0",
        "127.0.0.1:18242 GRPC 1.0",
        "http://127.0.0.1:18241/ JSONRPC 0.3",
        "http://127.0.0.1:18241 HTTP+JSON 0.3",
        "127.0.0.1:18242 GRPC 0.3",
    ];
    let older = [
        "http://127.0.0.1:18241/ JSONRPC 0.3.0",
        "http://127.0.0.1:18241 HTTP+JSON 0.3.0",
        "127.0.0.1:18242 GRPC 0.3.0",
    ];
    for (folder, expected) in [("1.0", &both[..3]), ("0.3-on-1.0", &both), ("0.3", &older)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/wire")
            .join(folder)
            .join("agent-card.json");
        let value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let mut problems = Vec::new();
        let card = dialect::read_card(&value, &mut problems);
        assert_eq!(problems, [], "{folder}");
        let found: Vec<String> = card
            .interfaces
            .iter()
            .map(|one| format!("{} {} {}", one.url, one.protocol_binding, one.protocol_version))
            .collect();
        assert_eq!(found, expected, "{folder}");
        assert_eq!(card.capabilities.extended_agent_card, Some(true), "{folder}");
        assert_eq!(card.security_schemes, ["bearer"], "{folder}");
        assert_eq!(card.skills[0].id, "echo", "{folder}");
    }
}
