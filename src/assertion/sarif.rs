//! SARIF 2.1.0: what code scanning reads. Built here for suites and for the lint alike.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// The schema that the documents follow.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One rule of the tool.
pub(super) struct SarifRule {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) help: String,
}

/// One thing that was found.
pub(super) struct SarifResult {
    pub(super) rule: String,
    /// `error`, `warning`, `note`.
    pub(super) level: &'static str,
    pub(super) text: String,
    /// A file and a line of it, from 1.
    pub(super) file: Option<(String, usize)>,
    /// What proves it: names of exchanges or delegations.
    pub(super) places: Vec<String>,
}

/// The whole document.
pub(super) fn document(rules: &[SarifRule], results: &[SarifResult]) -> Value {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.text },
                "help": { "text": rule.help },
            })
        })
        .collect();
    let results: Vec<Value> = results.iter().map(result).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "meddler",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(result: &SarifResult) -> Value {
    let logical: Vec<Value> = result
        .places
        .iter()
        .map(|name| json!({ "fullyQualifiedName": name, "kind": "resource" }))
        .collect();
    let mut location = serde_json::Map::new();
    if let Some((file, line)) = &result.file {
        let place = json!({
            "artifactLocation": { "uri": uri(file) },
            "region": { "startLine": (*line).max(1) },
        });
        location.insert("physicalLocation".to_owned(), place);
    }
    if !logical.is_empty() {
        location.insert("logicalLocations".to_owned(), Value::Array(logical));
    }
    let locations = if location.is_empty() { json!([]) } else { json!([location]) };
    json!({
        "ruleId": result.rule,
        "level": result.level,
        "message": { "text": result.text },
        "locations": locations,
    })
}

/// A path as a relative reference.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let keep = |octet: u8| octet.is_ascii_alphanumeric() || b"/-._~".contains(&octet);
    let mut uri = String::new();
    for octet in path.bytes() {
        if keep(octet) {
            uri.push(char::from(octet));
        } else {
            write!(uri, "%{octet:02X}").expect("a String takes any text");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertion::schema::flaw;

    #[test]
    fn a_document_has_what_sarif_requires() {
        let schema: Value =
            serde_json::from_str(include_str!("../../fixtures/schemas/sarif-subset.json")).unwrap();
        let rules =
            [SarifRule { id: "x".to_owned(), text: "must".to_owned(), help: "do".to_owned() }];
        let result = |file, places| SarifResult {
            rule: "x".to_owned(),
            level: "error",
            text: "broken".to_owned(),
            file,
            places,
        };
        let results = [
            result(Some(("suites/my suite.yaml".to_owned(), 0)), vec!["d-1".to_owned()]),
            result(None, Vec::new()),
        ];
        let whole = document(&rules, &results);
        assert_eq!(flaw(schema.clone(), &whole), None, "{whole}");
        assert!(flaw(schema, &json!({ "version": "2.0.0", "runs": [] })).is_some());
    }
}
