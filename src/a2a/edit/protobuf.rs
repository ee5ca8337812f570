//! Insertion into protobuf messages: what is not touched, unknown fields included, keeps every octet.
//!
//! The place is found in the message read as JSON; the names on the way to it are turned into field
//! numbers here.

use serde_json::{Value, json};

use super::plan::{Change, Step, plan};
use super::{How, Insertion, NOTE};
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::dialect::{self, protobuf};
use crate::a2a::model::Operation;
use crate::a2a::splice::fields;

/// Types of message on the way to a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    /// `StreamResponse` and `SendMessageResponse`, which number alike.
    Answer,
    Task,
    Status,
    StatusUpdate,
    ArtifactUpdate,
    Artifact,
    Message,
    Part,
    File,
    /// 0.3's `DataPart`.
    Data,
    /// `google.protobuf.Value`.
    Value,
    /// `google.protobuf.Struct`.
    Struct,
    /// A text: nothing is in it.
    Leaf,
}

/// A field: the type it is in, its JSON name, its number in 0.3 and 1.0 (0: none), the type it holds.
type Row = (Type, &'static str, u32, u32, Type);

const FIELDS: &[Row] = &[
    (Type::Answer, "artifactUpdate", 4, 4, Type::ArtifactUpdate),
    (Type::Answer, "message", 2, 2, Type::Message),
    (Type::Answer, "statusUpdate", 3, 3, Type::StatusUpdate),
    (Type::Answer, "task", 1, 1, Type::Task),
    (Type::Artifact, "parts", 5, 4, Type::Part),
    (Type::ArtifactUpdate, "artifact", 3, 3, Type::Artifact),
    (Type::ArtifactUpdate, "metadata", 6, 6, Type::Struct),
    (Type::Data, "data", 1, 0, Type::Struct),
    (Type::File, "name", 4, 0, Type::Leaf),
    (Type::Message, "content", 5, 0, Type::Part),
    (Type::Message, "metadata", 6, 6, Type::Struct),
    (Type::Message, "parts", 0, 5, Type::Part),
    (Type::Part, "data", 3, 0, Type::Data),
    (Type::Part, "data", 0, 4, Type::Value),
    (Type::Part, "file", 2, 0, Type::File),
    (Type::Part, "filename", 0, 6, Type::Leaf),
    (Type::Part, "text", 1, 1, Type::Leaf),
    (Type::Status, "message", 2, 2, Type::Message),
    (Type::StatusUpdate, "metadata", 5, 4, Type::Struct),
    (Type::StatusUpdate, "status", 3, 3, Type::Status),
    (Type::Task, "artifacts", 4, 4, Type::Artifact),
    (Type::Task, "metadata", 6, 6, Type::Struct),
    (Type::Task, "status", 3, 3, Type::Status),
];

/// Which column of [`FIELDS`] is a version's.
const COLUMNS: &[(ProtocolVersion, Column)] =
    &[(ProtocolVersion::V0_3, |row| row.2), (ProtocolVersion::V1_0, |row| row.3)];

type Column = fn(&Row) -> u32;

/// The field of a `Value` that holds a `Struct`.
const STRUCT_VALUE: u32 = 5;

/// A message with something put into it.
pub(crate) fn insert_into_protobuf(
    octets: &[u8],
    version: ProtocolVersion,
    operation: Operation,
    insertion: &Insertion,
) -> Result<Vec<u8>, String> {
    let response = protobuf::Message::Response;
    let value = protobuf::to_json(version, operation, response, octets, &mut Vec::new())
        .ok_or("the answer is no protobuf")?;
    let change = plan(&value, dialect::of(version, Binding::Grpc), insertion)?;
    let root = if value.get("status").is_some() { Type::Task } else { Type::Answer };
    let Way { path, last, new } = way(version, root, &change)?;
    change_at(octets, &path, &mut |holder| match &new {
        New::Text(text) => Some(with(holder, last.number, text.as_bytes(), Keep::Nothing)),
        New::Message(octets) => Some(with(holder, last.number, octets, Keep::Nothing)),
        New::Part(octets) => Some(with(holder, last.number, octets, Keep::All)),
        New::Note(How::Append, text) => {
            let old = fields::last(holder, last.number).unwrap_or_default();
            Some(noted(holder, last, old, text))
        }
        New::Note(How::Replace, text) => Some(noted(holder, last, &[], text)),
    })
    .ok_or_else(|| "the place is not where it was found".to_owned())
}

/// A field and what it holds.
#[derive(Clone, Copy)]
struct Place {
    number: u32,
    holds: Type,
}

/// What is to be put at a place, in octets.
enum New {
    Text(String),
    Message(Vec<u8>),
    Part(Vec<u8>),
    Note(How, String),
}

/// Whether fields of the same number stay beside a new one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    All,
    Nothing,
}

/// The way to a change.
struct Way {
    /// The fields to go through: number, and index among the fields of that number.
    path: Vec<(u32, usize)>,
    /// The field to be changed.
    last: Place,
    new: New,
}

fn way(version: ProtocolVersion, root: Type, change: &Change) -> Result<Way, String> {
    let (steps, new) = match change {
        Change::Text { path, text } => (path, New::Text(text.clone())),
        Change::Part { path, part } => {
            let Some(Step::Member(list)) = path.last() else {
                return Err("the place is no list of parts".to_owned());
            };
            let message = packed(version, &json!({ "message": { *list: [part] } }))?;
            let part = fields::last(&message, 5).unwrap_or_default();
            (path, New::Part(part.to_vec()))
        }
        Change::Message { path, message } => {
            (path, New::Message(packed(version, &json!({ "message": message }))?))
        }
        Change::Note { path, how, text } => (path, New::Note(*how, text.clone())),
    };
    let mut at = root;
    let mut path: Vec<(u32, usize)> = Vec::new();
    for step in steps {
        match step {
            Step::Member(name) => {
                let place = field(version, at, name)
                    .ok_or_else(|| format!("no field is known for `{name}`"))?;
                path.push((place.number, 0));
                at = place.holds;
            }
            Step::Item(index) => {
                if let Some(last) = path.last_mut() {
                    last.1 = *index;
                }
            }
        }
    }
    let (number, _) = path.pop().ok_or("the place is the answer itself")?;
    Ok(Way { path, last: Place { number, holds: at }, new })
}

fn field(version: ProtocolVersion, holder: Type, name: &str) -> Option<Place> {
    let (_, column) = COLUMNS.iter().find(|row| row.0 == version)?;
    let row = FIELDS.iter().find(|row| row.0 == holder && row.1 == name && column(row) > 0)?;
    Some(Place { number: column(row), holds: row.4 })
}

/// The `message` of an answer in octets.
fn packed(version: ProtocolVersion, answer: &Value) -> Result<Vec<u8>, String> {
    let response = protobuf::Message::Response;
    let octets = protobuf::from_json(version, Operation::SendMessage, response, answer)?;
    Ok(fields::last(&octets, 2).unwrap_or_default().to_vec())
}

/// Changes the message at a path and all that hold it.
fn change_at(
    octets: &[u8],
    path: &[(u32, usize)],
    change: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let Some(((number, index), rest)) = path.split_first() else { return change(octets) };
    let mut seen = 0;
    let mut is_done = false;
    let changed = fields::map(octets, &mut |field| {
        let Some(inner) = field.octets().filter(|_| field.number == *number) else {
            return fields::Change::Keep;
        };
        seen += 1;
        if seen != index + 1 {
            return fields::Change::Keep;
        }
        match change_at(inner, rest, change) {
            Some(inner) => {
                is_done = true;
                fields::Change::Replace(inner)
            }
            None => fields::Change::Keep,
        }
    })?;
    is_done.then_some(changed)
}

/// A message with one more field.
fn with(holder: &[u8], number: u32, octets: &[u8], keep: Keep) -> Vec<u8> {
    let kept = fields::map(holder, &mut |field| match keep {
        Keep::Nothing if field.number == number => fields::Change::Remove,
        Keep::Nothing | Keep::All => fields::Change::Keep,
    });
    let mut changed = kept.unwrap_or_default();
    fields::put(&mut changed, number, octets);
    changed
}

/// A message whose field, a `Struct` or a `Value` that holds one, has one more member.
fn noted(holder: &[u8], place: Place, old: &[u8], text: &str) -> Vec<u8> {
    let new = match place.holds {
        Type::Value => {
            let members = fields::last(old, STRUCT_VALUE).unwrap_or_default();
            let mut value = Vec::new();
            fields::put(&mut value, STRUCT_VALUE, &with_note(members, text));
            value
        }
        Type::Data => {
            let members = fields::last(old, 1).unwrap_or_default();
            with(old, 1, &with_note(members, text), Keep::Nothing)
        }
        Type::Answer
        | Type::Task
        | Type::Status
        | Type::StatusUpdate
        | Type::ArtifactUpdate
        | Type::Artifact
        | Type::Message
        | Type::Part
        | Type::File
        | Type::Struct
        | Type::Leaf => with_note(old, text),
    };
    with(holder, place.number, &new, Keep::Nothing)
}

/// A `Struct` with one more member. Of two with the same name the last counts.
fn with_note(members: &[u8], text: &str) -> Vec<u8> {
    let mut value = Vec::new();
    fields::put(&mut value, 3, text.as_bytes());
    let mut entry = Vec::new();
    fields::put(&mut entry, 1, NOTE.as_bytes());
    fields::put(&mut entry, 2, &value);
    let mut changed = members.to_vec();
    fields::put(&mut changed, 1, &entry);
    changed
}
