//! Where an insertion goes, found in an answer read as JSON. What follows from it is done to the octets.
//!
//! Shapes are told by what is there, not by version: a `kind`, or the name of the member that holds the
//! message. How something *new* is spelled is asked of the dialect.

use serde_json::Value;

use super::{How, Insertion, NOTE, Spot};
use crate::a2a::dialect::Dialect;
use crate::a2a::model::{Message, Part, Role, StreamResponse};

/// One step from a value to a value in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(&'static str),
    Item(usize),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// The string at this path, which may not be there yet, becomes this.
    Text { path: Vec<Step>, text: String },
    /// This part goes to the end of the list at this path.
    Part { path: Vec<Step>, part: Value },
    /// The object at this path, which may not be there yet, gets this under [`NOTE`].
    Note { path: Vec<Step>, how: How, text: String },
    /// This message goes to this path, where nothing is yet.
    Message { path: Vec<Step>, message: Value },
}

/// What an answer is about, and the way to it.
struct Subject<'v> {
    kind: Kind,
    path: Vec<Step>,
    value: &'v Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

/// The member that holds it, and its name in 0.3's JSON schema.
const KINDS: &[(Kind, &str, &str)] = &[
    (Kind::Task, "task", "task"),
    (Kind::Message, "message", "message"),
    (Kind::StatusUpdate, "statusUpdate", "status-update"),
    (Kind::ArtifactUpdate, "artifactUpdate", "artifact-update"),
];

/// Members that hold a message's parts: 1.0 and 0.3's JSON schema, 0.3's protobuf.
const PARTS: &[&str] = &["parts", "content"];

/// Finds what is to be done to an answer.
pub(super) fn plan(
    answer: &Value,
    dialect: &dyn Dialect,
    insertion: &Insertion,
) -> Result<Change, String> {
    let subject = Subject::find(answer).ok_or("the answer has no task, message or update")?;
    match insertion.spot {
        Spot::Text => {
            let lists = subject.lists(&[Place::Message, Place::Status, Place::Artifact]);
            in_text(&lists, insertion).ok_or_else(|| "the answer has no text part".to_owned())
        }
        Spot::Artifact => {
            let lists = subject.lists(&[Place::Artifact]);
            in_text(&lists, insertion)
                .ok_or_else(|| "the answer has no artifact with text".to_owned())
        }
        Spot::Data => {
            let lists = subject.lists(&[Place::Message, Place::Status, Place::Artifact]);
            in_data(&lists, dialect, insertion)
        }
        Spot::File => {
            let lists = subject.lists(&[Place::Message, Place::Status, Place::Artifact]);
            in_file(&lists, insertion).ok_or_else(|| "the answer has no file part".to_owned())
        }
        Spot::Metadata => Ok(Change::Note {
            path: subject.below(&[Step::Member("metadata")]),
            how: insertion.how,
            text: insertion.text.clone(),
        }),
        Spot::Status => subject.in_status(dialect, insertion),
    }
}

/// A list of parts and the way to it.
struct List<'v> {
    path: Vec<Step>,
    parts: &'v [Value],
}

/// Where a list of parts may stand.
#[derive(Clone, Copy)]
enum Place {
    Message,
    Status,
    Artifact,
}

impl<'v> Subject<'v> {
    fn find(answer: &'v Value) -> Option<Self> {
        if let Some(word) = answer.get("kind").and_then(Value::as_str) {
            let (kind, ..) = KINDS.iter().find(|row| row.2 == word)?;
            return Some(Self { kind: *kind, path: Vec::new(), value: answer });
        }
        // A task has a `status`; what has not is a wrapper.
        if answer.get("status").is_some_and(Value::is_object) && answer.get("id").is_some() {
            return Some(Self { kind: Kind::Task, path: Vec::new(), value: answer });
        }
        KINDS.iter().find_map(|(kind, member, _)| {
            let value = answer.get(*member).filter(|value| value.is_object())?;
            Some(Self { kind: *kind, path: vec![Step::Member(member)], value })
        })
    }

    fn below(&self, steps: &[Step]) -> Vec<Step> {
        [self.path.as_slice(), steps].concat()
    }

    /// The lists of parts that stand at these places, in this order.
    fn lists(&self, places: &[Place]) -> Vec<List<'v>> {
        places.iter().flat_map(|place| self.lists_at(*place)).collect()
    }

    fn lists_at(&self, place: Place) -> Vec<List<'v>> {
        let at = |steps: &[Step], holder: Option<&'v Value>| {
            let (name, parts) = parts_of(holder?)?;
            let path = [self.path.as_slice(), steps, &[Step::Member(name)]].concat();
            Some(List { path, parts })
        };
        match (place, self.kind) {
            (Place::Message, Kind::Message) => at(&[], Some(self.value)).into_iter().collect(),
            (Place::Status, Kind::Task | Kind::StatusUpdate) => {
                let message = self.value.get("status").and_then(|status| status.get("message"));
                at(&[Step::Member("status"), Step::Member("message")], message)
                    .into_iter()
                    .collect()
            }
            (Place::Artifact, Kind::Task) => {
                let artifacts = self.value.get("artifacts").and_then(Value::as_array);
                let artifacts = artifacts.into_iter().flatten().enumerate();
                artifacts
                    .filter_map(|(index, artifact)| {
                        at(&[Step::Member("artifacts"), Step::Item(index)], Some(artifact))
                    })
                    .collect()
            }
            (Place::Artifact, Kind::ArtifactUpdate) => {
                at(&[Step::Member("artifact")], self.value.get("artifact")).into_iter().collect()
            }
            (Place::Message, Kind::Task | Kind::StatusUpdate | Kind::ArtifactUpdate)
            | (Place::Status, Kind::Message | Kind::ArtifactUpdate)
            | (Place::Artifact, Kind::Message | Kind::StatusUpdate) => Vec::new(),
        }
    }

    fn in_status(&self, dialect: &dyn Dialect, insertion: &Insertion) -> Result<Change, String> {
        match self.kind {
            Kind::Task | Kind::StatusUpdate => {}
            Kind::Message | Kind::ArtifactUpdate => {
                return Err("the answer has no status".to_owned());
            }
        }
        let lists = self.lists(&[Place::Status]);
        if let Some(change) = in_text(&lists, insertion) {
            return Ok(change);
        }
        let part = Part::text(&insertion.text);
        if let Some(list) = lists.first() {
            return new_part(list, dialect, part);
        }
        let message = spelled(dialect, part).ok_or("the dialect writes no message")?;
        let path = self.below(&[Step::Member("status"), Step::Member("message")]);
        Ok(Change::Message { path, message })
    }
}

/// Into the first text of these lists.
fn in_text(lists: &[List<'_>], insertion: &Insertion) -> Option<Change> {
    lists.iter().find_map(|list| {
        let (index, text) = list
            .parts
            .iter()
            .enumerate()
            .find_map(|(index, part)| Some((index, part.get("text")?.as_str()?)))?;
        let path = [list.path.as_slice(), &[Step::Item(index), Step::Member("text")]].concat();
        Some(Change::Text { path, text: together(text, "\n", insertion) })
    })
}

/// Into the first object of these lists; a new data part where there is none.
fn in_data(
    lists: &[List<'_>],
    dialect: &dyn Dialect,
    insertion: &Insertion,
) -> Result<Change, String> {
    let part = Part::data(serde_json::json!({ NOTE: insertion.text }));
    for list in lists {
        for (index, old) in list.parts.iter().enumerate() {
            let Some(data) = old.get("data").filter(|data| data.is_object()) else { continue };
            let mut path =
                [list.path.as_slice(), &[Step::Item(index), Step::Member("data")]].concat();
            let is_wrapped = spelled_part(dialect, part.clone())
                .is_some_and(|new| new.get("data").and_then(|data| data.get("data")).is_some());
            if is_wrapped && data.get("data").is_some_and(Value::is_object) {
                path.push(Step::Member("data"));
            }
            return Ok(Change::Note { path, how: insertion.how, text: insertion.text.clone() });
        }
    }
    let list = lists.first().ok_or("the answer has no parts")?;
    new_part(list, dialect, part)
}

/// Into the first file's name.
fn in_file(lists: &[List<'_>], insertion: &Insertion) -> Option<Change> {
    for list in lists {
        for (index, part) in list.parts.iter().enumerate() {
            let (steps, name): (&[Step], _) = match part.get("file") {
                Some(file) => (&[Step::Member("file"), Step::Member("name")], file.get("name")),
                None if part.get("raw").or_else(|| part.get("url")).is_some() => {
                    (&[Step::Member("filename")], part.get("filename"))
                }
                None => continue,
            };
            let name = name.and_then(Value::as_str).unwrap_or_default();
            let path = [list.path.as_slice(), &[Step::Item(index)], steps].concat();
            return Some(Change::Text { path, text: together(name, " ", insertion) });
        }
    }
    None
}

fn new_part(list: &List<'_>, dialect: &dyn Dialect, part: Part) -> Result<Change, String> {
    let part = spelled_part(dialect, part).ok_or("the dialect writes no part")?;
    Ok(Change::Part { path: list.path.clone(), part })
}

/// What is there and what is put in, as the insertion wants it.
fn together(old: &str, separator: &str, insertion: &Insertion) -> String {
    match insertion.how {
        How::Append if !old.is_empty() => format!("{old}{separator}{}", insertion.text),
        How::Append | How::Replace => insertion.text.clone(),
    }
}

/// The parts of a message or artifact, and the name they go by.
fn parts_of(holder: &Value) -> Option<(&'static str, &[Value])> {
    PARTS.iter().find_map(|name| Some((*name, holder.get(*name)?.as_array()?.as_slice())))
}

/// A part as the dialect writes it.
fn spelled_part(dialect: &dyn Dialect, part: Part) -> Option<Value> {
    let message = spelled(dialect, part)?;
    parts_of(&message)?.1.first().cloned()
}

/// A message of this part as the dialect writes it.
fn spelled(dialect: &dyn Dialect, part: Part) -> Option<Value> {
    let message = Message {
        message_id: "meddler".to_owned(),
        role: Role::Agent,
        parts: vec![part],
        ..Message::default()
    };
    let event = dialect.write_event(&StreamResponse::Message(message));
    let message = event.get("message").filter(|message| message.is_object()).unwrap_or(&event);
    parts_of(message).is_some().then(|| message.clone())
}
