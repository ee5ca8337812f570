//! A value that one agent returned can be asked of what another agent was given.

use meddler::assertion::{Status, Suite, Verdict};

use super::world::{recording, run, variables};

/// The status of each result of one test.
#[track_caller]
fn check(capture: &str, assertion: &str, expected: &[(&str, Status, &str)]) {
    let text = format!(
        "version: 1\ntests:\n  - name: t\n    allow_failed: true\n    capture: {capture}\n    assert: [{assertion}]\n"
    );
    let report = run(&text, &recording());
    let actual: Vec<(&str, Status, &str)> = report.tests[0]
        .assertions
        .iter()
        .map(|check| {
            let found = check.findings.first().map_or("", |finding| finding.actual.as_str());
            (check.kind.as_str(), check.status, found)
        })
        .collect();
    assert_eq!(actual, expected, "{capture} {assertion}");
}

const AMOUNT: &str =
    "{ amount: { json_path: \"$.artifacts[*].parts[*].data.amount\", on: { agent: billing } } }";

#[test]
fn what_billing_returned_is_what_shipping_was_given() {
    let task = "{ task: { json_path: \"$.id\", on: { agent: billing, delegation: last } } }";
    check(
        task,
        "{ json_path: { path: \"$.id\", equals: \"${captured.task}\" } }",
        &[("json_path", Status::Held, "")],
    );
    check(
        task,
        "{ delegated_to: { agent: shipping, contains: \"ref ${captured.task}\" } }",
        &[("delegated_to", Status::Failed, "there is none")],
    );
}

#[test]
fn a_captured_value_keeps_its_type() {
    let path = "\"$.artifacts[*].parts[*].data.amount\"";
    check(
        AMOUNT,
        &format!("{{ json_path: {{ path: {path}, equals: \"${{captured.amount}}\" }} }}"),
        &[("json_path", Status::Held, "")],
    );
    check(
        AMOUNT,
        &format!("{{ json_path: {{ path: {path}, lte: \"${{captured.amount}}\" }} }}"),
        &[("json_path", Status::Held, "")],
    );
    check(
        AMOUNT,
        "{ json_path: { path: \"$.status.state\", equals: \"${captured.amount}\", on: { agent: billing } } }",
        &[("json_path", Status::Failed, "$['status']['state'] is \"completed\"")],
    );
}

#[test]
fn what_was_not_captured_is_nothing_to_look_at() {
    check(
        "{ ref: { json_path: \"$.nowhere\", on: { agent: billing } } }",
        "{ not: { contains: \"${captured.ref}\" } }",
        &[
            ("capture", Status::Vacuous, "nothing to look at: none in 1 delegation to billing"),
            ("not", Status::Vacuous, "nothing to look at: `ref` was not captured"),
        ],
    );
}

#[test]
fn an_unknown_name_or_agent_is_a_mistake() {
    let text = "version: 1\ntests:\n  - name: t\n    capture: { ref: { json_path: $.id } }\n    assert: [{ contains: \"${captured.rev}\" }]\n";
    let error = Suite::parse("s.yaml", text, &variables).unwrap_err();
    assert_eq!(
        error.problems[0].text,
        "nothing is captured as `rev` in this test; did you mean `ref`?"
    );

    let text = "version: 1\ntests:\n  - name: t\n    capture: { ref: { json_path: $.id, on: { agent: biling } } }\n    assert: [{ contains: x }]\n";
    assert_eq!(run(text, &recording()).verdict, Verdict::CouldNotRun);
}
