//! Whether the orchestrator asked the right agent the right thing.

use super::super::finding::Finding;
use super::super::matching::{Message, must_occur};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is such a delegation.
#[derive(Debug)]
pub(super) struct DelegatedTo(Message);

impl Named for DelegatedTo {
    const NAME: &'static str = "delegated_to";
    const SUMMARY: &'static str = "a matching delegation exists (or `count` of them)";
    const EXAMPLES: &'static [&'static str] = &[
        "delegated_to: billing",
        "delegated_to: { agent: billing, contains: \"ORD-1001\", count: { lte: 1 } }",
        "delegated_to: { agent: billing, regex: \"ORD-[0-9]+\", skill: refund, operation: message/send, binding: grpc }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Message::parse(body, reader).map(Self)
    }
}

impl Assertion for DelegatedTo {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        must_occur(&self.0, view)
    }

    fn agents(&self) -> Vec<&str> {
        self.0.agents()
    }

    fn settles(&self) -> bool {
        self.0.count.is_none()
    }
}
