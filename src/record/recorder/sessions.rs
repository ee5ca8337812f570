//! Which session an exchange belongs to.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Tasks and conversations whose session is remembered.
const REMEMBERED_MAX: usize = 10_000;

/// Whether a session may have this name: `[A-Za-z0-9._-]{1,64}`.
pub(super) fn is_name(name: &str) -> bool {
    let is_letter =
        |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'.' | b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_letter)
}

/// What is known of tasks and conversations, per agent.
#[derive(Default)]
pub(super) struct Sessions {
    tasks: Remembered,
    contexts: Remembered,
    named: HashSet<String>,
}

impl Sessions {
    /// The session of an exchange: the one its baggage names, else its task's, else its context's, else
    /// the one that was the default when it began.
    pub(super) fn assign(
        &mut self,
        agent: &str,
        ids: &crate::a2a::call::Ids,
        named: Option<&str>,
        default: &str,
    ) -> String {
        let task = ids.task_id.as_deref();
        let context = ids.context_id.as_deref();
        let session = named
            .filter(|name| is_name(name))
            .or_else(|| self.tasks.of(agent, task))
            .or_else(|| self.contexts.of(agent, context))
            .unwrap_or(default)
            .to_owned();
        self.tasks.remember(agent, task, &session);
        self.contexts.remember(agent, context, &session);
        session
    }

    /// Whether a session of this name has not been seen before.
    pub(super) fn is_new(&mut self, name: &str) -> bool {
        // Asked of every exchange, nearly always of a name that is known.
        !self.named.contains(name)
            && self.named.len() < REMEMBERED_MAX
            && self.named.insert(name.to_owned())
    }
}

/// The sessions of ids, per agent; the oldest are forgotten.
#[derive(Default)]
struct Remembered {
    sessions: HashMap<Arc<str>, HashMap<Arc<str>, Arc<str>>>,
    ages: VecDeque<(Arc<str>, Arc<str>)>,
}

impl Remembered {
    fn of(&self, agent: &str, id: Option<&str>) -> Option<&str> {
        self.sessions.get(agent)?.get(id?).map(|session| &**session)
    }

    /// The first session stays: a task does not move because a later call of it names another.
    fn remember(&mut self, agent: &str, id: Option<&str>, session: &str) {
        let Some(id) = id.filter(|id| !id.is_empty()) else { return };
        if self.of(agent, Some(id)).is_some() {
            return;
        }
        let agent = match self.sessions.get_key_value(agent) {
            Some((agent, _)) => Arc::clone(agent),
            None => Arc::from(agent),
        };
        let id: Arc<str> = Arc::from(id);
        let ids = self.sessions.entry(Arc::clone(&agent)).or_default();
        ids.insert(Arc::clone(&id), Arc::from(session));
        self.ages.push_back((agent, id));
        if self.ages.len() > REMEMBERED_MAX
            && let Some((agent, id)) = self.ages.pop_front()
            && let Some(ids) = self.sessions.get_mut(&agent)
        {
            ids.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::call::Ids;

    fn ids(task: &str, context: &str) -> Ids {
        let some = |id: &str| (!id.is_empty()).then(|| id.to_owned());
        Ids { task_id: some(task), context_id: some(context), ..Ids::default() }
    }

    #[test]
    fn baggage_counts_more_than_task_and_task_more_than_context() {
        let mut sessions = Sessions::default();
        let mut of = |ids: &Ids, named: Option<&str>| sessions.assign("a", ids, named, "run");
        assert_eq!(of(&ids("t1", "c1"), Some("nightly")), "nightly");
        assert_eq!(of(&ids("t1", ""), None), "nightly");
        assert_eq!(of(&ids("", "c1"), None), "nightly");
        assert_eq!(of(&ids("t2", "c1"), Some("other")), "other");
        assert_eq!(of(&ids("t2", "c1"), None), "other");
        assert_eq!(of(&ids("t3", "c3"), Some("not a name")), "run");
        assert_eq!(sessions.assign("b", &ids("t1", "c1"), None, "run"), "run");
    }

    #[test]
    fn names_are_short_and_plain() {
        assert!(is_name("run-2026.11_30") && is_name(&"x".repeat(64)));
        assert!(!is_name("") && !is_name("a b") && !is_name(&"x".repeat(65)) && !is_name("é"));
    }
}
