//! Where an evaluation gets its delegations from: a recording, or lists that someone already holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::id::ExchangeId;
use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;
use crate::record::query::{Filter, Recording};
use crate::record::store::{EventRecord, GapRecord, SessionRecord};

/// What an evaluation asks of a recording.
pub trait Source {
    /// The delegations that match, oldest first.
    fn delegations(&self, filter: &Filter) -> Vec<Arc<Delegation>>;

    /// The exchanges that match, oldest first.
    fn exchanges(&self, filter: &Filter) -> Vec<Arc<Exchange>>;

    /// The exchange of this id.
    fn exchange(&self, id: ExchangeId) -> Option<Arc<Exchange>>;

    /// The agents that were recorded, sorted.
    fn agents(&self) -> Vec<String>;

    /// The sessions, oldest first.
    fn sessions(&self) -> &[SessionRecord];

    /// What was not recorded.
    fn gaps(&self) -> &[GapRecord];

    /// What happened beside the exchanges.
    fn events(&self) -> &[EventRecord];

    /// A name to print: `prefix`, `-` and enough of the id to be unique.
    fn short(&self, prefix: char, id: ExchangeId) -> String;
}

impl Source for Recording {
    fn delegations(&self, filter: &Filter) -> Vec<Arc<Delegation>> {
        self.delegations(filter)
    }

    fn exchanges(&self, filter: &Filter) -> Vec<Arc<Exchange>> {
        self.exchanges(filter)
    }

    fn exchange(&self, id: ExchangeId) -> Option<Arc<Exchange>> {
        self.exchange(&id.to_string()).ok()
    }

    fn agents(&self) -> Vec<String> {
        self.agents()
    }

    fn sessions(&self) -> &[SessionRecord] {
        self.sessions()
    }

    fn gaps(&self) -> &[GapRecord] {
        self.gaps()
    }

    fn events(&self) -> &[EventRecord] {
        self.events()
    }

    fn short(&self, prefix: char, id: ExchangeId) -> String {
        self.short(prefix, id)
    }
}

/// Lists that are a source: what a caller holds in memory, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// The delegations.
    pub delegations: Vec<Arc<Delegation>>,
    /// The exchanges; may be empty when no assertion looks below the delegations.
    pub exchanges: Vec<Arc<Exchange>>,
    /// The sessions.
    pub sessions: Vec<SessionRecord>,
    /// What was not recorded.
    pub gaps: Vec<GapRecord>,
    /// What happened beside the exchanges.
    pub events: Vec<EventRecord>,
}

impl Lists {
    /// The session that `last` means: the most recently opened one that has exchanges.
    fn session<'a>(&'a self, name: Option<&'a str>) -> Option<&'a str> {
        if name != Some("last") {
            return name;
        }
        let used: BTreeSet<&str> = self
            .delegations
            .iter()
            .map(|delegation| delegation.session.as_str())
            .chain(self.exchanges.iter().map(|exchange| exchange.session.as_str()))
            .collect();
        let opened = self.sessions.iter().rev().map(|session| session.name.as_str());
        opened.into_iter().find(|name| used.contains(name)).or(name)
    }
}

impl Source for Lists {
    fn delegations(&self, filter: &Filter) -> Vec<Arc<Delegation>> {
        let session = self.session(filter.session.as_deref());
        let matches = |delegation: &&Arc<Delegation>| {
            one_of(&filter.agents, &delegation.agent)
                && one_of(&filter.operations, &delegation.operation)
                && one_of_known(&filter.bindings, delegation.binding.as_ref())
                && one_of_known(&filter.versions, delegation.version.as_ref())
                && one_of(&filter.outcomes, &delegation.outcome)
                && session.is_none_or(|session| session == delegation.session)
                && is_or_any(filter.task.as_ref(), delegation.task_id.as_ref())
                && is_or_any(filter.context.as_ref(), delegation.context_id.as_ref())
                && filter.fault.as_ref().is_none_or(|rule| delegation.faults.contains(rule))
                && filter.since.is_none_or(|since| delegation.started >= since)
                && filter.until.is_none_or(|until| delegation.started < until)
        };
        self.delegations.iter().filter(matches).cloned().collect()
    }

    fn exchanges(&self, filter: &Filter) -> Vec<Arc<Exchange>> {
        let session = self.session(filter.session.as_deref());
        let matches = |exchange: &&Arc<Exchange>| {
            one_of(&filter.agents, &exchange.agent)
                && one_of(&filter.operations, &exchange.operation)
                && one_of_known(&filter.bindings, exchange.binding.as_ref())
                && one_of_known(&filter.versions, exchange.version.as_ref())
                && one_of(&filter.outcomes, &exchange.outcome)
                && session.is_none_or(|session| session == exchange.session)
                && is_or_any(filter.task.as_ref(), exchange.ids.task_id.as_ref())
                && is_or_any(filter.context.as_ref(), exchange.ids.context_id.as_ref())
                && filter.since.is_none_or(|since| exchange.started >= since)
                && filter.until.is_none_or(|until| exchange.started < until)
        };
        self.exchanges.iter().filter(matches).cloned().collect()
    }

    fn exchange(&self, id: ExchangeId) -> Option<Arc<Exchange>> {
        self.exchanges.iter().find(|exchange| exchange.id == id).cloned()
    }

    fn agents(&self) -> Vec<String> {
        let agents: BTreeSet<&String> = self
            .delegations
            .iter()
            .map(|delegation| &delegation.agent)
            .chain(self.exchanges.iter().map(|exchange| &exchange.agent))
            .collect();
        agents.into_iter().cloned().collect()
    }

    fn sessions(&self) -> &[SessionRecord] {
        &self.sessions
    }

    fn gaps(&self) -> &[GapRecord] {
        &self.gaps
    }

    fn events(&self) -> &[EventRecord] {
        &self.events
    }

    fn short(&self, prefix: char, id: ExchangeId) -> String {
        let hex = id.hex();
        let start = hex.len().saturating_sub(8);
        format!("{prefix}-{}", hex.get(start..).unwrap_or(&hex))
    }
}

fn one_of<T: PartialEq>(wanted: &[T], found: &T) -> bool {
    wanted.is_empty() || wanted.contains(found)
}

fn one_of_known<T: PartialEq>(wanted: &[T], found: Option<&T>) -> bool {
    wanted.is_empty() || found.is_some_and(|found| wanted.contains(found))
}

fn is_or_any(wanted: Option<&String>, found: Option<&String>) -> bool {
    wanted.is_none() || wanted == found
}
