//! What a [`Filter`] lets through.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Filter, Recording};
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::{Operation, TaskState};
use crate::record::decode;
use crate::record::delegation::Delegation;
use crate::record::exchange::{Exchange, FaultVerdict, Outcome};

/// A filter whose `last` has been found.
pub(super) struct Wanted<'a> {
    filter: &'a Filter,
    session: Option<&'a str>,
    text: Option<String>,
}

/// What exchanges and delegations are both asked for.
struct Facts<'a> {
    agent: &'a str,
    operation: Operation,
    binding: Option<Binding>,
    version: Option<ProtocolVersion>,
    outcome: Outcome,
    session: &'a str,
    task: Option<&'a str>,
    context: Option<&'a str>,
    started: Timestamp,
}

impl<'a> Wanted<'a> {
    /// `None`: nothing can match, because there is no last session.
    pub(super) fn of(filter: &'a Filter, recording: &'a Recording) -> Option<Self> {
        let session = match filter.session.as_deref() {
            Some("last") => Some(recording.last_session()?),
            named => named,
        };
        Some(Self { filter, session, text: filter.text.as_ref().map(|text| text.to_lowercase()) })
    }

    /// The newest so many of what matched, oldest first.
    pub(super) fn newest<'b, T: 'b>(
        &self,
        matching: impl DoubleEndedIterator<Item = &'b Arc<T>>,
    ) -> Vec<Arc<T>> {
        let newest_first = matching.rev().take(self.filter.limit.unwrap_or(usize::MAX));
        let mut kept: Vec<Arc<T>> = newest_first.cloned().collect();
        kept.reverse();
        kept
    }

    pub(super) fn has_exchange(&self, exchange: &Exchange) -> bool {
        let facts = Facts {
            agent: &exchange.agent,
            operation: exchange.operation,
            binding: exchange.binding,
            version: exchange.version,
            outcome: exchange.outcome,
            session: &exchange.session,
            task: exchange.ids.task_id.as_deref(),
            context: exchange.ids.context_id.as_deref(),
            started: exchange.started,
        };
        let mut fired = exchange
            .faults
            .iter()
            .filter(|fault| fault.verdict == FaultVerdict::Fired)
            .map(|fault| &fault.rule);
        self.has(&facts)
            && self.filter.fault.as_ref().is_none_or(|rule| fired.any(|fired| fired == rule))
            && self.has_content(exchange)
    }

    pub(super) fn has_delegation(&self, delegation: &Delegation) -> bool {
        let facts = Facts {
            agent: &delegation.agent,
            operation: delegation.operation,
            binding: delegation.binding,
            version: delegation.version,
            outcome: delegation.outcome,
            session: &delegation.session,
            task: delegation.task_id.as_deref(),
            context: delegation.context_id.as_deref(),
            started: delegation.started,
        };
        let has_text = |text: &String| {
            [&delegation.text, &delegation.reply_text]
                .into_iter()
                .any(|words| words.to_lowercase().contains(text))
        };
        self.has(&facts)
            && self.filter.fault.as_ref().is_none_or(|rule| delegation.faults.contains(rule))
            && self.has_state(delegation.state.as_deref())
            && self.text.as_ref().is_none_or(has_text)
    }

    fn has(&self, facts: &Facts<'_>) -> bool {
        let Filter { agents, operations, bindings, versions, outcomes, .. } = self.filter;
        let is_named = |wanted: &Option<String>, id: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| id == Some(wanted))
        };
        (agents.is_empty() || agents.iter().any(|agent| agent == facts.agent))
            && (operations.is_empty() || operations.contains(&facts.operation))
            && (bindings.is_empty() || facts.binding.is_some_and(|it| bindings.contains(&it)))
            && (versions.is_empty() || facts.version.is_some_and(|it| versions.contains(&it)))
            && (outcomes.is_empty() || outcomes.contains(&facts.outcome))
            && self.session.is_none_or(|session| session == facts.session)
            && is_named(&self.filter.task, facts.task)
            && is_named(&self.filter.context, facts.context)
            && self.filter.since.is_none_or(|since| facts.started >= since)
            && self.filter.until.is_none_or(|until| facts.started < until)
    }

    fn has_state(&self, state: Option<&str>) -> bool {
        let states = &self.filter.states;
        let is_wanted = |state: &str| match TaskState::parse(state) {
            Some(state) => states.contains(&state),
            None => states.iter().any(|wanted| wanted.as_str() == state),
        };
        states.is_empty() || state.is_some_and(is_wanted)
    }

    /// What only the octets tell, and so is asked last.
    fn has_content(&self, exchange: &Exchange) -> bool {
        if self.filter.states.is_empty() && self.text.is_none() {
            return true;
        }
        let understood = decode::understand(exchange);
        let folded = understood.seen().map(decode::folded).unwrap_or_default();
        let state = folded.states.last().map(TaskState::as_str);
        let message = decode::sent_message(&understood.call).map(|send| send.message.text());
        let words = [message.unwrap_or_default(), folded.text()];
        let has_text =
            |text: &String| words.iter().any(|words| words.to_lowercase().contains(text));
        self.has_state(state) && self.text.as_ref().is_none_or(has_text)
    }
}
