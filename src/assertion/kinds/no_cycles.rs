//! Whether agents ask each other in circles.

use std::collections::BTreeSet;

use super::super::finding::Finding;
use super::super::graph::{Graph, shown};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// No agent is asked again by what it caused.
#[derive(Debug)]
pub(super) struct NoCycles;

impl Named for NoCycles {
    const NAME: &'static str = "no_cycles";
    const SUMMARY: &'static str = "no agent is asked again in consequence of what it was asked";
    const EXAMPLES: &'static [&'static str] = &["no_cycles: true"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        super::only_true(body, Self::NAME, reader).map(|()| Self)
    }
}

impl Assertion for NoCycles {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "no agent is asked again by what it caused";
        let graph = match Graph::of(view, expected) {
            Ok(graph) => graph,
            Err(finding) => return vec![finding],
        };
        for delegation in &view.delegations {
            let chain = graph.chain(delegation);
            let mut seen: BTreeSet<&str> =
                chain.iter().skip(1).map(|link| link.agent.as_str()).collect();
            seen.extend(chain.iter().map(|link| link.orchestrator.as_str()));
            if seen.contains(delegation.agent.as_str()) {
                let proof = chain.iter().rev().map(|link| view.evidence(link, ""));
                return vec![Finding::failed(expected, shown(&chain)).proved_by(proof)];
            }
        }
        Vec::new()
    }
}
