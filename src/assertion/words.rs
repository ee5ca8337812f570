//! What a text must say: `contains`, `not_contains`, `equals`, `matches`, `not_contains_env`.

use regex::Regex;

use super::quote::{plural, quote};
use super::reader::{Fields, Reader, Shown};
use super::yaml::{Node, Yaml};

/// Conditions on one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    contains: Vec<Shown<String>>,
    not_contains: Vec<Shown<String>>,
    secrets: Vec<Shown<String>>,
    equals: Option<Shown<String>>,
    matches: Option<Shown<Regex>>,
    case: Case,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Case {
    #[default]
    Matters,
    Ignored,
}

impl Words {
    /// The text must contain all of these.
    pub(super) fn containing(contains: Vec<Shown<String>>) -> Self {
        Self { contains, ..Self::default() }
    }

    /// The text must match.
    pub(super) fn matching(regex: Shown<Regex>) -> Self {
        Self { matches: Some(regex), ..Self::default() }
    }

    /// Reads a map of conditions; a plain text must be contained.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) | Yaml::Number(_) = node.value {
            return reader.shown_texts(node).map(Self::containing);
        }
        let mut fields =
            Fields::of(node, "a text or a map like { contains: \"ORD-1001\" }", reader)?;
        let words = Self::take(&mut fields, reader);
        fields.finish(reader);
        words
    }

    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let at = fields.at();
        let mut words = Self::default();
        if let Some(node) = fields.take("contains") {
            words.contains = reader.shown_texts(node)?;
        }
        if let Some(node) = fields.take("not_contains") {
            words.not_contains = reader.shown_texts(node)?;
        }
        if let Some(node) = fields.take("not_contains_env") {
            words.secrets = match &node.value {
                Yaml::List(items) => {
                    items.iter().map(|item| reader.environment(item)).collect::<Option<_>>()?
                }
                Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                    vec![reader.environment(node)?]
                }
            };
        }
        if let Some(node) = fields.take("equals") {
            words.equals = Some(reader.shown_text(node)?);
        }
        let matches = fields.take("matches");
        if let Some(node) = fields.take("case_sensitive") {
            words.case = if reader.truth(node)? { Case::Matters } else { Case::Ignored };
        }
        if let Some(node) = matches {
            words.matches = Some(match words.case {
                Case::Matters => reader.regex(node)?,
                Case::Ignored => case_blind(reader.regex(node)?),
            });
        }
        if !words.has_positive() && !words.has_negative() {
            reader.problem(at, "expected at least one of `contains`, `not_contains`, `not_contains_env`, `equals`, `matches`");
            return None;
        }
        Some(words)
    }

    /// Whether something must be there.
    pub(super) fn has_positive(&self) -> bool {
        !self.contains.is_empty() || self.equals.is_some() || self.matches.is_some()
    }

    /// Whether something must not be there.
    pub(super) fn has_negative(&self) -> bool {
        !self.not_contains.is_empty() || !self.secrets.is_empty()
    }

    /// Whether everything that must be there is there.
    pub(super) fn hold_positive(&self, text: &str) -> bool {
        let folded = self.fold(text);
        self.contains.iter().all(|part| folded.contains(&self.fold(&part.value)))
            && self.equals.as_ref().is_none_or(|wanted| folded == self.fold(&wanted.value))
            && self.matches.as_ref().is_none_or(|regex| regex.value.is_match(text))
    }

    /// What is there and must not be. A secret is named by its variable, never shown, and neither is the
    /// text that holds it.
    pub(super) fn offence(&self, text: &str) -> Option<String> {
        if let Some(secret) = self.secrets.iter().find(|secret| text.contains(&secret.value)) {
            return Some(format!("the value of {} is in it (not shown)", secret.written));
        }
        let folded = self.fold(text);
        let found: Vec<&str> = self
            .not_contains
            .iter()
            .filter(|part| folded.contains(&self.fold(&part.value)))
            .map(|part| part.written.as_str())
            .collect();
        (!found.is_empty()).then(|| format!("{} is in {}", found.join(", "), quote(text)))
    }

    /// Whether all of it holds.
    pub(super) fn hold(&self, text: &str) -> bool {
        self.hold_positive(text) && self.offence(text).is_none()
    }

    /// What must be there, in words.
    pub(super) fn positive(&self) -> String {
        let mut parts = Vec::new();
        if !self.contains.is_empty() {
            parts.push(format!("contains {}", listed(&self.contains, "and")));
        }
        if let Some(wanted) = &self.equals {
            parts.push(format!("equals {}", wanted.written));
        }
        if let Some(regex) = &self.matches {
            parts.push(format!("matches {}", regex.written));
        }
        parts.join(" and ")
    }

    /// What must not be there, in words.
    pub(super) fn negative(&self) -> String {
        let mut parts = Vec::new();
        if !self.not_contains.is_empty() {
            parts.push(format!("does not contain {}", listed(&self.not_contains, "or")));
        }
        match self.secrets.as_slice() {
            [] => {}
            [one] => parts.push(format!("does not contain the value of {}", one.written)),
            many => parts.push(format!("contains none of {}", plural(many.len(), "secret"))),
        }
        parts.join(" and ")
    }

    fn fold(&self, text: &str) -> String {
        match self.case {
            Case::Matters => text.to_owned(),
            Case::Ignored => text.to_lowercase(),
        }
    }
}

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [self.positive(), self.negative()];
        let parts: Vec<&str> =
            parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join(" and "))
    }
}

/// The same expression for any case: it was accepted as it is, so it is accepted with a flag in front.
fn case_blind(regex: Shown<Regex>) -> Shown<Regex> {
    let blind = Regex::new(&format!("(?i:{})", regex.value.as_str()));
    Shown { value: blind.unwrap_or(regex.value), written: regex.written }
}

fn listed(texts: &[Shown<String>], joint: &str) -> String {
    let texts: Vec<&str> = texts.iter().map(|text| text.written.as_str()).collect();
    texts.join(&format!(" {joint} "))
}
