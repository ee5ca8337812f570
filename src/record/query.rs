//! What readers may ask, of a store's directory, a file, or memory alike.

mod filter;
mod names;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::{Operation, TaskState};
use crate::base::id::ExchangeId;
use crate::record::delegation::{Delegation, Grouper};
use crate::record::exchange::{Exchange, Outcome};
use crate::record::jsonl::{Line, Lines};
use crate::record::store::disk;
use crate::record::store::{Entry, EventRecord, GapRecord, SessionRecord, Store, StoreError};

/// Longer names that an ambiguous one may mean, as far as they are listed.
const CANDIDATES_MAX: usize = 10;

/// Which exchanges or delegations. An empty list or `None` does not narrow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Names of agents.
    pub agents: Vec<String>,
    /// Operations.
    pub operations: Vec<Operation>,
    /// Bindings.
    pub bindings: Vec<Binding>,
    /// Versions.
    pub versions: Vec<ProtocolVersion>,
    /// Last known states.
    #[serde(skip)]
    pub states: Vec<TaskState>,
    /// Outcomes.
    pub outcomes: Vec<Outcome>,
    /// A session's name; `last` is the most recently opened one that has exchanges.
    pub session: Option<String>,
    /// A task's id.
    pub task: Option<String>,
    /// A conversation's id.
    pub context: Option<String>,
    /// A rule that fired.
    pub fault: Option<String>,
    /// Words in message or reply, any case.
    pub text: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// The newest so many.
    pub limit: Option<usize>,
}

/// A recording that can be asked. Loading and grouping happen when it is opened or first asked; a live
/// store is read anew by opening it anew.
#[derive(Default)]
pub struct Recording {
    exchanges: Vec<Arc<Exchange>>,
    sessions: Vec<SessionRecord>,
    gaps: Vec<GapRecord>,
    events: Vec<EventRecord>,
    grouped: OnceLock<Grouped>,
    names: OnceLock<names::Names>,
}

/// The delegations, and which exchange belongs to which of them.
struct Grouped {
    delegations: Vec<Arc<Delegation>>,
    owners: HashMap<ExchangeId, usize>,
}

/// Why a recording could not be read or asked.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// It could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A line of a file is no part of a recording.
    #[error("{path}:{line}: {why}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// No exchange or delegation has that id.
    #[error("no exchange or delegation `{0}` in this recording")]
    NotFound(String),
    /// Several have.
    #[error("`{id}` is ambiguous: {}", .candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Longer names that are unique.
        candidates: Vec<String>,
    },
}

impl Recording {
    /// Opens a store's directory, an `.a2a.jsonl` or `.a2a.jsonl.zst` file, or `-` (standard input).
    pub fn open(at: &Path) -> Result<Self, QueryError> {
        if at.as_os_str() == "-" {
            return Self::read("standard input", &mut std::io::stdin().lock());
        }
        if at.is_dir() {
            return Self::of_store(&disk::open_reader(at)?);
        }
        let path = at.display().to_string();
        match File::open(at) {
            Ok(mut file) => Self::read(&path, &mut file),
            Err(source) => Err(StoreError::Io { doing: "open", path, source }.into()),
        }
    }

    /// Reads a file's lines, compressed or not. `name` is for error messages.
    pub fn read(name: &str, from: &mut dyn Read) -> Result<Self, QueryError> {
        let mut recording = Self::default();
        for line in Lines::open(name, from)? {
            match line? {
                Line::Exchange(exchange) => recording.exchanges.push(Arc::from(exchange)),
                Line::Session(session) => recording.sessions.push(session),
                Line::Event(event) => recording.events.push(event),
                Line::Gap(gap) => recording.gaps.push(gap),
                Line::Other => {}
            }
        }
        Ok(recording.in_order())
    }

    /// What a store holds now.
    pub fn of_store(store: &dyn Store) -> Result<Self, QueryError> {
        let mut recording = Self::default();
        store.scan(None, &mut |entry| {
            match entry {
                Entry::Exchange(exchange) => {
                    recording.exchanges.push(Arc::new(exchange.into_inner()));
                }
                Entry::Session(session) => recording.sessions.push(session),
                Entry::Event(event) => recording.events.push(event),
                Entry::Gap(gap) => recording.gaps.push(gap),
            }
            ControlFlow::Continue(())
        })?;
        Ok(recording.in_order())
    }

    /// These exchanges and nothing else.
    pub fn of_exchanges(exchanges: Vec<Exchange>) -> Self {
        let exchanges = exchanges.into_iter().map(Arc::new).collect();
        Self { exchanges, ..Self::default() }.in_order()
    }

    /// Several recordings as one. What is in more than one of them is in it once.
    pub fn merge(recordings: impl IntoIterator<Item = Self>) -> Self {
        let mut merged = Self::default();
        for recording in recordings {
            merged.exchanges.extend(recording.exchanges);
            merged.sessions.extend(recording.sessions);
            merged.gaps.extend(recording.gaps);
            merged.events.extend(recording.events);
        }
        merged.in_order()
    }

    /// The sessions, oldest first. One that was opened again stands where it was opened last.
    pub fn sessions(&self) -> &[SessionRecord] {
        &self.sessions
    }

    /// The exchanges that match, oldest first.
    pub fn exchanges(&self, filter: &Filter) -> Vec<Arc<Exchange>> {
        let Some(wanted) = filter::Wanted::of(filter, self) else { return Vec::new() };
        wanted.newest(self.exchanges.iter().filter(|exchange| wanted.has_exchange(exchange)))
    }

    /// The delegations that match, oldest first.
    pub fn delegations(&self, filter: &Filter) -> Vec<Arc<Delegation>> {
        let Some(wanted) = filter::Wanted::of(filter, self) else { return Vec::new() };
        let all = self.grouped().delegations.iter();
        wanted.newest(all.filter(|delegation| wanted.has_delegation(delegation)))
    }

    /// The exchange of this id (whole, or any unique suffix, with or without `x-` or `d-`).
    pub fn exchange(&self, id: &str) -> Result<Arc<Exchange>, QueryError> {
        let found = self.names().find(id);
        let index = self.only(id, 'x', &found)?;
        self.exchanges.get(index).cloned().ok_or_else(|| QueryError::NotFound(id.to_owned()))
    }

    /// The delegation of this id, or the one that this exchange belongs to.
    pub fn delegation(&self, id: &str) -> Result<Arc<Delegation>, QueryError> {
        let grouped = self.grouped();
        let found = self.names().find(id);
        // An exchange that begins a delegation counts more than one that merely ends alike.
        let opens = |index: &usize| {
            self.exchanges.get(*index).is_some_and(|exchange| grouped.opens(exchange.id))
        };
        let opening: Vec<usize> = found.iter().copied().filter(opens).collect();
        let found = if opening.is_empty() { found } else { opening };
        let index = self.only(id, 'd', &found)?;
        self.exchanges
            .get(index)
            .and_then(|exchange| grouped.of(exchange.id))
            .ok_or_else(|| QueryError::NotFound(id.to_owned()))
    }

    /// What was not recorded.
    pub fn gaps(&self) -> &[GapRecord] {
        &self.gaps
    }

    /// What happened beside the exchanges.
    pub fn events(&self) -> &[EventRecord] {
        &self.events
    }

    /// The agents that the recording knows, sorted.
    pub fn agents(&self) -> Vec<String> {
        let agents: BTreeSet<&String> = self.exchanges.iter().map(|it| &it.agent).collect();
        agents.into_iter().cloned().collect()
    }

    /// `x-` or `d-` and the shortest suffix of at least 8 digits that is unique in this recording.
    pub fn short(&self, prefix: char, id: ExchangeId) -> String {
        format!("{prefix}-{}", self.names().shortest(id))
    }

    /// The most recently opened session that has exchanges. A recording that tells of no session is
    /// asked for its newest exchange.
    fn last_session(&self) -> Option<&str> {
        let used: HashSet<&str> = self.exchanges.iter().map(|it| it.session.as_str()).collect();
        let opened = self.sessions.iter().rev().map(|session| session.name.as_str());
        let newest = self.exchanges.last().map(|exchange| exchange.session.as_str());
        opened.filter(|name| used.contains(name)).chain(newest).next()
    }

    /// The one that was found, or why there is not one.
    fn only(&self, id: &str, prefix: char, found: &[usize]) -> Result<usize, QueryError> {
        match found {
            [] => Err(QueryError::NotFound(id.to_owned())),
            [index] => Ok(*index),
            many => {
                let name = |index: &usize| {
                    self.exchanges.get(*index).map(|exchange| self.short(prefix, exchange.id))
                };
                let candidates = many.iter().take(CANDIDATES_MAX).filter_map(name).collect();
                Err(QueryError::Ambiguous { id: id.to_owned(), candidates })
            }
        }
    }

    fn grouped(&self) -> &Grouped {
        self.grouped.get_or_init(|| {
            let mut grouper = Grouper::default();
            for exchange in &self.exchanges {
                grouper.push(exchange);
            }
            let delegations: Vec<Arc<Delegation>> =
                grouper.delegations().into_iter().map(Arc::new).collect();
            let owners = delegations
                .iter()
                .enumerate()
                .flat_map(|(index, it)| it.exchanges.iter().map(move |id| (*id, index)))
                .collect();
            Grouped { delegations, owners }
        })
    }

    fn names(&self) -> &names::Names {
        self.names.get_or_init(|| names::Names::of(self.exchanges.iter().map(|it| it.id)))
    }

    fn in_order(mut self) -> Self {
        self.exchanges.sort_by_key(|exchange| (exchange.started, exchange.id));
        self.exchanges.dedup_by_key(|exchange| exchange.id);
        self.sessions.sort_by_key(|session| session.started);
        let mut seen = HashSet::new();
        self.sessions.reverse();
        self.sessions.retain(|session| seen.insert(session.name.clone()));
        self.sessions.reverse();
        self.gaps.sort_by_key(|gap| gap.at);
        self.gaps.dedup();
        self.events.sort_by_key(|event| event.at);
        self.events.dedup();
        self
    }
}

impl Grouped {
    fn of(&self, exchange: ExchangeId) -> Option<Arc<Delegation>> {
        self.delegations.get(*self.owners.get(&exchange)?).cloned()
    }

    fn opens(&self, exchange: ExchangeId) -> bool {
        self.of(exchange).is_some_and(|delegation| delegation.id == exchange)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("exchanges", &self.exchanges.len())
            .field("sessions", &self.sessions.len())
            .finish_non_exhaustive()
    }
}
