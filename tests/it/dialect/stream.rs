//! A stream put together is what the agent meant, and its words are the reply.

use bytes::Bytes;
use meddler::a2a::canonical;
use meddler::a2a::fold::Folded;
use meddler::a2a::model::{
    A2aError, Artifact, ErrorKind, FileSource, Message, Part, PartContent, Reply, Role,
    StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use serde_json::json;

use super::traffic::{Read, messages};

fn said(role: Role, text: &str) -> Message {
    Message {
        message_id: text.to_owned(),
        role,
        parts: vec![Part::text(text)],
        ..Message::default()
    }
}

fn state(state: TaskState, words: Option<&str>) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        status: TaskStatus {
            state,
            message: words.map(|words| said(Role::Agent, words)),
            timestamp: None,
        },
        ..TaskStatusUpdateEvent::default()
    })
}

enum Chunk {
    Whole,
    Appended,
}

fn chunk(id: &str, parts: Vec<Part>, how: &Chunk) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: "t".to_owned(),
        context_id: "c".to_owned(),
        artifact: Artifact { artifact_id: id.to_owned(), parts, ..Artifact::default() },
        append: matches!(how, Chunk::Appended),
        ..TaskArtifactUpdateEvent::default()
    })
}

fn folded(events: &[StreamResponse]) -> Folded {
    let mut folded = Folded::default();
    for event in events {
        folded.event(event);
    }
    folded
}

fn task(folded: &Folded) -> Task {
    let task = match folded.reply.clone() {
        Some(Reply::Task(task)) => Some(task),
        _ => None,
    };
    task.unwrap()
}

#[test]
fn chunks_become_one_artifact_whose_text_goes_on() {
    let folded = folded(&[
        chunk("a", vec![Part::text("Hel")], &Chunk::Whole),
        chunk("a", vec![Part::text("lo "), Part::text("again")], &Chunk::Appended),
        chunk("b", vec![Part::text("other")], &Chunk::Whole),
        chunk("a", vec![Part::text("!")], &Chunk::Appended),
    ]);
    assert_eq!(task(&folded).artifacts[0].parts.len(), 4);
    assert_eq!(folded.text(), "Hello \nagain!\nother");
}

#[test]
fn a_chunk_that_is_not_appended_replaces_the_artifact() {
    let folded = folded(&[
        chunk("a", vec![Part::text("one")], &Chunk::Whole),
        chunk("a", vec![Part::text("two")], &Chunk::Appended),
        chunk("a", vec![Part::text("three"), Part::text("four")], &Chunk::Whole),
    ]);
    assert_eq!(folded.text(), "three\nfour");
}

#[test]
fn an_appended_chunk_before_any_other_is_not_lost() {
    let folded = folded(&[chunk("a", vec![Part::text("first")], &Chunk::Appended)]);
    assert_eq!(folded.text(), "first");
}

#[test]
fn states_are_kept_in_order_and_repeats_collapse() {
    let folded = folded(&[
        state(TaskState::Working, Some("one")),
        state(TaskState::Working, Some("two")),
        state(TaskState::Completed, None),
    ]);
    assert_eq!(folded.states, [TaskState::Working, TaskState::Completed]);
    let history: Vec<String> = task(&folded).history.iter().map(Message::text).collect();
    assert_eq!(history, ["one", "two"], "what was said before joins the history");
    assert_eq!(task(&folded).context_id.as_deref(), Some("c"));
}

#[test]
fn the_words_of_a_task_are_its_status_then_its_artifacts() {
    let data = Part::data(json!({ "total": 3 }));
    let named = Part {
        filename: Some("map.png".to_owned()),
        ..Part::of(PartContent::File(FileSource::Raw(Bytes::new())))
    };
    let linked = Part::of(PartContent::File(FileSource::Url("https://a.example/b".to_owned())));
    let folded = folded(&[
        chunk("a", vec![Part::text("made"), data, named, linked], &Chunk::Whole),
        state(TaskState::Completed, Some("done")),
    ]);
    let expected = "done\nmade\n{\"total\":3}\n[file map.png]\n[file https://a.example/b]";
    assert_eq!(folded.text(), expected);
    assert_eq!(folded.text_of_unread(|artifact| artifact.artifact_id == "a"), "done");
}

#[test]
fn a_task_that_says_nothing_else_speaks_by_its_history() {
    let history = vec![
        said(Role::User, "first question"),
        said(Role::Agent, "old answer"),
        said(Role::User, "question"),
        said(Role::Agent, "answer"),
        said(Role::Agent, "and more"),
    ];
    let mut folded = Folded::default();
    folded.reply(&Reply::Task(Task { id: "t".to_owned(), history, ..Task::default() }));
    assert_eq!(folded.text(), "answer\nand more");
}

#[test]
fn a_poll_without_history_takes_none_away() {
    let mut folded = folded(&[StreamResponse::Task(Task {
        id: "t".to_owned(),
        history: vec![said(Role::User, "question")],
        ..Task::default()
    })]);
    folded.reply(&Reply::Task(Task { id: "t".to_owned(), ..Task::default() }));
    assert_eq!(task(&folded).history.len(), 1);
    folded.reply(&Reply::Task(Task { id: "other".to_owned(), ..Task::default() }));
    assert_eq!(task(&folded).history.len(), 0);
}

#[test]
fn an_error_replaces_nothing_that_is_known() {
    let error = Reply::Error(A2aError::of(ErrorKind::Internal, "broken"));
    let mut folded = Folded::default();
    folded.reply(&error);
    assert_eq!(folded.reply.as_ref(), Some(&error));
    folded.reply(&Reply::Message(said(Role::Agent, "hello")));
    folded.reply(&error);
    assert_eq!(folded.text(), "hello");
}

/// The recorded stream of `stream:5`, folded, is the task that the agent then has.
#[test]
fn a_recorded_stream_folds_into_the_task_it_was_about() {
    let all = messages();
    for file in
        ["1.0/grpc.python", "0.3/jsonrpc.python", "0.3/rest.python", "0.3-on-1.0/rest.python"]
    {
        let mut folded = Folded::default();
        let stream = all.iter().filter(|one| one.file == file && one.case == "stream-chunks");
        for message in stream {
            if let Some(Read::Event(event)) = message.read(&mut Vec::new()) {
                folded.event(&event);
            }
        }
        let states = [TaskState::Submitted, TaskState::Working, TaskState::Completed];
        assert_eq!(folded.states, states, "{file}");
        let value = canonical::reply(folded.reply.as_ref().unwrap());
        assert_eq!(value["status"]["state"], "completed", "{file}");
        assert_eq!(value["artifacts"].as_array().unwrap().len(), 1, "{file}");
        assert_eq!(value["artifacts"][0]["parts"].as_array().unwrap().len(), 5, "{file}");
        let chunks = "chunk 1 of 5\nchunk 2 of 5\nchunk 3 of 5\nchunk 4 of 5\nchunk 5 of 5\n";
        assert_eq!(folded.text(), chunks, "{file}");
    }
}
