//! A JSON value together with its place: what a reader that never fails reads from.
//!
//! Every accessor gives what is there, notes what is wrong, and goes on. `null` is absence, as both
//! ProtoJSON and the 0.3 schema's optional members have it.

use bytes::Bytes;
use serde_json::Value;

use crate::a2a::dialect::json::log::{Log, Place, Spelling};
use crate::a2a::dialect::json::values;
use crate::a2a::model::Object;
use crate::a2a::problem::Problem;

/// A JSON value, its place, and where problems go.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    place: Place<'a>,
    log: &'a Log,
}

/// How much of a list must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It may be absent.
    Nothing,
    /// It must be there, and may be empty.
    Present,
    /// At least one item.
    Some,
}

/// What a word of an enum means to a version.
pub(crate) enum Word<T> {
    /// As this version spells it.
    Known(T),
    /// Another version's spelling, and this version's.
    Foreign(T, String),
    /// The protobuf default, which stands for absence.
    Unspecified,
    /// No version knows it.
    Unknown,
}

/// Reads a whole value, and hands over what is wrong with it.
pub(crate) fn read<T>(
    spelling: Spelling,
    value: &Value,
    problems: &mut Vec<Problem>,
    reader: impl FnOnce(&Node<'_>) -> T,
) -> T {
    let log = Log::new(spelling);
    let result = reader(&Node { value, place: Place::Root, log: &log });
    log.into_problems(problems);
    result
}

enum Found<T> {
    Absent,
    Wrong,
    Good(T),
}

impl<T> Found<T> {
    fn good(self) -> Option<T> {
        match self {
            Self::Good(value) => Some(value),
            Self::Absent | Self::Wrong => None,
        }
    }
}

impl<'a> Node<'a> {
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn spelling(&self) -> Spelling {
        self.log.spelling()
    }

    /// Notes a problem with this very value.
    pub(crate) fn note(&self, name: &str, text: impl Into<String>) {
        self.log.note(name, self.place, text);
    }

    /// Notes that a member is missing.
    pub(crate) fn missing(&self, name: &str) {
        let place = Place::Member(&self.place, name);
        self.log.note("missing_field", place, format!("`{name}` is missing"));
    }

    /// Whether this is an object; if not, that is a problem.
    pub(crate) fn is_object(&self) -> bool {
        let is_object = self.value.is_object();
        if !is_object {
            self.wrong_type("an object");
        }
        is_object
    }

    /// The member of this name, `null` included.
    pub(crate) fn entry(&self, name: &str) -> Option<Node<'_>> {
        let members = self.value.as_object()?;
        let (key, value) = match members.get_key_value(name) {
            Some(found) => found,
            None => match self.log.spelling() {
                Spelling::Schema => return None,
                Spelling::Proto => members.iter().find(|(key, _)| is_snake_case_of(key, name))?,
            },
        };
        Some(Node { value, place: Place::Member(&self.place, key), log: self.log })
    }

    /// The member of this name, unless it is `null`.
    pub(crate) fn member(&self, name: &str) -> Option<Node<'_>> {
        self.entry(name).filter(|node| !node.value.is_null())
    }

    /// The first of these members that is there.
    pub(crate) fn any_member(&self, names: &[&'static str]) -> Option<Node<'_>> {
        names.iter().find_map(|name| self.member(name))
    }

    /// The member of this name; noted as missing when it is not there.
    pub(crate) fn required(&self, name: &'static str) -> Option<Node<'_>> {
        let found = self.member(name);
        if found.is_none() {
            self.missing(name);
        }
        found
    }

    /// A text that must be there.
    pub(crate) fn text(&self, name: &'static str) -> String {
        match self.find_text(name) {
            Found::Good(text) => text,
            Found::Wrong => String::new(),
            Found::Absent => {
                self.missing(name);
                String::new()
            }
        }
    }

    /// A text that may be there.
    pub(crate) fn optional_text(&self, name: &'static str) -> Option<String> {
        self.find_text(name).good()
    }

    /// Yes or no.
    pub(crate) fn flag(&self, name: &'static str) -> Option<bool> {
        let node = self.member(name)?;
        let flag = node.value.as_bool();
        if flag.is_none() {
            node.wrong_type("true or false");
        }
        flag
    }

    /// A whole number: in ProtoJSON also as text or with a fraction of zero.
    pub(crate) fn integer(&self, name: &'static str) -> Option<i64> {
        let node = self.member(name)?;
        let whole = match values::whole_numbers(node.value) {
            Value::Number(number) => number.as_i64(),
            Value::String(digits) if self.log.spelling() == Spelling::Proto => digits.parse().ok(),
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        };
        if whole.is_none() {
            node.wrong_type("a whole number");
        }
        whole
    }

    /// Any object, its whole numbers as integers.
    pub(crate) fn object(&self, name: &'static str) -> Option<Object> {
        let node = self.member(name)?;
        match values::whole_numbers(node.value) {
            Value::Object(members) => Some(members),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                node.wrong_type("an object");
                None
            }
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&self, name: &'static str) -> Vec<String> {
        let texts = self.each(&[name], Need::Nothing, |item| {
            let text = item.value.as_str();
            if text.is_none() {
                item.wrong_type("text");
            }
            text.map(str::to_owned)
        });
        texts.into_iter().flatten().collect()
    }

    /// The items of the first of these lists that is there, read one by one.
    pub(crate) fn each<T>(
        &self,
        names: &[&'static str],
        need: Need,
        read: impl FnMut(Node<'_>) -> T,
    ) -> Vec<T> {
        let Some(list) = self.any_member(names) else {
            if let (Need::Present | Need::Some, Some(name)) = (need, names.first()) {
                self.missing(name);
            }
            return Vec::new();
        };
        let Some(items) = list.items(read) else {
            list.wrong_type("a list");
            return Vec::new();
        };
        if items.is_empty() && need == Need::Some {
            list.note("missing_field", "the list is empty, at least one is needed");
        }
        items
    }

    /// The items of this very list, read one by one; `None` when it is no list.
    pub(crate) fn items<T>(&self, mut read: impl FnMut(Node<'_>) -> T) -> Option<Vec<T>> {
        let items = self.value.as_array()?.iter().enumerate();
        let node =
            |(index, value)| Node { value, place: Place::Item(&self.place, index), log: self.log };
        Some(items.map(|item| read(node(item))).collect())
    }

    /// A time, as it was written.
    pub(crate) fn timestamp(&self, name: &'static str) -> Option<String> {
        let node = self.member(name)?;
        let Some(text) = node.value.as_str() else {
            node.wrong_type("a time as text");
            return None;
        };
        if !values::is_timestamp(text, self.log.spelling()) {
            node.note("invalid_timestamp", format!("`{text}` is no RFC 3339 time"));
        }
        Some(text.to_owned())
    }

    /// Octets written as base64. What is no base64 is taken as it stands.
    pub(crate) fn octets(&self) -> Bytes {
        let Some(text) = self.value.as_str() else {
            self.wrong_type("base64 text");
            return Bytes::new();
        };
        values::base64_decoded(text).map_or_else(
            || {
                self.note("invalid_base64", "the text is no base64");
                Bytes::copy_from_slice(text.as_bytes())
            },
            Bytes::from,
        )
    }

    /// A word of an enum. `None` when it is absent or says nothing; a word that no version knows goes
    /// through `unknown`.
    pub(crate) fn word<T>(
        &self,
        name: &'static str,
        read: impl Fn(&str) -> Word<T>,
        unknown: impl Fn(String) -> T,
    ) -> Option<T> {
        let node = self.member(name)?;
        let word = match (node.value, self.log.spelling()) {
            (Value::String(word), _) => word.clone(),
            (Value::Number(number), Spelling::Proto) => number.to_string(),
            (other, _) => {
                node.wrong_type("a word");
                return Some(unknown(other.to_string()));
            }
        };
        match read(&word) {
            Word::Known(value) => Some(value),
            Word::Foreign(value, right) => {
                let text = format!("`{word}` is another version's spelling of `{right}`");
                node.note("foreign_spelling", text);
                Some(value)
            }
            Word::Unspecified => None,
            Word::Unknown => {
                node.note("unknown_enum", format!("`{word}` is not a value of `{name}`"));
                Some(unknown(word))
            }
        }
    }

    /// Notes that this value is of another type.
    pub(crate) fn wrong_type(&self, expected: &str) {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "text",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.note("wrong_type", format!("{expected} is expected, this is {found}"));
    }

    fn find_text(&self, name: &str) -> Found<String> {
        let Some(node) = self.member(name) else { return Found::Absent };
        match node.value {
            Value::String(text) if text.is_empty() && self.spelling() == Spelling::Proto => {
                Found::Absent
            }
            Value::String(text) => Found::Good(text.clone()),
            Value::Number(number) => {
                node.wrong_type("text");
                Found::Good(number.to_string())
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                node.wrong_type("text");
                Found::Wrong
            }
        }
    }
}

/// Whether `key` is the protobuf field name that ProtoJSON spells `camel`.
fn is_snake_case_of(key: &str, camel: &str) -> bool {
    let mut key = key.bytes();
    let same = camel.bytes().all(|letter| {
        if letter.is_ascii_uppercase() {
            key.next() == Some(b'_') && key.next() == Some(letter.to_ascii_lowercase())
        } else {
            key.next() == Some(letter)
        }
    });
    same && key.next().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn protobuf_field_names_are_found_by_their_json_names() {
        for (key, camel, expected) in [
            ("message_id", "messageId", true),
            ("message_id_", "messageId", false),
            ("messageid", "messageId", false),
            ("id", "id", true),
        ] {
            assert_eq!(is_snake_case_of(key, camel), expected, "{key} for {camel}");
        }
    }

    #[test]
    fn a_json_schema_wants_exact_names() {
        let value = json!({ "message_id": "m" });
        for (spelling, expected) in [(Spelling::Schema, None), (Spelling::Proto, Some("m"))] {
            let id =
                read(spelling, &value, &mut Vec::new(), |node| node.optional_text("messageId"));
            assert_eq!(id.as_deref(), expected, "{spelling:?}");
        }
    }
}
