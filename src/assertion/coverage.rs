//! Coverage: what of each agent's offer the recording has seen.
//!
//! The cells of an agent are what could have been seen: the skills and interfaces of its card, the
//! operations that the card allows, the states of tasks, and the faults whose rules met it. A number
//! without the list of what is missing would say nothing, so each cell is named.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cards;
use super::source::Source;
use crate::a2a::binding::Binding;
use crate::a2a::model::{AgentCard, Operation, TaskState};
use crate::record::delegation::Delegation;
use crate::record::exchange::FaultVerdict;
use crate::record::query::Filter;

/// What was seen of every agent.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// By agent.
    pub agents: Vec<OfAgent>,
    /// Cells seen, in all.
    pub seen: usize,
    /// Cells there are.
    pub cells: usize,
}

/// What was seen of one agent.
#[derive(Clone, Debug, Serialize)]
pub struct OfAgent {
    /// Its name.
    pub agent: String,
    /// How many messages it was sent.
    pub delegations: usize,
    /// Whether its card was recorded: without one its offer is not known.
    pub has_card: bool,
    /// One row a dimension.
    pub rows: Vec<Row>,
}

/// One dimension.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `skills`, `operations`, `bindings`, `states`, `faults`.
    pub dimension: &'static str,
    /// What was seen, and how often.
    pub seen: BTreeMap<String, usize>,
    /// What was not.
    pub missing: Vec<String>,
}

/// The states that a task can be seen in.
const STATES: &[TaskState] = &[
    TaskState::Submitted,
    TaskState::Working,
    TaskState::InputRequired,
    TaskState::AuthRequired,
    TaskState::Completed,
    TaskState::Failed,
    TaskState::Canceled,
    TaskState::Rejected,
];

/// What the exchanges that match have seen.
pub fn coverage(source: &dyn Source, filter: &Filter) -> Coverage {
    let mut names: BTreeSet<String> =
        source.delegations(filter).iter().map(|it| it.agent.clone()).collect();
    names.extend(source.exchanges(filter).iter().map(|it| it.agent.clone()));
    let agents: Vec<OfAgent> = names.iter().map(|agent| of_agent(source, filter, agent)).collect();
    let rows = || agents.iter().flat_map(|agent| &agent.rows);
    let seen = rows().map(|row| row.seen.len()).sum();
    let missing: usize = rows().map(|row| row.missing.len()).sum();
    Coverage { seen, cells: seen + missing, agents }
}

impl Coverage {
    /// The part that was seen, in percent; nothing at all is none of it.
    #[expect(clippy::cast_precision_loss, reason = "cells are counted in hundreds")]
    pub fn percent(&self) -> f64 {
        if self.cells == 0 { 0.0 } else { 100.0 * self.seen as f64 / self.cells as f64 }
    }
}

fn of_agent(source: &dyn Source, filter: &Filter, agent: &str) -> OfAgent {
    let filter = Filter { agents: vec![agent.to_owned()], ..filter.clone() };
    let delegations = source.delegations(&filter);
    let exchanges = source.exchanges(&filter);
    // A card may have been fetched before what is looked at.
    let everywhere = Filter { agents: vec![agent.to_owned()], ..Filter::default() };
    let fetched = source.exchanges(&everywhere);
    let card = cards::newest(&fetched).remove(agent);
    let count = |words: Vec<String>| {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for word in words {
            *seen.entry(word).or_default() += 1;
        }
        seen
    };
    let skills = count(delegations.iter().filter_map(|it| it.skill.clone()).collect());
    let operations = exchanges.iter().filter(|it| it.operation != Operation::Unknown);
    let operations = count(operations.map(|it| it.operation.to_string()).collect());
    let bindings =
        count(delegations.iter().filter_map(|it| it.binding).map(|it| it.to_string()).collect());
    let states = count(
        delegations.iter().flat_map(|it: &std::sync::Arc<Delegation>| it.states.clone()).collect(),
    );
    let faults = exchanges.iter().flat_map(|it| &it.faults);
    let (fired, met): (Vec<_>, Vec<_>) =
        faults.partition(|fault| fault.verdict == FaultVerdict::Fired);
    let fired = count(fired.iter().map(|fault| fault.rule.clone()).collect());
    let met: Vec<String> = met.iter().map(|fault| fault.rule.clone()).collect();
    let rows = vec![
        row("skills", skills, card.as_ref().map(skills_of).unwrap_or_default()),
        row("operations", operations, operations_of(card.as_ref())),
        row("bindings", bindings, card.as_ref().map(bindings_of).unwrap_or_default()),
        row("states", states, STATES.iter().map(|state| state.as_str().to_owned()).collect()),
        row("faults", fired, met),
    ];
    OfAgent {
        agent: agent.to_owned(),
        delegations: delegations.len(),
        has_card: card.is_some(),
        rows,
    }
}

fn row(dimension: &'static str, seen: BTreeMap<String, usize>, possible: Vec<String>) -> Row {
    let mut missing: Vec<String> = Vec::new();
    for word in possible {
        if !seen.contains_key(&word) && !missing.contains(&word) {
            missing.push(word);
        }
    }
    Row { dimension, seen, missing }
}

fn skills_of(card: &AgentCard) -> Vec<String> {
    card.skills.iter().map(|skill| skill.id.clone()).collect()
}

fn bindings_of(card: &AgentCard) -> Vec<String> {
    let named = card.interfaces.iter().map(|interface| interface.protocol_binding.as_str());
    named.filter_map(|name| name.parse::<Binding>().ok()).map(|it| it.to_string()).collect()
}

/// The operations that a card allows; without a card those that every agent has.
fn operations_of(card: Option<&AgentCard>) -> Vec<String> {
    let has = |capability: fn(&AgentCard) -> Option<bool>| {
        card.is_some_and(|card| capability(card) == Some(true))
    };
    let allowed = |operation: &Operation| match operation {
        Operation::SendMessage
        | Operation::GetTask
        | Operation::CancelTask
        | Operation::AgentCard => true,
        Operation::SendStreamingMessage | Operation::SubscribeToTask => {
            has(|card| card.capabilities.streaming)
        }
        Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::PushNotification => has(|card| card.capabilities.push_notifications),
        Operation::GetExtendedAgentCard => has(|card| card.capabilities.extended_agent_card),
        Operation::ListTasks => card.is_some_and(|card| card.protocol_version.is_none()),
        Operation::Unknown => false,
    };
    Operation::all().filter(allowed).map(|it| it.to_string()).collect()
}
