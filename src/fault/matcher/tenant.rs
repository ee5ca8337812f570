//! `tenant: acme`: 1.0's tenant, in the path of HTTP+JSON or in the body.

use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::{Facts, Needs};
use crate::fault::names::Names;

#[derive(Debug)]
struct TenantIs(Names);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(TenantIs(Names::parse(value)?)))
}

impl Matcher for TenantIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: true }
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        match &facts.call.ids.tenant {
            Some(id) => Match::of(self.0.is_match(id)),
            None if facts.body_is_read => Match::No,
            None => Match::NotKnownYet,
        }
    }
}
