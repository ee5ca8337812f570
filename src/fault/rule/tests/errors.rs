//! What is said of rules that are wrong.

use super::*;

/// Loads one rule and gives the error.
#[track_caller]
fn check_error(rule: &Value, expected: &str) {
    let error = try_rules(json!([{ "name": "ok", "inject": "error" }, rule])).unwrap_err();
    assert_eq!(error, expected);
}

#[test]
fn errors_name_the_rule_and_the_key() {
    check_error(
        &json!({ "name": "a", "inject": "error", "when": { "text": "(" } }),
        "faults[1] \"a\": when.text: regex `(`: unclosed group",
    );
    check_error(
        &json!({ "name": "a", "inject": "error", "when": { "opertion": "GetTask" } }),
        "faults[1] \"a\": when: unknown condition `opertion`, did you mean `operation`? known: \
         binding, context, event, header, operation, orchestrator, session, streaming, task, \
         tenant, text, version",
    );
    check_error(
        &json!({ "name": "a", "inject": { "dealy": "1s" } }),
        "faults[1] \"a\": inject: unknown fault `dealy`, did you mean `delay`? known: custom, \
         delay, empty, error, hostile",
    );
    check_error(
        &json!({ "inject": "error", "probability": 50 }),
        "faults[1] \"fault-2\": probability: 50 is not between 0 and 1",
    );
    check_error(
        &json!({ "name": "ok", "inject": "error" }),
        "faults[1] \"ok\": name: another rule has this name already",
    );
    check_error(
        &json!({ "name": "a", "inject": ["error", "empty"] }),
        "faults[1] \"a\": inject: `error` and `empty` both answer; a rule can do one of them, \
         write two rules",
    );
    check_error(
        &json!({ "name": "a", "inject": "error", "when": { "streaming": true, "operation": "GetTask" } }),
        "faults[1] \"a\": when: no operation meets all conditions",
    );
    check_error(
        &json!({ "name": "a\n", "inject": "error" }),
        "faults[1] \"a\n\": name: it holds a control character",
    );
    let error = try_rules(json!([{ "inject": "error", "probabilty": 1 }])).unwrap_err();
    assert!(error.starts_with("unknown field `probabilty`, expected one of"), "{error}");
}

#[test]
fn every_wrong_rule_is_named() {
    let error = try_rules(json!([{ "inject": "eror" }, { "inject": "error", "times": 0 }]));
    let lines: Vec<String> = error.unwrap_err().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("faults[0]") && lines[1].starts_with("faults[1]"), "{lines:?}");
}

#[test]
fn a_rule_for_an_agent_that_is_not_there_is_an_error() {
    let list = serde_json::from_value(json!([{ "agent": ["ship*", "biling"], "inject": "error" }]));
    let agents = vec!["billing".to_owned(), "shipping".to_owned()];
    let options = RuleSetOptions { agents, ..RuleSetOptions::default() };
    assert_eq!(
        RuleSet::with(list.unwrap(), options).unwrap_err(),
        "faults[0] \"fault-1\": agent: unknown remote agent `biling`, did you mean `billing`? \
         known: billing, shipping"
    );
}
