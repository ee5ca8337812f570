//! Which delegations a test looks at, and what it says when there are none.

use meddler::assertion::{EvaluateError, Options, Status, Suite, Verdict, evaluate};
use meddler::record::delegation::Delegation;
use meddler::record::exchange::Outcome;

use super::world::{delegation, delegations, ended, lists, now, recording, run, variables};

/// The number of delegations that a selection finds, or why it finds none.
#[track_caller]
fn check(select: &str, expected: &str) {
    let suite = format!(
        "version: 1\ntests:\n  - name: t\n    select: {select}\n    allow_failed: true\n    assert: [{{ metric: {{ name: delegations, gte: 1 }} }}]\n"
    );
    let report = run(&suite, &recording());
    let test = &report.tests[0];
    let actual = match test.assertions[0].findings.first() {
        None => test.delegations.to_string(),
        Some(finding) => {
            format!("{}: {} [{}]", test.status.as_str(), finding.actual, finding.hints.join("; "))
        }
    };
    assert_eq!(actual, expected, "{select}");
}

#[test]
fn a_selection_narrows_by_every_key() {
    check("{}", "4");
    check("{ agent: billing }", "1");
    check("{ agent: [billing, shipping], context: any }", "3");
    check("{ session: run-1 }", "1");
    check("{ session: any }", "5");
    check("{ session: last }", "4");
    check("{ context: ctx-2 }", "2");
    check("{ context: last, agent: shipping }", "2");
    check("{ since: 10m }", "4");
    check("{ since: \"2026-11-30T12:00:03Z\", until: \"2026-11-30T12:00:05Z\" }", "2");
    check("{ operation: message/stream }", "1");
    check("{ binding: [grpc, rest] }", "2");
    check("{ version: \"1.0\", orchestrator: planner }", "4");
    check("{ skill: track }", "1");
    check("{ task: t-4 }", "1");
    check("{ fault: refunds fail }", "1");
    check("{ text: \"(?i)parcel\" }", "1");
}

#[test]
fn an_empty_selection_fails_and_names_near_misses() {
    let nothing = "vacuous: no delegation is selected: nothing to look at";
    check(
        "{ agent: billing, binding: grpc }",
        &format!(
            "{nothing} [without `agent` 2 delegations would be here; without `binding` 1 delegation would be here]"
        ),
    );
    check(
        "{ agent: billing, session: run-3 }",
        &format!("{nothing} [in other sessions than `run-3` there is 2 delegations like it]"),
    );
    check(
        "{ text: zzz, skill: none }",
        &format!("{nothing} [the whole recording holds 5 delegations]"),
    );
}

/// ASRT-01
#[test]
fn what_the_recording_does_not_know_cannot_be_judged() {
    check(
        "{ agent: biling }",
        "error: `biling` is neither recorded nor configured; did you mean `billing`? []",
    );
    check(
        "{ session: run-9 }",
        "error: no session `run-9` in this recording; did you mean `run-1`? []",
    );
}

const SUITE: &str = "version: 1\ntests:\n  - name: one\n    select: { agent: accounts }\n    assert: [{ contains: x }]\n  - name: two\n    assert: [{ contains: RF-889 }]\n";

#[test]
fn an_agent_that_is_only_configured_is_no_mistake_but_finds_nothing() {
    let suite = Suite::parse("s.yaml", SUITE, &variables).unwrap();
    let options =
        Options { now: now(), configured: vec!["accounts".to_owned()], ..Options::default() };
    let report = evaluate(&suite, &recording(), &options).unwrap();
    assert_eq!(report.tests[0].status, Status::Vacuous);
    assert_eq!(report.verdict, Verdict::Failed);

    let text = format!("remote_agents: {{ accounts: {{ reply: hi }} }}\n{SUITE}");
    assert_eq!(run(&text, &recording()).tests[0].status, Status::Vacuous);
    assert_eq!(run(SUITE, &recording()).verdict, Verdict::CouldNotRun);
}

#[test]
fn only_the_tests_asked_for_are_held_and_an_unknown_one_stops_all() {
    let suite = Suite::parse("s.yaml", SUITE, &variables).unwrap();
    let options =
        |name: &str| Options { now: now(), tests: vec![name.to_owned()], ..Options::default() };
    let report = evaluate(&suite, &recording(), &options("two")).unwrap();
    assert_eq!((report.tests.len(), report.verdict), (1, Verdict::Held));
    let error = evaluate(&suite, &recording(), &options("tow")).unwrap_err();
    assert!(matches!(error, EvaluateError::NoSuchTest { .. }));
    assert_eq!(error.to_string(), "no test `tow` in s.yaml; did you mean `two`?");
}

/// ASRT-01
#[test]
fn no_suite_passes_over_an_empty_recording() {
    let empty = lists(Vec::new());
    let text = "version: 1\nremote_agents: { billing: {} }\ntests:\n  - { name: a, assert: [{ not_delegated_to: billing }] }\n  - { name: b, assert: [{ metric: { name: delegations, lte: 2 } }] }\n";
    let report = run(text, &empty);
    assert!(report.tests.iter().all(|test| test.status == Status::Vacuous), "{report:?}");
    assert_eq!(report.verdict.exit_code(), 1);
}

/// What the rule against bad ends says of a delegation that ended so.
#[track_caller]
fn end(outcome: Outcome, states: &[&str], test: &str, expected: Verdict) {
    let source = lists(vec![ended(delegation(2, "billing", "x"), states, outcome)]);
    let suite = format!(
        "version: 1\ntests:\n  - {{ name: t, assert: [{{ delegated_to: billing }}{test} }}\n"
    );
    assert_eq!(run(&suite, &source).verdict, expected, "{outcome:?} {states:?} {test}");
}

#[test]
fn a_bad_end_fails_every_test_that_does_not_expect_it() {
    for (outcome, states) in [
        (Outcome::Failed, &["working", "failed"][..]),
        (Outcome::Rejected, &["rejected"]),
        (Outcome::Canceled, &["canceled"]),
        (Outcome::Error, &[]),
        (Outcome::UpstreamError, &[]),
        (Outcome::Malformed, &[]),
        (Outcome::CutByAgent, &["working"]),
        (Outcome::Incomplete, &["working"]),
    ] {
        end(outcome, states, "]", Verdict::Failed);
        end(outcome, states, "], allow_failed: true", Verdict::Held);
    }
    end(Outcome::Failed, &["failed"], ", { state: failed }]", Verdict::Held);
    end(Outcome::Failed, &["failed"], ", { states: { equals: [failed] } }]", Verdict::Held);
    end(Outcome::UpstreamError, &[], ", { state: upstream_error }]", Verdict::Held);
    end(Outcome::Rejected, &["rejected"], ", { not: { state: rejected } }]", Verdict::Failed);
    for (outcome, states) in [
        (Outcome::Completed, &["completed"][..]),
        (Outcome::InputRequired, &["input_required"]),
        (Outcome::Message, &[]),
        (Outcome::AnsweredByFault, &["failed"]),
    ] {
        end(outcome, states, "]", Verdict::Held);
    }
}

#[test]
fn one_good_end_does_not_excuse_a_bad_one() {
    let failed = ended(delegation(9, "billing", "again"), &["failed"], Outcome::Failed);
    let source = lists(delegations().into_iter().chain([failed]).collect::<Vec<Delegation>>());
    let text = "version: 1\ntests:\n  - name: t\n    assert: [{ state: completed }]\n";
    let report = run(text, &source);
    let finding = &report.tests[0].assertions[1].findings[0];
    assert_eq!(finding.actual, "d-00000009 to billing ended as failed");
    assert_eq!(
        finding.hints,
        ["expect it with `state: failed`, or set `allow_failed: true` on the test"]
    );
}
