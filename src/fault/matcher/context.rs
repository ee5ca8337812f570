//! `context: ID`: the conversation that the request names; the first message of one names none.

use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::{Facts, Needs};
use crate::fault::names::Names;

#[derive(Debug)]
struct ContextIs(Names);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(ContextIs(Names::parse(value)?)))
}

impl Matcher for ContextIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: true }
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        match &facts.call.ids.context_id {
            Some(id) => Match::of(self.0.is_match(id)),
            None if facts.body_is_read => Match::No,
            None => Match::NotKnownYet,
        }
    }
}
