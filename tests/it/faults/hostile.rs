//! A hostile text in the agent's real answer: there, readable, and nothing else changed.

use bytes::Bytes;
use meddler::a2a::binding::Binding;
use meddler::a2a::call::{self, WireView};
use meddler::a2a::edit;
use meddler::a2a::frame::Payload;
use meddler::a2a::model::{
    FileSource, Message, Operation, Part, PartContent, Reply, Role, TaskState,
};
use meddler::fault::verdict::Effect;
use serde_json::{Value, json};

use super::wire::{Cell, agent_stream, agent_task, cells, judge};

const SPOTS: &[&str] = &["text", "data", "artifact", "file", "metadata", "status"];

/// The payloads that hold what breaks a careless writer: control characters, quotes, markup.
const FAMILIES: &[&str] = &["hidden_unicode", "terminal_escapes", "tool_spoofing", "markup"];

/// The real answer: a task with words in its status, and words and a file in an artifact.
fn real() -> Reply {
    let mut task = agent_task(TaskState::Completed);
    task.artifacts[0].parts.push(Part {
        filename: Some("refund.txt".to_owned()),
        media_type: Some("text/plain".to_owned()),
        ..Part::of(PartContent::File(FileSource::Raw(Bytes::from_static(b"42"))))
    });
    task.status.message = Some(Message {
        message_id: "m-2".to_owned(),
        role: Role::Agent,
        parts: vec![Part::text("All done")],
        ..Message::default()
    });
    Reply::Task(task)
}

#[test]
fn a_plain_answer_carries_it_in_every_place() {
    for cell in cells() {
        for spot in SPOTS {
            for family in FAMILIES {
                check_plain(cell, spot, family);
            }
        }
    }
}

#[track_caller]
fn check_plain(spoken: Cell, spot: &str, family: &str) {
    let at = format!("{family} in {spot} on {spoken:?}");
    let call = spoken.call(Operation::SendMessage);
    let inject = json!({ "hostile": { "family": family, "in": spot } });
    let judgement = judge(&call, &inject, None);
    let [Effect::Insert { insertion, event: None, .. }] = judgement.effects.as_slice() else {
        panic!("{at}: {judgement:?}");
    };
    let wire = call::write_reply(&call, &real());
    let view = |body| WireView {
        status: wire.status,
        headers: &wire.headers,
        body,
        trailers: wire.trailers.as_ref(),
    };
    let edited = edit::insert_into_reply(&call, view(&wire.body), insertion)
        .unwrap_or_else(|error| panic!("{at}: {error}"));
    let answer = call::read_answer(&call, view(&edited));
    assert_eq!(answer.problems, [], "{at}");
    let read = format!("{:?}", answer.reply);
    let canary = judgement.notes[0].canary.as_deref().unwrap();
    assert!(read.contains(canary), "{at}: {read}");
    for kept in ["All done", "Refund issued"] {
        assert!(read.contains(kept), "{at} lost `{kept}`: {read}");
    }
}

#[test]
fn one_event_of_a_stream_carries_it() {
    for cell in cells() {
        let call = cell.call(Operation::SendStreamingMessage);
        let inject = json!({ "hostile": { "family": "terminal_escapes", "in": "artifact" } });
        let judgement = judge(&call, &inject, Some(2));
        let [Effect::Insert { insertion, event: Some(2), .. }] = judgement.effects.as_slice()
        else {
            panic!("{judgement:?}");
        };
        let (_, headers) = call::write_stream_head(&call);
        let mut splitter = call::splitter(&headers).unwrap();
        let octets = call::write_event(&call, &agent_stream(&call)[1]);
        let frames = splitter.push(&octets);
        let frame = frames
            .iter()
            .find(|frame| matches!(frame.payload, Payload::Event { .. } | Payload::Message { .. }))
            .unwrap();
        let edited = edit::insert_into_event(&call, frame, insertion).unwrap();

        let mut splitter = call::splitter(&headers).unwrap();
        let mut problems = Vec::new();
        let events: Vec<_> = splitter
            .push(&edited)
            .iter()
            .filter_map(|frame| call::read_event(&call, frame, &mut problems))
            .collect();
        assert_eq!(problems, [], "{cell:?}");
        let read = format!("{events:?}");
        assert!(read.contains(judgement.notes[0].canary.as_deref().unwrap()), "{cell:?}: {read}");
        assert!(read.contains("Refund issued"), "{cell:?}: {read}");
    }
}

/// A line break in a text must not end an SSE line, nor a quote a JSON string.
#[test]
fn framing_survives_what_is_in_the_text() {
    for cell in cells() {
        if cell.binding == Binding::Grpc {
            continue;
        }
        let call = cell.call(Operation::SendMessage);
        let inject =
            json!({ "hostile": { "family": "terminal_escapes", "payload": "newline_log" } });
        let judgement = judge(&call, &inject, None);
        let [Effect::Insert { insertion, .. }] = judgement.effects.as_slice() else {
            panic!("{judgement:?}");
        };
        let wire = call::write_reply(&call, &real());
        let view = WireView {
            status: wire.status,
            headers: &wire.headers,
            body: &wire.body,
            trailers: None,
        };
        let edited = edit::insert_into_reply(&call, view, insertion).unwrap();
        serde_json::from_slice::<Value>(&edited)
            .unwrap_or_else(|error| panic!("{cell:?}: {error}"));
    }
}
