//! `orchestrator: NAME`: who called, by its configured name or its address.

use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::Facts;
use crate::fault::names::Names;

#[derive(Debug)]
struct OrchestratorIs(Names);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(OrchestratorIs(Names::parse(value)?)))
}

impl Matcher for OrchestratorIs {
    fn matches(&self, facts: &Facts<'_>) -> Match {
        Match::of(self.0.is_match(facts.orchestrator))
    }
}
