//! Assertions that are asked only where there is something to ask about: for packs, which do not know
//! what a recording shows.

use super::super::check::{Check, judge_all};
use super::super::finding::{Finding, Status};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named, Nesting};

/// What finds nothing to look at is skipped.
#[derive(Debug)]
pub(super) struct WhereSeen(Vec<Check>);

impl Named for WhereSeen {
    const NAME: &'static str = "where_seen";
    const SUMMARY: &'static str =
        "the listed assertions hold; one that finds nothing to look at is skipped, not failed";
    const EXAMPLES: &'static [&'static str] =
        &["where_seen: [{ canary: not_passed_on }, { retries: { lte: 2 } }]"];
    const NESTING: Nesting = Nesting::Assertions;

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Check::parse_list(body, reader).map(Self)
    }
}

impl Assertion for WhereSeen {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let mut findings = judge_all(&self.0, view);
        for finding in &mut findings {
            if finding.status == Status::Vacuous {
                finding.status = Status::Skipped;
            }
        }
        findings
    }

    fn agents(&self) -> Vec<&str> {
        self.0.iter().flat_map(Check::agents).collect()
    }

    fn expected_ends(&self) -> Vec<String> {
        self.0.iter().flat_map(Check::expected_ends).collect()
    }
}
