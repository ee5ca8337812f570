//! `session: NAME`: one test run among several that share a daemon. Such rules are asked first.

use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::Facts;
use crate::fault::names::Names;

#[derive(Debug)]
struct SessionIs(Names);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(SessionIs(Names::parse(value)?)))
}

impl Matcher for SessionIs {
    fn is_of_session(&self) -> bool {
        true
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        Match::of(self.0.is_match(facts.session))
    }
}
