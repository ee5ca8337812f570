//! `task: ID`: the task that the request names, in its path or in its body.

use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::{Facts, Needs};
use crate::fault::names::Names;

#[derive(Debug)]
struct TaskIs(Names);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(TaskIs(Names::parse(value)?)))
}

impl Matcher for TaskIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: true }
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        match &facts.call.ids.task_id {
            Some(id) => Match::of(self.0.is_match(id)),
            None if facts.body_is_read => Match::No,
            None => Match::NotKnownYet,
        }
    }
}
