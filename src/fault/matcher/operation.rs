//! `operation: SendMessage`, by any of its wire names. Without it a rule has its fault's default scope.

use serde_json::Value;

use super::{Match, Matcher, Operations, is_unnamed};
use crate::a2a::model::Operation;
use crate::fault::facts::{Facts, Needs};
use crate::fault::settings;

#[derive(Debug)]
pub(super) struct OperationIs(pub(super) Operations);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    let mut operations = Operations::NONE;
    for name in settings::texts(value)? {
        operations = operations.with(named(&name)?);
    }
    Ok(Box::new(OperationIs(operations)))
}

fn named(name: &str) -> Result<Operation, String> {
    Operation::parse(name).ok_or_else(|| {
        let known: Vec<&str> = Operation::all().map(Operation::as_str).collect();
        settings::unknown("operation", name, &known)
    })
}

impl Matcher for OperationIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: false }
    }

    fn operations(&self) -> Operations {
        self.0
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        if is_unnamed(facts) {
            return Match::NotKnownYet;
        }
        Match::of(self.0.contains(facts.call.operation))
    }
}
