//! `custom`: an answer of the user's own, as A2A (`text data files state artifacts events`) or as raw HTTP.
//!
//! `events` is the whole stream after the task that begins it; on an operation that is answered once
//! the answer is what such a stream adds up to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::{Fault, Named, Role};
use crate::a2a::call::Call;
use crate::a2a::fold::Folded;
use crate::a2a::model::{
    Artifact, FileSource, Object, Part, PartContent, Reply, StreamResponse, TaskState,
};
use crate::fault::facts::Needs;
use crate::fault::made::{self, Meaning, Outline, Place, Said};
use crate::fault::settings;
use crate::fault::shot::Shot;
use crate::fault::verdict::{Effect, Made, Start};

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one a rule, made when rules load")]
pub(super) enum Custom {
    Answer(Meaning),
    Events(Vec<Event>),
    Raw(Made),
}

#[derive(Clone, Debug)]
pub(super) enum Event {
    Status { state: TaskState, said: Option<Said> },
    Artifact { artifact: Artifact, append: bool, last_chunk: bool },
    Message(Said),
}

/// What is said: shared by the answer, its artifacts and its events.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    text: Option<Value>,
    data: Option<Value>,
    files: Vec<FileSettings>,
    metadata: Option<Object>,
    state: Option<String>,
    artifacts: Vec<ArtifactSettings>,
    events: Option<Vec<EventSettings>>,
    raw: Option<RawSettings>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ArtifactSettings {
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    text: Option<Value>,
    data: Option<Value>,
    files: Vec<FileSettings>,
    metadata: Option<Object>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EventSettings {
    state: Option<String>,
    text: Option<Value>,
    data: Option<Value>,
    files: Vec<FileSettings>,
    artifact: Option<ArtifactSettings>,
    append: bool,
    last_chunk: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct FileSettings {
    name: Option<String>,
    media_type: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    url: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawSettings {
    status: Option<u16>,
    headers: Object,
    body: Option<String>,
    body_base64: Option<String>,
}

impl Named for Custom {
    const NAME: &'static str = "custom";
    const SUMMARY: &'static str =
        "Answer with your text, data, files, state, artifacts, events, or raw HTTP";
    const ROLE: Role = Role::Answers;

    fn parse(settings: &Value) -> Result<Self, String> {
        let settings = match settings {
            Value::String(_) | Value::Number(_) => {
                Settings { text: Some(settings.clone()), ..Settings::default() }
            }
            Value::Object(map) if !map.is_empty() => settings::read(settings)?,
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                return Err("what? write a text, or a map with text, data, files, state, \
                            artifacts, events or raw"
                    .to_owned());
            }
        };
        settings.custom()
    }
}

impl Settings {
    fn custom(self) -> Result<Custom, String> {
        let Self { text, data, files, metadata, state, artifacts, events, raw } = self;
        let parts = parts(text.as_ref(), data, files)?;
        let is_answer =
            !parts.is_empty() || metadata.is_some() || state.is_some() || !artifacts.is_empty();
        match (events, raw) {
            (Some(_), Some(_)) => Err("events and raw exclude each other".to_owned()),
            (Some(_), None) if is_answer => {
                Err("events stand for the whole stream: put text, state and artifacts into them"
                    .to_owned())
            }
            (None, Some(_)) if is_answer => Err("raw stands for the whole answer".to_owned()),
            (Some(events), None) => {
                let events: Result<_, String> =
                    events.into_iter().map(EventSettings::event).collect();
                Ok(Custom::Events(events?))
            }
            (None, Some(raw)) => Ok(Custom::Raw(raw.made()?)),
            (None, None) if state.is_none() && artifacts.is_empty() => {
                Ok(Custom::Answer(Meaning::Message(Said { parts, metadata })))
            }
            (None, None) => {
                let state = state.map_or(Ok(TaskState::Completed), |word| word.parse())?;
                let said =
                    (!parts.is_empty() || metadata.is_some()).then_some(Said { parts, metadata });
                let artifacts: Result<_, String> = artifacts
                    .into_iter()
                    .enumerate()
                    .map(|(index, artifact)| artifact.artifact(index))
                    .collect();
                Ok(Custom::Answer(Meaning::Task(Outline { state, said, artifacts: artifacts? })))
            }
        }
    }
}

impl ArtifactSettings {
    fn artifact(self, index: usize) -> Result<Artifact, String> {
        let parts = parts(self.text.as_ref(), self.data, self.files)?;
        Ok(Artifact {
            artifact_id: self.id.unwrap_or_else(|| format!("artifact-{}", index + 1)),
            name: self.name,
            description: self.description,
            parts,
            metadata: self.metadata,
            extensions: Vec::new(),
        })
    }
}

impl EventSettings {
    fn event(self) -> Result<Event, String> {
        let Self { state, text, data, files, artifact, append, last_chunk } = self;
        let parts = parts(text.as_ref(), data, files)?;
        match (state, artifact) {
            (Some(_), Some(_)) => {
                Err("events: one event has a state or an artifact, not both".to_owned())
            }
            (None, Some(_)) if !parts.is_empty() => {
                Err("events: text, data and files of an artifact belong inside it".to_owned())
            }
            (None, Some(artifact)) => Ok(Event::Artifact {
                artifact: artifact.artifact(0)?,
                append,
                last_chunk: last_chunk.unwrap_or(true),
            }),
            (_, None) if append || last_chunk.is_some() => {
                Err("events: append and last_chunk belong to an artifact".to_owned())
            }
            (Some(word), None) => {
                let said = (!parts.is_empty()).then_some(Said { parts, metadata: None });
                Ok(Event::Status { state: word.parse()?, said })
            }
            (None, None) if parts.is_empty() => {
                Err("events: an event needs a state, an artifact, text, data or files".to_owned())
            }
            (None, None) => Ok(Event::Message(Said { parts, metadata: None })),
        }
    }
}

impl FileSettings {
    fn part(self) -> Result<Part, String> {
        let source = match (self.text, self.base64, self.url) {
            (Some(text), None, None) => FileSource::Raw(Bytes::from(text)),
            (None, Some(base64), None) => FileSource::Raw(decode(&base64)?),
            (None, None, Some(url)) => FileSource::Url(url),
            (None, None, None) => FileSource::Raw(Bytes::new()),
            _ => return Err("files: give only one of text, base64, url".to_owned()),
        };
        Ok(Part {
            filename: self.name,
            media_type: self.media_type,
            ..Part::of(PartContent::File(source))
        })
    }
}

impl RawSettings {
    fn made(self) -> Result<Made, String> {
        let status = self.status.unwrap_or(200);
        if StatusCode::from_u16(status).is_err() || status < 200 {
            return Err(format!("raw.status: {status} is no final status (200 to 999)"));
        }
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            HeaderName::try_from(name).map_err(|_| format!("raw.headers: `{name}` is no name"))?;
            for value in settings::texts(value).map_err(|error| format!("raw.headers: {error}"))? {
                HeaderValue::from_str(&value)
                    .map_err(|_| format!("raw.headers.{name}: {value:?} is no header value"))?;
                headers.push((name.clone(), value));
            }
        }
        let body = match (self.body, self.body_base64) {
            (Some(_), Some(_)) => return Err("raw: body and body_base64 exclude each other".into()),
            (Some(body), None) => Bytes::from(body),
            (None, Some(body)) => decode(&body)?,
            (None, None) => Bytes::new(),
        };
        Ok(Made::Raw { status, headers, body })
    }
}

fn decode(text: &str) -> Result<Bytes, String> {
    let compact: String = text.split_whitespace().collect();
    STANDARD.decode(compact).map(Bytes::from).map_err(|error| format!("base64: {error}"))
}

fn parts(
    text: Option<&Value>,
    data: Option<Value>,
    files: Vec<FileSettings>,
) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    if let Some(text) = text {
        let texts = settings::texts(text).map_err(|error| format!("text: {error}"))?;
        parts.extend(texts.into_iter().map(Part::text));
    }
    match data {
        None => {}
        Some(data @ Value::Object(_)) => parts.push(Part::data(data)),
        Some(data) => return Err(format!("data: {data} is no map: 0.3 has only objects")),
    }
    for file in files {
        parts.push(file.part()?);
    }
    Ok(parts)
}

impl Fault for Custom {
    fn needs(&self, from: Start) -> Needs {
        match self {
            Self::Answer(_) | Self::Events(_) => made::needs(from),
            Self::Raw(_) => Needs::default(),
        }
    }

    fn place(&self, call: &Call, from: Start) -> Result<Option<Place>, String> {
        match (self, from) {
            (Self::Answer(_) | Self::Events(_), _) => made::place_of_task(call, from).map(Some),
            (Self::Raw(_), Start::Beginning) => Ok(Some(Place::Whole)),
            (Self::Raw(_), Start::Event(_)) => {
                Err("a raw answer has a head of its own and cannot begin inside a stream".into())
            }
        }
    }

    fn effects(&self, shot: &mut Shot<'_>) -> Vec<Effect> {
        let made = match self {
            Self::Answer(meaning) => {
                shot.text = match meaning {
                    Meaning::Message(_) => "answers with its own message".to_owned(),
                    Meaning::Task(outline) => {
                        format!("answers with its own task in state {}", outline.state)
                    }
                };
                made::answer(shot, meaning.clone())
            }
            Self::Events(events) => {
                shot.text = format!("answers with its own {} events", events.len());
                stream(shot, events)
            }
            Self::Raw(made) => {
                "answers with its own octets".clone_into(&mut shot.text);
                made.clone()
            }
        };
        vec![shot.answer(made)]
    }
}

fn stream(shot: &mut Shot<'_>, written: &[Event]) -> Made {
    let mut events = Vec::new();
    let opens_with_message = matches!(written.first(), Some(Event::Message(_)));
    if !shot.is_late() && !opens_with_message {
        events.push(made::begun(shot));
    }
    for event in written {
        events.push(match event {
            Event::Status { state, said } => made::status(shot, state.clone(), said.clone()),
            Event::Artifact { artifact, append, last_chunk } => {
                let mut event = made::artifact(shot, artifact.clone());
                event.append = *append;
                event.last_chunk = *last_chunk;
                StreamResponse::ArtifactUpdate(event)
            }
            Event::Message(said) => StreamResponse::Message(made::bare_message(shot, said.clone())),
        });
    }
    let mut folded = Folded::default();
    for event in &events {
        folded.event(event);
    }
    if let Some(Reply::Task(task)) = &folded.reply
        && !shot.is_late()
    {
        shot.task = Some(task.clone());
    }
    match folded.reply {
        Some(reply) if !shot.call.operation.is_streaming() => Made::Reply(reply),
        Some(_) | None => Made::Stream { events, error: None },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::model::Operation;
    use crate::fault::testing::{does, does_at};

    #[track_caller]
    fn check(settings: &Value, operation: Operation, expected: &str) {
        assert_eq!(does(&json!({ "custom": settings }), operation), expected, "custom: {settings}");
    }

    #[test]
    fn words_are_a_message_where_one_can_answer() {
        check(&json!("hello"), Operation::SendMessage, r#"message(["hello"])"#);
        check(&json!({ "text": ["a", "b"] }), Operation::SendMessage, r#"message(["a", "b"])"#);
        check(&json!("hello"), Operation::GetTask, r#"task(completed: ["hello"])"#);
        check(&json!("hello"), Operation::SendStreamingMessage, r#"stream[message(["hello"])]"#);
        assert_eq!(
            does_at(&json!({ "custom": "hello" }), Operation::SendStreamingMessage, 2),
            r#"from 2: stream[last status(completed: ["hello"])]"#
        );
    }

    #[test]
    fn data_and_files_are_parts() {
        check(
            &json!({ "data": { "reference": "RF-1" }, "files": [
                { "name": "a.txt", "media_type": "text/plain", "text": "hi" },
                { "base64": "aGk=" },
                { "url": "http://files.test/a" },
            ] }),
            Operation::SendMessage,
            "message([\"Data(Object {\\\"reference\\\": String(\\\"RF-1\\\")}) None None\", \
             \"File(Raw(b\\\"hi\\\")) Some(\\\"a.txt\\\") Some(\\\"text/plain\\\")\", \
             \"File(Raw(b\\\"hi\\\")) None None\", \
             \"File(Url(\\\"http://files.test/a\\\")) None None\"])",
        );
    }

    #[test]
    fn a_state_or_an_artifact_makes_a_task() {
        check(
            &json!({ "state": "input-required", "text": "Which order?" }),
            Operation::SendMessage,
            r#"task(input_required: ["Which order?"])"#,
        );
        check(
            &json!({ "artifacts": [{ "name": "invoice", "text": "42" }] }),
            Operation::SendMessage,
            r#"task(completed["42"])"#,
        );
        check(
            &json!({ "state": "working", "artifacts": [{ "text": "42" }] }),
            Operation::SendStreamingMessage,
            r#"stream[task(submitted), artifact(["42"]), status(working)]"#,
        );
    }

    #[test]
    fn events_are_the_stream_as_written() {
        let events = json!({ "events": [
            { "state": "working", "text": "a moment" },
            { "artifact": { "text": "4" }, "last_chunk": false },
            { "artifact": { "text": "2" }, "append": true },
            { "state": "completed" },
        ] });
        let told = r#"status(working: ["a moment"]), more artifact(["4"]), append artifact(["2"]), last status(completed)"#;
        check(
            &events,
            Operation::SendStreamingMessage,
            &format!("stream[task(submitted), {told}]"),
        );
        assert_eq!(
            does_at(&json!({ "custom": events }), Operation::SendStreamingMessage, 2),
            format!("from 2: stream[{told}]")
        );
    }

    #[test]
    fn a_raw_answer_is_exactly_what_was_written() {
        check(
            &json!({ "raw": { "status": 418, "headers": { "x-a": ["1", "2"] }, "body": "tea" } }),
            Operation::SendMessage,
            r#"raw 418 [("x-a", "1"), ("x-a", "2")] b"tea""#,
        );
        check(
            &json!({ "raw": { "body_base64": "/w==" } }),
            Operation::AgentCard,
            r#"raw 200 [] b"\xff""#,
        );
        assert_eq!(
            does_at(&json!({ "custom": { "raw": {} } }), Operation::SendStreamingMessage, 2),
            "NotApplicable: custom: a raw answer has a head of its own and cannot begin inside a \
             stream"
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let wrong = |settings: &Value, expected: &str| {
            check(settings, Operation::SendMessage, &format!("inject.custom: {expected}"));
        };
        wrong(
            &json!({}),
            "what? write a text, or a map with text, data, files, state, artifacts, events or raw",
        );
        wrong(&json!({ "data": [1] }), "data: [1] is no map: 0.3 has only objects");
        wrong(&json!({ "raw": {}, "text": "a" }), "raw stands for the whole answer");
        wrong(
            &json!({ "raw": { "status": 99 } }),
            "raw.status: 99 is no final status (200 to 999)",
        );
        wrong(&json!({ "raw": { "headers": { "a b": "c" } } }), "raw.headers: `a b` is no name");
        wrong(
            &json!({ "events": [{ "append": true, "state": "working" }] }),
            "events: append and last_chunk belong to an artifact",
        );
        let did = does(&json!({ "custom": { "state": "done" } }), Operation::SendMessage);
        assert!(did.starts_with("inject.custom: unknown task state `done`"), "{did}");
    }
}
