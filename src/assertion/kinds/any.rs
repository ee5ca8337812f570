//! Alternatives: an orchestrator may be right in more than one way.

use super::super::check::Check;
use super::super::finding::{Finding, Status, status_of};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named, Nesting};

/// At least one of these holds.
#[derive(Debug)]
pub(super) struct Any(Vec<Check>);

impl Named for Any {
    const NAME: &'static str = "any";
    const SUMMARY: &'static str = "at least one of the listed assertions holds";
    const EXAMPLES: &'static [&'static str] =
        &["any: [{ delegated_to: billing }, { delegated_to: accounts }]"];
    const NESTING: Nesting = Nesting::Assertions;

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Check::parse_list(body, reader).map(Self)
    }
}

impl Assertion for Any {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let mut all = Vec::new();
        for check in &self.0 {
            let findings = check.judge(view);
            if status_of(&findings) == Status::Held {
                return Vec::new();
            }
            all.push((check, findings));
        }
        // What cannot be judged here does not make the others true, and an error may hide a yes.
        let status = all.iter().map(|(_, findings)| status_of(findings)).max();
        let expected = format!("one of {} alternatives", self.0.len());
        let mut finding = match status {
            Some(Status::Skipped) => Finding::skipped(expected, "none could be judged here"),
            Some(Status::Error) => {
                Finding::error(expected, "one could not be judged, no other holds")
            }
            Some(Status::Held | Status::Vacuous | Status::Failed) | None => {
                Finding::failed(expected, "none holds")
            }
        };
        for (check, findings) in all {
            for found in findings {
                finding = finding.hint(format!("{}: {}", check.text, found.actual));
                for proof in found.evidence {
                    if !finding.evidence.contains(&proof) {
                        finding.evidence.push(proof);
                    }
                }
            }
        }
        vec![finding]
    }

    fn agents(&self) -> Vec<&str> {
        self.0.iter().flat_map(Check::agents).collect()
    }

    fn expected_ends(&self) -> Vec<String> {
        self.0.iter().flat_map(Check::expected_ends).collect()
    }

    fn settles(&self) -> bool {
        self.0.iter().all(Check::settles)
    }
}
