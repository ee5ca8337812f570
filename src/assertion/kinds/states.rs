//! The way a task went.

use crate::a2a::model::TaskState;

use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::{Look, RunView};
use super::super::yaml::Node;
use super::{Assertion, Named};

/// The sequence of states, repeats in a row collapsed.
#[derive(Debug)]
pub(super) struct States {
    wanted: Vec<TaskState>,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Equals,
    ContainsInOrder,
}

impl Named for States {
    const NAME: &'static str = "states";
    const SUMMARY: &'static str = "the states seen of a delegation, repeats in a row collapsed, are these or contain these in order";
    const EXAMPLES: &'static [&'static str] = &[
        "states: { equals: [submitted, working, completed] }",
        "states: { contains_in_order: [working, completed], on: { agent: billing } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { contains_in_order: [working, completed] }";
        let mut fields = Fields::of(body, form, reader)?;
        let at = fields.at();
        let equals = fields.take("equals");
        let contains = fields.take("contains_in_order");
        fields.finish(reader);
        let (node, how) = match (equals, contains) {
            (Some(node), None) => (node, How::Equals),
            (None, Some(node)) => (node, How::ContainsInOrder),
            (None, None) | (Some(_), Some(_)) => {
                reader.problem(at, "expected one of `equals` and `contains_in_order`");
                return None;
            }
        };
        let mut wanted: Vec<TaskState> = reader.parsed_list(node)?;
        if wanted.is_empty() {
            reader.problem(node.at, "expected at least one state");
            return None;
        }
        if how == How::Equals {
            wanted.dedup();
        }
        Some(Self { wanted, how })
    }
}

impl Assertion for States {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let wanted: Vec<&str> = self.wanted.iter().map(TaskState::as_str).collect();
        let how = match self.how {
            How::Equals => "states are",
            How::ContainsInOrder => "states contain in order",
        };
        let expected = format!("{how} {}", wanted.join(", "));
        view.hold(Quantifier::Any, &expected, |delegation| {
            let seen = &delegation.states;
            let holds = match self.how {
                How::Equals => seen.iter().eq(wanted.iter()),
                How::ContainsInOrder => {
                    let mut left = seen.iter();
                    wanted.iter().all(|state| left.any(|found| found == state))
                }
            };
            match holds {
                true => Look::Holds,
                false if seen.is_empty() => Look::Misses("no states were seen".to_owned()),
                false => Look::Misses(quote::plain(&seen.join(", "))),
            }
        })
    }

    fn expected_ends(&self) -> Vec<String> {
        self.wanted.iter().map(|state| state.as_str().to_owned()).collect()
    }
}
