//! How delegations end, and which ends fail a test that says nothing about them.

use crate::a2a::model::TaskState;
use crate::record::delegation::Delegation;
use crate::record::exchange::Outcome;

use super::finding::Finding;
use super::nearest::suggestion;
use super::on::{Injected, On};
use super::view::RunView;

/// Outcomes by the word that suites and output use.
const OUTCOMES: &[(Outcome, &str)] = &[
    (Outcome::AnsweredByFault, "answered_by_fault"),
    (Outcome::AuthRequired, "auth_required"),
    (Outcome::Canceled, "canceled"),
    (Outcome::Completed, "completed"),
    (Outcome::CutByAgent, "cut_by_agent"),
    (Outcome::CutByClient, "cut_by_client"),
    (Outcome::Error, "error"),
    (Outcome::Failed, "failed"),
    (Outcome::Incomplete, "incomplete"),
    (Outcome::InputRequired, "input_required"),
    (Outcome::Malformed, "malformed"),
    (Outcome::Message, "message"),
    (Outcome::OpenAtStop, "open_at_stop"),
    (Outcome::Rejected, "rejected"),
    (Outcome::UpstreamError, "upstream_error"),
    (Outcome::Working, "working"),
];

/// The words for outcomes.
pub(super) struct Outcomes;

impl Outcomes {
    /// The outcome's word, if it is one.
    pub(super) fn word(word: &str) -> Option<&'static str> {
        OUTCOMES.iter().find(|(_, known)| *known == word).map(|(_, known)| *known)
    }

    /// What to say of a word that is neither a state nor an outcome.
    pub(super) fn unknown(word: &str) -> String {
        let mut known: Vec<&str> = OUTCOMES.iter().map(|(_, known)| *known).collect();
        known.push("submitted");
        known.sort_unstable();
        format!("unknown state or outcome `{word}`{}", suggestion(word, &known))
    }
}

/// The word for an outcome.
pub(super) fn outcome_word(outcome: Outcome) -> &'static str {
    OUTCOMES.iter().find(|(known, _)| *known == outcome).map_or("", |(_, word)| *word)
}

/// Whether nothing came back that could be measured or judged as an answer.
pub(super) fn is_errored(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Error
        | Outcome::Malformed
        | Outcome::UpstreamError
        | Outcome::CutByAgent
        | Outcome::CutByClient
        | Outcome::OpenAtStop => true,
        Outcome::Completed
        | Outcome::Failed
        | Outcome::Rejected
        | Outcome::Canceled
        | Outcome::InputRequired
        | Outcome::AuthRequired
        | Outcome::Message
        | Outcome::Working
        | Outcome::Incomplete
        | Outcome::AnsweredByFault => false,
    }
}

/// The rule that holds in every test: no delegation ended badly, unless the test says that it may. A
/// suite that never mentions the state must not be green over an agent that refuses everything.
pub(super) fn no_bad_end(view: &RunView<'_>, expected_ends: &[String]) -> Vec<Finding> {
    let view = view.narrow(&On { injected: Some(Injected::Exclude), ..On::default() });
    let mut bad = Vec::new();
    for delegation in &view.delegations {
        if let Some(end) = bad_end(delegation)
            && !expected_ends.iter().any(|expected| expected == end || is_end(delegation, expected))
        {
            bad.push((delegation, end.to_owned()));
        }
    }
    let Some((first, end)) = bad.first() else { return Vec::new() };
    let actual = match bad.len() {
        1 => format!("{} ended as {end}", view.name(first)),
        count => format!("{count} of {} ended badly", view.counted()),
    };
    let hint = format!("expect it with `state: {end}`, or set `allow_failed: true` on the test");
    vec![Finding::failed("no delegation ends badly", actual).hint(hint).proved_by(view.proof(&bad))]
}

/// Whether a delegation ended as no orchestrator wants it.
pub(super) fn is_bad_end(delegation: &Delegation) -> bool {
    bad_end(delegation).is_some()
}

/// The word for a bad end, if it is one.
fn bad_end(delegation: &Delegation) -> Option<&'static str> {
    match delegation.outcome {
        Outcome::Failed
        | Outcome::Rejected
        | Outcome::Canceled
        | Outcome::Error
        | Outcome::Malformed
        | Outcome::UpstreamError
        | Outcome::CutByAgent
        | Outcome::Incomplete => Some(outcome_word(delegation.outcome)),
        Outcome::Completed
        | Outcome::InputRequired
        | Outcome::AuthRequired
        | Outcome::Message
        | Outcome::Working
        | Outcome::CutByClient
        | Outcome::AnsweredByFault
        | Outcome::OpenAtStop => match delegation.state.as_deref().and_then(TaskState::parse)? {
            TaskState::Failed => Some("failed"),
            TaskState::Rejected => Some("rejected"),
            TaskState::Canceled => Some("canceled"),
            TaskState::Unspecified(_)
            | TaskState::Submitted
            | TaskState::Working
            | TaskState::InputRequired
            | TaskState::AuthRequired
            | TaskState::Completed => None,
        },
    }
}

/// Whether a delegation ended in this state or with this outcome.
fn is_end(delegation: &Delegation, expected: &str) -> bool {
    delegation.state.as_deref() == Some(expected) || outcome_word(delegation.outcome) == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_spelt_as_in_recordings_and_sorted() {
        assert!(OUTCOMES.is_sorted_by_key(|(_, word)| *word));
        for (outcome, word) in OUTCOMES {
            assert_eq!(serde_json::to_value(outcome).unwrap(), *word);
        }
    }
}
