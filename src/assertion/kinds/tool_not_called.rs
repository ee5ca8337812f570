//! A tool (an agent) that was left alone.

use super::super::finding::Finding;
use super::super::matching::{Tool, must_not_occur, without_count};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is no such call.
#[derive(Debug)]
pub(super) struct ToolNotCalled(Tool);

impl Named for ToolNotCalled {
    const NAME: &'static str = "tool_not_called";
    const SUMMARY: &'static str = "no delegation is a call of this tool";
    const EXAMPLES: &'static [&'static str] = &[
        "tool_not_called: shipping",
        "tool_not_called: { name: billing, args: { message: \"delete\" } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let tool = Tool::parse(body, reader)?;
        without_count(body, tool.count.as_ref(), reader)?;
        Some(Self(tool))
    }
}

impl Assertion for ToolNotCalled {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        must_not_occur(&self.0, view)
    }

    fn agents(&self) -> Vec<&str> {
        vec![&self.0.name]
    }
}
