//! What every store promises, as one suite that runs on each of them.
//!
//! It is no test itself, so that stores elsewhere can be put through it as well: a promise that is not
//! kept comes back as a sentence.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use jiff::Timestamp;

use crate::a2a::model::Operation;
use crate::base::id::ExchangeId;
use crate::record::exchange::Outcome;
use crate::record::format::head::Head;
use crate::record::store::select::{Order, Select};
use crate::record::store::state::State;
use crate::record::store::{Entry, Store, StoreError, sample};

type Promise = fn(&dyn Store) -> Result<(), String>;

const PROMISES: &[(&str, Promise)] = &[
    ("entries come back as they were and in their order", entries_come_back),
    ("a scan begins where it is told and ends where it is told", a_scan_begins_and_ends),
    ("an exchange is found by its id", an_exchange_is_found),
    ("heads are those of the exchanges", heads_are_of_exchanges),
    ("what narrows a visit is kept to", a_visit_is_narrowed),
    ("long ids are told apart", long_ids_are_told_apart),
    ("notes are all that is no exchange", notes_are_the_rest),
    ("ids are those of all exchanges", ids_are_all),
    ("state is kept by space and key", state_is_kept),
    ("a closed store takes nothing", a_closed_store_takes_nothing),
];

/// Runs the suite; `open` makes an empty store, anew for each promise.
pub fn check(open: &mut dyn FnMut() -> Result<Arc<dyn Store>, StoreError>) -> Result<(), String> {
    for (name, promise) in PROMISES {
        let store = open().map_err(|error| format!("{name}: cannot open: {error}"))?;
        promise(&*store).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

/// What a scan visits.
pub fn entries(store: &dyn Store, since: Option<Timestamp>) -> Result<Vec<Entry>, StoreError> {
    let mut entries = Vec::new();
    store.scan(since, &mut |entry| {
        entries.push(entry);
        ControlFlow::Continue(())
    })?;
    Ok(entries)
}

/// The ids of the exchanges that [`Store::heads`] visits.
pub fn selected(store: &dyn Store, select: &Select) -> Result<Vec<ExchangeId>, StoreError> {
    let mut ids = Vec::new();
    store.heads(select, &mut |head, _| {
        ids.push(head.id);
        ControlFlow::Continue(())
    })?;
    Ok(ids)
}

fn entries_come_back(store: &dyn Store) -> Result<(), String> {
    let mixed = mixed();
    for part in mixed.chunks(3) {
        store.append(part).map_err(text)?;
    }
    store.flush().map_err(text)?;
    same(&entries(store, None).map_err(text)?, &mixed)
}

fn a_scan_begins_and_ends(store: &dyn Store) -> Result<(), String> {
    let all: Vec<Entry> = (0..20).map(sample::entry).collect();
    fill(store, &all)?;
    let since = sample::exchange(12).started;
    same(entries(store, Some(since)).map_err(text)?.as_slice(), all.get(12..).unwrap_or_default())?;
    let mut visited = 0;
    let scanned = store.scan(None, &mut |_| {
        visited += 1;
        if visited == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    same(&visited, &3)?;
    same(&scanned.map_err(text)?.entries, &3)
}

fn an_exchange_is_found(store: &dyn Store) -> Result<(), String> {
    fill(store, &mixed())?;
    for number in [0, 7, 19] {
        let found = store.exchange(sample::id(number)).map_err(text)?;
        let found = found.map(|exchange| format!("{:?}", exchange.get()));
        same(&found, &Some(format!("{:?}", sample::exchange(number))))?;
    }
    same(&store.exchange(sample::id(999)).map_err(text)?.is_some(), &false)
}

fn heads_are_of_exchanges(store: &dyn Store) -> Result<(), String> {
    fill(store, &mixed())?;
    let mut number = 0;
    let mut wrong = Vec::new();
    let visited = store.heads(&Select::default(), &mut |head, read| {
        let expected = sample::exchange(number);
        number += 1;
        if *head != Head::of(&expected) {
            wrong.push(format!("head {head:?} of {expected:?}"));
        }
        match read() {
            Ok(body) if format!("{:?}", body.get()) == format!("{expected:?}") => {}
            other => wrong.push(format!("{other:?} for {expected:?}")),
        }
        ControlFlow::Continue(())
    });
    same(&wrong, &Vec::new())?;
    same(&visited.map_err(text)?.entries, &20)
}

fn a_visit_is_narrowed(store: &dyn Store) -> Result<(), String> {
    let all: Vec<Entry> = (0..200).map(sample::entry).collect();
    fill(store, &all)?;
    let check = |select: Select, is_wanted: &dyn Fn(u64) -> bool| {
        let mut expected: Vec<_> =
            (0..200).filter(|number| is_wanted(*number)).map(sample::id).collect();
        same(&selected(store, &select).map_err(text)?, &expected)?;
        let select = Select { order: Order::NewestFirst, ..select };
        expected.reverse();
        same(&selected(store, &select).map_err(text)?, &expected)
    };
    let some = |text: &str| Some(text.to_owned());
    let of = |number: u64| sample::exchange(number);
    check(Select { task: some("task-7"), ..Select::default() }, &|n| n / 4 == 7)?;
    check(Select { context: some("context-3"), ..Select::default() }, &|n| n / 8 == 3)?;
    check(Select { message: some("message-11"), ..Select::default() }, &|n| n == 11)?;
    check(Select { task: some("nobody's"), ..Select::default() }, &|_| false)?;
    let sessions = vec!["session-1".to_owned(), "session-1".to_owned()];
    check(Select { sessions, ..Select::default() }, &|n| n / 64 == 1)?;
    let agents = vec!["agent-1".to_owned(), "agent-3".to_owned()];
    let outcomes = vec![Outcome::Failed];
    check(Select { agents, outcomes, ..Select::default() }, &|n| n % 8 == 5)?;
    let operations = vec![Operation::GetTask];
    let (since, until) = (Some(of(50).started), Some(of(90).started));
    check(Select { since, until, operations, ..Select::default() }, &|n| {
        (50..90).contains(&n) && of(n).operation == Operation::GetTask
    })?;
    check(Select { fault: some("refunds fail"), ..Select::default() }, &|n| n % 16 == 7)?;
    check(Select { fault: some("no such rule"), ..Select::default() }, &|_| false)
}

fn long_ids_are_told_apart(store: &dyn Store) -> Result<(), String> {
    use crate::record::redact::Redacted;
    let long = "t".repeat(3000);
    let ids = [format!("{long}a"), format!("{long}b")];
    let exchanges = ids.iter().zip(0..).map(|(task, number)| {
        let mut exchange = sample::exchange(number);
        exchange.ids.task_id = Some(task.clone());
        Entry::Exchange(Box::new(Redacted::from_storage(exchange)))
    });
    fill(store, &exchanges.collect::<Vec<_>>())?;
    for (task, number) in ids.into_iter().zip(0..) {
        let select = Select { task: Some(task), ..Select::default() };
        same(&selected(store, &select).map_err(text)?, &vec![sample::id(number)])?;
    }
    Ok(())
}

fn notes_are_the_rest(store: &dyn Store) -> Result<(), String> {
    fill(store, &mixed())?;
    let mut notes = Vec::new();
    let visited = store.notes(&mut |entry| {
        notes.push(entry);
        ControlFlow::Continue(())
    });
    visited.map_err(text)?;
    let mut expected = mixed();
    expected.retain(|entry| !matches!(entry, Entry::Exchange(_)));
    same(&notes, &expected)?;
    same(&store.sessions().map_err(text)?, &vec![sample::session(0), sample::session(1)])
}

fn ids_are_all(store: &dyn Store) -> Result<(), String> {
    fill(store, &mixed())?;
    let mut ids = Vec::new();
    let visited = store.ids(&mut |id| {
        ids.push(id);
        ControlFlow::Continue(())
    });
    visited.map_err(text)?;
    ids.sort_unstable();
    same(&ids, &(0..20).map(sample::id).collect())
}

fn state_is_kept(store: &dyn Store) -> Result<(), String> {
    let state = store.state().ok_or("it has no state")?;
    for (space, key, value) in [("a", "1", "x"), ("a", "2", "y"), ("b", "1", "z"), ("ab", "1", "w")]
    {
        state.put(space, key.as_bytes(), value.as_bytes()).map_err(text)?;
    }
    state.put("a", b"1", b"newer").map_err(text)?;
    state.delete("a", b"2").map_err(text)?;
    state.delete("a", b"never there").map_err(text)?;
    same(&state.get("a", b"1").map_err(text)?, &Some(b"newer".to_vec()))?;
    same(&state.get("a", b"2").map_err(text)?, &None)?;
    same(&space(state, "a")?, &vec![("1".to_owned(), "newer".to_owned())])?;
    same(&space(state, "ab")?, &vec![("1".to_owned(), "w".to_owned())])
}

fn a_closed_store_takes_nothing(store: &dyn Store) -> Result<(), String> {
    fill(store, &[sample::entry(1)])?;
    store.close().map_err(text)?;
    store.close().map_err(|error| format!("closed twice: {error}"))?;
    match store.append(&[sample::entry(2)]) {
        Err(StoreError::NotWritable { .. }) => {}
        other => return Err(format!("an append to a closed store gives {other:?}")),
    }
    same(&entries(store, None).map_err(text)?, &vec![sample::entry(1)])
}

/// Twenty exchanges with two sessions, an event and a gap among them.
fn mixed() -> Vec<Entry> {
    let mut entries: Vec<Entry> = vec![Entry::Session(sample::session(0))];
    entries.extend((0..7).map(sample::entry));
    entries.push(Entry::Event(sample::event(6)));
    entries.extend((7..13).map(sample::entry));
    entries.push(Entry::Session(sample::session(1)));
    entries.push(Entry::Gap(sample::gap(12)));
    entries.extend((13..20).map(sample::entry));
    entries
}

fn fill(store: &dyn Store, entries: &[Entry]) -> Result<(), String> {
    store.append(entries).map_err(text)?;
    store.flush().map_err(text)
}

fn space(state: &dyn State, space: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let words = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let visited = state.scan(space, &mut |key, value| {
        pairs.push((words(key), words(value)));
        ControlFlow::Continue(())
    });
    visited.map_err(text)?;
    Ok(pairs)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn text(error: StoreError) -> String {
    format!("{error:?}")
}

/// Compared as they print: exchanges have no equality.
fn same<T: Debug + ?Sized>(found: &T, expected: &T) -> Result<(), String> {
    let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
    if found == expected {
        return Ok(());
    }
    Err(format!("\n   found {found}\nexpected {expected}"))
}
