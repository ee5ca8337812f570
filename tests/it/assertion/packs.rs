//! Packs, and the kinds that they are made of.

use std::sync::Arc;

use meddler::assertion::Status;
use meddler::assertion::packs::PACKS;
use meddler::record::delegation::Delegation;
use meddler::record::exchange::Outcome;
use serde_json::json;

use super::world::{delegation, ended, exchange, id, judge, lists, recording, run, shown};

fn faulted(delegation: Delegation) -> Delegation {
    Delegation { faults: vec!["billing is down".to_owned()], ..delegation }
}

/// A billing that is down, answered for by a rule.
fn down(number: u8) -> Delegation {
    let failed = ended(
        delegation(number, "billing", "Refund ORD-1001"),
        &["failed"],
        Outcome::AnsweredByFault,
    );
    faulted(failed)
}

const SUITE: &str = "tests: [{ name: billing is down, assert: [{ pack: graceful_degradation }] }]";

#[track_caller]
fn parts(delegations: Vec<Delegation>) -> Vec<(String, Status)> {
    let report = run(SUITE, &lists(delegations));
    let results = report.tests[0].assertions.iter();
    results.map(|it| (it.assertion.replace("pack graceful_degradation: ", ""), it.status)).collect()
}

fn status_of(parts: &[(String, Status)], start: &str) -> Status {
    parts.iter().find(|(name, _)| name.contains(start)).unwrap_or_else(|| panic!("{parts:?}")).1
}

#[test]
fn a_pack_is_told_part_by_part_and_what_cannot_be_seen_is_skipped() {
    let parts = parts(vec![down(1)]);
    for (part, status) in [
        ("event: fault_injected", Status::Held),
        ("settled", Status::Held),
        ("retries", Status::Held),
        ("ids_kept", Status::Held),
        ("canary", Status::Skipped),
        ("no_false_success", Status::Skipped),
    ] {
        assert_eq!(status_of(&parts, part), status, "{parts:?}");
    }
}

#[test]
fn insisting_too_often_fails_the_pack() {
    let insisting = |count: u8| (1..=count).map(down).collect();
    assert_eq!(status_of(&parts(insisting(4)), "retries"), Status::Held);
    assert_eq!(status_of(&parts(insisting(5)), "retries"), Status::Failed);
    let suite =
        SUITE.replace("graceful_degradation }", "{ name: graceful_degradation, retries: 0 } }");
    let report = run(&suite, &lists(insisting(2)));
    assert_eq!(report.tests[0].status, Status::Failed);
}

#[test]
fn without_a_fault_there_is_nothing_to_degrade() {
    let parts =
        parts(vec![ended(delegation(1, "billing", "x"), &["completed"], Outcome::Completed)]);
    assert_eq!(status_of(&parts, "event: fault_injected"), Status::Failed);
    assert_eq!(status_of(&parts, "settled"), Status::Vacuous);
}

#[test]
fn what_is_left_hanging_is_seen() {
    let hanging = Delegation { outcome: Outcome::Working, ..down(1) };
    let source = lists(vec![hanging.clone()]);
    assert_eq!(
        shown(&judge("settled: true", &source)),
        "failed: nothing is left hanging after a fault / 1 delegation left"
    );
    // Sent again, and answered then.
    let again =
        ended(delegation(2, "billing", "Refund ORD-1001"), &["completed"], Outcome::Completed);
    assert_eq!(shown(&judge("settled: true", &lists(vec![hanging, again]))), "held");
}

#[test]
fn an_orchestrator_that_makes_up_a_task_is_caught() {
    let first =
        ended(delegation(1, "billing", "refund"), &["input_required"], Outcome::InputRequired);
    let next = |task: &str, context: &str| Delegation {
        message: Some(json!({ "messageId": "m-2", "taskId": task, "contextId": context })),
        ..ended(delegation(2, "billing", "ORD-1001"), &["completed"], Outcome::Completed)
    };
    let check =
        |next: Delegation| shown(&judge("ids_kept: true", &lists(vec![first.clone(), next])));
    assert_eq!(check(next("t-1", "ctx-1")), "held");
    assert!(check(next("t-9", "ctx-1")).starts_with("failed"));
    assert!(check(next("t-1", "ctx-9")).starts_with("failed"));
    // A task of another agent is not this agent's.
    let elsewhere = Delegation { agent: "shipping".to_owned(), ..next("t-1", "ctx-1") };
    assert!(check(elsewhere).starts_with("failed"));
}

#[test]
fn done_over_what_failed_is_a_false_success() {
    let asked = |reply: &str| Delegation {
        reply_text: reply.to_owned(),
        ..ended(delegation(1, "planner", "Get me a refund"), &["completed"], Outcome::Completed)
    };
    let caused = Delegation { parent: Some(id(1)), orchestrator: "planner".to_owned(), ..down(2) };
    let check = |reply: &str| {
        shown(&judge("no_false_success: true", &lists(vec![asked(reply), caused.clone()])))
    };
    assert_eq!(check("Sorry, billing cannot be reached."), "held");
    assert_eq!(
        check("Done, your money is on its way."),
        "failed: no success is claimed over what failed / a reply that admits nothing"
    );
    let retried = Delegation {
        parent: Some(id(1)),
        ..ended(delegation(3, "billing", "Refund ORD-1001"), &["completed"], Outcome::Completed)
    };
    let source = lists(vec![asked("Done."), caused, retried]);
    assert_eq!(
        shown(&judge("no_false_success: true", &source)),
        "vacuous: no success is claimed over what failed / nothing to look at: no delegation failed for good"
    );
}

#[test]
fn traces_go_on() {
    let trace = |number: u8, value: Option<&str>, delegation: &Delegation| {
        let mut exchange = exchange(delegation);
        exchange.id = id(number);
        exchange.request.headers.extend(value.map(|it| ("traceparent".to_owned(), it.to_owned())));
        Arc::new(exchange)
    };
    let one = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let same = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01";
    let other = "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b8-01";
    let check = |first: Option<&str>, second: Option<&str>| {
        let cause = ended(delegation(1, "billing", "refund"), &["completed"], Outcome::Completed);
        let caused = Delegation {
            orchestrator: "billing".to_owned(),
            parent: Some(id(1)),
            ..ended(delegation(2, "ledger", "book"), &["completed"], Outcome::Completed)
        };
        let mut source = lists(vec![cause.clone(), caused.clone()]);
        source.exchanges = vec![trace(1, first, &cause), trace(2, second, &caused)];
        shown(&judge("trace_continued: true", &source))
    };
    assert_eq!(check(Some(one), Some(same)), "held");
    assert!(check(Some(one), Some(other)).starts_with("failed"));
    assert!(check(Some(one), None).starts_with("failed"));
    assert!(check(Some("00-xyz-1-01"), Some(same)).starts_with("failed"));
}

#[test]
fn every_pack_can_be_asked_for_by_name() {
    for pack in PACKS {
        let report = run(
            &format!("tests: [{{ name: t, assert: [{{ pack: {} }}] }}]", pack.name),
            &recording(),
        );
        assert!(!report.tests[0].assertions.is_empty(), "{}", pack.name);
        assert!(!pack.summary().is_empty());
    }
}
