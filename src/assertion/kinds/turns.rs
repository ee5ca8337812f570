//! How often the orchestrator spoke in one conversation.

use std::sync::Arc;

use crate::record::delegation::Delegation;

use super::super::compare::Bounds;
use super::super::finding::Finding;
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// Every conversation has so many messages of the orchestrator.
#[derive(Debug)]
pub(super) struct Turns(Bounds);

impl Named for Turns {
    const NAME: &'static str = "turns";
    const SUMMARY: &'static str = "every conversation has so many messages of the orchestrator";
    const EXAMPLES: &'static [&'static str] = &["turns: { lte: 8 }", "turns: 2"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Number(_) = body.value {
            return reader.count(body).map(|count| Self(Bounds::exactly(count)));
        }
        let mut fields = Fields::of(body, "a map like { lte: 8 }", reader)?;
        let bounds = Bounds::need(&mut fields, reader);
        fields.finish(reader);
        bounds.map(Self)
    }
}

impl Assertion for Turns {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("{} turns in a conversation", self.0);
        let conversations = view.turns();
        if conversations.is_empty() {
            return vec![Finding::vacuous(
                expected,
                "nothing to look at: no delegation is left here",
            )];
        }
        let wrong: Vec<&Vec<Arc<Delegation>>> =
            conversations.iter().filter(|turns| !self.0.hold_count(turns.len())).collect();
        let Some(first) = wrong.first() else { return Vec::new() };
        let actual = match (wrong.len(), conversations.len()) {
            (1, 1) => first.len().to_string(),
            (count, all) => {
                format!("{count} of {all} conversations do not, the first has {}", first.len())
            }
        };
        let proof = first.iter().take(5).map(|turn| view.evidence(turn, quote(&turn.text)));
        vec![Finding::failed(expected, actual).proved_by(proof)]
    }
}
