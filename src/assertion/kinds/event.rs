//! What happened in the recording.

use super::super::events::EventMatch;
use super::super::finding::Finding;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is such an event.
#[derive(Debug)]
pub(super) struct Event(EventMatch);

impl Named for Event {
    const NAME: &'static str = "event";
    const SUMMARY: &'static str = "such an event was recorded (or `count` of them)";
    const EXAMPLES: &'static [&'static str] = &[
        "event: task_input_required",
        "event: { name: fault_injected, count: 1, where: { rule: \"refunds fail\" } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        EventMatch::parse(body, reader).map(Self)
    }
}

impl Assertion for Event {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        self.0.must_occur(view)
    }

    fn settles(&self) -> bool {
        self.0.count().is_none()
    }
}
