//! Which delegations `delegated_to` and the `tool_...` kinds mean.

use regex::Regex;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::record::delegation::Delegation;

use super::compare::Bounds;
use super::finding::{Evidence, Finding};
use super::predicate;
use super::reader::{Fields, Reader, Shown};
use super::view::RunView;
use super::words::Words;
use super::yaml::{Node, Yaml};

/// Delegations by agent and message: `delegated_to`.
#[derive(Debug, Default)]
pub(super) struct Message {
    agents: Vec<String>,
    contains: Vec<Shown<String>>,
    regex: Option<Shown<Regex>>,
    skill: Option<String>,
    operations: Vec<Operation>,
    bindings: Vec<Binding>,
    versions: Vec<ProtocolVersion>,
    pub(super) count: Option<Bounds>,
}

/// Delegations by name, arguments and result: `tool_called`.
#[derive(Debug, Default)]
pub(super) struct Tool {
    pub(super) name: String,
    message: Option<Words>,
    result: Option<Words>,
    pub(super) count: Option<Bounds>,
}

/// What both ways of naming delegations can do.
pub(super) trait Matching {
    /// Whether a delegation is meant.
    fn matches(&self, delegation: &Delegation) -> bool;
    /// Whether a delegation is meant but for what was said in it.
    fn is_near(&self, delegation: &Delegation) -> bool;
    /// What is meant, after the word `delegation`.
    fn describe(&self) -> String;
    /// How many there must be, when that was said.
    fn count(&self) -> Option<&Bounds>;
}

impl Message {
    /// A name, or a map.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = node.value {
            return Some(Self { agents: vec![reader.name(node)?], ..Self::default() });
        }
        let form = "an agent's name or a map like { agent: billing, contains: \"ORD-1001\" }";
        let mut fields = Fields::of(node, form, reader)?;
        let message = Self::take(&mut fields, reader);
        fields.finish(reader);
        message
    }

    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut message = Self::default();
        if let Some(node) = fields.take("agent") {
            message.agents = reader.names(node)?;
        }
        if let Some(node) = fields.take("contains") {
            message.contains = reader.shown_texts(node)?;
        }
        if let Some(node) = fields.take("regex") {
            message.regex = Some(reader.regex(node)?);
        }
        if let Some(node) = fields.take("skill") {
            message.skill = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("operation") {
            message.operations = sends(node, reader)?;
        }
        if let Some(node) = fields.take("binding") {
            message.bindings = reader.parsed_list(node)?;
        }
        if let Some(node) = fields.take("version") {
            message.versions = reader.parsed_list(node)?;
        }
        if let Some(node) = fields.take("count") {
            message.count = Some(predicate::count(node, reader)?);
        }
        Some(message)
    }

    /// The agents it names.
    pub(super) fn agents(&self) -> Vec<&str> {
        self.agents.iter().map(String::as_str).collect()
    }
}

/// Operations that begin a delegation; no other is ever a delegation's operation.
fn sends(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Operation>> {
    let operations: Vec<Operation> = reader.parsed_list(node)?;
    if let Some(other) = operations.iter().find(|operation| !operation.is_send()) {
        let text = format!(
            "`{other}` is part of a delegation, not one; only SendMessage and SendStreamingMessage begin one"
        );
        reader.problem(node.at, text);
        return None;
    }
    Some(operations)
}

impl Matching for Message {
    fn matches(&self, delegation: &Delegation) -> bool {
        self.is_near(delegation)
            && self.contains.iter().all(|part| delegation.text.contains(&part.value))
            && self.regex.as_ref().is_none_or(|regex| regex.value.is_match(&delegation.text))
            && self.skill.as_ref().is_none_or(|skill| delegation.skill.as_ref() == Some(skill))
            && (self.operations.is_empty() || self.operations.contains(&delegation.operation))
            && (self.bindings.is_empty()
                || delegation.binding.is_some_and(|binding| self.bindings.contains(&binding)))
            && (self.versions.is_empty()
                || delegation.version.is_some_and(|version| self.versions.contains(&version)))
    }

    fn is_near(&self, delegation: &Delegation) -> bool {
        self.agents.is_empty() || self.agents.contains(&delegation.agent)
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        if !self.agents.is_empty() {
            parts.push(format!("to {}", self.agents.join(" or ")));
        }
        for part in &self.contains {
            parts.push(format!("whose message contains {}", part.written));
        }
        if let Some(regex) = &self.regex {
            parts.push(format!("whose message matches {}", regex.written));
        }
        if let Some(skill) = &self.skill {
            parts.push(format!("for the skill `{skill}`"));
        }
        if !self.operations.is_empty() {
            parts.push(format!("by {}", joined(&self.operations)));
        }
        if !self.bindings.is_empty() {
            parts.push(format!("over {}", joined(&self.bindings)));
        }
        if !self.versions.is_empty() {
            parts.push(format!("in version {}", joined(&self.versions)));
        }
        parts.join(" ")
    }

    fn count(&self) -> Option<&Bounds> {
        self.count.as_ref()
    }
}

impl Tool {
    /// A name, or a map.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = node.value {
            return Some(Self { name: reader.name(node)?, ..Self::default() });
        }
        let form = "a tool's name (an agent) or a map like { name: billing, args: { message: \"ORD-1001\" } }";
        let mut fields = Fields::of(node, form, reader)?;
        let tool = Self::take(&mut fields, reader);
        fields.finish(reader);
        tool
    }

    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut tool = Self::default();
        let name = fields.need("name", reader);
        if let Some(node) = fields.take("args") {
            let mut args = Fields::of(node, "a map like { message: \"ORD-1001\" }", reader)?;
            let message = args.need("message", reader).and_then(|node| Words::parse(node, reader));
            args.finish(reader);
            tool.message = Some(message?);
        }
        if let Some(node) = fields.take("result") {
            tool.result = Some(Words::parse(node, reader)?);
        }
        if let Some(node) = fields.take("count") {
            tool.count = Some(predicate::count(node, reader)?);
        }
        tool.name = reader.name(name?)?;
        Some(tool)
    }
}

impl Matching for Tool {
    fn matches(&self, delegation: &Delegation) -> bool {
        self.is_near(delegation)
            && self.message.as_ref().is_none_or(|words| words.hold(&delegation.text))
            && self.result.as_ref().is_none_or(|words| words.hold(&delegation.reply_text))
    }

    fn is_near(&self, delegation: &Delegation) -> bool {
        delegation.agent == self.name
    }

    fn describe(&self) -> String {
        let mut parts = vec![format!("to {}", self.name)];
        if let Some(words) = &self.message {
            parts.push(format!("whose message {words}"));
        }
        if let Some(words) = &self.result {
            parts.push(format!("whose reply {words}"));
        }
        parts.join(" ")
    }

    fn count(&self) -> Option<&Bounds> {
        self.count.as_ref()
    }
}

/// There must be one, or as many as `count` says.
pub(super) fn must_occur(wanted: &dyn Matching, view: &RunView<'_>) -> Vec<Finding> {
    let matched = view.delegations.iter().filter(|delegation| wanted.matches(delegation)).count();
    match wanted.count() {
        None if matched > 0 => Vec::new(),
        Some(count) if count.hold_count(matched) => Vec::new(),
        None => {
            let expected = format!("a delegation {}", wanted.describe());
            vec![near_misses(wanted, view, Finding::failed(expected, "there is none"))]
        }
        Some(count) => {
            let expected = format!("{count} delegations {}", wanted.describe());
            let finding = Finding::failed(expected, format!("there are {matched}"));
            let finding = if matched == 0 { near_misses(wanted, view, finding) } else { finding };
            vec![finding.proved_by(view.messages(|delegation| wanted.matches(delegation)))]
        }
    }
}

/// `count` says how many there must be; where there must be none it has nothing to say.
pub(super) fn without_count(
    node: &Node,
    count: Option<&Bounds>,
    reader: &mut Reader<'_>,
) -> Option<()> {
    if count.is_some() {
        reader.problem(node.at, "`count` has no meaning where none may be; leave it out");
        return None;
    }
    Some(())
}

/// There must be none.
pub(super) fn must_not_occur(wanted: &dyn Matching, view: &RunView<'_>) -> Vec<Finding> {
    let found = view.messages(|delegation| wanted.matches(delegation));
    if found.is_empty() {
        return Vec::new();
    }
    let matched = view.delegations.iter().filter(|delegation| wanted.matches(delegation)).count();
    let actual = match matched {
        1 => "there is one".to_owned(),
        _ => format!("there are {matched}"),
    };
    let expected = format!("no delegation {}", wanted.describe());
    vec![Finding::failed(expected, actual).proved_by(found)]
}

/// What came nearest: delegations to the same agent, else those there are.
fn near_misses(wanted: &dyn Matching, view: &RunView<'_>, finding: Finding) -> Finding {
    let near: Vec<Evidence> = view.messages(|delegation| wanted.is_near(delegation));
    if near.is_empty() {
        let hint = format!("the selection has {}", view.counted());
        return finding.hint(hint).proved_by(view.messages(|_| true));
    }
    finding.hint("this is what went to that agent").proved_by(near)
}

fn joined<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(" or ")
}
