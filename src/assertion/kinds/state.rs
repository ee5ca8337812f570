//! How the tasks ended.

use std::str::FromStr;

use super::super::ends::{Outcomes, outcome_word};
use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::{Look, RunView};
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};
use crate::a2a::model::TaskState;

/// The last known state (or the outcome) is one of these.
#[derive(Debug)]
pub(super) struct State(Vec<End>);

/// A state of a task, or the way a delegation without one ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    State(TaskState),
    Outcome(&'static str),
}

impl FromStr for End {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if let Some(state) = TaskState::parse(word) {
            return Ok(Self::State(state));
        }
        match Outcomes::word(word) {
            Some(outcome) => Ok(Self::Outcome(outcome)),
            None => Err(Outcomes::unknown(word)),
        }
    }
}

impl End {
    fn as_str(&self) -> &str {
        match self {
            Self::State(state) => state.as_str(),
            Self::Outcome(word) => word,
        }
    }
}

impl Named for State {
    const NAME: &'static str = "state";
    const SUMMARY: &'static str = "a delegation's last known state (or outcome) is this";
    const EXAMPLES: &'static [&'static str] = &[
        "state: completed",
        "state: TASK_STATE_INPUT_REQUIRED",
        "state: { equals: [completed, input-required], on: { delegation: every } }",
        "state: answered_by_fault",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Yaml::Map(_) = body.value else { return reader.parsed_list(body).map(Self) };
        let mut fields = Fields::of(body, "a state", reader)?;
        let ends = fields.need("equals", reader).and_then(|node| reader.parsed_list(node));
        fields.finish(reader);
        ends.map(Self)
    }
}

impl Assertion for State {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let words: Vec<&str> = self.0.iter().map(End::as_str).collect();
        let expected = format!("state {}", words.join(" or "));
        view.hold(Quantifier::Any, &expected, |delegation| {
            let outcome = outcome_word(delegation.outcome);
            let is = |end: &End| match end {
                End::State(state) => delegation.state.as_deref() == Some(state.as_str()),
                End::Outcome(word) => *word == outcome,
            };
            if self.0.iter().any(is) {
                return Look::Holds;
            }
            Look::Misses(match &delegation.state {
                Some(state) => format!("state {}, outcome {outcome}", quote::plain(state)),
                None => format!("no state, outcome {outcome}"),
            })
        })
    }

    fn expected_ends(&self) -> Vec<String> {
        self.0.iter().map(|end| end.as_str().to_owned()).collect()
    }

    fn settles(&self) -> bool {
        true
    }
}
