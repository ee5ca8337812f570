//! JSON as peers send it: read leniently, with what a strict reader would refuse kept as problems.
//!
//! Duplicate members are looked for because parsers disagree on which one counts (the last here, as in
//! most of them), and what two parsers read differently can be smuggled past one of them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::a2a::problem::Problem;
use crate::base::limits::Limits;

/// How many problems of one text are listed.
const PROBLEMS_MAX: usize = 64;

/// A body as text. Octets that are no UTF-8 and a byte order mark are problems; both are read past.
pub(crate) fn text<'a>(body: &'a [u8], at: &str, problems: &mut Vec<Problem>) -> Cow<'a, str> {
    let body = match body.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            let text = "JSON must not begin with a byte order mark";
            problems.push(Problem::new("byte_order_mark", at, text));
            rest
        }
        None => body,
    };
    match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            let text = format!("no UTF-8 from octet {} on", error.valid_up_to());
            problems.push(Problem::new("invalid_utf8", at, text));
            String::from_utf8_lossy(body)
        }
    }
}

/// The value of a JSON text that stands at this place (`$.params`). `None` and a problem when it is no
/// JSON.
pub(crate) fn value(text: &str, at: &str, problems: &mut Vec<Problem>) -> Option<Value> {
    let found = RefCell::new(Vec::new());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reader = Reader { path: &Path::Root(at), levels: Limits::default().depth, found: &found };
    let result = reader.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    problems.append(&mut found.into_inner());
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            problems.push(Problem::new("invalid_json", at, error.to_string()));
            None
        }
    }
}

/// The members of a JSON object in their order, values as they are written.
pub(crate) fn members(text: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = access.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Members)?;
    deserializer.end()?;
    Ok(members)
}

/// A member of an object.
pub(crate) enum Member<'t> {
    /// As it is written.
    Written(&'t RawValue),
    /// Read as [`value`] reads it.
    Read(Value, Vec<Problem>),
}

/// The members of a JSON object that stands at this place; those of these names are read while the text is
/// gone through. An error when one of them cannot be read, even if the object is JSON to [`members`].
pub(crate) fn members_reading<'t>(
    text: &'t str,
    at: &str,
    names: &[&str],
) -> Result<Vec<(String, Member<'t>)>, serde_json::Error> {
    struct Members<'n> {
        at: &'n str,
        names: &'n [&'n str],
    }

    impl<'de> Visitor<'de> for Members<'_> {
        type Value = Vec<(String, Member<'de>)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let root = Path::Root(self.at);
            let mut members = Vec::new();
            while let Some(name) = access.next_key::<String>()? {
                let member = if self.names.contains(&name.as_str()) {
                    let found = RefCell::new(Vec::new());
                    let path = Path::Member(&root, &name);
                    let levels = Limits::default().depth;
                    let value =
                        access.next_value_seed(Reader { path: &path, levels, found: &found })?;
                    Member::Read(value, found.into_inner())
                } else {
                    Member::Written(access.next_value()?)
                };
                members.push((name, member));
            }
            Ok(members)
        }
    }

    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Members { at, names })?;
    deserializer.end()?;
    Ok(members)
}

/// Puts what a reader of a part found where that part stands: `$.id` becomes `$.params.id`.
pub(crate) fn rebase(problems: &mut [Problem], root: &str) {
    for problem in problems {
        if let Some(rest) = problem.at.strip_prefix('$') {
            problem.at = format!("{root}{rest}");
        }
    }
}

/// Where a value stands. Spelled out only when there is something to say about it.
enum Path<'p> {
    Root(&'p str),
    Member(&'p Self, &'p str),
    Item(&'p Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(at) => f.write_str(at),
            Self::Member(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Reads a [`Value`] and notes what `Value`'s own reader passes over in silence.
struct Reader<'p> {
    path: &'p Path<'p>,
    /// How much deeper it follows.
    levels: usize,
    found: &'p RefCell<Vec<Problem>>,
}

impl Reader<'_> {
    /// Notes a problem; beyond [`PROBLEMS_MAX`] only that there are more.
    fn note(&self, name: &str, text: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        match found.len() {
            PROBLEMS_MAX => {
                let text = format!("more than {PROBLEMS_MAX} problems; the rest is not listed");
                found.push(Problem::new("too_many_problems", self.path.to_string(), text));
            }
            len if len > PROBLEMS_MAX => {}
            _ => found.push(Problem::new(name, self.path.to_string(), text)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.levels == 0 {
            self.note("too_deep", "nested too deep; not read further");
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let path = Path::Item(self.path, items.len());
            let reader = Reader { path: &path, levels: self.levels - 1, found: self.found };
            match access.next_element_seed(reader)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            // By entry: a name is hashed once.
            let entry = members.entry(key);
            let path = Path::Member(self.path, entry.key());
            let reader = Reader { path: &path, levels: self.levels - 1, found: self.found };
            match &entry {
                Entry::Occupied(_) => {
                    let text = format!("member `{}` stands here more than once", entry.key());
                    reader.note("duplicate_key", text);
                }
                Entry::Vacant(_) => {}
            }
            let value = access.next_value_seed(reader)?;
            match entry {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    entry.insert(value);
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut problems = Vec::new();
        value(text, "$", &mut problems);
        let found: Vec<String> =
            problems.iter().map(|problem| format!("{} {}", problem.name, problem.at)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_duplicate_member_is_named_by_its_path() {
        check(
            r#"{"a":{"b":[1,{"c":1,"c":2}]},"a":3}"#,
            &["duplicate_key $.a.b[1].c", "duplicate_key $.a"],
        );
        check(r#"{"a":1,"b":[{"a":2},{"a":3}]}"#, &[]);
    }

    #[test]
    fn a_value_nested_too_deep_is_passed_over_and_the_rest_is_read() {
        let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
        let mut problems = Vec::new();
        let value = value(&format!(r#"{{"deep":{deep},"after":1}}"#), "$", &mut problems).unwrap();
        assert_eq!(value["after"], 1);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].name, "too_deep");
    }

    #[test]
    fn octets_after_the_value_are_no_json() {
        check("{} x", &["invalid_json $"]);
    }

    #[test]
    fn the_last_of_two_members_counts() {
        let read = value(r#"{"a":1,"a":2}"#, "$", &mut Vec::new()).unwrap();
        assert_eq!(read, serde_json::json!({"a": 2}));
    }
}
