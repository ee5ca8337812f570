//! What a scripted agent was asked: its tasks, the newest so many.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::a2a::model::{ListTasks, Task, TaskPage};

/// Tasks kept; the oldest is forgotten first. Ten thousand of a few KiB each.
const KEPT: usize = 10_000;

/// How many tasks a page has when the caller does not say (A2A 1.0, section 3.1.4), and at most.
const PAGE: i64 = 50;
const PAGE_MAX: i64 = 100;

/// The tasks of one agent, in the order they were begun.
#[derive(Debug, Default)]
pub struct Tasks(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    by_id: HashMap<String, Task>,
    order: VecDeque<String>,
}

impl Tasks {
    /// The task of this id.
    pub fn get(&self, id: &str) -> Option<Task> {
        self.lock().by_id.get(id).cloned()
    }

    /// Keeps a task, new or changed.
    pub fn put(&self, task: Task) {
        let mut inner = self.lock();
        if inner.by_id.insert(task.id.clone(), task.clone()).is_none() {
            inner.order.push_back(task.id);
            if inner.order.len() > KEPT
                && let Some(oldest) = inner.order.pop_front()
            {
                inner.by_id.remove(&oldest);
            }
        }
    }

    /// One page of the tasks that match, newest first. The page token is the number of tasks to skip;
    /// the error names a token that is none.
    pub fn list(&self, wanted: &ListTasks) -> Result<TaskPage, String> {
        let token = wanted.page_token.as_deref().unwrap_or_default();
        let skip: usize = match token {
            "" => 0,
            text => text.parse().map_err(|_| format!("`{text}` is no page token of this agent"))?,
        };
        let size = wanted.page_size.unwrap_or(PAGE).clamp(1, PAGE_MAX);
        let take = usize::try_from(size).unwrap_or(1);
        let inner = self.lock();
        let matching: Vec<&Task> = inner
            .order
            .iter()
            .rev()
            .filter_map(|id| inner.by_id.get(id))
            .filter(|task| wanted.context_id.is_none() || task.context_id == wanted.context_id)
            .filter(|task| wanted.status.as_ref().is_none_or(|state| *state == task.status.state))
            .collect();
        let with_artifacts = wanted.include_artifacts.unwrap_or(false);
        let tasks: Vec<Task> = matching
            .iter()
            .skip(skip)
            .take(take)
            .map(|task| shortened(task, wanted.history_length, with_artifacts))
            .collect();
        let next = skip + tasks.len();
        let next_page_token = if next < matching.len() { next.to_string() } else { String::new() };
        let total_size = i64::try_from(matching.len()).unwrap_or(i64::MAX);
        Ok(TaskPage { tasks, next_page_token, page_size: size, total_size })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task with as much history as was asked for (A2A 1.0, section 3.2.4), and artifacts only if wanted.
fn shortened(task: &Task, history_length: Option<i64>, with_artifacts: bool) -> Task {
    let mut task = with_history(task.clone(), history_length);
    if !with_artifacts {
        task.artifacts.clear();
    }
    task
}

/// A task with the last so many messages of its history; all of them when the caller does not say.
pub fn with_history(mut task: Task, length: Option<i64>) -> Task {
    if let Some(length) = length {
        let keep = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
        let drop = task.history.len().saturating_sub(keep);
        task.history.drain(..drop);
    }
    task
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_without_a_gap() {
        let tasks = Tasks::default();
        for n in 0..5 {
            tasks.put(Task { id: format!("t{n}"), ..Task::default() });
        }
        let mut wanted = ListTasks { page_size: Some(2), ..ListTasks::default() };
        let mut seen = Vec::new();
        loop {
            let page = tasks.list(&wanted).unwrap();
            assert_eq!(page.total_size, 5);
            seen.extend(page.tasks.into_iter().map(|task| task.id));
            if page.next_page_token.is_empty() {
                break;
            }
            wanted.page_token = Some(page.next_page_token);
        }
        assert_eq!(seen, ["t4", "t3", "t2", "t1", "t0"]);
    }

    #[test]
    fn the_oldest_task_is_forgotten_first() {
        let tasks = Tasks::default();
        for n in 0..=KEPT {
            tasks.put(Task { id: n.to_string(), ..Task::default() });
        }
        assert!(tasks.get("0").is_none());
        assert!(tasks.get(&KEPT.to_string()).is_some());
    }
}
