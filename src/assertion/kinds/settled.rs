//! Whether an orchestrator comes to an end after something went wrong.

use std::sync::Arc;

use super::super::ends::outcome_word;
use super::super::finding::Finding;
use super::super::quote::plural;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};
use crate::record::delegation::Delegation;
use crate::record::exchange::Outcome;

/// Nothing that a fault hit, and nothing after it, is left hanging.
#[derive(Debug)]
pub(super) struct Settled;

impl Named for Settled {
    const NAME: &'static str = "settled";
    const SUMMARY: &'static str = "after a fault nothing is left hanging: each delegation from the first that a fault hit came to an end, waits for someone, or was sent again";
    const EXAMPLES: &'static [&'static str] = &["settled: true"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        super::only_true(body, Self::NAME, reader).map(|()| Self)
    }
}

impl Assertion for Settled {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "nothing is left hanging after a fault";
        let hit = |delegation: &Arc<Delegation>| !delegation.faults.is_empty();
        let Some(first) = view.delegations.iter().position(hit) else {
            let text = "nothing to look at: no fault hit a delegation here";
            return vec![Finding::vacuous(expected, text)];
        };
        let after: Vec<_> = view.delegations.iter().skip(first).collect();
        let mut hanging = Vec::new();
        for (index, delegation) in after.iter().enumerate() {
            let again = after.iter().skip(index + 1).any(|later| is_again(delegation, later));
            if is_open(delegation) && !again {
                hanging.push((*delegation, outcome_word(delegation.outcome).to_owned()));
            }
        }
        if hanging.is_empty() {
            return Vec::new();
        }
        let actual = format!("{} left", plural(hanging.len(), "delegation"));
        vec![Finding::failed(expected, actual).proved_by(view.proof(&hanging))]
    }
}

fn is_again(first: &Delegation, later: &Delegation) -> bool {
    let same_context = first.context_id.is_some() && first.context_id == later.context_id;
    first.agent == later.agent
        && (first.text == later.text || first.message_id == later.message_id || same_context)
}

fn is_open(delegation: &Delegation) -> bool {
    match delegation.outcome {
        Outcome::Working | Outcome::OpenAtStop | Outcome::Incomplete | Outcome::CutByAgent => true,
        Outcome::Completed
        | Outcome::Failed
        | Outcome::Rejected
        | Outcome::Canceled
        | Outcome::InputRequired
        | Outcome::AuthRequired
        | Outcome::Message
        | Outcome::Error
        | Outcome::CutByClient
        | Outcome::UpstreamError
        | Outcome::AnsweredByFault
        | Outcome::Malformed => false,
    }
}
