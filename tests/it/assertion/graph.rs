//! Who made whom ask whom.

use meddler::record::delegation::Delegation;
use meddler::record::exchange::Outcome;

use super::world::{delegation, ended, id, judge, lists, shown};

/// `from` asks `to`, because of the delegation of this number (0: of its own accord).
fn asks(number: u8, from: &str, to: &str, because_of: u8) -> Delegation {
    let parent = (because_of > 0).then(|| id(because_of));
    let sent = Delegation { orchestrator: from.to_owned(), parent, ..delegation(number, to, "x") };
    ended(sent, &["completed"], Outcome::Completed)
}

#[track_caller]
fn check(delegations: Vec<Delegation>, assertion: &str, expected: &str) {
    assert_eq!(shown(&judge(assertion, &lists(delegations))), expected, "{assertion}");
}

fn chain() -> Vec<Delegation> {
    vec![
        asks(1, "planner", "billing", 0),
        asks(2, "billing", "ledger", 1),
        asks(3, "billing", "tax", 1),
    ]
}

#[test]
fn a_circle_is_found_and_shown() {
    check(chain(), "no_cycles: true", "held");
    let mut circle = chain();
    circle.push(asks(4, "ledger", "billing", 2));
    check(
        circle,
        "no_cycles: true",
        "failed: no agent is asked again by what it caused / planner → billing → ledger → billing",
    );
}

#[test]
fn depth_and_width_are_bounded() {
    check(chain(), "max_depth: 2", "held");
    check(
        chain(),
        "max_depth: 1",
        "failed: chains of at most 1 delegations / 2: planner → billing → ledger",
    );
    check(chain(), "fan_out: 2", "held");
    check(
        chain(),
        "fan_out: 1",
        "failed: every delegation causes at most 1 others / d-00000001 to billing caused 2",
    );
}

#[test]
fn a_graph_that_cannot_be_seen_is_skipped_and_never_passed() {
    let flat = vec![asks(1, "planner", "billing", 0), asks(2, "planner", "ledger", 0)];
    for assertion in ["no_cycles: true", "max_depth: 1", "fan_out: 1"] {
        let shown = shown(&judge(assertion, &lists(flat.clone())));
        assert!(shown.starts_with("skipped: "), "{assertion}: {shown}");
    }
    // Billing asks ledger, and nothing says why.
    let mut lost = chain();
    lost.push(asks(4, "billing", "ledger", 0));
    check(
        lost,
        "max_depth: 2",
        "skipped: chains of at most 2 delegations / it is not known what made billing ask ledger",
    );
}
