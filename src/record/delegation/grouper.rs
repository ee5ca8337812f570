//! Exchanges as they become known, delegations as they stand.
//!
//! A stream begins before the poll that overtakes it, so exchanges come in no useful order. Nothing is
//! decided when one is taken in: who belongs to whom, and in which order things were said, is worked
//! out from all that is known when a delegation is asked for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use jiff::Timestamp;

use super::Delegation;
use super::part::{Opening, Part, Said, Sequel, What};
use crate::a2a::canonical;
use crate::a2a::fold::Folded;
use crate::a2a::model::{Artifact, Reply};
use crate::base::id::ExchangeId;
use crate::record::decode::outcome_of_state;
use crate::record::exchange::{Exchange, Outcome};

/// When it began, and its name: the order of everything here.
type Key = (Timestamp, ExchangeId);
/// An agent and something of its own: a task, a message, a context.
type Of = (String, String);

/// Puts exchanges together, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Grouper {
    openings: BTreeMap<Key, Opening>,
    started: HashMap<ExchangeId, Timestamp>,
    by_task: HashMap<Of, BTreeSet<Key>>,
    by_message: HashMap<Of, BTreeSet<Key>>,
    by_context: HashMap<Of, BTreeSet<Key>>,
    by_trace: HashMap<String, BTreeSet<Key>>,
    sequels: HashMap<Of, BTreeMap<Key, Sequel>>,
    /// The task of each sequel.
    tasks: HashMap<ExchangeId, (Of, Timestamp)>,
}

impl Grouper {
    /// Takes an exchange in. Returns the delegations that are others than before, or new.
    pub fn push(&mut self, exchange: &Exchange) -> Vec<ExchangeId> {
        match Part::of(exchange) {
            Part::Opening(opening) => self.open(*opening),
            Part::Sequel(sequel) => self.continue_task(sequel),
            Part::Nothing => Vec::new(),
        }
    }

    /// All delegations as they stand, oldest first.
    pub fn delegations(&self) -> Vec<Delegation> {
        let mut read: HashMap<Of, Vec<Artifact>> = HashMap::new();
        let mut delegations = Vec::new();
        for (key, opening) in &self.openings {
            let folded = self.folded(*key, opening);
            let context = context_of(opening);
            let before = context.as_ref().and_then(|of| read.get(of)).map_or(&[][..], |it| it);
            delegations.push(self.delegation_of(*key, opening, &folded, before));
            // Kept for the next of the conversation, and only as long as there is one.
            match context {
                Some(context) if self.is_followed(&context, *key) => {
                    read.entry(context).or_default().extend(artifacts(folded));
                }
                Some(context) => {
                    read.remove(&context);
                }
                None => {}
            }
        }
        delegations
    }

    /// The delegation of this id as it stands.
    pub fn delegation(&self, id: ExchangeId) -> Option<Delegation> {
        let key = (*self.started.get(&id)?, id);
        let opening = self.openings.get(&key)?;
        let context = context_of(opening).and_then(|of| self.by_context.get(&of));
        let before = context.into_iter().flat_map(|keys| keys.range(..key));
        let read: Vec<Artifact> = before
            .filter_map(|key| Some(artifacts(self.folded(*key, self.openings.get(key)?))))
            .flatten()
            .collect();
        Some(self.delegation_of(key, opening, &self.folded(key, opening), &read))
    }

    /// The delegation that an exchange belongs to.
    pub fn delegation_id(&self, exchange: ExchangeId) -> Option<ExchangeId> {
        if self.started.contains_key(&exchange) {
            return Some(exchange);
        }
        let (task, started) = self.tasks.get(&exchange)?;
        self.owner(task, (*started, exchange)).map(|(_, id)| id)
    }

    fn open(&mut self, opening: Opening) -> Vec<ExchangeId> {
        let delegation = &opening.delegation;
        let key = (delegation.started, delegation.id);
        let agent = &delegation.agent;
        let file = |index: &mut HashMap<Of, BTreeSet<Key>>, id: &Option<String>| {
            let id = id.as_ref().filter(|id| !id.is_empty())?;
            let of = (agent.clone(), id.clone());
            index.entry(of.clone()).or_default().insert(key);
            Some(of)
        };
        file(&mut self.by_message, &delegation.message_id);
        let context = file(&mut self.by_context, &delegation.context_id);
        let task = file(&mut self.by_task, &delegation.task_id);
        if let Some(trace) = &opening.trace {
            self.by_trace.entry(trace.clone()).or_default().insert(key);
        }
        let mut touched = BTreeSet::from([key]);
        // It takes what follows away from the delegation that was the latest of its task before, and
        // later ones of its conversation have read its artifacts.
        let indexes = [(task, &self.by_task), (context, &self.by_context)];
        for (of, index) in indexes {
            let keys = of.and_then(|of| index.get(&of));
            touched.extend(keys.into_iter().flat_map(|keys| {
                keys.range(..key).next_back().into_iter().chain(keys.range(key..))
            }));
        }
        self.started.insert(delegation.id, key.0);
        self.openings.insert(key, opening);
        touched.into_iter().map(|(_, id)| id).collect()
    }

    fn continue_task(&mut self, sequel: Sequel) -> Vec<ExchangeId> {
        let task = (sequel.agent.clone(), sequel.task_id.clone());
        let key = (sequel.started, sequel.id);
        self.tasks.insert(sequel.id, (task.clone(), sequel.started));
        let owner = self.owner(&task, key).map(|(_, id)| id);
        self.sequels.entry(task).or_default().insert(key, sequel);
        owner.into_iter().collect()
    }

    /// Whether a conversation goes on after this delegation.
    fn is_followed(&self, context: &Of, key: Key) -> bool {
        let after = (Bound::Excluded(key), Bound::Unbounded);
        self.by_context.get(context).is_some_and(|keys| keys.range(after).next().is_some())
    }

    /// The latest delegation of a task that began before this.
    fn owner(&self, task: &Of, before: Key) -> Option<Key> {
        self.by_task.get(task)?.range(..before).next_back().copied()
    }

    /// What followed a delegation: the exchanges of its task until the task's next delegation began.
    fn sequels_of(&self, key: Key, opening: &Opening) -> impl Iterator<Item = &Sequel> {
        let task = opening.delegation.task_id.as_ref();
        let task = task.map(|task| (opening.delegation.agent.clone(), task.clone()));
        let of_task = task.as_ref().and_then(|task| self.sequels.get(task));
        of_task
            .into_iter()
            .flat_map(move |sequels| sequels.range(key..))
            .filter(move |(at, _)| {
                task.as_ref().and_then(|task| self.owner(task, **at)) == Some(key)
            })
            .map(|(_, sequel)| sequel)
    }

    fn said<'a>(&'a self, key: Key, opening: &'a Opening) -> Vec<&'a Said> {
        let sequels = self.sequels_of(key, opening).flat_map(|sequel| &sequel.said);
        let mut said: Vec<&Said> = opening.said.iter().chain(sequels).collect();
        said.sort_by_key(|said| said.at);
        said
    }

    fn folded(&self, key: Key, opening: &Opening) -> Folded {
        let mut folded = Folded::default();
        self.said(key, opening).into_iter().for_each(|said| said.tell(&mut folded));
        folded
    }

    fn delegation_of(
        &self,
        key: Key,
        opening: &Opening,
        folded: &Folded,
        read: &[Artifact],
    ) -> Delegation {
        let mut delegation = opening.delegation.clone();
        for sequel in self.sequels_of(key, opening) {
            delegation.exchanges.push(sequel.id);
            for rule in &sequel.faults {
                if !delegation.faults.contains(rule) {
                    delegation.faults.push(rule.clone());
                }
            }
        }
        let event = |said: &&Said| match &said.what {
            What::Event(event) => Some(canonical::event(event)),
            What::Reply(_) => None,
        };
        delegation.events = self.said(key, opening).iter().filter_map(event).collect();
        delegation.reply = folded.reply.as_ref().map(canonical::reply);
        delegation.reply_text = folded.text_of_unread(|artifact| read.contains(artifact));
        delegation.states = folded.states.iter().map(|state| state.as_str().to_owned()).collect();
        delegation.state = delegation.states.last().cloned();
        delegation.outcome = outcome(opening.delegation.outcome, folded);
        delegation.retry_of = self.retried(key, opening);
        delegation.parent = self.parent(key, opening);
        delegation
    }

    fn retried(&self, key: Key, opening: &Opening) -> Option<ExchangeId> {
        let Delegation { agent, message_id, .. } = &opening.delegation;
        let of = (agent.clone(), message_id.clone()?);
        self.by_message.get(&of)?.range(..key).next_back().map(|(_, id)| *id)
    }

    /// The baggage's word, else the latest delegation of the same trace to the agent that called.
    fn parent(&self, key: Key, opening: &Opening) -> Option<ExchangeId> {
        if let Some(parent) = opening.named_parent {
            return Some(parent);
        }
        let caller = &opening.delegation.orchestrator;
        let of_trace = self.by_trace.get(opening.trace.as_ref()?)?;
        let mut before = of_trace.range(..key).rev();
        let to_caller = |key: &&Key| {
            self.openings.get(*key).is_some_and(|opening| opening.delegation.agent == *caller)
        };
        before.find(to_caller).map(|(_, id)| *id)
    }
}

fn context_of(opening: &Opening) -> Option<Of> {
    let Delegation { agent, context_id, .. } = &opening.delegation;
    context_id.as_ref().filter(|id| !id.is_empty()).map(|id| (agent.clone(), id.clone()))
}

fn artifacts(folded: Folded) -> Vec<Artifact> {
    match folded.reply {
        Some(Reply::Task(task)) => task.artifacts,
        Some(
            Reply::Message(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_)
            | Reply::Error(_),
        )
        | None => Vec::new(),
    }
}

/// How a delegation ended: in the state that its task ended in or waits in, whatever became of the
/// first exchange; else as that exchange ended. What a rule answered stays a rule's answer.
fn outcome(of_send: Outcome, folded: &Folded) -> Outcome {
    if of_send == Outcome::AnsweredByFault {
        return of_send;
    }
    match &folded.reply {
        Some(Reply::Task(task)) => outcome_of_state(&task.status.state).unwrap_or(of_send),
        Some(Reply::Message(_)) if of_send != Outcome::CutByAgent => Outcome::Message,
        Some(
            Reply::Message(_)
            | Reply::Tasks(_)
            | Reply::PushConfig(_)
            | Reply::PushConfigs { .. }
            | Reply::Empty
            | Reply::Card(_)
            | Reply::Error(_),
        )
        | None => of_send,
    }
}
