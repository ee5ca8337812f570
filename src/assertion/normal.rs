//! Delegations as text that two runs of the same thing share: ids and times have names of their own.
//!
//! An id is named by the order in which it comes up (`<id 1>`), so that "the same task again" stays
//! visible while its spelling does not. Texts are searched for the same ids, and for times and UUIDs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::record::delegation::Delegation;

/// Members whose values are ids of peers.
const IDS: &[&str] = &["artifactId", "configId", "contextId", "id", "messageId", "taskId"];
/// Members whose values are times.
const TIMES: &[&str] = &["timestamp", "lastModified", "createdAt"];

/// UUIDs and RFC 3339 times, wherever they stand in a text.
static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
    let time = r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)?";
    Regex::new(&format!("(?P<uuid>{uuid})|(?P<time>{time})")).ok()
});

/// The delegations, one line a fact.
pub(super) fn text(delegations: &[Arc<Delegation>]) -> String {
    let mut names = Names::default();
    let mut text = String::new();
    for delegation in delegations {
        let states = delegation.states.join(" ");
        let outcome = super::ends::outcome_word(delegation.outcome);
        let sent = delegation.message.as_ref().and_then(|message| message.get("parts"));
        let sent = sent.cloned().unwrap_or_else(|| Value::String(delegation.text.clone()));
        writeln!(text, "{} {}", delegation.agent, delegation.operation).expect(NEVER);
        write_value(&mut text, "message", &names.value(&sent));
        writeln!(text, "  states {states}\n  outcome {outcome}").expect(NEVER);
        write_value(
            &mut text,
            "reply",
            &names.value(delegation.reply.as_ref().unwrap_or(&Value::Null)),
        );
    }
    text
}

const NEVER: &str = "a String takes any text";

/// A value on as many lines as it has members, so that a difference is on a line of its own.
fn write_value(text: &mut String, name: &str, value: &Value) {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    writeln!(text, "  {name} {}", pretty.replace('\n', "\n  ")).expect(NEVER);
}

#[derive(Default)]
struct Names(BTreeMap<String, usize>);

impl Names {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.member(name, value)))
                    .collect(),
            ),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::String(text) => Value::String(self.within(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn member(&mut self, name: &str, value: &Value) -> Value {
        match value.as_str() {
            Some(id) if IDS.contains(&name) => Value::String(self.id(id)),
            Some(_) if TIMES.contains(&name) => Value::String("<time>".to_owned()),
            Some(_) | None => self.value(value),
        }
    }

    fn id(&mut self, id: &str) -> String {
        let next = self.0.len() + 1;
        format!("<id {}>", self.0.entry(id.to_owned()).or_insert(next))
    }

    fn within(&mut self, text: &str) -> String {
        let Some(volatile) = VOLATILE.as_ref() else { return text.to_owned() };
        let replaced =
            volatile.replace_all(text, |found: &regex::Captures<'_>| match found.name("uuid") {
                Some(uuid) => self.id(uuid.as_str()),
                None => "<time>".to_owned(),
            });
        replaced.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_named_by_their_order_and_times_are_times() {
        let value = json!({
            "id": "t-77", "contextId": "c-1", "status": { "timestamp": "2026-11-30T12:00:00Z" },
            "history": [{ "taskId": "t-77", "text": "at 2026-11-30T12:00:00.5+01:00, 0189d3a4-9a1f-7000-8000-0123456789ab" }],
        });
        let shown = Names::default().value(&value);
        assert_eq!(shown["id"], shown["history"][0]["taskId"]);
        assert_eq!(shown["contextId"], "<id 2>");
        assert_eq!(shown["status"]["timestamp"], "<time>");
        assert_eq!(shown["history"][0]["text"], "at <time>, <id 3>");
    }
}
