//! Conversations as a page draws them: who said what to whom, one sequence a context.

use std::sync::Arc;

use super::ends::outcome_word;
use super::quote::quote;
use super::view::RunView;
use crate::record::delegation::Delegation;

/// Conversations that one test's diagram shows, and turns of each: more is counted, not drawn.
const CONVERSATIONS_MAX: usize = 20;
const TURNS_MAX: usize = 30;

/// What one orchestrator and one agent said to each other under one context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Who asks.
    pub orchestrator: String,
    /// Who answers.
    pub agent: String,
    /// The context's id, as far as it is known.
    pub context: Option<String>,
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// Turns beyond those.
    pub more: usize,
}

/// One message and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// What `meddler show` takes.
    pub show: String,
    /// The message's words, safe to show.
    pub said: String,
    /// The reply's words, safe to show.
    pub replied: String,
    /// The states on the way.
    pub states: Vec<String>,
    /// How it ended.
    pub outcome: String,
    /// The rules that fired.
    pub faults: Vec<String>,
    /// How long it took.
    pub duration_ms: Option<f64>,
}

/// The conversations of what a test looks at.
pub(super) fn of(view: &RunView<'_>) -> Vec<Conversation> {
    let turns = view.turns();
    turns.iter().take(CONVERSATIONS_MAX).map(|turns| conversation(view, turns)).collect()
}

fn conversation(view: &RunView<'_>, turns: &[Arc<Delegation>]) -> Conversation {
    let mut conversation =
        Conversation { more: turns.len().saturating_sub(TURNS_MAX), ..Conversation::default() };
    if let Some(first) = turns.first() {
        conversation.orchestrator.clone_from(&first.orchestrator);
        conversation.agent.clone_from(&first.agent);
        conversation.context.clone_from(&first.context_id);
    }
    let shown = turns.iter().take(TURNS_MAX).map(|delegation| Turn {
        show: view.source.short('d', delegation.id),
        said: quote(&delegation.text),
        replied: quote(&delegation.reply_text),
        states: delegation.states.clone(),
        outcome: outcome_word(delegation.outcome).to_owned(),
        faults: delegation.faults.clone(),
        duration_ms: delegation.duration_ms,
    });
    conversation.turns = shown.collect();
    conversation
}
