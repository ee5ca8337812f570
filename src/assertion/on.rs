//! `on:`, which narrows one assertion.

use super::reader::{Fields, Reader};
use super::yaml::{Node, Yaml};

/// What one assertion looks at, within the selection of its test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct On {
    /// Only delegations to these agents; empty for all.
    pub agents: Vec<String>,
    /// Only one delegation.
    pub pick: Option<Pick>,
    /// Only one turn of each conversation.
    pub turn: Option<Pick>,
    /// Whether one is enough.
    pub quantifier: Option<Quantifier>,
    /// In which form a reply is seen.
    pub sees: Option<Sees>,
    /// Whether delegations that a rule answered are seen.
    pub injected: Option<Injected>,
}

/// One of several, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The oldest.
    First,
    /// The newest.
    Last,
    /// The one of this number.
    Nth(usize),
}

/// How many must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// One is enough.
    Any,
    /// All must.
    Every,
}

/// In which form a reply is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sees {
    /// The canonical reply: the same for all bindings and versions.
    #[default]
    Reply,
    /// The list of stream events, canonical.
    Events,
    /// What really came.
    Wire,
}

/// Whether what Meddler injected is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injected {
    /// Like everything else.
    Include,
    /// Not.
    Exclude,
    /// Nothing else.
    Only,
}

const SEES: &[(&str, Sees)] =
    &[("events", Sees::Events), ("reply", Sees::Reply), ("wire", Sees::Wire)];

impl On {
    /// Reads the value of `on:`.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = node.value {
            let sees = reader.word(node, SEES)?;
            return Some(Self { sees: Some(sees), ..Self::default() });
        }
        let form = "`events`, `wire` or a map like { agent: NAME, delegation: last }";
        let mut fields = Fields::of(node, form, reader)?;
        let mut on = Self::default();
        if let Some(node) = fields.take("agent") {
            on.agents = reader.names(node)?;
        }
        if let Some(node) = fields.take("delegation") {
            on.delegation(node, reader)?;
        }
        if let Some(node) = fields.take("turn") {
            on.turn = Some(pick(node, &[], reader)?.0?);
        }
        if let Some(node) = fields.take("sees") {
            on.sees = Some(reader.word(node, SEES)?);
        }
        if let Some(node) = fields.take("injected") {
            on.injected(node, reader)?;
        }
        fields.finish(reader);
        Some(on)
    }

    /// Reads `on_turn:`, the same as `on: { turn: ... }`.
    pub(super) fn on_turn(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<()> {
        self.turn = Some(pick(node, &[], reader)?.0?);
        Some(())
    }

    /// Reads `injected:`.
    pub(super) fn injected(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<()> {
        let known = [
            ("exclude", Injected::Exclude),
            ("include", Injected::Include),
            ("only", Injected::Only),
        ];
        self.injected = Some(reader.word(node, &known)?);
        Some(())
    }

    fn delegation(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<()> {
        let quantifiers = [("any", Quantifier::Any), ("every", Quantifier::Every)];
        let (pick, quantifier) = pick(node, &quantifiers, reader)?;
        self.pick = pick;
        self.quantifier = quantifier;
        Some(())
    }
}

/// `first`, `last`, a number from 1, or one of `more`.
fn pick(
    node: &Node,
    more: &[(&'static str, Quantifier)],
    reader: &mut Reader<'_>,
) -> Option<(Option<Pick>, Option<Quantifier>)> {
    if let Yaml::Number(_) = node.value {
        let number = reader.count(node)?;
        if number == 0 {
            reader.problem(node.at, "the first has the number 1");
            return None;
        }
        return Some((Some(Pick::Nth(number)), None));
    }
    let mut known = vec![("first", (Some(Pick::First), None)), ("last", (Some(Pick::Last), None))];
    known.extend(more.iter().map(|(word, quantifier)| (*word, (None, Some(*quantifier)))));
    reader.word(node, &known)
}
