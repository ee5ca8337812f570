//! Several assertions as one: for use within `not` and `any`.

use super::super::check::{Check, judge_all};
use super::super::finding::Finding;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named, Nesting};

/// All of these hold.
#[derive(Debug)]
pub(super) struct All(Vec<Check>);

impl Named for All {
    const NAME: &'static str = "all";
    const SUMMARY: &'static str = "all of the listed assertions hold";
    const EXAMPLES: &'static [&'static str] =
        &["all: [{ delegated_to: billing }, { state: completed }]"];
    const NESTING: Nesting = Nesting::Assertions;

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Check::parse_list(body, reader).map(Self)
    }
}

impl Assertion for All {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        judge_all(&self.0, view)
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
