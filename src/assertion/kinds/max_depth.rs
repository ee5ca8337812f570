//! How far a request is handed on.

use super::super::finding::Finding;
use super::super::graph::{Graph, shown};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// No chain of delegations is longer.
#[derive(Debug)]
pub(super) struct MaxDepth(usize);

impl Named for MaxDepth {
    const NAME: &'static str = "max_depth";
    const SUMMARY: &'static str =
        "no chain of delegations, each caused by the one before, is longer";
    const EXAMPLES: &'static [&'static str] = &["max_depth: 3"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.count(body).map(Self)
    }
}

impl Assertion for MaxDepth {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("chains of at most {} delegations", self.0);
        let graph = match Graph::of(view, &expected) {
            Ok(graph) => graph,
            Err(finding) => return vec![finding],
        };
        // `max_by_key` keeps the last of equals; the oldest is easier to follow.
        let chains = view.delegations.iter().rev().map(|delegation| graph.chain(delegation));
        let Some(longest) = chains.max_by_key(Vec::len) else {
            return vec![Finding::vacuous(
                expected,
                "nothing to look at: no delegation is left here",
            )];
        };
        if longest.len() <= self.0 {
            return Vec::new();
        }
        let actual = format!("{}: {}", longest.len(), shown(&longest));
        let proof = longest.iter().rev().map(|link| view.evidence(link, ""));
        vec![Finding::failed(expected, actual).proved_by(proof)]
    }
}
