//! Every example in `config/faults` loads, and says what it claims.

use std::collections::BTreeSet;

use meddler::fault::kinds::KINDS;
use meddler::fault::matcher::MATCHERS;
use meddler::fault::rule::{RuleConfig, RuleSet};
use serde::Deserialize;

/// The part of a file that is about faults; that the whole of it loads is shown elsewhere.
#[derive(Deserialize)]
struct File {
    faults: Vec<RuleConfig>,
}

fn files() -> Vec<(String, Vec<RuleConfig>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir("config/faults").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File = serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        files.push((name, file.faults));
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

#[test]
fn every_example_loads() {
    for (name, rules) in files() {
        let count = rules.len();
        let set = RuleSet::new(rules).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(set.summary().len(), count, "{name}");
        assert!(!set.is_empty(), "{name}");
    }
}

#[test]
fn the_examples_show_every_family_and_every_condition() {
    let rules: Vec<RuleConfig> = files().into_iter().flat_map(|(_, rules)| rules).collect();
    let conditions: BTreeSet<&str> =
        rules.iter().flat_map(|rule| rule.when.keys().map(String::as_str)).collect();
    let known: BTreeSet<&str> = MATCHERS.iter().map(|row| row.key).collect();
    assert_eq!(conditions, known);

    let summaries =
        files().into_iter().flat_map(|(_, rules)| RuleSet::new(rules).unwrap().summary());
    let families: BTreeSet<&str> = summaries.map(|rule| rule.kind).collect();
    let known: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(families, known);
}

#[test]
fn tables_are_sorted_and_say_what_they_are() {
    assert!(KINDS.is_sorted_by(|a, b| a.name < b.name));
    assert!(MATCHERS.is_sorted_by(|a, b| a.key < b.key));
    assert!(KINDS.iter().all(|kind| !kind.summary.is_empty()));
    assert!(MATCHERS.iter().all(|row| !row.summary.is_empty()));
}

/// YAML's own types reach the settings as they were meant.
#[test]
fn scalars_of_a_file_are_what_they_look_like() {
    for (yaml, expected) in [
        ("- { inject: { error: 503 }, when: { version: 1.0 } }", None),
        ("- { inject: { error: -32603 } }", None),
        ("- { inject: { delay: 500ms }, agent: [a, b*] }", None),
        ("- { inject: [{ delay: 1s }, { empty: task }] }", None),
        ("- inject: error\n  times: 3\n  probability: 1", None),
        ("- { inject: { error: \"503\" } }", Some("write the number without quotes")),
        ("- { inject: { delay: 5 } }", Some("`5` is no duration")),
        ("- { inject: error, times: 0 }", Some("times: 0 would never fire")),
        ("- { inject: { error: { status: \"503\" } } }", Some("expected u16")),
        (
            "- { inject: error, when: { operation: SendMesage } }",
            Some("did you mean `SendMessage`?"),
        ),
        ("- { name: a, inject: error }\n- { name: a, inject: error }", Some("this name already")),
        ("- { inject: error, probabilty: 0.5 }", Some("probabilty")),
    ] {
        let loaded = serde_saphyr::from_str::<Vec<RuleConfig>>(yaml)
            .map_err(|error| error.to_string())
            .and_then(RuleSet::new);
        match (loaded, expected) {
            (Ok(_), None) => {}
            (Err(error), Some(expected)) => assert!(error.contains(expected), "{yaml}: {error}"),
            (Ok(_), Some(expected)) => panic!("{yaml}: loaded, expected {expected}"),
            (Err(error), None) => panic!("{yaml}: {error}"),
        }
    }
}
