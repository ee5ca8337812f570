//! What was said, as a person or a program reads it: for judges, commands and pages.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::view::RunView;
use crate::record::delegation::Delegation;

/// Characters that one judge is given: more is cut at the front, the newest turns matter most.
const CHARS_MAX: usize = 100_000;

const NEVER: &str = "a String takes any text";

/// Who said what, oldest first, one line a turn.
pub(super) fn of(view: &RunView<'_>) -> String {
    let mut text = String::new();
    for delegation in &view.delegations {
        let Delegation { orchestrator, agent, .. } = &**delegation;
        writeln!(text, "{orchestrator} to {agent}: {}", delegation.text).expect(NEVER);
        let reply = match (delegation.reply_text.as_str(), &delegation.state) {
            ("", Some(state)) => format!("({state}, no text)"),
            ("", None) => "(nothing)".to_owned(),
            (words, _) => words.to_owned(),
        };
        writeln!(text, "{agent}: {reply}").expect(NEVER);
    }
    let len = text.chars().count();
    text.chars().skip(len.saturating_sub(CHARS_MAX)).collect()
}

/// The delegations as canonical JSON: `{ "delegations": [...] }`.
pub(super) fn json(view: &RunView<'_>) -> Value {
    let delegations: Vec<Value> = view.delegations.iter().map(|it| one(it)).collect();
    json!({ "delegations": delegations })
}

/// One delegation, its message and its reply.
pub(super) fn one(delegation: &Delegation) -> Value {
    let mut value = serde_json::to_value(delegation).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("message".to_owned(), json!(delegation.message));
        members.insert("reply".to_owned(), json!(delegation.reply));
        members.insert("reply_text".to_owned(), json!(delegation.reply_text));
        members.insert("events".to_owned(), json!(delegation.events));
    }
    value
}
