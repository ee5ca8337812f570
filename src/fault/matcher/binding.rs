//! `binding: grpc`: the head of the request tells it.

use serde_json::Value;

use super::{Match, Matcher};
use crate::a2a::binding::Binding;
use crate::fault::facts::Facts;
use crate::fault::settings;

#[derive(Debug)]
struct BindingIs(Vec<Binding>);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(BindingIs(settings::parsed(value)?)))
}

impl Matcher for BindingIs {
    fn matches(&self, facts: &Facts<'_>) -> Match {
        Match::of(facts.call.binding.is_some_and(|binding| self.0.contains(&binding)))
    }
}
