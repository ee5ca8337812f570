//! The opposite of an assertion.
//!
//! Only a plain no becomes a yes: what found nothing to look at, or could not be judged, stays so.

use super::super::check::{Check, judge_all};
use super::super::finding::{Finding, Status, status_of};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named, Nesting};

/// These do not all hold.
#[derive(Debug)]
pub(super) struct Not {
    checks: Vec<Check>,
    text: String,
}

impl Named for Not {
    const NAME: &'static str = "not";
    const SUMMARY: &'static str = "the assertion does not hold (of a list: not all of them do)";
    const EXAMPLES: &'static [&'static str] = &[
        "not: { contains: \"refused\" }",
        "not: [{ delegated_to: billing }, { delegated_to: shipping }]",
    ];
    const NESTING: Nesting = Nesting::Assertions;

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let checks = match body.value {
            Yaml::List(_) => Check::parse_list(body, reader)?,
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                vec![Check::parse(body, reader)?]
            }
        };
        let texts: Vec<&str> = checks.iter().map(|check| check.text.as_str()).collect();
        let text = texts.join(" and ");
        Some(Self { checks, text })
    }
}

impl Assertion for Not {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let findings = judge_all(&self.checks, view);
        match status_of(&findings) {
            Status::Failed => Vec::new(),
            Status::Held => {
                let proof = view.messages(|_| true);
                vec![Finding::failed(format!("not {}", self.text), "it holds").proved_by(proof)]
            }
            Status::Vacuous | Status::Error | Status::Skipped => findings,
        }
    }

    fn agents(&self) -> Vec<&str> {
        self.checks.iter().flat_map(Check::agents).collect()
    }
}
