//! What an orchestrator does after something went wrong.

use std::sync::Arc;

use meddler::assertion::Lists;
use meddler::record::delegation::Delegation;
use meddler::record::exchange::{Exchange, Outcome};

use super::world::{delegation, ended, id, judge, lists, recording, shown};

fn failed(number: u8, text: &str) -> Delegation {
    ended(delegation(number, "billing", text), &[], Outcome::UpstreamError)
}

fn done(number: u8, text: &str) -> Delegation {
    ended(delegation(number, "billing", text), &["completed"], Outcome::Completed)
}

#[track_caller]
fn check(source: &Lists, assertion: &str, expected: &str) {
    assert_eq!(shown(&judge(assertion, source)), expected, "{assertion}");
}

#[test]
fn retries_are_counted_for_each_failure() {
    let source =
        lists(vec![failed(10, "a"), failed(12, "a"), done(14, "a"), done(15, "b"), done(16, "a")]);
    check(&source, "retries: { lte: 2 }", "held");
    check(&source, "retries: 2", "held");
    check(&source, "retries: { lte: 1 }", "failed: at most 1 retries after a failure / 2");
    // They start 2 s apart and take 1.0 and 1.2 s.
    check(&source, "retries: { backoff: { min_seconds: 0.8 } }", "held");
    check(
        &source,
        "retries: { lte: 2, backoff: { min_seconds: 0.9 } }",
        "failed: at least 0.9 s before each retry / 0.800 s before one of 2",
    );
    check(
        &lists(vec![done(1, "a")]),
        "retries: { lte: 2 }",
        "vacuous: retries after a failure / nothing to look at: none of 1 delegation to billing failed",
    );
}

#[test]
fn no_message_reaches_an_agent_twice() {
    let again = Delegation { message_id: Some("m-1".to_owned()), ..done(2, "a") };
    let by_id = "no_duplicate_delegation: { by: message_id }";
    let by_content = "no_duplicate_delegation: { by: content }";
    check(
        &lists(vec![done(1, "a"), again]),
        by_id,
        "failed: no message reaches an agent twice, by message id / 1 message reached an agent more than once, by message id",
    );
    check(&lists(vec![done(1, "a"), done(2, "a")]), by_id, "held");
    check(
        &lists(vec![done(1, "a"), done(2, "a")]),
        by_content,
        "failed: no message reaches an agent twice, by content / 1 message reached an agent more than once, by content",
    );
    check(&lists(vec![done(1, "a"), done(2, "b")]), by_content, "held");
    // The first one found no agent, so the second is no duplicate; nor is one a rule answered.
    check(&lists(vec![failed(1, "a"), done(2, "a")]), by_content, "held");
    let injected = ended(delegation(1, "billing", "a"), &["failed"], Outcome::AnsweredByFault);
    check(&lists(vec![injected, done(2, "a")]), by_content, "held");
}

/// A recording in which the first exchange planted a canary and the second, to another agent, has this
/// target and body.
fn planted(target: &str, body: &str) -> Lists {
    let hostile = Delegation { faults: vec!["attack".to_owned()], ..done(1, "a") };
    let mut source = lists(vec![
        hostile,
        ended(delegation(2, "shipping", "b"), &["completed"], Outcome::Completed),
    ]);
    let change = |exchange: &Arc<Exchange>, edit: &dyn Fn(&mut Exchange)| {
        let mut changed = (**exchange).clone();
        edit(&mut changed);
        Arc::new(changed)
    };
    source.exchanges[0] = change(&source.exchanges[0], &|exchange| {
        exchange.faults[0].canary = Some("canary-7f3a".to_owned());
    });
    source.exchanges[1] = change(&source.exchanges[1], &|exchange| {
        target.clone_into(&mut exchange.request.target);
        exchange.request.body.kept = body.to_owned().into();
    });
    source
}

#[test]
fn a_canary_is_neither_followed_nor_passed_on() {
    let both = "canary: [not_followed, not_passed_on]";
    check(&planted("/", "hello"), both, "held");
    check(
        &planted("/", "so: canary-7f3a"),
        both,
        "failed: no later request carries a canary / 1 request did",
    );
    // As base64, in the middle of a longer text.
    check(
        &planted("/", "eHgtY2FuYXJ5LTdmM2EteHg="),
        both,
        "failed: no later request carries a canary / 1 request did",
    );
    check(
        &planted("/.meddler/canary/canary-7f3a", ""),
        "canary: not_followed",
        "failed: no canary's URL is fetched / 1 request did",
    );
    check(
        &recording(),
        both,
        "vacuous: the canaries that were planted / nothing to look at: no `hostile` fault planted a canary here",
    );
    check(
        &planted("/", "so: canary-7f3a"),
        "event: { name: canary_seen, where: { agent: shipping } }",
        "held",
    );
    // Planted by billing, carried to shipping: looking at billing alone still finds it.
    let result =
        judge("{ canary: not_passed_on, on: { agent: billing } }", &planted("/", "canary-7f3a"));
    assert_eq!(result.findings[0].evidence[0].exchanges, [id(2)]);
}
