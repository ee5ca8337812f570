//! What a scripted agent says, as the configuration has it.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use regex::Regex;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::a2a::model::TaskState;

/// An agent's script: the members of `remote_agents.NAME` that concern what it says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// What it offers: ids, or objects with `id`, `name`, `description`, `tags`.
    pub skills: Vec<Skill>,
    /// What it says when none of `replies` matches.
    pub reply: Option<Answer>,
    /// What it says to messages that match; the first match wins.
    pub replies: Vec<Answer>,
}

/// One thing it offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Unique in the card.
    pub id: String,
    /// For people; the id when the script has none.
    pub name: String,
    /// For people.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// One answer. A string alone is `{ say: ... }`.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Only to messages whose text matches.
    pub when: Option<Regex>,
    /// Words.
    pub say: Option<String>,
    /// A data part.
    pub data: Option<Value>,
    /// The state its task ends in; `completed` when absent.
    pub state: Option<TaskState>,
    /// The words in portions, when the caller asked for a stream; joined otherwise.
    pub stream: Vec<String>,
    /// How long to wait before answering, and between the portions of a stream.
    pub after: Duration,
}

impl Script {
    /// The answer to a message with this text.
    pub fn answer(&self, text: &str) -> Answer {
        let fits = |answer: &&Answer| answer.when.as_ref().is_none_or(|when| when.is_match(text));
        self.replies
            .iter()
            .find(fits)
            .or(self.reply.as_ref())
            .cloned()
            .unwrap_or_else(|| Answer { say: Some("done".to_owned()), ..Answer::default() })
    }
}

impl<'de> Deserialize<'de> for Skill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            id: String,
            name: Option<String>,
            #[serde(default)]
            description: String,
            #[serde(default)]
            tags: Vec<String>,
        }
        let full = match deserializer.deserialize_any(TextOr::<Full>::new("an id, or a map"))? {
            Either::Text(id) => Full { id, name: None, description: String::new(), tags: vec![] },
            Either::Full(full) => full,
        };
        let name = full.name.unwrap_or_else(|| full.id.clone());
        Ok(Self { id: full.id, name, description: full.description, tags: full.tags })
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Full {
            #[serde(default, deserialize_with = "regex")]
            when: Option<Regex>,
            say: Option<String>,
            data: Option<Value>,
            #[serde(default, deserialize_with = "state")]
            state: Option<TaskState>,
            #[serde(default)]
            stream: Vec<String>,
            #[serde(default, with = "crate::base::units::as_optional_duration")]
            after: Option<Duration>,
        }
        let full = match deserializer.deserialize_any(TextOr::<Full>::new("words, or a map"))? {
            Either::Text(say) => return Ok(Self { say: Some(say), ..Self::default() }),
            Either::Full(full) => full,
        };
        Ok(Self {
            when: full.when,
            say: full.say,
            data: full.data,
            state: full.state,
            stream: full.stream,
            after: full.after.unwrap_or_default(),
        })
    }
}

fn regex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&text).map(Some).map_err(|error| {
        // The library draws the pattern over several lines; what is wrong stands in the last.
        let told = error.to_string();
        let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
        D::Error::custom(format!("regex `{text}`: {why}"))
    })
}

fn state<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskState>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(D::Error::custom)
}

/// What is given in full, or by its most important member alone.
enum Either<T> {
    Text(String),
    Full(T),
}

/// Reads an [`Either`] by what is there. (An untagged enum tells nobody what is wrong inside it.)
struct TextOr<T> {
    expected: &'static str,
    full: PhantomData<T>,
}

impl<T> TextOr<T> {
    fn new(expected: &'static str) -> Self {
        Self { expected, full: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for TextOr<T> {
    type Value = Either<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Either::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Either::Full)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn script(value: Value) -> Script {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_first_reply_that_matches_is_said() {
        let script = script(json!({
            "reply": "ORD-1001 is with the carrier.",
            "replies": [
                {"when": "(?i)lost", "say": "Which order?", "state": "input_required"},
                {"when": "(?i)lost it", "say": "never reached"},
            ],
        }));
        assert_eq!(script.answer("I LOST IT").say.as_deref(), Some("Which order?"));
        assert_eq!(script.answer("I LOST IT").state, Some(TaskState::InputRequired));
        let plain = script.answer("where is it?");
        assert_eq!(plain.say.as_deref(), Some("ORD-1001 is with the carrier."));
    }

    #[test]
    fn a_skill_may_be_an_id_or_an_object() {
        let script = script(json!({"skills": ["track", {"id": "refund", "name": "Refunds"}]}));
        let names: Vec<_> = script.skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["track", "Refunds"]);
    }

    #[test]
    fn a_wrong_state_is_told_what_exists() {
        let error = serde_json::from_value::<Script>(json!({"replies": [{"state": "done"}]}));
        assert!(error.unwrap_err().to_string().contains("unknown task state `done`"));
    }
}
