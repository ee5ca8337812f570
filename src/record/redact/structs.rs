//! JSON that stands in protobuf (`google.protobuf.Struct` and `Value`): metadata, and the data of parts.
//!
//! Read as the JSON that it is, so that the same names and the configuration's paths find secrets in it
//! whatever the binding was. Paths that begin at the root of a body (`$.params...`) mean nothing here.

use std::ops::Range;

use serde_json::{Map, Value};

use super::json::Step;
use super::protobuf::Fields;

/// Nesting that is read.
const DEPTH_MAX: usize = 64;

/// What stands at the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// A `Struct` whose members' names tell secrets.
    Metadata,
    /// A `Struct` of the application's.
    Data,
    /// A `Value` of the application's.
    Value,
}

/// A string, and where it stands.
pub(super) struct Leaf {
    pub(super) path: Vec<Step>,
    pub(super) range: Range<usize>,
}

/// The JSON of one `Struct` or `Value`. Numbers and the like read as null: only strings are covered.
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) leaves: Vec<Leaf>,
}

impl Document {
    pub(super) fn read(body: &[u8], within: Range<usize>, root: Root) -> Self {
        let mut reader = Reader { body, path: Vec::new(), leaves: Vec::new() };
        let value = match root {
            Root::Metadata | Root::Data => reader.members(within),
            Root::Value => reader.value(within),
        };
        Self { value, leaves: reader.leaves }
    }
}

struct Reader<'a> {
    body: &'a [u8],
    path: Vec<Step>,
    leaves: Vec<Leaf>,
}

impl Reader<'_> {
    /// `Struct { fields = 1: map<string, Value> }`.
    fn members(&mut self, within: Range<usize>) -> Value {
        let mut members = Map::new();
        for (_, member) in Fields::of(self.body, &within) {
            let name = Fields::of(self.body, &member).find(|(number, _)| *number == 1);
            let name = name.map_or_else(String::new, |(_, range)| self.text(range));
            self.path.push(Step::Member(name.clone()));
            for (_, range) in Fields::of(self.body, &member).filter(|(number, _)| *number == 2) {
                let value = self.value(range);
                members.insert(name.clone(), value);
            }
            self.path.pop();
        }
        Value::Object(members)
    }

    /// `Value { string_value = 3, struct_value = 5, list_value = 6 }`, `ListValue { values = 1 }`.
    fn value(&mut self, within: Range<usize>) -> Value {
        if self.path.len() >= DEPTH_MAX {
            return Value::Null;
        }
        let mut value = Value::Null;
        for (number, range) in Fields::of(self.body, &within) {
            value = match number {
                3 => {
                    self.leaves.push(Leaf { path: self.path.clone(), range: range.clone() });
                    Value::String(self.text(range))
                }
                5 => self.members(range),
                6 => self.elements(range),
                _ => continue,
            };
        }
        value
    }

    fn elements(&mut self, within: Range<usize>) -> Value {
        let mut elements = Vec::new();
        for (_, range) in Fields::of(self.body, &within) {
            self.path.push(Step::Element(elements.len()));
            let value = self.value(range);
            elements.push(value);
            self.path.pop();
        }
        Value::Array(elements)
    }

    fn text(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.body.get(range).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A length-delimited field.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let len = u16::try_from(content.len()).unwrap();
        let low = u8::try_from(len & 0x7f).unwrap() | 0x80;
        [&[number << 3 | 2, low, u8::try_from(len >> 7).unwrap()], content].concat()
    }

    fn member(name: &str, value: &[u8]) -> Vec<u8> {
        field(1, &[field(1, name.as_bytes()), field(2, value)].concat())
    }

    #[test]
    fn a_struct_reads_as_the_json_it_is() {
        let list = field(6, &[field(1, &field(3, b"x")), field(1, &field(3, b"y"))].concat());
        let inner = field(5, &member("deep", &field(3, b"z")));
        let body = [member("list", &list), member("inner", &inner)].concat();
        let read = Document::read(&body, 0..body.len(), Root::Metadata);
        assert_eq!(read.value.to_string(), r#"{"list":["x","y"],"inner":{"deep":"z"}}"#);
        let said = read.leaves.iter().map(|leaf| &body[leaf.range.clone()]);
        assert_eq!(said.collect::<Vec<_>>(), [b"x", b"y", b"z"]);
        let member = |name: &str| Step::Member(name.to_owned());
        assert_eq!(read.leaves[1].path, [member("list"), Step::Element(1)]);
    }

    #[test]
    fn nesting_and_what_is_no_struct_end_it() {
        let mut value = field(3, b"deep");
        for _ in 0..70 {
            value = field(6, &field(1, &value));
        }
        assert_eq!(Document::read(&value, 0..value.len(), Root::Value).leaves.len(), 0);
        assert_eq!(Document::read(b"\xff\xff", 0..2, Root::Data).leaves.len(), 0);
    }
}
