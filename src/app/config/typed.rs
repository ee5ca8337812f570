//! Reads a type from a [`Node`]: serde, with the place and the path of what could not be read.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected,
    IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::{Fault, Place};
use super::tree::{Key, Node, Scalar, Value};

/// Reads `T` from the node. `path` is where the node stands in the document: `faults[2]`.
pub(super) fn read<T: DeserializeOwned>(node: &Node, path: &str) -> Result<T, Fault> {
    T::deserialize(Reader { node }).map_err(|error| error.at(node.at).into_fault(path))
}

/// The keys that `T` knows: asked of serde by a key that nobody has, so that no list of them has to be
/// kept beside the type.
pub(super) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let nowhere = Place::default();
    let key = Key { name: "\0".to_owned(), at: nowhere };
    let value = Node { value: Value::List(Vec::new()), at: nowhere };
    let node = Node { value: Value::Map(vec![(key, value)]), at: nowhere };
    match T::deserialize(Reader { node: &node }) {
        Err(Error { trouble: Trouble::UnknownKey { known, .. }, .. }) => known,
        Ok(_) | Err(_) => &[],
    }
}

struct Reader<'a> {
    node: &'a Node,
}

/// What went wrong, and (as it climbs out of the tree) where.
#[derive(Debug)]
struct Error {
    trouble: Trouble,
    at: Option<Place>,
    /// The way down to it, outermost last.
    path: Vec<String>,
}

#[derive(Debug)]
enum Trouble {
    UnknownKey { key: String, known: &'static [&'static str] },
    UnknownWord { word: String, known: &'static [&'static str] },
    Missing(&'static str),
    Other(String),
}

impl Error {
    fn new(trouble: Trouble) -> Self {
        Self { trouble, at: None, path: Vec::new() }
    }

    /// Sets the place unless one further inside is known.
    fn at(mut self, place: Place) -> Self {
        self.at = self.at.or(Some(place));
        self
    }

    fn below(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    fn into_fault(self, path: &str) -> Fault {
        let mut place = path.to_owned();
        for step in self.path.iter().rev() {
            if !place.is_empty() && !step.starts_with('[') {
                place.push('.');
            }
            place.push_str(step);
        }
        let at = self.at.unwrap_or_default();
        let inside = if place.is_empty() { String::new() } else { format!(" in `{place}`") };
        match self.trouble {
            Trouble::UnknownKey { key, known } => {
                let mut fault = Fault::unknown(at, "key", &key, known);
                fault.text.push_str(&inside);
                fault
            }
            Trouble::UnknownWord { word, known } => {
                let mut fault = Fault::unknown(at, "word", &word, known);
                fault.text.push_str(&inside);
                fault
            }
            Trouble::Missing(key) => Fault::new(at, format!("`{key}` is missing{inside}")),
            Trouble::Other(text) if place.is_empty() => Fault::new(at, text),
            Trouble::Other(text) => Fault::new(at, format!("`{place}`: {text}")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trouble {
            Trouble::UnknownKey { key, .. } => write!(f, "unknown key `{key}`"),
            Trouble::UnknownWord { word, .. } => write!(f, "unknown word `{word}`"),
            Trouble::Missing(key) => write!(f, "`{key}` is missing"),
            Trouble::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::new(Trouble::Other(text.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format!("expected {}, not {}", in_words(expected), kind(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(Trouble::UnknownKey { key: field.to_owned(), known })
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::new(Trouble::UnknownWord { word: variant.to_owned(), known })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Trouble::Missing(field))
    }
}

/// What serde calls by the names of Rust's types.
fn in_words(expected: &dyn Expected) -> String {
    let told = expected.to_string();
    let words = match told.as_str() {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text",
        "a sequence" => "a list",
        _ => return told,
    };
    words.to_owned()
}

/// What was found, in the words of YAML.
fn kind(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("{value}"),
        Unexpected::Signed(value) => format!("{value}"),
        Unexpected::Float(value) => format!("{value}"),
        Unexpected::Str(text) => format!("the text `{text}`"),
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a map".to_owned(),
        Unexpected::Char(_)
        | Unexpected::Bytes(_)
        | Unexpected::NewtypeStruct
        | Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_) => found.to_string(),
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let at = self.node.at;
        let read = match &self.node.value {
            Value::Scalar(scalar, text) => match *scalar {
                Scalar::Null => visitor.visit_unit(),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Int(value) => visitor.visit_i64(value),
                Scalar::Unsigned(value) => visitor.visit_u64(value),
                Scalar::Float(value) => visitor.visit_f64(value),
                Scalar::Text | Scalar::Expanded => visitor.visit_str(text),
            },
            Value::List(items) => visitor.visit_seq(Items { items: items.iter(), index: 0 }),
            Value::Map(members) => {
                visitor.visit_map(Members { members: members.iter(), next: None })
            }
        };
        read.map_err(|error| error.at(at))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Scalar(Scalar::Null, _) | Value::List(_) | Value::Map(_) => {
                self.deserialize_any(visitor)
            }
            // A name may look like a number: `version: 1.0`, `session: 42`.
            Value::Scalar(_, text) => {
                visitor.visit_str(text).map_err(|error: Error| error.at(self.node.at))
            }
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.node.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let at = self.node.at;
        visitor.visit_newtype_struct(self).map_err(|error| error.at(at))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let at = self.node.at;
        let variant = match &self.node.value {
            Value::Scalar(Scalar::Null, _) | Value::List(_) => None,
            Value::Scalar(_, text) => Some(Variant { name: text, at, content: None }),
            Value::Map(members) => match members.as_slice() {
                [(key, content)] => {
                    Some(Variant { name: &key.name, at: key.at, content: Some(content) })
                }
                [] | [..] => None,
            },
        };
        let Some(variant) = variant else {
            let found = self.node.kind();
            return Err(Error::custom(format!(
                "expected a word, or a map with one key, not {found}"
            ))
            .at(at));
        };
        visitor.visit_enum(variant).map_err(|error| error.at(at))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_number(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 f32 char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
    }
}

impl Reader<'_> {
    /// Like any value; but what came from a variable is text, and may stand for a number.
    fn deserialize_number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let at = self.node.at;
        let read = match &self.node.value {
            Value::Scalar(Scalar::Expanded, text) => {
                if let Ok(value) = text.parse::<bool>() {
                    visitor.visit_bool(value)
                } else if let Ok(value) = text.parse::<u64>() {
                    visitor.visit_u64(value)
                } else if let Ok(value) = text.parse::<f64>() {
                    visitor.visit_f64(value)
                } else {
                    visitor.visit_str(text)
                }
            }
            Value::Scalar(..) | Value::List(_) | Value::Map(_) => {
                return self.deserialize_any(visitor);
            }
        };
        read.map_err(|error: Error| error.at(at))
    }
}

struct Items<'a> {
    items: std::slice::Iter<'a, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let step = format!("[{}]", self.index);
        self.index += 1;
        seed.deserialize(Reader { node }).map(Some).map_err(|error| error.at(node.at).below(step))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Members<'a> {
    members: std::slice::Iter<'a, (Key, Node)>,
    next: Option<&'a (Key, Node)>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.next = self.members.next();
        let Some((key, _)) = self.next else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = key.name.as_str().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|error| error.at(key.at))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some((key, node)) = self.next.take() else {
            return Err(Error::custom("a value was asked for before its key"));
        };
        seed.deserialize(Reader { node }).map_err(|error| error.at(node.at).below(key.name.clone()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

struct Variant<'a> {
    name: &'a str,
    at: Place,
    content: Option<&'a Node>,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = Error;
    type Variant = Content<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content<'a>), Error> {
        let name: StrDeserializer<'_, Error> = self.name.into_deserializer();
        let value = seed.deserialize(name).map_err(|error| error.at(self.at))?;
        Ok((value, Content { name: self.name, at: self.at, node: self.content }))
    }
}

struct Content<'a> {
    name: &'a str,
    at: Place,
    node: Option<&'a Node>,
}

impl<'a> Content<'a> {
    fn node(&self) -> Result<&'a Node, Error> {
        self.node.ok_or_else(|| {
            Error::custom(format!("`{}` needs a value: `{}: ...`", self.name, self.name))
                .at(self.at)
        })
    }
}

impl<'de> VariantAccess<'de> for Content<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.node {
            None => Ok(()),
            Some(node) if node.is_null() => Ok(()),
            Some(node) => Err(Error::custom(format!("`{}` takes no value", self.name)).at(node.at)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        let node = self.node()?;
        seed.deserialize(Reader { node })
            .map_err(|error| error.at(node.at).below(self.name.to_owned()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        let node = self.node()?;
        Reader { node }.deserialize_any(visitor).map_err(|error| error.below(self.name.to_owned()))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.tuple_variant(0, visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::app::config::expand::expand;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read by Debug")]
    struct Sample {
        name: String,
        #[serde(default)]
        port: Option<u16>,
        #[serde(default)]
        share: Option<f64>,
        #[serde(default)]
        fault: Option<Kind>,
        #[serde(default)]
        more: BTreeMap<String, Vec<u8>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "read by Debug")]
    enum Kind {
        Empty,
        Delay(String),
        Stream { after: u32 },
    }

    fn environment(name: &str) -> Option<String> {
        (name == "PORT").then(|| "8100".to_owned())
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let mut node = Node::parse(source).unwrap().unwrap();
        expand(&mut node, &environment);
        let actual = match read::<Sample>(&node, "faults[2]") {
            Ok(sample) => format!("{sample:?}"),
            Err(Fault { at, text, hint }) => {
                format!("{}:{} {text} ({})", at.line, at.column, hint.unwrap_or_default())
            }
        };
        assert_eq!(actual, expected, "{source}");
    }

    #[test]
    fn types_are_read_as_serde_reads_them() {
        check(
            "{ name: 1.0, port: '${PORT}', share: 1, fault: empty, more: { a: [1, 2] } }",
            "Sample { name: \"1.0\", port: Some(8100), share: Some(1.0), fault: Some(Empty), \
             more: {\"a\": [1, 2]} }",
        );
        check(
            "{ name: a, port: ~, fault: { delay: 5s } }",
            "Sample { name: \"a\", port: None, share: None, fault: Some(Delay(\"5s\")), more: {} }",
        );
        check(
            "{ name: a, fault: { stream: { after: 3 } } }",
            "Sample { name: \"a\", port: None, share: None, fault: Some(Stream { after: 3 }), \
             more: {} }",
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_place_path_and_hint() {
        check("name: a\nprot: 1\n", "2:1 unknown key `prot` in `faults[2]` (did you mean `port`?)");
        check("port: 1\n", "1:1 `name` is missing in `faults[2]` ()");
        check(
            "name: a\nport: '80'\n",
            "2:7 `faults[2].port`: expected a whole number from 0 to 65535, not the text `80` ()",
        );
        check(
            "name: a\nmore: { x: [1, 300] }\n",
            "2:16 `faults[2].more.x[1]`: expected a whole number from 0 to 255, not 300 ()",
        );
        check(
            "name: a\nfault: empyt\n",
            "2:8 unknown word `empyt` in `faults[2].fault` (did you mean `empty`?)",
        );
        check(
            "name: a\nfault: [1]\n",
            "2:8 `faults[2].fault`: expected a word, or a map with one key, not a list ()",
        );
        check(
            "name: a\nfault: delay\n",
            "2:8 `faults[2].fault`: `delay` needs a value: `delay: ...` ()",
        );
    }
}
