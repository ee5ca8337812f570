//! `empty`: a well-formed answer that says nothing. The fault that finds clients which index `[0]`.

use serde_json::{Value, json};

use super::{Fault, Named, Role};
use crate::a2a::call::Call;
use crate::a2a::model::{AgentCard, Reply, TaskState};
use crate::fault::facts::Needs;
use crate::fault::made::{self, Meaning, Outline, Place, Said, Shape};
use crate::fault::matcher::Operations;
use crate::fault::settings;
use crate::fault::shot::Shot;
use crate::fault::verdict::{Effect, Made, Start};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// A completed task without artifacts or message.
    Task,
    /// A message whose one text is empty.
    Message,
    /// A message without parts.
    Parts,
    /// No body at all.
    Body,
    /// A result of null, an empty object, a message of no octets: what the binding has for nothing.
    Nothing,
    /// A stream without events.
    Stream,
    /// A stream that ends after the task it begins with.
    Initial,
    /// A card without a single member.
    Card,
}

const FORMS: &[(&str, Empty)] = &[
    ("task", Empty::Task),
    ("message", Empty::Message),
    ("parts", Empty::Parts),
    ("body", Empty::Body),
    ("nothing", Empty::Nothing),
    ("stream", Empty::Stream),
    ("initial", Empty::Initial),
    ("card", Empty::Card),
];

impl Named for Empty {
    const NAME: &'static str = "empty";
    const SUMMARY: &'static str = "Answer in good form and say nothing";
    const ROLE: Role = Role::Answers;

    fn parse(settings: &Value) -> Result<Self, String> {
        let word = match settings {
            Value::Null => return Ok(Self::Task),
            Value::Object(map) if map.is_empty() => return Ok(Self::Task),
            Value::String(word) => word,
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                return Err(format!("{settings} is no form of it; known: {}", known().join(", ")));
            }
        };
        FORMS
            .iter()
            .find(|(name, _)| name == word)
            .map(|(_, form)| *form)
            .ok_or_else(|| settings::unknown("form", word, &known()))
    }
}

fn known() -> Vec<&'static str> {
    FORMS.iter().map(|(name, _)| *name).collect()
}

impl Fault for Empty {
    fn scope(&self) -> Operations {
        match self {
            Self::Card => Operations::CARDS,
            Self::Task
            | Self::Message
            | Self::Parts
            | Self::Body
            | Self::Nothing
            | Self::Stream
            | Self::Initial => Operations::SENDS,
        }
    }

    fn needs(&self, from: Start) -> Needs {
        match self {
            Self::Task | Self::Message | Self::Parts | Self::Initial => made::needs(from),
            Self::Body | Self::Nothing | Self::Stream | Self::Card => Needs::default(),
        }
    }

    fn place(&self, call: &Call, from: Start) -> Result<Option<Place>, String> {
        match (self, Shape::of(call.operation)) {
            (Self::Stream | Self::Initial, _) if !call.operation.is_streaming() => {
                Err(format!("{} is not answered by a stream", call.operation))
            }
            (Self::Initial, _) if from != Start::Beginning => {
                Err("the task that a stream begins with is its first event".to_owned())
            }
            (Self::Task | Self::Message | Self::Parts | Self::Initial, _) => {
                made::place_of_task(call, from).map(Some)
            }
            (Self::Card, Shape::TaskOrMessage | Shape::Task | Shape::Other) => {
                Err(format!("{} is not answered by a card", call.operation))
            }
            (Self::Stream | Self::Body | Self::Nothing | Self::Card, _) => {
                Ok(Some(Place::of_start(from)))
            }
        }
    }

    fn effects(&self, shot: &mut Shot<'_>) -> Vec<Effect> {
        let state = TaskState::Completed;
        let nothing = Made::Stream { events: Vec::new(), error: None };
        let (what, made) = match self {
            Self::Task => {
                let outline = Outline { state, said: None, artifacts: Vec::new() };
                ("a completed task and nothing in it", made::answer(shot, Meaning::Task(outline)))
            }
            Self::Message => {
                let meaning = Meaning::Message(Said::text(""));
                ("a message whose text is empty", made::answer(shot, meaning))
            }
            Self::Parts => {
                let meaning = Meaning::Message(Said::default());
                ("a message without parts", made::answer(shot, meaning))
            }
            Self::Body => match shot.from {
                Start::Beginning => ("an empty body", Made::EmptyBody),
                Start::Event(_) => ("the end of the stream", nothing),
            },
            Self::Nothing => match shot.from {
                Start::Beginning => ("nothing", Made::Nothing),
                Start::Event(_) => ("the end of the stream", nothing),
            },
            Self::Initial => {
                let outline = Outline { state, said: None, artifacts: Vec::new() };
                let made = match made::answer(shot, Meaning::Task(outline)) {
                    Made::Stream { mut events, error } => {
                        events.truncate(1);
                        Made::Stream { events, error }
                    }
                    other @ (Made::Reply(_)
                    | Made::Error { .. }
                    | Made::EmptyBody
                    | Made::Nothing
                    | Made::Raw { .. }) => other,
                };
                ("the task that a stream begins with, and no more", made)
            }
            Self::Stream => match shot.from {
                Start::Beginning => ("a stream without events", nothing),
                Start::Event(_) => ("the end of the stream", nothing),
            },
            Self::Card => {
                let card = AgentCard { raw: json!({}), ..AgentCard::default() };
                ("an empty card", Made::Reply(Reply::Card(Box::new(card))))
            }
        };
        shot.text = format!("answers with {what}");
        vec![shot.answer(made)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::model::Operation;
    use crate::fault::testing::{does, does_at};

    #[track_caller]
    fn check(form: &Value, operation: Operation, expected: &str) {
        assert_eq!(does(&json!({ "empty": form }), operation), expected, "empty: {form}");
    }

    #[test]
    fn a_plain_answer_says_nothing() {
        check(&json!(null), Operation::SendMessage, "task(completed)");
        check(&json!({}), Operation::GetTask, "task(completed)");
        check(&json!("message"), Operation::SendMessage, r#"message([""])"#);
        check(&json!("parts"), Operation::SendMessage, "message([])");
        check(&json!("parts"), Operation::GetTask, "task(completed: [])");
        check(&json!("body"), Operation::SendMessage, "empty body");
        check(&json!("nothing"), Operation::SendMessage, "nothing");
        check(&json!("body"), Operation::ListTasks, "empty body");
        check(&json!("card"), Operation::AgentCard, "card({})");
    }

    #[test]
    fn a_stream_says_nothing() {
        let send = Operation::SendStreamingMessage;
        check(&json!("task"), send, "stream[task(submitted), last status(completed)]");
        check(&json!("message"), send, r#"stream[message([""])]"#);
        check(&json!("parts"), send, "stream[message([])]");
        check(&json!("stream"), send, "stream[]");
        check(&json!("initial"), send, "stream[task(submitted)]");
        check(&json!("nothing"), send, "nothing");
        check(&json!("body"), send, "empty body");
        let at = |form: &str| does_at(&json!({ "empty": form }), send, 2);
        assert_eq!(at("task"), "from 2: stream[last status(completed)]");
        assert_eq!(at("message"), r#"from 2: stream[last status(completed: [""])]"#);
        assert_eq!(at("stream"), "from 2: stream[]");
        assert_eq!(at("body"), "from 2: stream[]");
    }

    #[test]
    fn what_the_operation_does_not_have_cannot_be_empty() {
        check(
            &json!("stream"),
            Operation::SendMessage,
            "NotApplicable: empty: SendMessage is not answered by a stream",
        );
        check(
            &json!("card"),
            Operation::SendMessage,
            "NotApplicable: empty: SendMessage is not answered by a card",
        );
    }

    #[test]
    fn a_misspelt_form_is_told_the_nearest() {
        check(
            &json!("taks"),
            Operation::SendMessage,
            "inject.empty: unknown form `taks`, did you mean `task`? \
             known: task, message, parts, body, nothing, stream, initial, card",
        );
    }
}
