//! Tasks that Meddler invented: the agent has never heard of them, so Meddler answers for them.
//!
//! An orchestrator that polls, follows or cancels the failed task it was given must meet that task, and
//! not the agent's "task not found", which would be another fault than the one that was asked for.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::a2a::model::{
    A2aError, ErrorKind, Operation, Reply, Request, StreamResponse, Task, TaskPage, TaskState,
};
use crate::fault::facts::Facts;
use crate::fault::verdict::Made;

/// Invented tasks that are remembered, the last ones: an orchestrator asks soon or never.
const TASKS: usize = 4096;

/// The tasks of all rules.
#[derive(Debug, Default)]
pub(super) struct InventedTasks {
    /// Whose tasks they are, so that the common case takes no lock.
    agents: ArcSwap<HashSet<String>>,
    tasks: Mutex<VecDeque<Invented>>,
}

/// One task and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Invented {
    pub(super) agent: String,
    pub(super) rule: String,
    pub(super) kind: &'static str,
    pub(super) seed: u64,
    pub(super) mark: bool,
    /// Whether the conversation was invented as well: then its list of tasks is Meddler's to give.
    pub(super) context: Context,
    pub(super) task: Task,
}

/// Where a conversation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// The request named it.
    Known,
    /// It was invented with the task.
    Invented,
}

impl InventedTasks {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.agents.load().is_empty()
    }

    /// Whether any is said to be this agent's.
    pub(super) fn has_any_of(&self, agent: &str) -> bool {
        let agents = self.agents.load();
        !agents.is_empty() && agents.contains(agent)
    }

    pub(super) fn remember(&self, invented: Invented) {
        if !self.has_any_of(&invented.agent) {
            self.agents.rcu(|agents| {
                let mut agents = HashSet::clone(agents);
                agents.insert(invented.agent.clone());
                agents
            });
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= TASKS {
            tasks.pop_front();
        }
        tasks.push_back(invented);
    }

    /// The answer to a request about an invented task, and whose the task is.
    pub(super) fn answer(&self, facts: &Facts<'_>) -> Option<(Invented, Made)> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Request::ListTasks(list)) = &facts.call.request {
            return list_of(&tasks, facts.agent, list.context_id.as_deref()?);
        }
        let id = facts.call.ids.task_id.as_deref()?;
        let invented =
            tasks.iter_mut().rfind(|known| known.agent == facts.agent && known.task.id == id)?;
        let made = invented.answer(facts.call.operation)?;
        Some((invented.clone(), made))
    }
}

impl Invented {
    fn answer(&mut self, operation: Operation) -> Option<Made> {
        let ended = self.task.status.state.is_terminal();
        match operation {
            Operation::GetTask => Some(Made::Reply(Reply::Task(self.task.clone()))),
            Operation::CancelTask if ended => Some(error(
                ErrorKind::TaskNotCancelable,
                format!("Task cannot be canceled - current state: {}", self.task.status.state),
            )),
            Operation::CancelTask => {
                self.task.status.state = TaskState::Canceled;
                Some(Made::Reply(Reply::Task(self.task.clone())))
            }
            Operation::SubscribeToTask if ended => Some(error(
                ErrorKind::UnsupportedOperation,
                format!("Task {} is in terminal state: {}", self.task.id, self.task.status.state),
            )),
            Operation::SubscribeToTask => Some(Made::Stream {
                events: vec![StreamResponse::Task(self.task.clone())],
                error: None,
            }),
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::ListTasks
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::AgentCard
            | Operation::PushNotification
            | Operation::Unknown => None,
        }
    }
}

fn error(kind: ErrorKind, message: String) -> Made {
    Made::Error { error: A2aError::of(kind, message), headers: Vec::new() }
}

/// The tasks of an invented conversation, newest first; `None` when the conversation is the agent's.
fn list_of(tasks: &VecDeque<Invented>, agent: &str, context: &str) -> Option<(Invented, Made)> {
    let mut found = tasks.iter().rev().filter(|known| {
        known.agent == agent
            && known.context == Context::Invented
            && known.task.context_id.as_deref() == Some(context)
    });
    let newest = found.next()?;
    let listed: Vec<Task> =
        std::iter::once(newest).chain(found).map(|known| known.task.clone()).collect();
    let size = i64::try_from(listed.len()).unwrap_or(i64::MAX);
    let page = TaskPage {
        tasks: listed,
        next_page_token: String::new(),
        page_size: size,
        total_size: size,
    };
    Some((newest.clone(), Made::Reply(Reply::Tasks(page))))
}
