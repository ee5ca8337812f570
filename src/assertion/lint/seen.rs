//! One exchange as a rule of the lint sees it.

use serde_json::Value;

use super::is_cut;
use super::memory::{Known, Memory};
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::{Answer, Call};
use crate::a2a::model::{
    AgentCard, Artifact, Message, Operation, Reply, Request, SendMessage, StreamResponse, Task,
};
use crate::record::exchange::{Exchange, FaultVerdict};

/// One exchange, what it says, and what was known before it.
pub(super) struct Seen<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) call: &'a Call,
    /// The agent's own answer; what a rule of Meddler's put in its place is not judged.
    pub(super) answer: Option<&'a Answer>,
    pub(super) memory: &'a Memory,
}

impl<'a> Seen<'a> {
    /// Whether it is an exchange of this binding.
    pub(super) fn is_over(&self, binding: Binding) -> bool {
        self.exchange.binding == Some(binding)
    }

    /// Whether it speaks 1.0.
    pub(super) fn is_v1_0(&self) -> bool {
        self.exchange.version == Some(ProtocolVersion::V1_0)
    }

    /// Whether it asks for this.
    pub(super) fn asks(&self, operation: Operation) -> bool {
        self.exchange.operation == operation
    }

    /// What was sent, if it is a send.
    pub(super) fn sent(&self) -> Option<&'a SendMessage> {
        match self.call.request.as_ref() {
            Some(Request::SendMessage(send)) => Some(send),
            Some(_) | None => None,
        }
    }

    /// The single reply.
    pub(super) fn reply(&self) -> Option<&'a Reply> {
        self.answer?.reply.as_ref()
    }

    /// The task that is the single reply.
    pub(super) fn task(&self) -> Option<&'a Task> {
        match self.reply()? {
            Reply::Task(task) => Some(task),
            Reply::Message(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_)
            | Reply::Error(_) => None,
        }
    }

    /// The events that could be read, each with its number from 1.
    pub(super) fn events(&self) -> impl Iterator<Item = (usize, &'a StreamResponse)> {
        let events = self.answer.map(|answer| answer.events.as_slice()).unwrap_or_default();
        (1..).zip(events).filter_map(|(n, event)| event.event.as_ref().map(|event| (n, event)))
    }

    /// Whether the answer is a stream.
    pub(super) fn is_stream(&self) -> bool {
        self.answer.is_some_and(|answer| answer.is_stream)
    }

    /// Whether the answer is no error.
    pub(super) fn is_served(&self) -> bool {
        let status = self.exchange.response.as_ref().map_or(0, |response| response.status);
        let is_error = |answer: &Answer| {
            answer.error.is_some()
                || matches!(answer.reply, Some(Reply::Error(_)))
                || answer.events.iter().any(|event| event.error.is_some())
        };
        (200..300).contains(&status) && self.answer.is_some_and(|answer| !is_error(answer))
    }

    /// Whether the agent's answer ended as the agent meant it to: nobody broke it off.
    pub(super) fn is_whole(&self) -> bool {
        let fired = self.exchange.faults.iter().any(|it| it.verdict == FaultVerdict::Fired);
        let kept = |body: &crate::record::exchange::Payload| !body.truncated && body.gap == 0;
        !is_cut(self.exchange)
            && !fired
            && self.exchange.response.as_ref().is_some_and(|response| kept(&response.body))
    }

    /// The newest card of the agent, as far as it is known.
    pub(super) fn card(&self) -> Option<&'a AgentCard> {
        self.memory.cards.get(&self.exchange.agent)
    }

    /// The card that this exchange brings.
    pub(super) fn brought_card(&self) -> Option<&'a AgentCard> {
        match self.reply()? {
            Reply::Card(card) if self.is_served() => Some(card),
            Reply::Card(_)
            | Reply::Task(_)
            | Reply::Message(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Error(_) => None,
        }
    }

    /// What is known of a task of this agent.
    pub(super) fn known(&self, task: &str) -> Option<&'a Known> {
        self.memory.tasks.get(&(self.exchange.agent.clone(), task.to_owned()))
    }

    /// A header field of the request.
    pub(super) fn asked_header(&self, name: &str) -> Option<&'a str> {
        header(&self.exchange.request.headers, name)
    }

    /// A header field of the agent's answer.
    pub(super) fn answered_header(&self, name: &str) -> Option<&'a str> {
        header(&self.exchange.response.as_ref()?.headers, name)
    }

    /// The body of the agent's answer as JSON.
    pub(super) fn answered_json(&self) -> Option<Value> {
        serde_json::from_slice(&self.exchange.response.as_ref()?.body.kept).ok()
    }

    /// Every task that the answer shows whole, with where it stands.
    pub(super) fn tasks(&self) -> Vec<(String, &'a Task)> {
        let mut tasks = Vec::new();
        match self.reply() {
            Some(Reply::Task(task)) => tasks.push(("answer task".to_owned(), task)),
            Some(Reply::Tasks(page)) => {
                let listed = page.tasks.iter().enumerate();
                tasks.extend(listed.map(|(n, task)| (format!("answer tasks[{n}]"), task)));
            }
            Some(
                Reply::Message(_)
                | Reply::PushConfig(_)
                | Reply::PushConfigs { .. }
                | Reply::Empty
                | Reply::Card(_)
                | Reply::Error(_),
            )
            | None => {}
        }
        for (n, event) in self.events() {
            if let StreamResponse::Task(task) = event {
                tasks.push((format!("answer event {n}"), task));
            }
        }
        tasks
    }

    /// Every artifact that the answer shows, with where it stands.
    pub(super) fn artifacts(&self) -> Vec<(String, &'a Artifact)> {
        let mut found = Vec::new();
        for (at, task) in self.tasks() {
            let artifacts = task.artifacts.iter().enumerate();
            found.extend(artifacts.map(|(n, artifact)| (format!("{at} artifacts[{n}]"), artifact)));
        }
        for (n, event) in self.events() {
            if let StreamResponse::ArtifactUpdate(update) = event {
                found.push((format!("answer event {n} artifact"), &update.artifact));
            }
        }
        found
    }

    /// Every message that the agent says in its own name (not the history), with where it stands.
    pub(super) fn said(&self) -> Vec<(String, &'a Message)> {
        let mut said = Vec::new();
        if let Some(Reply::Message(message)) = self.reply() {
            said.push(("answer message".to_owned(), message));
        }
        for (at, task) in self.tasks() {
            if let Some(message) = &task.status.message {
                said.push((format!("{at} status.message"), message));
            }
        }
        for (n, event) in self.events() {
            match event {
                StreamResponse::Message(message) => {
                    said.push((format!("answer event {n}"), message));
                }
                StreamResponse::StatusUpdate(update) => {
                    if let Some(message) = &update.status.message {
                        said.push((format!("answer event {n} status.message"), message));
                    }
                }
                StreamResponse::Task(_) | StreamResponse::ArtifactUpdate(_) => {}
            }
        }
        said
    }

    /// The conversation that the answer names first.
    pub(super) fn answered_context(&self) -> Option<&'a str> {
        match self.reply() {
            Some(Reply::Task(task)) => task.context_id.as_deref(),
            Some(Reply::Message(message)) => message.context_id.as_deref(),
            Some(
                Reply::Tasks(_)
                | Reply::PushConfig(_)
                | Reply::PushConfigs { .. }
                | Reply::Empty
                | Reply::Card(_)
                | Reply::Error(_),
            )
            | None => self.events().find_map(|(_, event)| event.context_id()),
        }
        .filter(|context| !context.is_empty())
    }
}

/// The value of a field, whatever the case of its name.
pub(super) fn header<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let field = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    field.map(|(_, value)| value.as_str())
}
