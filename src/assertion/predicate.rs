//! What must stand where a path leads: `equals`, `contains`, `exists`, `matches`, `gt` ..., `count`.

use regex::Regex;
use serde_json::Value;

use crate::a2a::model::TaskState;

use super::compare::{Bounds, same};
use super::on::Sees;
use super::path::Place;
use super::quote;
use super::reader::{Fields, Reader, Shown};
use super::yaml::{Node, Yaml};

/// All of it must hold at the places of one document.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicate {
    /// Every place has this value, and there is one.
    pub(super) equals: Option<Shown<Value>>,
    /// Some place holds it: a part of a text, an element of a list.
    pub(super) contains: Option<Shown<Value>>,
    /// There is a place, or there is none.
    pub(super) exists: Option<bool>,
    /// Every place is a text that matches, and there is one.
    pub(super) matches: Option<Shown<Regex>>,
    /// Every place is a number within, and there is one.
    pub(super) bounds: Bounds,
    /// So many places.
    pub(super) count: Option<Bounds>,
}

impl Predicate {
    /// Takes its keys from a map; `None` when none of them is there or one is wrong.
    pub(super) fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let at = fields.at();
        let mut predicate = Self::default();
        if let Some(node) = fields.take("equals") {
            predicate.equals = Some(reader.json(node));
        }
        if let Some(node) = fields.take("contains") {
            predicate.contains = Some(reader.json(node));
        }
        if let Some(node) = fields.take("exists") {
            predicate.exists = Some(reader.truth(node)?);
        }
        if let Some(node) = fields.take("matches") {
            predicate.matches = Some(reader.regex(node)?);
        }
        // `equals` may be any value here and is taken already; what is left are the other bounds.
        predicate.bounds = Bounds::take(fields, reader)?;
        if let Some(node) = fields.take("count") {
            predicate.count = Some(count(node, reader)?);
        }
        if predicate.len() == 0 {
            reader.problem(at, "expected one of `equals`, `contains`, `exists`, `matches`, `gt`, `gte`, `lt`, `lte`, `count`");
            return None;
        }
        Some(predicate)
    }

    /// How many conditions it has; a pair of bounds is one.
    pub(super) fn len(&self) -> usize {
        usize::from(self.equals.is_some())
            + usize::from(self.contains.is_some())
            + usize::from(self.exists.is_some())
            + usize::from(self.matches.is_some())
            + usize::from(!self.bounds.is_empty())
            + usize::from(self.count.is_some())
    }

    /// Whether it asks that something is not there.
    pub(super) fn is_negative(&self) -> bool {
        self.exists == Some(false)
    }

    /// What is wrong at these places, if anything.
    pub(super) fn miss(&self, places: &[Place<'_>], sees: Sees) -> Option<String> {
        match self.exists {
            Some(true) if places.is_empty() => return Some(NOTHING.to_owned()),
            Some(false) if !places.is_empty() => return Some(shown(places)),
            Some(_) | None => {}
        }
        if let Some(count) = &self.count
            && !count.hold_count(places.len())
        {
            return Some(match places.len() {
                0 => NOTHING.to_owned(),
                count => format!("{}: {}", quote::plural(count, "match"), shown(places)),
            });
        }
        if let Some(wanted) = &self.contains
            && !places.iter().any(|place| holds(place.value, &wanted.value))
        {
            return Some(shown(places));
        }
        let each = |place: &&Place<'_>| {
            let equals = self.equals.as_ref().is_none_or(|wanted| is(place, &wanted.value, sees));
            let matches = self.matches.as_ref().is_none_or(|wanted| {
                place.value.as_str().is_some_and(|text| wanted.value.is_match(text))
            });
            let number = place.value.as_number();
            let bounds = self.bounds.is_empty() || number.is_some_and(|n| self.bounds.hold(n));
            !(equals && matches && bounds)
        };
        let needs_one = self.equals.is_some() || self.matches.is_some() || !self.bounds.is_empty();
        if needs_one && places.is_empty() {
            return Some(NOTHING.to_owned());
        }
        let wrong: Vec<Place<'_>> = places.iter().filter(each).cloned().collect();
        (!wrong.is_empty()).then(|| shown(&wrong))
    }
}

const NOTHING: &str = "nothing is there";

/// `= "completed"`, `matches "(?i)x"`, `at least 2`, joined by `and`.
impl std::fmt::Display for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if let Some(wanted) = &self.equals {
            parts.push(format!("equals {}", wanted.written));
        }
        if let Some(wanted) = &self.contains {
            parts.push(format!("contains {}", wanted.written));
        }
        match self.exists {
            Some(true) => parts.push("exists".to_owned()),
            Some(false) => parts.push("does not exist".to_owned()),
            None => {}
        }
        if let Some(wanted) = &self.matches {
            parts.push(format!("matches {}", wanted.written));
        }
        if !self.bounds.is_empty() {
            parts.push(format!("is {}", self.bounds));
        }
        if let Some(count) = &self.count {
            parts.push(format!("occurs {count} times"));
        }
        f.write_str(&parts.join(" and "))
    }
}

/// A number, or a map of bounds.
pub(super) fn count(node: &Node, reader: &mut Reader<'_>) -> Option<Bounds> {
    if let Yaml::Number(_) = node.value {
        return reader.count(node).map(Bounds::exactly);
    }
    let mut fields = Fields::of(node, "a number or a map like { lte: 2 }", reader)?;
    let bounds = Bounds::need(&mut fields, reader);
    fields.finish(reader);
    bounds
}

/// Whether a place has a value. States and roles of the canonical form may be written as any version
/// spells them.
fn is(place: &Place<'_>, wanted: &Value, sees: Sees) -> bool {
    if same(place.value, wanted) {
        return true;
    }
    let (Some(found), Some(wanted)) = (place.value.as_str(), wanted.as_str()) else { return false };
    match (sees, place.member()) {
        (Sees::Reply | Sees::Events, "state") => {
            TaskState::parse(wanted).is_some_and(|state| state.as_str() == found)
        }
        (Sees::Reply | Sees::Events, "role") => {
            wanted.strip_prefix("ROLE_").is_some_and(|role| role.eq_ignore_ascii_case(found))
        }
        (Sees::Reply | Sees::Events | Sees::Wire, _) => false,
    }
}

/// Whether a value holds another: a text a part of it, a list an element, a map a member of that name.
fn holds(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(items), _) => items.iter().any(|item| same(item, wanted)),
        (Value::Object(members), Value::String(name)) => members.contains_key(name),
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_),
            _,
        ) => same(value, wanted),
    }
}

/// The first few places, for people.
fn shown(places: &[Place<'_>]) -> String {
    if places.is_empty() {
        return NOTHING.to_owned();
    }
    let first: Vec<String> = places
        .iter()
        .take(3)
        .map(|place| format!("{} is {}", quote::plain(&place.at), quote::json(place.value)))
        .collect();
    let more = places.len().saturating_sub(3);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", first.join("; "))
}
