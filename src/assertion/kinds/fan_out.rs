//! How widely one request is spread.

use super::super::compare::Bounds;
use super::super::finding::Finding;
use super::super::graph::Graph;
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// No delegation caused more, or fewer, others directly.
#[derive(Debug)]
pub(super) struct FanOut(Bounds);

impl Named for FanOut {
    const NAME: &'static str = "fan_out";
    const SUMMARY: &'static str =
        "every delegation caused so many others directly; a number means at most";
    const EXAMPLES: &'static [&'static str] = &["fan_out: 4", "fan_out: { lte: 4 }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Number(_) = body.value {
            return reader.count(body).map(|count| Self(Bounds::at_most(count)));
        }
        let mut fields = Fields::of(body, "a number or a map like { lte: 4 }", reader)?;
        let bounds = Bounds::need(&mut fields, reader);
        fields.finish(reader);
        bounds.map(Self)
    }
}

impl Assertion for FanOut {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("every delegation causes {} others", self.0);
        let graph = match Graph::of(view, &expected) {
            Ok(graph) => graph,
            Err(finding) => return vec![finding],
        };
        let mut findings = Vec::new();
        for delegation in &view.delegations {
            let children = graph.children(delegation);
            if !self.0.hold_count(children.len()) {
                let actual = format!("{} caused {}", view.name(delegation), children.len());
                let proof =
                    children.iter().take(5).map(|child| view.evidence(child, quote(&child.text)));
                findings.push(Finding::failed(expected.clone(), actual).proved_by(proof));
            }
        }
        findings
    }
}
