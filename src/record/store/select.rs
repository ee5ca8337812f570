//! Which exchanges a reader wants to see the heads of: what heads and indexes can answer.

use std::ops::ControlFlow;

use jiff::Timestamp;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::record::exchange::Outcome;
use crate::record::format::codes;
use crate::record::format::head::Head;
use crate::record::format::index::{KeyKind, Row, key};
use crate::record::store::{Entry, Scanned, Store, StoreError, VisitHead};

/// Which exchanges. `None` and empty lists do not narrow; what is given must all hold, of a list one.
#[derive(Clone, Debug, Default)]
pub struct Select {
    /// Begun at this time or later.
    pub since: Option<Timestamp>,
    /// Begun before this time.
    pub until: Option<Timestamp>,
    /// In one of these sessions.
    pub sessions: Vec<String>,
    /// Of one of these agents.
    pub agents: Vec<String>,
    /// With this message id.
    pub message: Option<String>,
    /// Of this conversation.
    pub context: Option<String>,
    /// Of this task.
    pub task: Option<String>,
    /// One of these operations.
    pub operations: Vec<Operation>,
    /// Ended in one of these ways.
    pub outcomes: Vec<Outcome>,
    /// By one of these bindings.
    pub bindings: Vec<Binding>,
    /// In one of these versions.
    pub versions: Vec<ProtocolVersion>,
    /// With this rule fired.
    pub fault: Option<String>,
    /// Oldest or newest first.
    pub order: Order,
}

/// The order of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were appended.
    #[default]
    OldestFirst,
    /// The other way round.
    NewestFirst,
}

/// A [`Select`] made ready: texts as they stand in heads, their keys, numbers.
#[derive(Debug)]
pub(super) struct Wanted {
    since_us: i64,
    until_us: i64,
    texts: [Vec<(u32, String)>; 5],
    operations: Vec<u8>,
    outcomes: Vec<u8>,
    bindings: Vec<u8>,
    versions: Vec<u8>,
    fault: Option<String>,
    pub(super) order: Order,
}

impl Wanted {
    pub(super) fn of(select: &Select) -> Self {
        let texts = |texts: &[String]| {
            texts
                .iter()
                .map(|text| Head::text(text).into_owned())
                .map(|it| (key(&it), it))
                .collect()
        };
        let one = |text: &Option<String>| texts(text.as_slice());
        Self {
            since_us: select.since.map_or(i64::MIN, microseconds_up),
            until_us: select.until.map_or(i64::MAX, microseconds_up),
            texts: [
                texts(&select.sessions),
                texts(&select.agents),
                one(&select.message),
                one(&select.context),
                one(&select.task),
            ],
            operations: select.operations.iter().map(|it| codes::of_operation(*it)).collect(),
            outcomes: select.outcomes.iter().map(|it| codes::of_outcome(*it)).collect(),
            bindings: select.bindings.iter().map(|it| codes::of_binding(Some(*it))).collect(),
            versions: select.versions.iter().map(|it| codes::of_version(Some(*it))).collect(),
            fault: select.fault.as_deref().map(|rule| Head::text(rule).into_owned()),
            order: select.order,
        }
    }

    /// The keys that narrow most, with their kind: rows without one of them need not be looked at.
    pub(super) fn narrowest(&self) -> Option<(KeyKind, impl Iterator<Item = u32>)> {
        let [sessions, agents, message, context, task] = &self.texts;
        [
            (KeyKind::Task, task),
            (KeyKind::Message, message),
            (KeyKind::Context, context),
            (KeyKind::Session, sessions),
            (KeyKind::Agent, agents),
        ]
        .into_iter()
        .find(|(_, texts)| !texts.is_empty())
        .map(|(kind, texts)| (kind, texts.iter().map(|(key, _)| *key)))
    }

    /// Whether a segment whose records lie between these times can hold one.
    pub(super) const fn may_be_between(&self, earliest_us: i64, latest_us: i64) -> bool {
        latest_us >= self.since_us && earliest_us < self.until_us
    }

    /// Whether a row may be of one that is wanted: keys are not texts, so the head has the last word.
    pub(super) fn may_be(&self, row: &Row) -> bool {
        let has_keys =
            self.texts.iter().zip(row.keys).all(|(texts, found)| {
                texts.is_empty() || texts.iter().any(|(key, _)| *key == found)
            });
        has_keys
            && (self.since_us..self.until_us).contains(&row.started_us)
            && is_one_of(row.operation, &self.operations)
            && is_one_of(row.outcome, &self.outcomes)
            && is_one_of(row.binding, &self.bindings)
            && is_one_of(row.version, &self.versions)
            && (self.fault.is_none() || row.faults > 0)
    }

    /// Whether it is wanted.
    pub(super) fn is(&self, head: &Head<'_>) -> bool {
        let found = [
            Some(&head.session),
            Some(&head.agent),
            head.message_id.as_ref(),
            head.context_id.as_ref(),
            head.task_id.as_ref(),
        ];
        let has_texts = self.texts.iter().zip(found).all(|(texts, found)| {
            texts.is_empty() || texts.iter().any(|(_, text)| found.is_some_and(|it| *it == *text))
        });
        has_texts
            && (self.since_us..self.until_us).contains(&head.started.as_microsecond())
            && is_one_of(codes::of_operation(head.operation), &self.operations)
            && is_one_of(head.outcome.map_or(0, codes::of_outcome), &self.outcomes)
            && is_one_of(codes::of_binding(head.binding), &self.bindings)
            && is_one_of(codes::of_version(head.version), &self.versions)
            && self.fault.as_ref().is_none_or(|rule| head.faults.iter().any(|it| it == rule))
    }
}

/// What [`Store::heads`] does in a store that has no index: it reads everything.
pub(super) fn heads_by_scan<S: Store + ?Sized>(
    store: &S,
    select: &Select,
    visit: &mut VisitHead<'_>,
) -> Result<Scanned, StoreError> {
    let wanted = Wanted::of(select);
    let mut found = Vec::new();
    let mut scanned = store.scan(None, &mut |entry| {
        match entry {
            Entry::Exchange(exchange) if wanted.is(&Head::of(exchange.get())) => {
                found.push(exchange);
            }
            Entry::Exchange(_) | Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    if wanted.order == Order::NewestFirst {
        found.reverse();
    }
    scanned.entries = 0;
    for exchange in found {
        scanned.entries += 1;
        let read = || Ok((*exchange).clone());
        if visit(&Head::of(exchange.get()), &read).is_break() {
            break;
        }
    }
    Ok(scanned)
}

fn is_one_of(code: u8, wanted: &[u8]) -> bool {
    wanted.is_empty() || wanted.contains(&code)
}

/// Times are kept in whole microseconds, cut off: "at this time or later" begins at the next one when
/// the time lies between two.
fn microseconds_up(time: Timestamp) -> i64 {
    let whole = time.as_microsecond();
    match Timestamp::from_microsecond(whole) {
        Ok(cut) if cut < time => whole.saturating_add(1),
        Ok(_) | Err(_) => whole,
    }
}
