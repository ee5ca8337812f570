//! `event: 2`: the fault begins at this event of the stream; what came before it is the agent's.
//!
//! It holds for every operation that is answered by a stream. Whether the stream gets that far is seen
//! later, by whoever carries out the effect.

use serde_json::Value;

use super::{Match, Matcher, Operations, is_unnamed};
use crate::fault::facts::{Facts, Needs};

#[derive(Debug)]
struct EventIs(u64);

pub(super) fn parse(value: &Value) -> Result<Box<dyn Matcher>, String> {
    match value.as_u64() {
        Some(number) if number > 0 => Ok(Box::new(EventIs(number))),
        Some(_) | None => Err(format!("{value} is no event: they are counted from 1")),
    }
}

impl Matcher for EventIs {
    fn needs(&self) -> Needs {
        Needs { operation: true, body: false }
    }

    fn operations(&self) -> Operations {
        Operations::STREAMS
    }

    fn event(&self) -> Option<u64> {
        Some(self.0)
    }

    fn matches(&self, facts: &Facts<'_>) -> Match {
        if is_unnamed(facts) {
            return Match::NotKnownYet;
        }
        Match::of(facts.call.operation.is_streaming())
    }
}
