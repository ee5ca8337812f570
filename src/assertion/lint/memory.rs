//! What is known of agents and tasks before an exchange: as much as the rules ask for, no bodies.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};

use crate::a2a::call::{Answer, Call};
use crate::a2a::canonical;
use crate::a2a::model::{AgentCard, Reply, Request, StreamResponse, TaskState};
use crate::record::exchange::Exchange;

/// What earlier exchanges told.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The newest card of each agent.
    pub(super) cards: HashMap<String, AgentCard>,
    /// Tasks by agent and id.
    pub(super) tasks: HashMap<(String, String), Known>,
    /// By agent and message id: a digest of what the message said.
    pub(super) messages: HashMap<(String, String), u64>,
}

/// What is known of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Its conversation.
    pub(super) context: Option<String>,
    /// The terminal state it was seen in, and when the exchange that told so had ended.
    pub(super) ended: Option<(TaskState, Timestamp)>,
    /// Whether a webhook with a token was registered for it.
    pub(super) push_token: bool,
}

impl Memory {
    /// Takes in what an exchange told.
    pub(super) fn learn(&mut self, exchange: &Exchange, answer: Option<&Answer>, call: &Call) {
        let ended = exchange.timings.end_us.and_then(|us| i64::try_from(us).ok());
        let until = exchange.started + SignedDuration::from_micros(ended.unwrap_or(0));
        if let Some(Request::PushNotification(event)) = &call.request {
            self.event(&exchange.agent, event, until);
        }
        if let Some(Request::SendMessage(send)) = &call.request {
            let key = (exchange.agent.clone(), send.message.message_id.clone());
            let digest = digest(&canonical::message(&send.message).to_string());
            self.messages.entry(key).or_insert(digest);
        }
        self.register(exchange, call);
        let Some(answer) = answer else { return };
        match &answer.reply {
            Some(Reply::Card(card)) if answer.error.is_none() => {
                self.cards.insert(exchange.agent.clone(), (**card).clone());
            }
            Some(Reply::Task(task)) => {
                let context = task.context_id.as_deref();
                self.task((&exchange.agent, &task.id), context, Some(&task.status.state), until);
            }
            Some(Reply::Tasks(page)) => {
                for task in &page.tasks {
                    let context = task.context_id.as_deref();
                    self.task(
                        (&exchange.agent, &task.id),
                        context,
                        Some(&task.status.state),
                        until,
                    );
                }
            }
            Some(
                Reply::Card(_)
                | Reply::Message(_)
                | Reply::PushConfig(_)
                | Reply::PushConfigs { .. }
                | Reply::Empty
                | Reply::Error(_),
            )
            | None => {}
        }
        for event in answer.events.iter().filter_map(|event| event.event.as_ref()) {
            self.event(&exchange.agent, event, until);
        }
    }

    /// A webhook with a token: a delivery must show it.
    fn register(&mut self, exchange: &Exchange, call: &Call) {
        let (config, task) = match &call.request {
            Some(Request::CreatePushConfig(config)) => (Some(config), config.task_id.clone()),
            Some(Request::SendMessage(send)) => {
                let config = send.configuration.as_ref().and_then(|it| it.push.as_ref());
                (config, exchange.ids.task_id.clone())
            }
            Some(_) | None => (None, None),
        };
        if let (Some(config), Some(task)) = (config, task) {
            let known = self.tasks.entry((exchange.agent.clone(), task)).or_default();
            known.push_token |= config.token.is_some();
        }
    }

    fn event(&mut self, agent: &str, event: &StreamResponse, until: Timestamp) {
        if let Some(id) = event.task_id() {
            self.task((agent, id), event.context_id(), event.state(), until);
        }
    }

    fn task(
        &mut self,
        (agent, id): (&str, &str),
        context: Option<&str>,
        state: Option<&TaskState>,
        until: Timestamp,
    ) {
        let known = self.tasks.entry((agent.to_owned(), id.to_owned())).or_default();
        if known.context.is_none() {
            known.context = context.filter(|it| !it.is_empty()).map(ToOwned::to_owned);
        }
        if known.ended.is_none()
            && let Some(state) = state.filter(|state| state.is_terminal())
        {
            known.ended = Some((state.clone(), until));
        }
    }
}

/// What tells two messages apart without keeping them.
pub(super) fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
