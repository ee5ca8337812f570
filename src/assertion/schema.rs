//! The JSON Schema of suites, for editors: written from the same tables as the reader.
//!
//! It helps while typing; the reader judges. So it names every key and every kind with what it means, and
//! leaves the settings of a kind to the reader, whose messages are better than a schema's.

use serde_json::{Map, Value, json};

use super::events::EVENTS;
use super::kinds::KINDS;
use super::metrics::METRICS;
use super::packs::PACKS;
use super::suite::{FOREIGN, NOT_DRIVEN};

/// The schema of a suite.
pub fn suite() -> Value {
    let word = json!({ "type": "string" });
    let names = json!({ "anyOf": [word, { "type": "array", "items": word, "minItems": 1 }] });
    let mut test = json!({
        "name": { "type": "string", "description": "unique in the suite" },
        "select": { "$ref": "#/$defs/select" },
        "allow_failed": { "type": "boolean", "description": "whether a delegation may end badly without being expected to" },
        "capture": { "type": "object", "description": "values that later assertions name as ${captured.NAME}", "additionalProperties": { "type": "object" } },
        "assert": { "$ref": "#/$defs/assertions" },
    });
    extend(&mut test, NOT_DRIVEN.iter().chain(&["fuzz", "fuzz_tools", "pass_rate", "trials"]));
    let mut properties = json!({
        "version": { "const": 1 },
        "recording": { "type": "object", "additionalProperties": false, "properties": {
            "session": word, "file": word, "store": word, "daemon": word } },
        "defaults": { "type": "object", "additionalProperties": false, "properties": {
            "trials": { "type": "integer", "minimum": 0 }, "pass_rate": { "type": "number", "minimum": 0, "maximum": 1 } } },
        "invariants": { "anyOf": [{ "$ref": "#/$defs/assertions" }, { "$ref": "#/$defs/kinds" }] },
        "until": { "$ref": "#/$defs/assertions" },
        "judge": { "type": "object" },
        "card": { "type": "object" },
        "targets": {},
        "scenarios": { "type": "array" },
        "tests": { "type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["name", "assert"], "additionalProperties": false, "properties": test } },
    });
    extend(&mut properties, FOREIGN.iter());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Meddler suite",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "$defs": {
            "select": { "type": "object", "additionalProperties": false, "properties": {
                "agent": names, "session": word, "context": word, "since": word, "until": word,
                "operation": names, "binding": names, "version": names, "orchestrator": names,
                "skill": names, "task": word, "fault": word, "text": word } },
            "assertions": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/kinds" } },
            "kinds": { "type": "object", "additionalProperties": false, "properties": kinds() },
        },
    })
}

/// One property for each kind, and what may stand beside it.
fn kinds() -> Map<String, Value> {
    let mut properties = Map::new();
    let choice = json!({ "enum": ["include", "exclude", "only"] });
    properties.insert("on".to_owned(), json!({ "description": "narrows the assertion" }));
    properties.insert(
        "on_turn".to_owned(),
        json!({ "description": "only this turn of each conversation" }),
    );
    properties.insert("injected".to_owned(), choice);
    for kind in KINDS {
        let description = format!("Holds when {}.\n\n{}", kind.summary, kind.examples.join("\n"));
        let mut schema = json!({ "description": description });
        let known: Option<Vec<&str>> = match kind.name {
            "event" | "no_event" => Some(EVENTS.iter().map(|row| row.name).collect()),
            "pack" => Some(PACKS.iter().map(|row| row.name).collect()),
            _ => None,
        };
        if let (Some(known), Some(members)) = (known, schema.as_object_mut()) {
            let named = json!({ "type": "object", "required": ["name"], "properties": { "name": { "enum": known } } });
            members.insert("anyOf".to_owned(), json!([{ "enum": known }, named]));
        }
        if kind.name == "metric"
            && let Some(members) = schema.as_object_mut()
        {
            let names: Vec<&str> = METRICS.iter().map(|row| row.name).collect();
            let name = json!({ "type": "string", "examples": names });
            members.insert("properties".to_owned(), json!({ "name": name }));
        }
        properties.insert(kind.name.to_owned(), schema);
    }
    properties
}

fn extend<'k>(properties: &mut Value, keys: impl Iterator<Item = &'k &'static str>) {
    if let Some(members) = properties.as_object_mut() {
        for key in keys {
            members.entry((*key).to_owned()).or_insert_with(|| json!({}));
        }
    }
}

/// What is wrong with a value by a schema, if anything.
#[cfg(test)]
pub(crate) fn flaw(schema: Value, value: &Value) -> Option<String> {
    match super::json_schema::Schema::compile(schema) {
        Ok(schema) => schema.flaw(value),
        Err(why) => Some(why),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::assertion::yaml::Node;

    fn value(text: &str) -> Value {
        Node::parse(text).unwrap().to_json(&mut |text, _| Value::String(text.to_owned()))
    }

    fn files(folder: &str) -> Vec<(String, String)> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let entries = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.extension().is_some_and(|it| it == "yaml"));
        files
            .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()))
            .collect()
    }

    #[test]
    fn suites_fit_their_schema_and_slips_do_not() {
        for folder in [
            "fixtures/suites",
            "fixtures/suites/sdks",
            "fixtures/suites/seeds",
            "fixtures/suites/every",
            "config/suites",
        ] {
            for (name, text) in files(folder) {
                assert_eq!(flaw(suite(), &value(&text)), None, "{name}");
            }
        }
        for slip in [
            "tests: [{ name: x, asert: [{ contains: y }] }]",
            "tests: [{ name: x, assert: [{ contians: y }] }]",
            "tests: [{ name: x, select: { agnet: y }, assert: [{ contains: y }] }]",
            "tests: [{ name: x, assert: [{ pack: gracefull }] }]",
            "tets: []",
        ] {
            assert!(flaw(suite(), &value(slip)).is_some(), "{slip}");
        }
    }

    #[test]
    fn recordings_fit_their_schema() {
        let schema: Value =
            serde_json::from_str(include_str!("../app/cli/schema/recording.json")).unwrap();
        let recording = include_str!("../../fixtures/recordings/every.a2a.jsonl");
        for (number, line) in recording.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(flaw(schema.clone(), &line), None, "line {}", number + 1);
        }
        assert!(flaw(schema, &json!({ "type": "exchange" })).is_some());
    }
}
