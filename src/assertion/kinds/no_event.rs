//! What did not happen in the recording.

use super::super::events::EventMatch;
use super::super::finding::Finding;
use super::super::matching::without_count;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is no such event.
#[derive(Debug)]
pub(super) struct NoEvent(EventMatch);

impl Named for NoEvent {
    const NAME: &'static str = "no_event";
    const SUMMARY: &'static str = "no such event was recorded";
    const EXAMPLES: &'static [&'static str] =
        &["no_event: upstream_error", "no_event: { name: transport, where: { binding: grpc } }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let event = EventMatch::parse(body, reader)?;
        without_count(body, event.count(), reader)?;
        Some(Self(event))
    }
}

impl Assertion for NoEvent {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        self.0.must_not_occur(view)
    }
}
