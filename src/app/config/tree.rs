//! A YAML document as a tree in which every key and value knows its line and column.
//!
//! Typed reading alone would lose them: `${NAME}` is put in after parsing and before typing, and a
//! rule that names an agent which does not exist is only found when everything has been typed. Both
//! must still point at the place in the file. So the parser fills this tree, and
//! [`typed`](super::typed) reads the sections from it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::error::{Fault, Place};

/// One value of the document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) at: Place,
}

/// What a [`Node`] holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A scalar: what it reads as, and how it is written.
    Scalar(Scalar, String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// What a scalar reads as by YAML's core schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    /// Words, quoted or not.
    Text,
    /// Words that came out of `${NAME}`: they may stand for a number as well.
    Expanded,
}

/// A member's name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) at: Place,
}

impl Node {
    /// Reads one document. An empty one is `None`.
    pub(super) fn parse(source: &str) -> Result<Option<Self>, Fault> {
        let options = serde_saphyr::options! { with_snippet: false };
        let raw: Option<Spanned<Raw>> = serde_saphyr::from_str_with_options(source, options)
            .map_err(|error| {
                let error = error.without_snippet();
                let place = error.location().map_or_else(Place::default, place_of);
                Fault::new(place, explain(error))
            })?;
        Ok(raw.map(|raw| raw_to_node(raw, source)))
    }

    /// The member of this name, if this is a map that has it.
    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members().iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// The members, in the order they are written; none unless this is a map.
    pub(super) fn members(&self) -> &[(Key, Self)] {
        match &self.value {
            Value::Map(members) => members,
            Value::Scalar(..) | Value::List(_) => &[],
        }
    }

    /// A map of these members alone.
    pub(super) fn only(&self, names: &[&str]) -> Self {
        let wanted = |(key, _): &&(Key, Self)| names.contains(&key.name.as_str());
        let members = self.members().iter().filter(wanted).cloned().collect();
        Self { value: Value::Map(members), at: self.at }
    }

    /// The items, in order; none unless this is a list.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(..) | Value::Map(_) => &[],
        }
    }

    /// Whether nothing is written here: `faults:` and no more.
    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Value::Scalar(Scalar::Null, _))
    }

    /// The words of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(_, text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// What it is, in words for an error.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar(Scalar::Null, _) => "nothing",
            Value::Scalar(Scalar::Bool(_), _) => "true or false",
            Value::Scalar(Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Float(_), _) => "a number",
            Value::Scalar(Scalar::Text | Scalar::Expanded, _) => "words",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// The message without what the place and the snippet say again.
fn explain(error: &serde_saphyr::Error) -> String {
    if let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } = error {
        return format!("`{key}` is given twice");
    }
    if let serde_saphyr::Error::MultipleDocuments { .. } = error {
        return "a second document begins; one file holds one".to_owned();
    }
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    let cut = text.find(" at line ").unwrap_or(text.len());
    text.get(..cut).unwrap_or(text).to_owned()
}

fn place_of(location: serde_saphyr::Location) -> Place {
    Place { line: location.line(), column: location.column() }
}

/// What the parser gives: scalars without their spelling, which the span of the source has.
enum Raw {
    Scalar(Scalar),
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

fn raw_to_node(raw: Spanned<Raw>, source: &str) -> Node {
    let at = place_of(raw.referenced);
    let value = match raw.value {
        Raw::Scalar(scalar) => Value::Scalar(scalar, spelling(raw.defined, source)),
        Raw::Text(text) => Value::Scalar(Scalar::Text, text),
        Raw::List(items) => {
            Value::List(items.into_iter().map(|item| raw_to_node(item, source)).collect())
        }
        Raw::Map(members) => Value::Map(
            members
                .into_iter()
                .map(|(key, node)| {
                    let key = Key { at: place_of(key.referenced), name: key.value };
                    (key, raw_to_node(node, source))
                })
                .collect(),
        ),
    };
    Node { value, at }
}

/// How a plain scalar is written, so that `version: 1.0` can be read as the words `1.0`.
fn spelling(location: serde_saphyr::Location, source: &str) -> String {
    let span = location.span();
    let written = span.byte_offset().zip(span.byte_len()).and_then(|(start, len)| {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        source.get(start..end)
    });
    written.unwrap_or_default().trim().to_owned()
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Null))
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Unsigned(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Scalar(Scalar::Float(value)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Raw, E> {
        Ok(Raw::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Raw::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(source: &str) -> Node {
        Node::parse(source).unwrap().unwrap()
    }

    #[track_caller]
    fn check_scalar(written: &str, scalar: Scalar, text: &str) {
        let node = parse(&format!("# a comment\nkey: {written}   # and another\n"));
        let value = &node.member("key").unwrap().value;
        assert_eq!(value, &Value::Scalar(scalar, text.to_owned()), "{written}");
    }

    #[test]
    fn a_scalar_keeps_how_it_is_written() {
        check_scalar("1.0", Scalar::Float(1.0), "1.0");
        check_scalar("0.30", Scalar::Float(0.3), "0.30");
        check_scalar("7", Scalar::Unsigned(7), "7");
        check_scalar("-7", Scalar::Int(-7), "-7");
        check_scalar("true", Scalar::Bool(true), "true");
        check_scalar("~", Scalar::Null, "~");
        check_scalar("\"7\"", Scalar::Text, "7");
        check_scalar("8MiB", Scalar::Text, "8MiB");
        check_scalar("'${X}'", Scalar::Text, "${X}");
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let node = parse("version: 1\nfaults:\n  - name: a\n    agent: [x, y]\n");
        let rule = &node.member("faults").unwrap().items()[0];
        let (key, agent) = &rule.members()[1];
        assert_eq!((key.name.as_str(), key.at), ("agent", Place { line: 4, column: 5 }));
        assert_eq!(agent.items()[1].at, Place { line: 4, column: 16 });
    }

    #[test]
    fn an_alias_stands_where_it_is_used_and_reads_as_what_it_names() {
        let node = parse("a: &v 1.50\nb: *v\n");
        let b = node.member("b").unwrap();
        assert_eq!(b.text(), Some("1.50"));
        assert_eq!(b.at, Place { line: 2, column: 4 });
    }

    #[track_caller]
    fn check_error(source: &str, expected: &str) {
        let fault = Node::parse(source).unwrap_err();
        assert_eq!(
            format!("{}:{}: {}", fault.at.line, fault.at.column, fault.text),
            expected,
            "{source:?}"
        );
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_place() {
        check_error("a: 1\na: 2\n", "2:1: `a` is given twice");
        check_error("a: [1, 2\n", "1:4: unclosed bracket '['");
        check_error("a:\n\tb: 1\n", "2:2: tabs disallowed within this context (block indentation)");
        check_error("a: 1\n---\nb: 2\n", "3:1: a second document begins; one file holds one");
        check_error("a: *b\n", "1:4: alias references unknown anchor");
        check_error("a: b: c\n", "1:5: mapping values are not allowed in this context");
    }

    #[test]
    fn an_empty_document_is_nothing() {
        assert_eq!(Node::parse("").unwrap(), None);
        assert_eq!(Node::parse("# only a comment\n").unwrap(), None);
    }
}
