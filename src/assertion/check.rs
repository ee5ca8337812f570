//! One entry of an `assert:` list: a kind, its settings, and what it looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Finding, Status, status_of};
use super::kinds::{Assertion, KINDS, Kind, Nesting};
use super::nearest::suggestion;
use super::on::{On, Quantifier};
use super::reader::{CAPTURED, Fields, Reader};
use super::view::RunView;
use super::yaml::{Key, Node, Position, Yaml};

/// One assertion of a suite.
#[derive(Clone, Debug)]
pub struct Check {
    /// The kind's name.
    pub kind: &'static str,
    /// The assertion as it was written, on one line.
    pub text: String,
    /// Where it stands.
    pub at: Position,
    on: On,
    row: &'static Kind,
    body: Arc<dyn Assertion>,
    late: Option<Late>,
}

/// An assertion that names captured values is read again when they are known.
#[derive(Clone, Debug)]
struct Late {
    body: Node,
    variables: BTreeMap<String, String>,
    captures: Vec<String>,
}

/// The form, for messages.
const FORM: &str = "an assertion like `contains: \"ORD-1001\"`";

impl Check {
    /// Reads a list of assertions; not empty.
    pub(super) fn parse_list(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Self>> {
        let Yaml::List(items) = &node.value else {
            reader.expected("a list of assertions", node);
            return None;
        };
        if items.is_empty() {
            reader.problem(node.at, "expected at least one assertion");
        }
        let checks: Vec<Option<Self>> =
            items.iter().map(|item| Self::parse(item, reader)).collect();
        checks.into_iter().collect()
    }

    /// Reads one assertion.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, FORM, reader)?;
        let mut on = On::default();
        let sound = take_modifiers(&mut fields, &mut on, reader);
        let at = fields.at();
        let entries = fields.rest();
        let (key, body) = only_one(at, &entries, reader)?;
        let Some(row) = KINDS.iter().find(|kind| kind.name == key.name) else {
            let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let hint = suggestion(&key.name, &names);
            reader.problem(key.at, format!("unknown assertion `{}`{hint}", key.name));
            return None;
        };
        let body = match row.nesting {
            Nesting::Settings => without_modifiers(body, &mut on, reader)?,
            Nesting::Assertions => body.clone(),
        };
        reader.awaited();
        let parsed = (row.parse)(&body, reader);
        sound?;
        let captures = reader.awaited();
        let late = (!captures.is_empty()).then(|| Late {
            body: body.clone(),
            variables: reader.used(),
            captures,
        });
        let text = on_one_line(node);
        Some(Self { kind: row.name, text, at: key.at, on, row, body: parsed?.into(), late })
    }

    /// The agents it names.
    pub(super) fn agents(&self) -> Vec<&str> {
        let mut agents = match self.late {
            Some(_) => Vec::new(),
            None => self.body.agents(),
        };
        agents.extend(self.on.agents.iter().map(String::as_str));
        agents
    }

    /// The ends (states or outcomes) that it expects, so that they need not fail the test.
    pub(super) fn expected_ends(&self) -> Vec<String> {
        self.body.expected_ends()
    }

    /// Whether it stays true once it is, whatever comes later.
    pub fn settles(&self) -> bool {
        let is_any = matches!(self.on.quantifier, None | Some(Quantifier::Any));
        is_any && self.on.pick.is_none() && self.on.turn.is_none() && self.body.settles()
    }

    /// The assertions it is made of, when each is a result of its own: a pack's.
    pub(super) fn parts(&self) -> &[Self] {
        self.body.parts()
    }

    /// The same as part of a pack, which is what stands in the suite.
    pub(super) fn of_pack(self, pack: &str, at: Position) -> Self {
        Self { text: format!("pack {pack}: {}", self.text), at, ..self }
    }

    /// What is left of the view under its `on:`.
    pub(super) fn narrowed<'v>(&self, view: &RunView<'v>) -> RunView<'v> {
        if self.on == On::default() { view.clone() } else { view.narrow(&self.on) }
    }

    /// Whether it holds: no findings.
    pub(super) fn judge(&self, view: &RunView<'_>) -> Vec<Finding> {
        let view = &self.narrowed(view);
        match self.row.nesting {
            Nesting::Settings => {
                if let Some(gap) = view.gap() {
                    return vec![gap];
                }
            }
            Nesting::Assertions => {}
        }
        let Some(late) = &self.late else { return self.body.check(view) };
        let missing = late.captures.iter().find(|capture| !view.captured.contains_key(*capture));
        if let Some(missing) = missing {
            let actual = format!("nothing to look at: `{missing}` was not captured");
            return vec![Finding::vacuous(&self.text, actual)];
        }
        match self.read_again(late, view) {
            Ok(body) => body.check(view),
            Err(why) => vec![Finding::error("a captured value that fits", why)],
        }
    }

    fn read_again(&self, late: &Late, view: &RunView<'_>) -> Result<Box<dyn Assertion>, String> {
        let variables = |name: &str| match name.strip_prefix(CAPTURED) {
            Some(capture) => view.captured.get(capture).cloned(),
            None => late.variables.get(name).cloned(),
        };
        let mut reader = Reader::new("", &variables);
        let body = (self.row.parse)(&late.body, &mut reader);
        let why = reader.finish().into_iter().next().map(|problem| problem.text);
        match (body, why) {
            (Some(body), None) => Ok(body),
            (_, why) => Err(why.unwrap_or_default()),
        }
    }
}

/// Judges several over the same view; the worst comes first.
pub(super) fn judge_all(checks: &[Check], view: &RunView<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = checks.iter().flat_map(|check| check.judge(view)).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.status));
    if status_of(&findings) == Status::Held { Vec::new() } else { findings }
}

/// Takes `on`, `on_turn` and `injected`; `None` when one of them is wrong.
fn take_modifiers(fields: &mut Fields<'_>, on: &mut On, reader: &mut Reader<'_>) -> Option<()> {
    let mut sound = Some(());
    if let Some(node) = fields.take("on") {
        match On::parse(node, reader) {
            Some(parsed) => *on = parsed,
            None => sound = None,
        }
    }
    if let Some(node) = fields.take("on_turn") {
        sound = sound.and(on.on_turn(node, reader));
    }
    if let Some(node) = fields.take("injected") {
        sound = sound.and(on.injected(node, reader));
    }
    sound
}

/// Modifiers may also stand among the settings of a kind.
fn without_modifiers(body: &Node, on: &mut On, reader: &mut Reader<'_>) -> Option<Node> {
    let Yaml::Map(_) = &body.value else { return Some(body.clone()) };
    let mut fields = Fields::of(body, FORM, reader)?;
    take_modifiers(&mut fields, on, reader)?;
    let rest = fields.rest().into_iter().map(|(key, node)| (key.clone(), node.clone())).collect();
    Some(Node { at: body.at, value: Yaml::Map(rest) })
}

fn only_one<'n>(
    at: Position,
    entries: &[(&'n Key, &'n Node)],
    reader: &mut Reader<'_>,
) -> Option<(&'n Key, &'n Node)> {
    match entries {
        [one] => Some(*one),
        [] => {
            reader.problem(at, format!("expected {FORM}"));
            None
        }
        [_, (second, _), ..] => {
            let text = format!(
                "one assertion an entry: write `- {}: ...` on its own (beside an assertion only `on`, \
                 `on_turn` and `injected` may stand)",
                second.name
            );
            reader.problem(second.at, text);
            None
        }
    }
}

/// The entry as a person would write it, without the braces around it.
fn on_one_line(node: &Node) -> String {
    let text = node.to_string();
    let bare = text.strip_prefix("{ ").and_then(|text| text.strip_suffix(" }")).unwrap_or(&text);
    let mut line: String = bare.chars().take(120).collect();
    if line.len() < bare.len() {
        line.push_str("...");
    }
    line
}
