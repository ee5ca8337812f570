//! The order in which the agents were asked.

use crate::record::delegation::Delegation;

use super::super::finding::Finding;
use super::super::matching::{Matching, Tool};
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// The calls came in this order.
#[derive(Debug)]
pub(super) struct ToolSequence {
    tools: Vec<Tool>,
    mode: Mode,
    args: Args,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// In this order, others may lie between.
    #[default]
    ContainsInOrder,
    /// Exactly these, in this order.
    Exact,
    /// All of these, in any order; others may be there.
    AnyOrder,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Args {
    /// A call is told by its name alone.
    Ignore,
    /// Its arguments and result, where they are given, must be right as well.
    #[default]
    Match,
}

impl Named for ToolSequence {
    const NAME: &'static str = "tool_sequence";
    const SUMMARY: &'static str = "the delegations, seen as tool calls, come in this order";
    const EXAMPLES: &'static [&'static str] = &[
        "tool_sequence: [billing, shipping]",
        "tool_sequence: { tools: [billing, shipping], mode: exact }",
        "tool_sequence: { tools: [{ name: billing, args: { message: \"ORD-1001\" } }, shipping], mode: any_order, args: match }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::List(_) = body.value {
            let tools = tools(body, reader)?;
            return Some(Self { tools, mode: Mode::default(), args: Args::default() });
        }
        let form = "a list of tools or a map like { tools: [billing, shipping], mode: exact }";
        let mut fields = Fields::of(body, form, reader)?;
        let list = fields.need("tools", reader);
        let mode = match fields.take("mode") {
            None => Some(Mode::default()),
            Some(node) => reader.word(node, MODES),
        };
        let args = match fields.take("args") {
            None => Some(Args::default()),
            Some(node) => reader.word(node, &[("ignore", Args::Ignore), ("match", Args::Match)]),
        };
        fields.finish(reader);
        Some(Self { tools: tools(list?, reader)?, mode: mode?, args: args? })
    }
}

const MODES: &[(&str, Mode)] = &[
    ("any_order", Mode::AnyOrder),
    ("contains_in_order", Mode::ContainsInOrder),
    ("exact", Mode::Exact),
];

fn tools(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Tool>> {
    let Yaml::List(items) = &node.value else {
        reader.expected("a list of tools", node);
        return None;
    };
    if items.is_empty() {
        reader.problem(node.at, "expected at least one tool");
        return None;
    }
    let tools: Vec<Option<Tool>> = items.iter().map(|item| Tool::parse(item, reader)).collect();
    tools.into_iter().collect()
}

impl ToolSequence {
    fn is(&self, tool: &Tool, delegation: &Delegation) -> bool {
        match self.args {
            Args::Ignore => tool.is_near(delegation),
            Args::Match => tool.matches(delegation),
        }
    }

    /// What is missing or in the way; `None` when the order is as it should be.
    fn flaw(&self, view: &RunView<'_>) -> Option<String> {
        match self.mode {
            Mode::ContainsInOrder => {
                let mut calls = view.delegations.iter();
                let missing =
                    self.tools.iter().position(|tool| !calls.any(|call| self.is(tool, call)))?;
                let name = self.tools.get(missing).map_or("", |tool| tool.name.as_str());
                Some(match missing {
                    0 => format!("no call of {name}"),
                    _ => format!(
                        "no call of {name} (number {}) after the ones before it",
                        missing + 1
                    ),
                })
            }
            Mode::Exact => {
                let same = self.tools.len() == view.delegations.len()
                    && self
                        .tools
                        .iter()
                        .zip(&view.delegations)
                        .all(|(tool, call)| self.is(tool, call));
                (!same).then(|| "not exactly these".to_owned())
            }
            Mode::AnyOrder => {
                let missing = self.unpaired(view);
                missing.map(|tool| format!("no call of {} is left for it", tool.name))
            }
        }
    }

    /// A tool for which no call of its own can be found. Calls are given to tools by augmenting paths: a
    /// plain first-come choice could give a picky tool's only call away.
    fn unpaired(&self, view: &RunView<'_>) -> Option<&Tool> {
        let mut holder: Vec<Option<usize>> = vec![None; view.delegations.len()];
        for index in 0..self.tools.len() {
            let mut seen = vec![false; view.delegations.len()];
            if !self.place(index, view, &mut holder, &mut seen) {
                return self.tools.get(index);
            }
        }
        None
    }

    fn place(
        &self,
        index: usize,
        view: &RunView<'_>,
        holder: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        let Some(tool) = self.tools.get(index) else { return false };
        for (at, call) in view.delegations.iter().enumerate() {
            if !self.is(tool, call) || seen.get(at).copied().unwrap_or(true) {
                continue;
            }
            if let Some(mark) = seen.get_mut(at) {
                *mark = true;
            }
            let held_by = holder.get(at).copied().flatten();
            if held_by.is_none_or(|other| self.place(other, view, holder, seen)) {
                if let Some(slot) = holder.get_mut(at) {
                    *slot = Some(index);
                }
                return true;
            }
        }
        false
    }
}

impl Assertion for ToolSequence {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let Some(flaw) = self.flaw(view) else { return Vec::new() };
        let wanted: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let how = match self.mode {
            Mode::ContainsInOrder => "calls in this order",
            Mode::Exact => "exactly these calls",
            Mode::AnyOrder => "these calls in any order",
        };
        let called: Vec<&str> = view.delegations.iter().map(|call| call.agent.as_str()).collect();
        let called = if called.is_empty() { "no calls".to_owned() } else { called.join(", ") };
        let expected = format!("{how}: {}", wanted.join(", "));
        vec![
            Finding::failed(expected, format!("{called}: {flaw}"))
                .proved_by(view.messages(|_| true)),
        ]
    }

    fn agents(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }
}
