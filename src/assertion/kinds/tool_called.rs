//! A delegation seen as a tool call: the tool is named after the agent.

use super::super::finding::Finding;
use super::super::matching::{Tool, must_occur};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// There is such a call.
#[derive(Debug)]
pub(super) struct ToolCalled(Tool);

impl Named for ToolCalled {
    const NAME: &'static str = "tool_called";
    const SUMMARY: &'static str = "a delegation is a call of this tool: named after its agent, the message as `args.message`, the reply as result";
    const EXAMPLES: &'static [&'static str] = &[
        "tool_called: billing",
        "tool_called: { name: billing, args: { message: \"ORD-1001\" }, result: { contains: \"RF-889\" } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Tool::parse(body, reader).map(Self)
    }
}

impl Assertion for ToolCalled {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        must_occur(&self.0, view)
    }

    fn agents(&self) -> Vec<&str> {
        vec![&self.0.name]
    }

    fn settles(&self) -> bool {
        self.0.count.is_none()
    }
}
