//! YAML as a tree that knows where each of its nodes was written.
//!
//! A suite is read from this tree by hand, not by derived deserializers: derived ones stop at the first
//! mistake, and a person who edits a suite wants all of them at once, each with its line and column.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::Spanned;

/// Nesting deeper than this is a mistake or an attack; suites written by people stay below ten.
const DEPTH_MAX: usize = 64;

/// Where something stands in the file. Lines and columns count from 1; `len` is in characters, at least 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// How many characters it takes.
    pub len: usize,
}

/// One node and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: Position,
    pub(super) value: Yaml,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Yaml {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// The key of an entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) at: Position,
}

/// Why a text is no YAML.
#[derive(Clone, Debug)]
pub(super) struct NotYaml {
    pub(super) at: Position,
    pub(super) text: String,
}

impl Node {
    /// Reads one document.
    pub(super) fn parse(text: &str) -> Result<Self, NotYaml> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: DEPTH_MAX },
            strict_booleans: true,
            leading_zero_numbers_as_strings: true,
            underscored_numbers_as_strings: true,
            with_snippet: false,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
            Ok(root) => Ok(root.into()),
            Err(error) => {
                let at = error.location().map_or(Position::default(), position);
                let other = || NotYaml { at, text: without_place(&error.to_string()) };
                Err(tab_as_indentation(text, at.line).unwrap_or_else(other))
            }
        }
    }

    /// What it is, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self.value {
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "true or false",
            Yaml::Number(_) => "a number",
            Yaml::Text(_) => "a text",
            Yaml::List(_) => "a list",
            Yaml::Map(_) => "a map",
        }
    }

    /// It as JSON, texts passed through `expand`.
    pub(super) fn to_json(&self, expand: &mut dyn FnMut(&str, Position) -> Value) -> Value {
        match &self.value {
            Yaml::Null => Value::Null,
            Yaml::Bool(value) => Value::Bool(*value),
            Yaml::Number(number) => Value::Number(number.clone()),
            Yaml::Text(text) => expand(text, self.at),
            Yaml::List(items) => items.iter().map(|item| item.to_json(expand)).collect(),
            Yaml::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.to_json(expand)))
                    .collect(),
            ),
        }
    }
}

/// As a person would write it on one line.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Yaml::Null => f.write_str("~"),
            Yaml::Bool(value) => value.fmt(f),
            Yaml::Number(number) => number.fmt(f),
            Yaml::Text(text) if is_plain(text) => f.write_str(text),
            Yaml::Text(text) => write!(f, "{text:?}"),
            Yaml::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Yaml::Map(entries) => {
                f.write_str("{")?;
                for (index, (key, node)) in entries.iter().enumerate() {
                    write!(f, "{} {}: {node}", if index == 0 { "" } else { "," }, key.name)?;
                }
                f.write_str(if entries.is_empty() { "}" } else { " }" })
            }
        }
    }
}

/// Whether a text needs no quotes within a flow map.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic())
        && text.chars().all(|c| c.is_alphanumeric() || "_-.+/ ".contains(c))
        && !text.ends_with(' ')
        && !matches!(text, "true" | "false" | "null")
}

/// A tab before the first word of a line is the mistake that YAML's own messages explain worst.
fn tab_as_indentation(text: &str, from_line: usize) -> Option<NotYaml> {
    let lines = text.lines().enumerate().skip(from_line.saturating_sub(1)).take(2);
    for (index, line) in lines {
        let indentation = line.chars().take_while(|c| c.is_whitespace());
        if let Some(column) = indentation.enumerate().find(|(_, c)| *c == '\t').map(|(at, _)| at) {
            let at = Position { line: index + 1, column: column + 1, len: 1 };
            let text = "a tab as indentation; YAML takes spaces only".to_owned();
            return Some(NotYaml { at, text });
        }
    }
    None
}

/// The library ends its sentences with the place, which is told in front of them here.
fn without_place(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    first.split(" at line ").next().unwrap_or(first).to_owned()
}

fn position(at: serde_saphyr::Location) -> Position {
    let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    Position {
        line: number(at.line()),
        column: number(at.column()),
        len: number(at.span().len()).max(1),
    }
}

/// What the library gives before places are attached.
enum Raw {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl From<Spanned<Raw>> for Node {
    fn from(from: Spanned<Raw>) -> Self {
        let value = match from.value {
            Raw::Null => Yaml::Null,
            Raw::Bool(value) => Yaml::Bool(value),
            Raw::Number(number) => Yaml::Number(number),
            Raw::Text(text) => Yaml::Text(text),
            Raw::List(items) => Yaml::List(items.into_iter().map(Self::from).collect()),
            Raw::Map(entries) => Yaml::Map(
                entries
                    .into_iter()
                    .map(|(key, node)| {
                        let len = key.value.chars().count().max(1);
                        let at = Position { len, ..position(key.referenced) };
                        (Key { name: key.value, at }, Self::from(node))
                    })
                    .collect(),
            ),
        };
        Self { at: position(from.referenced), value }
    }
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
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        Number::from_f64(value).map(Raw::Number).ok_or_else(|| E::custom("no finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = from.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_knows_its_line_and_column() {
        let root = Node::parse("a: 1\nb:\n  - { c: x }\n").unwrap();
        let Yaml::Map(entries) = &root.value else { panic!("{root:?}") };
        assert_eq!((entries[1].0.at.line, entries[1].0.at.column), (2, 1));
        let Yaml::List(items) = &entries[1].1.value else { panic!("{root:?}") };
        assert_eq!((items[0].at.line, items[0].at.column), (3, 5));
        assert_eq!(root.to_string(), "{ a: 1, b: [{ c: x }] }");
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_place() {
        for (text, line) in [("a: [1, 2\n", 1), ("a: 1\na: 2\n", 2), ("a:\n\tb: 1\n", 2)] {
            let error = Node::parse(text).unwrap_err();
            assert!(error.at.line >= line, "{text:?}: {error:?}");
            assert!(!error.text.is_empty() && !error.text.contains(" at line "), "{error:?}");
        }
    }

    #[test]
    fn words_and_dates_stay_texts_and_numbers_numbers() {
        let root = Node::parse("[yes, 2026-01-01, 007, \"1\", 1, 1.5, true, ~]").unwrap();
        let json = root.to_json(&mut |text, _| Value::String(text.to_owned()));
        assert_eq!(json, serde_json::json!(["yes", "2026-01-01", "007", "1", 1, 1.5, true, null]));
    }
}
