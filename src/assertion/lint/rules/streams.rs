//! Streams: how they begin, what may follow what, how they end.

use std::collections::BTreeSet;

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::model::{Operation, StreamResponse, TaskState};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("artifact-append-first", Must, ("4.2.2", "7.2.3"), "the first chunk of an artifact is not appended to anything", append_first),
    rule("artifact-after-last-chunk", Must, ("4.2.2", "7.2.3"), "nothing is appended to an artifact after its last chunk", after_last_chunk),
    rule("stream-after-end", Must, ("3.1.2", "7.2.2"), "no event follows the one that ended the task (0.3: the `final` one)", after_end),
    rule("stream-context", Must, ("4.2.1, 4.2.2", "7.2.2"), "all events of a stream name one conversation", one_context),
    rule("stream-end-state", Must, ("3.1.2", "7.2.2"), "a stream that ends cleanly ends with a message, or with a task that ended or waits", end_state),
    rule("stream-final", Should, ("", "7.2.2"), "the status that ends a task is marked `final`, and no running one is", finals),
    rule("stream-first-event", Must, ("3.1.2", ""), "a stream begins with the task or a message", first_event),
    rule("stream-message-alone", Must, ("3.1.2", ""), "a message is the only event of its stream", message_alone),
    rule("stream-not-empty", Must, ("3.1.2", "7.2"), "a stream has an event", not_empty),
    rule("stream-state-machine", Must, ("4.1.3", "6.3"), "a task that has ended does not change its state", state_machine),
    rule("stream-task", Must, ("4.2.1, 4.2.2", "7.2.2"), "all events of a stream name one task", one_task),
    rule("subscribe-first-event", Must, ("3.1.6", ""), "a subscription begins with the task as it stands", subscribe_first),
];

fn append_first(seen: &Seen<'_>, flaws: &mut Flaws) {
    if !seen.asks(Operation::SendStreamingMessage) {
        return;
    }
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (n, event) in seen.events() {
        match event {
            StreamResponse::Task(task) => {
                known.extend(task.artifacts.iter().map(|artifact| artifact.artifact_id.as_str()));
            }
            StreamResponse::ArtifactUpdate(update) => {
                let id = update.artifact.artifact_id.as_str();
                // A message that continues a task may add to what an earlier stream began.
                let continues = seen.sent().is_some_and(|send| send.message.task_id.is_some());
                if known.insert(id) && update.append && !continues {
                    let text =
                        format!("`append` for artifact {id:?}, of which nothing came before");
                    flaws.push((format!("answer event {n}"), text));
                }
            }
            StreamResponse::Message(_) | StreamResponse::StatusUpdate(_) => {}
        }
    }
}

fn after_last_chunk(seen: &Seen<'_>, flaws: &mut Flaws) {
    let mut closed: BTreeSet<&str> = BTreeSet::new();
    for (n, event) in seen.events() {
        if let StreamResponse::ArtifactUpdate(update) = event {
            let id = update.artifact.artifact_id.as_str();
            if update.append && closed.contains(id) {
                let text = format!("a chunk for artifact {id:?} after its `lastChunk`");
                flaws.push((format!("answer event {n}"), text));
            }
            if update.last_chunk {
                closed.insert(id);
            }
        }
    }
}

fn after_end(seen: &Seen<'_>, flaws: &mut Flaws) {
    let mut ended: Option<usize> = None;
    for (n, event) in seen.events() {
        if let Some(end) = ended {
            flaws.push((format!("answer event {n}"), format!("event {end} had ended the stream")));
            return;
        }
        let is_final = match event {
            StreamResponse::StatusUpdate(update) => update.last == Some(true),
            StreamResponse::Task(_)
            | StreamResponse::Message(_)
            | StreamResponse::ArtifactUpdate(_) => false,
        };
        let has_ended = seen.is_v1_0() && event.state().is_some_and(TaskState::is_terminal);
        if is_final || has_ended {
            ended = Some(n);
        }
    }
}

fn one_context(seen: &Seen<'_>, flaws: &mut Flaws) {
    one_of(seen, StreamResponse::context_id, "conversation", flaws);
}

fn one_task(seen: &Seen<'_>, flaws: &mut Flaws) {
    one_of(seen, StreamResponse::task_id, "task", flaws);
}

fn one_of<'a>(
    seen: &Seen<'a>,
    id: fn(&'a StreamResponse) -> Option<&'a str>,
    what: &str,
    flaws: &mut Flaws,
) {
    let mut first: Option<&str> = None;
    for (n, event) in seen.events() {
        let Some(id) = id(event).filter(|id| !id.is_empty()) else { continue };
        match first {
            None => first = Some(id),
            Some(first) if first != id => {
                let text = format!("{what} {id:?}, the stream began with {first:?}");
                flaws.push((format!("answer event {n}"), text));
                return;
            }
            Some(_) => {}
        }
    }
}

fn end_state(seen: &Seen<'_>, flaws: &mut Flaws) {
    if !seen.is_stream() || !seen.is_whole() || !seen.is_served() {
        return;
    }
    let mut last: Option<&TaskState> = None;
    for (_, event) in seen.events() {
        if let StreamResponse::Message(_) = event {
            return;
        }
        last = event.state().or(last);
    }
    if let Some(state) = last
        && !state.is_terminal()
        && !state.is_interrupted()
    {
        flaws.push(("answer".to_owned(), format!("the stream ended with the task `{state}`")));
    }
}

fn finals(seen: &Seen<'_>, flaws: &mut Flaws) {
    for (n, event) in seen.events() {
        let StreamResponse::StatusUpdate(update) = event else { continue };
        let state = &update.status.state;
        let text = match update.last {
            Some(true) if !state.is_terminal() && !state.is_interrupted() => {
                format!("`final` with the task `{state}`")
            }
            Some(false) if state.is_terminal() => format!("the task is `{state}`, not `final`"),
            Some(_) | None => continue,
        };
        flaws.push((format!("answer event {n}"), text));
    }
}

fn first_event(seen: &Seen<'_>, flaws: &mut Flaws) {
    // What continues a task need not tell it anew: the official servers do not.
    let continues = seen.sent().is_some_and(|send| send.message.task_id.is_some());
    if !seen.asks(Operation::SendStreamingMessage) || continues {
        return;
    }
    if let Some((
        _,
        event @ (StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_)),
    )) = seen.events().next()
    {
        flaws.push(("answer event 1".to_owned(), format!("{} comes first", word(event))));
    }
}

fn message_alone(seen: &Seen<'_>, flaws: &mut Flaws) {
    let events: Vec<_> = seen.events().collect();
    let is_message = |event: &StreamResponse| matches!(event, StreamResponse::Message(_));
    if events.len() > 1
        && let Some((n, _)) = events.iter().find(|(_, event)| is_message(event))
    {
        let text = format!("a message among {} events", events.len());
        flaws.push((format!("answer event {n}"), text));
    }
}

fn not_empty(seen: &Seen<'_>, flaws: &mut Flaws) {
    let is_empty = seen.answer.is_some_and(|answer| answer.events.is_empty());
    if seen.is_stream() && is_empty && seen.is_whole() && seen.is_served() {
        flaws.push(("answer".to_owned(), "the stream has no event".to_owned()));
    }
}

fn state_machine(seen: &Seen<'_>, flaws: &mut Flaws) {
    let mut ended: Option<&TaskState> = None;
    for (n, event) in seen.events() {
        let Some(state) = event.state() else { continue };
        match ended {
            Some(end) if end != state => {
                flaws.push((format!("answer event {n}"), format!("from `{end}` to `{state}`")));
                return;
            }
            Some(_) | None => ended = state.is_terminal().then_some(state),
        }
    }
}

fn subscribe_first(seen: &Seen<'_>, flaws: &mut Flaws) {
    if !seen.asks(Operation::SubscribeToTask)
        || seen.exchange.version != Some(ProtocolVersion::V1_0)
    {
        return;
    }
    if let Some((_, event)) = seen.events().next()
        && !matches!(event, StreamResponse::Task(_))
    {
        flaws.push(("answer event 1".to_owned(), format!("{} comes first", word(event))));
    }
}

fn word(event: &StreamResponse) -> &'static str {
    match event {
        StreamResponse::Task(_) => "a task",
        StreamResponse::Message(_) => "a message",
        StreamResponse::StatusUpdate(_) => "a status update",
        StreamResponse::ArtifactUpdate(_) => "an artifact update",
    }
}
