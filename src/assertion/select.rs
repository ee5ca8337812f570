//! `select:`: which delegations a test looks at.

use std::str::FromStr;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use regex::Regex;

use super::nearest::nearest;
use super::quote::plural;
use super::reader::{Fields, Reader, Shown};
use super::source::Source;
use super::view::{Reach, RunView};
use super::yaml::Node;
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::record::delegation::Delegation;
use crate::record::query::Filter;

/// Which delegations a test looks at. What is not given does not narrow, but for the session, which is
/// the last one unless the suite or the test says otherwise.
#[derive(Clone, Debug, Default)]
pub struct Select {
    /// As it was written, on one line; empty when nothing was.
    pub written: String,
    /// Agents.
    pub agents: Vec<String>,
    /// A session's name, `last` or `any`.
    pub session: Option<String>,
    context: Option<Context>,
    since: Option<Moment>,
    until: Option<Moment>,
    operations: Vec<Operation>,
    bindings: Vec<Binding>,
    versions: Vec<ProtocolVersion>,
    orchestrators: Vec<String>,
    skills: Vec<String>,
    task: Option<String>,
    fault: Option<String>,
    text: Option<Shown<Regex>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Context {
    /// The conversation of the newest delegation that is selected otherwise.
    Last,
    /// This one.
    Id(String),
}

/// A point in time: absolute, or so long before the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    At(Timestamp),
    Ago(SignedDuration),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse() {
            return Ok(Self::At(at));
        }
        match text.parse::<SignedDuration>() {
            Ok(ago) if text.starts_with(|first: char| first.is_ascii_digit()) => Ok(Self::Ago(ago)),
            Ok(_) | Err(_) => Err(format!(
                "expected a duration like `10m` or a time like `2026-11-30T12:00:00Z`, found `{text}`"
            )),
        }
    }
}

impl Moment {
    fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => now.checked_sub(ago).unwrap_or(Timestamp::MIN),
        }
    }
}

/// What a selection came to.
pub(super) enum Selected<'a> {
    /// These; never empty.
    Some(Box<RunView<'a>>),
    /// None; what would have been selected otherwise.
    Nothing(Vec<String>),
    /// It names what the recording does not know.
    Unknown(String),
}

impl Select {
    /// The delegations whose message says one of these, and nothing else.
    pub(super) fn of_messages(messages: &[String]) -> Self {
        let quoted: Vec<String> = messages.iter().map(|text| regex::escape(text)).collect();
        let pattern = format!("^(?:{})$", quoted.join("|"));
        let text = Regex::new(&pattern).ok();
        let written = format!("{{ text: {pattern:?} }}");
        let text = text.map(|value| Shown { value, written: format!("{pattern:?}") });
        Self { written, text, ..Self::default() }
    }

    /// Reads the value of `select:`.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a map like { agent: billing, since: 10m }", reader)?;
        let select = Self::take(&mut fields, reader);
        fields.finish(reader);
        Some(Self { written: node.to_string(), ..select? })
    }

    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut select = Self::default();
        if let Some(node) = fields.take("agent") {
            select.agents = reader.names(node)?;
        }
        if let Some(node) = fields.take("session") {
            select.session = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("context") {
            select.context = match reader.name(node)? {
                word if word == "any" => None,
                word if word == "last" => Some(Context::Last),
                id => Some(Context::Id(id)),
            };
        }
        for (name, slot) in [("since", &mut select.since), ("until", &mut select.until)] {
            if let Some(node) = fields.take(name) {
                *slot = Some(reader.parsed(node)?);
            }
        }
        if let Some(node) = fields.take("operation") {
            select.operations = reader.parsed_list(node)?;
        }
        if let Some(node) = fields.take("binding") {
            select.bindings = reader.parsed_list(node)?;
        }
        if let Some(node) = fields.take("version") {
            select.versions = reader.parsed_list(node)?;
        }
        if let Some(node) = fields.take("orchestrator") {
            select.orchestrators = reader.names(node)?;
        }
        if let Some(node) = fields.take("skill") {
            select.skills = reader.names(node)?;
        }
        if let Some(node) = fields.take("task") {
            select.task = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("fault") {
            select.fault = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("text") {
            select.text = Some(reader.regex(node)?);
        }
        Some(select)
    }

    /// Asks a source. `session` is what holds when the selection names none.
    pub(super) fn of<'a>(
        &self,
        source: &'a dyn Source,
        session: &str,
        now: Timestamp,
    ) -> Selected<'a> {
        let session = match resolve(source, self.session.as_deref().unwrap_or(session)) {
            Ok(session) => session,
            Err(why) => return Selected::Unknown(why),
        };
        let filter = self.filter(session, now);
        let delegations = self.choose(source, &filter);
        if delegations.is_empty() {
            return Selected::Nothing(self.near_misses(source, &filter, now));
        }
        let mut view = RunView::new(source, filter, delegations);
        view.reach = self.reach();
        Selected::Some(Box::new(view))
    }

    /// What an exchange can be asked as well.
    fn filter(&self, session: Option<String>, now: Timestamp) -> Filter {
        Filter {
            agents: self.agents.clone(),
            bindings: self.bindings.clone(),
            versions: self.versions.clone(),
            session,
            since: self.since.map(|moment| moment.at(now)),
            until: self.until.map(|moment| moment.at(now)),
            ..Filter::default()
        }
    }

    fn reach(&self) -> Reach {
        let narrows_only_delegations = self.context.is_some()
            || !self.operations.is_empty()
            || !self.orchestrators.is_empty()
            || !self.skills.is_empty()
            || self.task.is_some()
            || self.fault.is_some()
            || self.text.is_some();
        if narrows_only_delegations { Reach::Delegations } else { Reach::Selection }
    }

    fn choose(&self, source: &dyn Source, filter: &Filter) -> Vec<Arc<Delegation>> {
        let mut asked = filter.clone();
        asked.operations.clone_from(&self.operations);
        asked.task.clone_from(&self.task);
        asked.fault.clone_from(&self.fault);
        if let Some(Context::Id(id)) = &self.context {
            asked.context = Some(id.clone());
        }
        let mut found = source.delegations(&asked);
        let is = |names: &[String], name: Option<&String>| {
            names.is_empty() || name.is_some_and(|name| names.contains(name))
        };
        found.retain(|delegation| {
            is(&self.orchestrators, Some(&delegation.orchestrator))
                && is(&self.skills, delegation.skill.as_ref())
                && self.text.as_ref().is_none_or(|regex| regex.value.is_match(&delegation.text))
        });
        if self.context == Some(Context::Last) {
            let newest = found.last().map(|last| (last.agent.clone(), last.context_id.clone()));
            found.retain(|delegation| match &newest {
                Some((agent, context)) => {
                    delegation.agent == *agent && delegation.context_id == *context
                }
                None => false,
            });
        }
        found
    }

    /// How many delegations each condition alone keeps out.
    fn near_misses(&self, source: &dyn Source, filter: &Filter, now: Timestamp) -> Vec<String> {
        let without = |what: &str, change: fn(&mut Self)| {
            let mut wider = self.clone();
            change(&mut wider);
            let found = wider.choose(source, &wider.filter(filter.session.clone(), now)).len();
            (found > 0)
                .then(|| format!("without `{what}` {} would be here", plural(found, "delegation")))
        };
        let mut hints: Vec<String> = [
            without("agent", |wider| wider.agents.clear()),
            without("context", |wider| wider.context = None),
            without("since", |wider| wider.since = None),
            without("until", |wider| wider.until = None),
            without("operation", |wider| wider.operations.clear()),
            without("binding", |wider| wider.bindings.clear()),
            without("version", |wider| wider.versions.clear()),
            without("orchestrator", |wider| wider.orchestrators.clear()),
            without("skill", |wider| wider.skills.clear()),
            without("task", |wider| wider.task = None),
            without("fault", |wider| wider.fault = None),
            without("text", |wider| wider.text = None),
        ]
        .into_iter()
        .flatten()
        .collect();
        let everywhere = self.choose(source, &Filter { session: None, ..filter.clone() }).len();
        if everywhere > 0
            && let Some(session) = &filter.session
        {
            let count = plural(everywhere, "delegation");
            hints.push(format!("in other sessions than `{session}` there is {count} like it"));
        }
        if hints.is_empty() {
            let all = source.delegations(&Filter::default()).len();
            hints.push(format!("the whole recording holds {}", plural(all, "delegation")));
        }
        hints
    }
}

/// The session that is meant; `None` for all of them.
fn resolve(source: &dyn Source, wanted: &str) -> Result<Option<String>, String> {
    let sessions = source.sessions();
    if wanted == "any" || (wanted == "last" && sessions.is_empty()) {
        return Ok(None);
    }
    let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
    if wanted == "last" {
        let is_used = |name: &&&str| {
            let filter = Filter { session: Some((**name).to_owned()), ..Filter::default() };
            let newest = Filter { limit: Some(1), ..filter };
            !source.delegations(&newest).is_empty() || !source.exchanges(&newest).is_empty()
        };
        let last = names.iter().rev().find(is_used).or(names.last());
        return Ok(last.map(|name| (*name).to_owned()));
    }
    if names.contains(&wanted) {
        return Ok(Some(wanted.to_owned()));
    }
    let hint = match nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "it knows no sessions".to_owned(),
        None => format!("it has {}", names.join(", ")),
    };
    Err(format!("no session `{wanted}` in this recording; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_duration_before_now_or_a_time() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("10m", "2026-11-30T11:50:00Z"),
            ("1h30m", "2026-11-30T10:30:00Z"),
            ("2026-11-29T00:00:00Z", "2026-11-29T00:00:00Z"),
        ] {
            assert_eq!(text.parse::<Moment>().unwrap().at(now).to_string(), expected, "{text}");
        }
        assert!("yesterday".parse::<Moment>().is_err());
        assert!("10".parse::<Moment>().is_err());
    }
}
