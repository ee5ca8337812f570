//! The JSON Schema of the configuration, for editors: its keys are those that the reader takes.
//!
//! What a key may hold is left to the reader, whose messages are better than a schema's.

use serde_json::{Map, Value, json};

use super::agent::ALIASES;
use super::file::{KEYS, SUITE_KEYS};
use super::sections::{RecordConfig, StoreConfig};
use super::typed;
use crate::admin::AdminConfig;
use crate::fault::rule::RuleConfig;
use crate::peer::scripted::script::Script;
use crate::proxy::config::AgentConfig;
use crate::record::redact::RedactConfig;

/// The schema of a configuration.
pub(in crate::app) fn schema() -> Value {
    let agent_keys: Vec<&str> = typed::keys::<AgentConfig>()
        .iter()
        .chain(typed::keys::<Script>())
        .chain(ALIASES)
        .copied()
        .filter(|key| *key != "name")
        .collect();
    let mut properties: Map<String, Value> =
        KEYS.iter().chain(SUITE_KEYS).map(|key| ((*key).to_owned(), json!({}))).collect();
    for (key, schema) in [
        ("version", json!({ "const": 1 })),
        ("store", object(typed::keys::<StoreConfig>())),
        ("record", object(typed::keys::<RecordConfig>())),
        ("redact", object(typed::keys::<RedactConfig>())),
        ("admin", object(typed::keys::<AdminConfig>())),
        ("remote_agents", json!({ "type": "object", "additionalProperties": object(&agent_keys) })),
        ("faults", json!({ "type": "array", "items": object(typed::keys::<RuleConfig>()) })),
    ] {
        properties.insert(key.to_owned(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Meddler configuration",
        "type": "object",
        "required": ["version"],
        "additionalProperties": false,
        "properties": properties,
    })
}

/// A section with these keys and no others; one that is named and left empty counts as absent.
fn object(keys: &[&str]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!({}))).collect();
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::assertion::schema::flaw;

    /// The keys of a file, its texts left as they are.
    fn value(text: &str) -> Value {
        serde_saphyr::from_str::<Value>(text).unwrap()
    }

    #[test]
    fn configurations_fit_the_schema_and_slips_do_not() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
        let mut seen = 0;
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(flaw(schema(), &value(&text)), None, "{}", path.display());
                seen += 1;
            }
        }
        assert!(seen >= 4, "{seen}");
        for slip in [
            "{ version: 1, stroe: { path: x } }",
            "{ version: 1, store: { pth: x } }",
            "{ version: 1, remote_agents: { a: { lisen: x } } }",
            "{ version: 1, faults: [{ nmae: x }] }",
        ] {
            assert!(flaw(schema(), &value(slip)).is_some(), "{slip}");
        }
    }
}
