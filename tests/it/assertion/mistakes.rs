//! A suite with mistakes is refused: each with its line and column, and what was probably meant.

use meddler::assertion::Suite;
use proptest::prelude::*;

use super::world::variables;

/// The mistakes of a suite, without the lines they show.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let error = Suite::parse("s.yaml", text, &variables).expect_err(text);
    let actual: Vec<String> = error
        .problems
        .iter()
        .map(|problem| format!("{}:{}: {}", problem.at.line, problem.at.column, problem.text))
        .collect();
    assert_eq!(actual, expected, "{text}");
}

/// The mistakes of one assertion.
#[track_caller]
fn check_assertion(assertion: &str, expected: &[&str]) {
    let text = format!("version: 1\ntests:\n- name: t\n  assert:\n  - {assertion}\n");
    check(&text, expected);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = "\
version: 1
tets: []
tests:
  - name: first
    slect: { agent: billing }
    assert:
      - delegated_to: { agent: billing, contians: x }
      - metric: { name: delegation, lte: two }
      - json_path: { path: status.state, equals: completed }
  - name: first
    assert: []
";
    check(
        text,
        &[
            "2:1: unknown key `tets`; did you mean `tests`?",
            "5:5: unknown key `slect`; did you mean `select`?",
            "7:41: unknown key `contians`; did you mean `contains`?",
            "8:25: unknown metric `delegation`; did you mean `delegations`?",
            "8:42: expected a number, found a text",
            "9:28: a path begins with `$` (JSONPath) or `/` (JSON Pointer); did you mean `$.status.state`?",
            "11:13: expected at least one assertion",
        ],
    );
}

#[test]
fn an_error_shows_its_line() {
    let text = "version: 1\ntests:\n  - name: t\n    assert: [{ contians: x }]\n";
    let error = Suite::parse("suites/refund.yaml", text, &variables).unwrap_err();
    assert_eq!(
        error.to_string(),
        "suites/refund.yaml:4:16: unknown assertion `contians`; did you mean `contains`?\n  \
         4 |     assert: [{ contians: x }]\n    |                ^^^^^^^^"
    );
}

#[test]
fn what_is_no_suite_is_told_so() {
    check("", &["1:1: expected a map with `version` and `tests`, found nothing"]);
    check("[]", &["1:1: expected a map with `version` and `tests`, found a list"]);
    check(
        "version: 2\ntests: [{ name: t, assert: [{ contains: x }] }]",
        &["1:10: version 2 is not known here; this program reads version 1"],
    );
    check("version: 1", &["1:1: `tests` is missing"]);
    check(
        "version: 1\ntests: []",
        &["2:8: expected at least one test: a suite without tests shows nothing"],
    );
    check(
        "version: 1\ntests: [{ name: a, assert: [{ contains: x }] }, { name: a, assert: [{ contains: x }] }]",
        &["2:57: a second test `a`; names must differ"],
    );
    check(
        "version: 1\nrecording: { file: a, store: b }\ntests: [{ name: t, assert: [{ contains: x }] }]",
        &["2:12: expected one of `file`, `store`, `daemon`"],
    );
}

#[test]
fn yaml_that_is_none_is_told_with_its_place() {
    let error = Suite::parse("s.yaml", "version: 1\ntests: [\n", &variables).unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
    let error = Suite::parse("s.yaml", "version: 1\nversion: 1\n", &variables).unwrap_err();
    assert_eq!(error.problems[0].at.line, 2, "{error}");
    assert!(error.problems[0].text.contains("duplicate"), "{error}");
    let error = Suite::parse("s.yaml", "version: 1\n\ttests: []\n", &variables).unwrap_err();
    assert_eq!(
        error.to_string(),
        "s.yaml:2:1: a tab as indentation; YAML takes spaces only\n  2 |  tests: []\n    | ^"
    );
}

#[test]
fn an_assertion_is_one_kind_with_its_modifiers() {
    check_assertion(
        "contains: x\n    state: completed",
        &[
            "6:5: one assertion an entry: write `- state: ...` on its own (beside an assertion only `on`, `on_turn` and `injected` may stand)",
        ],
    );
    check_assertion("on: wire", &["5:5: expected an assertion like `contains: \"ORD-1001\"`"]);
    check_assertion(
        "just words",
        &["5:5: expected an assertion like `contains: \"ORD-1001\"`, found a text"],
    );
    check_assertion(
        "{ contains: x, on: { delegation: lats } }",
        &["5:38: unknown word `lats`; did you mean `last`?"],
    );
    check_assertion(
        "{ contains: x, on: { delegation: 0 } }",
        &["5:38: the first has the number 1"],
    );
    check_assertion(
        "{ contains: x, injected: never }",
        &["5:30: unknown word `never`; known: exclude, include, only"],
    );
    check_assertion(
        "json_path: { path: $.x, equals: 1, on: { agnet: x } }",
        &["5:46: unknown key `agnet`; did you mean `agent`?"],
    );
}

#[test]
fn settings_are_checked_when_the_suite_is_read() {
    check_assertion("regex: \"(\"", &["5:12: no regular expression: unclosed group"]);
    check_assertion(
        "json_path: { path: \"$[\", equals: 1 }",
        &["5:24: no JSONPath: parser error at character 1"],
    );
    check_assertion(
        "json_path: { path: $.x }",
        &[
            "5:16: expected one of `equals`, `contains`, `exists`, `matches`, `gt`, `gte`, `lt`, `lte`, `count`",
        ],
    );
    check_assertion(
        "state: done",
        &[
            "5:12: unknown state or outcome `done`; known: answered_by_fault, auth_required, canceled, completed, cut_by_agent, cut_by_client, error, failed, incomplete, input_required, malformed, message, open_at_stop, rejected, submitted, upstream_error, working",
        ],
    );
    check_assertion(
        "states: { equals: [complete] }",
        &[
            "5:24: unknown task state `complete`; known: submitted, working, completed, failed, canceled, input_required, rejected, auth_required",
        ],
    );
}

#[test]
fn what_could_never_match_is_a_mistake() {
    check_assertion(
        "delegated_to: { agent: billing, operation: GetTask }",
        &[
            "5:48: `GetTask` is part of a delegation, not one; only SendMessage and SendStreamingMessage begin one",
        ],
    );
    check_assertion(
        "delegated_to: { agent: billing, binding: soap }",
        &["5:46: unknown binding `soap`; known: jsonrpc, http+json, grpc"],
    );
    check_assertion(
        "not_delegated_to: { agent: billing, count: 1 }",
        &["5:23: `count` has no meaning where none may be; leave it out"],
    );
    check_assertion(
        "text: { not_contains: \"\" }",
        &["5:27: expected a text that is not empty: every text contains an empty one"],
    );
    check_assertion(
        "text: { case_sensitive: false }",
        &[
            "5:11: expected at least one of `contains`, `not_contains`, `not_contains_env`, `equals`, `matches`",
        ],
    );
    check_assertion(
        "text: { not_contains_env: NO_SUCH_VARIABLE }",
        &["5:31: the variable `NO_SUCH_VARIABLE` is not set, or empty"],
    );
    check_assertion(
        "metric: { name: delegations }",
        &["5:13: expected at least one of `equals`, `gt`, `gte`, `lt`, `lte`"],
    );
    check_assertion("max_seconds: -1", &["5:18: expected a number that is not negative"]);
    check_assertion(
        "event: task_don",
        &[
            "5:12: unknown word `task_don`; known: auth_missing, canary_seen, card, card_changed, card_extended, card_missing, delegated, fault_injected, fault_not_applicable, no_push, no_streaming, push_received, recording_gap, resubscribed, stream_truncated, task_auth_required, task_canceled, task_completed, task_failed, task_input_required, task_rejected, task_submitted, task_working, transport, upstream_error, version_mismatch, webhook_not_intercepted",
        ],
    );
    check_assertion(
        "event: { name: transport, where: { bindng: grpc } }",
        &["5:40: unknown key `bindng`; did you mean `binding`?"],
    );
    check_assertion(
        "tool_sequence: { tools: [], mode: exactly }",
        &[
            "5:29: expected at least one tool",
            "5:39: unknown word `exactly`; did you mean `exact`?",
        ],
    );
    check_assertion(
        "not: { contans: x }",
        &["5:12: unknown assertion `contans`; did you mean `contains`?"],
    );
}

#[test]
fn a_file_may_hold_agents_and_faults_besides() {
    let text = "\
version: 1
store: { path: recordings, anything: goes }
remote_agents: { billing: { listen: 1 } }
faults: [{ whatever: 1 }]
tests: [{ name: t, assert: [{ delegated_to: billing }] }]
";
    let suite = Suite::parse("s.yaml", text, &variables).unwrap();
    assert_eq!(suite.configured, ["billing"]);
}

#[test]
fn what_only_a_driver_can_do_is_listed() {
    let text = "\
version: 1
targets: { planner: { type: a2a } }
tests:
  - { name: a, target: planner, persona: { name: Marta }, scenario: { goal: x }, assert: [{ contains: x }] }
  - { name: b, fuzz_tools: { billing: error }, trials: 3, assert: [{ contains: x }] }
";
    let suite = Suite::parse("s.yaml", text, &variables).unwrap();
    assert_eq!(
        suite.not_driven,
        ["targets", "a: persona", "a: scenario", "a: target", "b: fuzz_tools", "b: trials"]
    );
}

/// A suite that uses much of the language, to be damaged.
const WHOLE: &str = include_str!("../../../fixtures/suites/held-0.yaml");

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_suite_is_read_or_refused_with_a_place(
        at in 0..WHOLE.len(),
        cut in 0_usize..12,
        put in "[\\x09-\\x7e\u{e4}\u{202e}]{0,6}",
    ) {
        let mut text = WHOLE.to_owned();
        text.replace_range(at..(at + cut).min(WHOLE.len()), &put);
        if let Err(error) = Suite::parse("s.yaml", &text, &variables) {
            prop_assert!(!error.problems.is_empty(), "{text}");
            prop_assert!(error.to_string().starts_with("s.yaml:"), "{error}");
            for problem in &error.problems {
                prop_assert!(problem.at.line <= text.lines().count() + 1, "{error}");
            }
        }
    }
}

#[test]
fn a_suite_of_another_tool_loads_as_it_was_written() {
    let text = r#"
targets:
  orchestrator: { type: a2a, url: "https://agents.example.com/o", headers: { Authorization: "Bearer {{secrets.BILLING_TOKEN}}" } }
remote_agents:
  billing: { reply: "Refunded", replies: [{ when: lost, say: "Which?" }] }
  shipping: { reply: "On its way" }
tests:
  - name: refund
    target: orchestrator
    persona: { name: Marta, style: direct }
    scenario: { goal: "Get a refund for ORD-1001", max_turns: 4 }
    assert:
      - delegated_to: { agent: billing, contains: "ORD-1001" }
      - tool_not_called: shipping
      - judge: "The agent reports the refund reference RF-889 to the user"
      - metric: { name: delegations, lte: 2 }
      - json_path: { path: "$.status.state", equals: completed }
        on_turn: last
"#;
    let suite = Suite::parse("s.yaml", text, &variables).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(suite.tests[0].checks.len(), 5);
    assert_eq!(suite.configured, ["billing", "shipping"]);
}
