//! `version: 1.0`: the version that is spoken. On JSON-RPC the method's name tells it.

use serde_json::Value;

use super::{Match, Matcher, is_unnamed};
use crate::a2a::binding::ProtocolVersion;
use crate::fault::facts::{Facts, Needs};
use crate::fault::settings;

#[derive(Debug)]
struct VersionIs(Vec<ProtocolVersion>);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(VersionIs(settings::parsed(value)?)))
}

impl Matcher for VersionIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: false }
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        match facts.call.version {
            Some(version) => Match::of(self.0.contains(&version)),
            None if is_unnamed(facts) => Match::NotKnownYet,
            None => Match::No,
        }
    }
}
