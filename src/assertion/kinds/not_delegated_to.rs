//! Whether the orchestrator left an agent alone.

use super::super::finding::Finding;
use super::super::matching::{Message, must_not_occur, without_count};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is no such delegation.
#[derive(Debug)]
pub(super) struct NotDelegatedTo(Message);

impl Named for NotDelegatedTo {
    const NAME: &'static str = "not_delegated_to";
    const SUMMARY: &'static str = "no matching delegation exists";
    const EXAMPLES: &'static [&'static str] = &[
        "not_delegated_to: shipping",
        "not_delegated_to: { agent: billing, contains: \"ORD-9999\" }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let message = Message::parse(body, reader)?;
        without_count(body, message.count.as_ref(), reader)?;
        Some(Self(message))
    }
}

impl Assertion for NotDelegatedTo {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        must_not_occur(&self.0, view)
    }

    fn agents(&self) -> Vec<&str> {
        self.0.agents()
    }
}
