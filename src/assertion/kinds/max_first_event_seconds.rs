//! How long it took until the agents began to speak.

use super::super::finding::Finding;
use super::super::metrics;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::max_seconds::at_most;
use super::{Assertion, Named};

/// Every stream's first event came within so long.
#[derive(Debug)]
pub(super) struct MaxFirstEventSeconds(f64);

impl Named for MaxFirstEventSeconds {
    const NAME: &'static str = "max_first_event_seconds";
    const SUMMARY: &'static str =
        "every stream's first event came within so many seconds of the send";
    const EXAMPLES: &'static [&'static str] = &["max_first_event_seconds: 2"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.amount(body).map(Self)
    }
}

impl Assertion for MaxFirstEventSeconds {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        at_most(self.0, "the first event of every stream", &metrics::first_event(view), view)
    }
}
