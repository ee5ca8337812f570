//! `streaming: true`: whether the operation is one that is answered by a stream.

use serde_json::Value;

use super::{Match, Matcher, Operations, is_unnamed};
use crate::fault::facts::{Facts, Needs};
use crate::fault::settings;

#[derive(Debug)]
struct Streaming(bool);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(Streaming(settings::read(value)?)))
}

impl Matcher for Streaming {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: false }
    }

    fn operations(&self) -> Operations {
        if self.0 { Operations::STREAMS } else { Operations::ALL }
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        if is_unnamed(facts) {
            return Match::NotKnownYet;
        }
        Match::of(facts.call.operation.is_streaming() == self.0)
    }
}
