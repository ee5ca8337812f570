//! `header: { x-tenant: "^acme$" }`: request header fields, every given one must match in one of its lines.

use http::HeaderName;
use regex::Regex;
use serde_json::Value;

use super::{Match, Matcher};
use crate::fault::facts::Facts;
use crate::fault::settings;

#[derive(Debug)]
struct Header(Vec<(HeaderName, Regex)>);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    let Value::Object(fields) = value else {
        return Err(format!("{value} is no map of header names to regular expressions"));
    };
    let mut wanted = Vec::new();
    for (name, pattern) in fields {
        let header =
            HeaderName::try_from(name).map_err(|_| format!("`{name}` is no header name"))?;
        let pattern = settings::regex(pattern).map_err(|error| format!("{name}: {error}"))?;
        wanted.push((header, pattern));
    }
    Ok(Box::new(Header(wanted)))
}

impl Matcher for Header {
    fn matches(&self, facts: &Facts<'_>) -> Match {
        Match::of(self.0.iter().all(|(name, pattern)| {
            facts
                .headers
                .get_all(name)
                .iter()
                .any(|value| pattern.is_match(&String::from_utf8_lossy(value.as_bytes())))
        }))
    }
}
