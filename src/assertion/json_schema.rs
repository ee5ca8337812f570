//! JSON Schema, draft 2020-12, as far as it says whether a value fits.
//!
//! Our own and small: suites need the keywords that people write by hand, local references, and messages
//! that name the place. Keywords that only annotate are accepted; those that need the results of other
//! keywords (`unevaluated...`) or other documents are refused when the suite is read, never ignored.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Number, Value};

use super::compare::{order, same};
use super::nearest::suggestion;
use super::quote;
use super::reader::Reader;
use super::yaml::Node;

/// Schemas within schemas that are followed, one level of the value or one reference each. Bodies are read
/// to a depth of 100, so more is a schema that refers to itself without end.
const DEPTH_MAX: usize = 200;

/// Keywords that are understood.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "$anchor", "$comment", "$defs", "$id", "$ref", "$schema", "additionalProperties", "allOf", "anyOf",
    "const", "contains", "default", "definitions", "dependentRequired", "dependentSchemas",
    "deprecated", "description", "else", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum",
    "format", "if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum",
    "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf",
    "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "readOnly",
    "required", "then", "title", "type", "uniqueItems", "writeOnly",
];

/// Keywords whose value is one schema.
const ONE: &[&str] =
    &["additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"];
/// Keywords whose value is a list of schemas.
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is a map of schemas.
const MAP: &[&str] =
    &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// A schema that was checked when it was read.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    root: Value,
    patterns: BTreeMap<String, Regex>,
    anchors: BTreeMap<String, Value>,
}

impl Schema {
    /// Reads a schema from a suite.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let root = reader.json(node).value;
        match Self::compile(root) {
            Ok(schema) => Some(schema),
            Err(why) => {
                reader.problem(node.at, format!("no JSON schema: {why}"));
                None
            }
        }
    }

    pub(super) fn compile(root: Value) -> Result<Self, String> {
        let mut schema =
            Self { root: Value::Null, patterns: BTreeMap::new(), anchors: BTreeMap::new() };
        schema.collect(&root, "#")?;
        schema.root = root;
        schema.references(&schema.root)?;
        Ok(schema)
    }

    /// What is wrong with a value, if anything.
    pub(super) fn flaw(&self, value: &Value) -> Option<String> {
        self.check(&self.root, value, "", DEPTH_MAX).err()
    }

    /// Checks the keywords of a schema and of those within it, and collects patterns and anchors.
    fn collect(&mut self, schema: &Value, at: &str) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            if schema.is_boolean() {
                return Ok(());
            }
            return Err(format!("{at} is {schema}, expected a map or true or false"));
        };
        for (name, value) in keywords {
            let at = format!("{at}/{name}");
            if !KNOWN.contains(&name.as_str()) {
                return Err(format!(
                    "{at}: this keyword is not understood{}",
                    suggestion(name, KNOWN)
                ));
            }
            shape(name, value).map_err(|what| format!("{at} is {value}, expected {what}"))?;
            if name == "$anchor"
                && let Some(anchor) = value.as_str()
            {
                self.anchors.insert(anchor.to_owned(), schema.clone());
            }
            if name == "pattern"
                && let Some(pattern) = value.as_str()
            {
                self.pattern(pattern, &at)?;
            }
            if ONE.contains(&name.as_str()) {
                self.collect(value, &at)?;
            }
            for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
                if LIST.contains(&name.as_str()) {
                    self.collect(inner, &format!("{at}/{index}"))?;
                }
            }
            for (key, inner) in value.as_object().into_iter().flatten() {
                if name == "patternProperties" {
                    self.pattern(key, &at)?;
                }
                if MAP.contains(&name.as_str()) {
                    self.collect(inner, &format!("{at}/{key}"))?;
                }
            }
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &str, at: &str) -> Result<(), String> {
        let regex = Regex::new(pattern)
            .map_err(|_| format!("{at}: {} is no regular expression", quote::quote(pattern)))?;
        self.patterns.insert(pattern.to_owned(), regex);
        Ok(())
    }

    /// Every reference leads somewhere within the schema.
    fn references(&self, schema: &Value) -> Result<(), String> {
        match schema {
            Value::Object(keywords) => {
                if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
                    self.resolve(reference)?;
                }
                let inner = keywords.iter().filter(|(name, _)| !is_data(name));
                inner.map(|(_, value)| value).try_for_each(|value| self.references(value))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.references(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn resolve(&self, reference: &str) -> Result<&Value, String> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(format!(
                "`$ref: {reference}` leads out of the schema; only `#...` is followed"
            ));
        };
        let found = match fragment {
            "" => Some(&self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(pointer),
            anchor => self.anchors.get(anchor),
        };
        found.ok_or_else(|| format!("`$ref: {reference}` leads nowhere"))
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            if *schema == Value::Bool(false) {
                return Err(format!("{} must not be there", place(at)));
            }
            return Ok(());
        };
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| format!("{}: the schema refers to itself without end", place(at)))?;
        any_value(keywords, value, at)?;
        match value {
            Value::Number(number) => numbers(keywords, number, at)?,
            Value::String(text) => self.texts(keywords, text, at)?,
            Value::Array(items) => self.items(keywords, items, at, depth)?,
            Value::Object(members) => self.members(keywords, members, value, (at, depth))?,
            Value::Null | Value::Bool(_) => {}
        }
        self.logic(keywords, value, at, depth)
    }

    fn logic(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        let fits = |schema: &Value| self.check(schema, value, at, depth).is_ok();
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
            self.check(self.resolve(reference)?, value, at, depth)?;
        }
        for schema in list(keywords, "allOf") {
            self.check(schema, value, at, depth)?;
        }
        if keywords.contains_key("anyOf") && !list(keywords, "anyOf").iter().any(fits) {
            return Err(format!("{} fits none of `anyOf`", place(at)));
        }
        if keywords.contains_key("oneOf") {
            let count = list(keywords, "oneOf").iter().filter(|schema| fits(schema)).count();
            if count != 1 {
                return Err(format!("{} fits {count} of `oneOf`", place(at)));
            }
        }
        if keywords.get("not").is_some_and(fits) {
            return Err(format!("{} fits what it must not", place(at)));
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if fits(condition) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.check(schema, value, at, depth)?;
            }
        }
        Ok(())
    }

    fn texts(&self, keywords: &Map<String, Value>, text: &str, at: &str) -> Result<(), String> {
        size(keywords, ("minLength", "maxLength"), text.chars().count(), at, "characters")?;
        let pattern = keywords.get("pattern").and_then(Value::as_str);
        if let Some(pattern) = pattern
            && !self.is_match(pattern, text)
        {
            return Err(format!(
                "{} is {}, not {}",
                place(at),
                quote::quote(text),
                quote::quote(pattern)
            ));
        }
        Ok(())
    }

    fn items(
        &self,
        keywords: &Map<String, Value>,
        items: &[Value],
        at: &str,
        depth: usize,
    ) -> Result<(), String> {
        size(keywords, ("minItems", "maxItems"), items.len(), at, "items")?;
        let prefix = list(keywords, "prefixItems");
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = prefix.get(index).or(keywords.get("items")) {
                self.check(schema, item, &format!("{at}/{index}"), depth)?;
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            for (index, item) in items.iter().enumerate() {
                if items.iter().take(index).any(|other| same(other, item)) {
                    return Err(format!("{} is there twice", place(&format!("{at}/{index}"))));
                }
            }
        }
        if let Some(schema) = keywords.get("contains") {
            let fitting =
                items.iter().filter(|item| self.check(schema, item, at, depth).is_ok()).count();
            let least = number_of(keywords, "minContains").unwrap_or(1);
            let most = number_of(keywords, "maxContains").unwrap_or(usize::MAX);
            if fitting < least || fitting > most {
                return Err(format!("{} has {fitting} items that fit `contains`", place(at)));
            }
        }
        Ok(())
    }

    fn members(
        &self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        value: &Value,
        (at, depth): (&str, usize),
    ) -> Result<(), String> {
        size(keywords, ("minProperties", "maxProperties"), members.len(), at, "members")?;
        required(list(keywords, "required"), members, at)?;
        let properties = map(keywords, "properties");
        let patterns = map(keywords, "patternProperties");
        for (name, member) in members {
            let at = format!("{at}/{name}");
            let mut is_named = false;
            let by_pattern = patterns.iter().filter(|(pattern, _)| self.is_match(pattern, name));
            let schemas = properties.iter().filter(|(known, _)| *known == name).chain(by_pattern);
            for (_, schema) in schemas {
                is_named = true;
                self.check(schema, member, &at, depth)?;
            }
            if !is_named && let Some(schema) = keywords.get("additionalProperties") {
                self.check(schema, member, &at, depth)?;
            }
            if let Some(schema) = keywords.get("propertyNames") {
                self.check(schema, &Value::String(name.clone()), &at, depth)?;
            }
        }
        for (name, names) in map(keywords, "dependentRequired") {
            if members.contains_key(name) {
                required(names.as_array().map_or(&[], Vec::as_slice), members, at)?;
            }
        }
        for (name, schema) in map(keywords, "dependentSchemas") {
            if members.contains_key(name) {
                self.check(schema, value, at, depth)?;
            }
        }
        Ok(())
    }

    fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.patterns.get(pattern).is_some_and(|regex| regex.is_match(text))
    }
}

/// What a keyword's value must be, when it is not.
fn shape(name: &str, value: &Value) -> Result<(), &'static str> {
    let texts =
        |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    let (fits, what) = match name {
        "type" => (value.is_string() || texts(value), "a type's name or a list of them"),
        "required" => (texts(value), "a list of names"),
        "enum" | "allOf" | "anyOf" | "oneOf" | "prefixItems" => (value.is_array(), "a list"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => (value.is_u64(), "a whole number"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (value.is_number(), "a number")
        }
        "multipleOf" => (value.as_f64().is_some_and(|of| of > 0.0), "a number above 0"),
        "uniqueItems" => (value.is_boolean(), "true or false"),
        "pattern" | "$ref" | "$anchor" => (value.is_string(), "a text"),
        "dependentRequired" => (
            value.as_object().is_some_and(|map| map.values().all(texts)),
            "a map of lists of names",
        ),
        _ if MAP.contains(&name) => (value.is_object(), "a map"),
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(what) }
}

/// Keywords whose value is plain data, where `$ref` means nothing.
fn is_data(name: &str) -> bool {
    matches!(name, "const" | "default" | "enum" | "examples")
}

fn any_value(keywords: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
    if let Some(types) = keywords.get("type") {
        let mut names = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice).iter();
        if !names.any(|name| name.as_str().is_some_and(|name| is_of(name, value))) {
            return Err(format!("{} is {}, not of type {types}", place(at), quote::json(value)));
        }
    }
    if let Some(wanted) = keywords.get("const")
        && !same(wanted, value)
    {
        return Err(format!(
            "{} is {}, not {}",
            place(at),
            quote::json(value),
            quote::json(wanted)
        ));
    }
    if keywords.contains_key("enum")
        && !list(keywords, "enum").iter().any(|known| same(known, value))
    {
        return Err(format!("{} is {}, not in `enum`", place(at), quote::json(value)));
    }
    Ok(())
}

fn is_of(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

fn numbers(keywords: &Map<String, Value>, number: &Number, at: &str) -> Result<(), String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    for (keyword, allowed) in [
        ("minimum", &[Greater, Equal][..]),
        ("exclusiveMinimum", &[Greater]),
        ("maximum", &[Less, Equal]),
        ("exclusiveMaximum", &[Less]),
    ] {
        if let Some(bound) = keywords.get(keyword).and_then(Value::as_number)
            && !order(number, bound).is_some_and(|order| allowed.contains(&order))
        {
            return Err(format!("{} is {number}, {keyword} is {bound}", place(at)));
        }
    }
    let of = keywords.get("multipleOf").and_then(Value::as_f64);
    if let (Some(of), Some(value)) = (of, number.as_f64()) {
        let times = value / of;
        if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
            return Err(format!("{} is {number}, no multiple of {of}", place(at)));
        }
    }
    Ok(())
}

fn size(
    keywords: &Map<String, Value>,
    (least, most): (&str, &str),
    len: usize,
    at: &str,
    what: &str,
) -> Result<(), String> {
    let too_few = number_of(keywords, least).is_some_and(|least| len < least);
    let too_many = number_of(keywords, most).is_some_and(|most| len > most);
    if too_few || too_many {
        let keyword = if too_few { least } else { most };
        return Err(format!("{} has {len} {what}, against `{keyword}`", place(at)));
    }
    Ok(())
}

fn required(names: &[Value], members: &Map<String, Value>, at: &str) -> Result<(), String> {
    let mut names = names.iter().filter_map(Value::as_str);
    match names.find(|name| !members.contains_key(*name)) {
        None => Ok(()),
        Some(missing) => Err(format!("{} has no `{missing}`", place(at))),
    }
}

fn number_of(keywords: &Map<String, Value>, name: &str) -> Option<usize> {
    keywords.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

fn list<'s>(keywords: &'s Map<String, Value>, name: &str) -> &'s [Value] {
    keywords.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn map<'s>(keywords: &'s Map<String, Value>, name: &str) -> Vec<(&'s String, &'s Value)> {
    keywords.get(name).and_then(Value::as_object).into_iter().flatten().collect()
}

/// A place for people; members have names that a peer chose.
fn place(at: &str) -> String {
    if at.is_empty() { "the value".to_owned() } else { quote::plain(at) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "so that a table row is one `json!` each")]
    fn check(schema: Value, value: Value, expected: &str) {
        let actual = match Schema::compile(schema.clone()) {
            Err(why) => format!("no schema: {why}"),
            Ok(compiled) => compiled.flaw(&value).unwrap_or_else(|| "fits".to_owned()),
        };
        assert_eq!(actual, expected, "{schema} over {value}");
    }

    #[test]
    fn keywords_say_what_does_not_fit_and_where() {
        let schema = json!({
            "type": "object", "required": ["date", "conditions"],
            "properties": { "date": { "type": "string", "pattern": "^\\d{4}" }, "conditions": { "type": "string" } },
            "additionalProperties": false,
        });
        check(schema.clone(), json!({ "date": "2026", "conditions": "x" }), "fits");
        check(schema.clone(), json!({ "date": "2026" }), "the value has no `conditions`");
        check(
            schema.clone(),
            json!({ "date": 1, "conditions": "x" }),
            "/date is 1, not of type \"string\"",
        );
        check(
            schema.clone(),
            json!({ "date": "x", "conditions": "x" }),
            "/date is \"x\", not \"^\\\\d{4}\"",
        );
        check(schema, json!({ "date": "2026", "conditions": "x", "y": 1 }), "/y must not be there");
    }

    #[test]
    fn numbers_and_sizes_have_bounds() {
        check(json!({ "type": "integer" }), json!(2.0), "fits");
        check(
            json!({ "type": "integer" }),
            json!(2.5),
            "the value is 2.5, not of type \"integer\"",
        );
        check(
            json!({ "type": ["null", "number"] }),
            json!(true),
            "the value is true, not of type [\"null\",\"number\"]",
        );
        check(
            json!({ "exclusiveMinimum": 1 }),
            json!(1.0),
            "the value is 1.0, exclusiveMinimum is 1",
        );
        check(json!({ "maximum": 1 }), json!(1), "fits");
        check(json!({ "multipleOf": 0.01 }), json!(4.35), "fits");
        check(json!({ "multipleOf": 2 }), json!(3), "the value is 3, no multiple of 2");
        check(json!({ "maxLength": 1 }), json!("ä"), "fits");
        check(json!({ "minItems": 1 }), json!([]), "the value has 0 items, against `minItems`");
        check(json!({ "uniqueItems": true }), json!([1, 1.0]), "/1 is there twice");
    }

    #[test]
    fn lists_maps_and_logic() {
        check(
            json!({ "prefixItems": [{ "const": 1 }], "items": { "type": "string" } }),
            json!([1, "a", 2]),
            "/2 is 2, not of type \"string\"",
        );
        check(
            json!({ "contains": { "const": 1 }, "maxContains": 1 }),
            json!([1, 1]),
            "the value has 2 items that fit `contains`",
        );
        check(
            json!({ "patternProperties": { "^x-": false } }),
            json!({ "x-a": 1 }),
            "/x-a must not be there",
        );
        check(
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "/ab has 2 characters, against `maxLength`",
        );
        check(
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "the value has no `b`",
        );
        check(
            json!({ "oneOf": [{ "type": "number" }, { "minimum": 1 }] }),
            json!(2),
            "the value fits 2 of `oneOf`",
        );
        check(
            json!({ "anyOf": [{ "const": 1 }, { "const": 2 }] }),
            json!(3),
            "the value fits none of `anyOf`",
        );
        check(json!({ "not": { "const": 1 } }), json!(1), "the value fits what it must not");
        check(
            json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "minimum": 5 } }),
            json!(4),
            "the value is 4, minimum is 5",
        );
        check(json!({ "enum": [1, "a"] }), json!("b"), "the value is \"b\", not in `enum`");
    }

    #[test]
    fn references_stay_within_the_schema() {
        let tree = json!({ "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } } }, "$ref": "#/$defs/node" });
        check(tree, json!({ "next": { "next": 1 } }), "/next/next is 1, not of type \"object\"");
        check(
            json!({ "$defs": { "x": { "$anchor": "here", "const": 1 } }, "$ref": "#here" }),
            json!(2),
            "the value is 2, not 1",
        );
        check(
            json!({ "$ref": "#" }),
            json!(1),
            "the value: the schema refers to itself without end",
        );
        check(json!({ "$ref": "#/nope" }), json!(1), "no schema: `$ref: #/nope` leads nowhere");
        check(
            json!({ "$ref": "https://example.com/x" }),
            json!(1),
            "no schema: `$ref: https://example.com/x` leads out of the schema; only `#...` is followed",
        );
    }

    #[test]
    fn what_is_not_understood_is_refused_and_not_ignored() {
        check(
            json!({ "requierd": ["a"] }),
            json!({}),
            "no schema: #/requierd: this keyword is not understood; did you mean `required`?",
        );
        check(
            json!({ "pattern": "(" }),
            json!(""),
            "no schema: #/pattern: \"(\" is no regular expression",
        );
        check(
            json!({ "required": "a" }),
            json!({}),
            "no schema: #/required is \"a\", expected a list of names",
        );
        check(
            json!({ "properties": { "a": 1 } }),
            json!({}),
            "no schema: #/properties/a is 1, expected a map or true or false",
        );
    }
}
