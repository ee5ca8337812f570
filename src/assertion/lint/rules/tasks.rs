//! Tasks and conversations: ids, states, what a task shows and what it must not.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::model::{Operation, Reply, Request, StreamResponse, TaskState};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("artifact-id", Must, ("4.1.7", "6.7"), "artifact ids are unique within a task", artifact_ids),
    rule("artifact-parts", Must, ("4.1.7", "6.7"), "an artifact has a part", artifact_parts),
    rule("blocking", Must, ("3.2.2", "7.1.1"), "a send that waits is answered by a task that ended or waits", blocking),
    rule("cancel-ended", Must, ("3.1.5", "7"), "a task that has ended cannot be canceled", cancel_ended),
    rule("context-given", Must, ("3.4.1", "6.1"), "a task names its conversation", context_given),
    rule("context-kept", Must, ("3.4.1", "6.1"), "the agent keeps the conversation that the message names", context_kept),
    rule("context-of-task", Must, ("3.4.2", "6.4"), "a message that continues a task names the task's conversation, or none", context_of_task),
    rule("ended-for-good", Must, ("4.1.3", "6.3"), "a task that was seen to have ended is never seen in another state", ended_for_good),
    rule("get-the-asked", Must, ("3.1.3", "7.3"), "asked for a task, the agent shows that task", the_asked),
    rule("history-length", Must, ("3.2.4", "7.3"), "no more history is shown than was asked for", history),
    rule("list-artifacts", Must, ("3.1.4", ""), "lists leave artifacts out unless asked for them", list_artifacts),
    rule("list-order", Must, ("3.1.4", ""), "lists show the task that changed last first", list_order),
    rule("list-page-size", Must, ("3.1.4", ""), "a page is not longer than was asked for", list_page),
    rule("send-to-ended", Must, ("3.1.1", "7.1"), "a message for a task that has ended is refused", send_to_ended),
    rule("state-known", Should, ("4.1.3", "6.3"), "a task is in a state that says something", state_known),
    rule("subscribe-to-ended", Should, ("3.1.6", ""), "a subscription to a task that has ended is refused", subscribe_to_ended),
];

fn artifact_ids(seen: &Seen<'_>, flaws: &mut Flaws) {
    for (at, task) in seen.tasks() {
        let mut ids = BTreeSet::new();
        for artifact in &task.artifacts {
            let id = artifact.artifact_id.as_str();
            if !id.is_empty() && !ids.insert(id) {
                flaws.push((at.clone(), format!("two artifacts {id:?}")));
            }
        }
    }
}

fn artifact_parts(seen: &Seen<'_>, flaws: &mut Flaws) {
    for (at, artifact) in seen.artifacts() {
        if artifact.parts.is_empty() {
            flaws.push((at, format!("artifact {:?} has no part", artifact.artifact_id)));
        }
    }
}

/// 1.0 waits unless it is told not to; 0.3 waits only when it is told to.
fn blocking(seen: &Seen<'_>, flaws: &mut Flaws) {
    let (Some(send), Some(task), Operation::SendMessage) =
        (seen.sent(), seen.task(), seen.exchange.operation)
    else {
        return;
    };
    let told = send.configuration.as_ref().and_then(|it| it.return_immediately);
    let waits = match told {
        Some(immediately) => !immediately,
        None => seen.is_v1_0(),
    };
    let state = &task.status.state;
    if waits && matches!(state, TaskState::Submitted | TaskState::Working) {
        flaws.push(("answer task".to_owned(), format!("the task is still `{state}`")));
    }
}

fn cancel_ended(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Request::CancelTask { id, .. }) = &seen.call.request else { return };
    if let Some(end) = ended(seen, id)
        && *end != TaskState::Canceled
        && seen.is_served()
    {
        flaws.push(("answer".to_owned(), format!("task {id:?} was `{end}` and no error came")));
    }
}

fn context_given(seen: &Seen<'_>, flaws: &mut Flaws) {
    for (at, task) in seen.tasks() {
        if task.context_id.as_deref().unwrap_or_default().is_empty() {
            flaws.push((at, format!("task {:?} names no `contextId`", task.id)));
        }
    }
}

fn context_kept(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(asked) = seen.sent().and_then(|send| send.message.context_id.as_deref()) else {
        return;
    };
    if let Some(answered) = seen.answered_context()
        && !asked.is_empty()
        && asked != answered
    {
        let text = format!("conversation {answered:?}, the message names {asked:?}");
        flaws.push(("answer".to_owned(), text));
    }
}

fn context_of_task(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(message) = seen.sent().map(|send| &send.message) else { return };
    let Some(known) = message.task_id.as_deref().and_then(|task| seen.known(task)) else { return };
    if let (Some(named), Some(context)) = (&message.context_id, &known.context)
        && !named.is_empty()
        && named != context
    {
        let text = format!("conversation {named:?}, the task's is {context:?}");
        flaws.push(("request message".to_owned(), text));
    }
}

fn ended_for_good(seen: &Seen<'_>, flaws: &mut Flaws) {
    let mut shown: Vec<(&str, &TaskState)> = Vec::new();
    if let Some(Request::PushNotification(event)) = &seen.call.request {
        shown.extend(event.task_id().zip(event.state()));
    }
    shown.extend(seen.tasks().into_iter().map(|(_, task)| (task.id.as_str(), &task.status.state)));
    shown.extend(seen.events().filter_map(|(_, event)| event.task_id().zip(event.state())));
    for (id, state) in shown {
        if let Some(end) = ended(seen, id)
            && end != state
        {
            flaws.push(("answer".to_owned(), format!("task {id:?} was `{end}`, now `{state}`")));
            return;
        }
    }
}

fn the_asked(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(
        Request::GetTask { id: asked, .. }
        | Request::CancelTask { id: asked, .. }
        | Request::SubscribeToTask { id: asked },
    ) = &seen.call.request
    else {
        return;
    };
    let of_stream = seen.events().find_map(|(_, event)| event.task_id());
    if let Some(shown) = seen.task().map(|task| task.id.as_str()).or(of_stream)
        && shown != asked
    {
        flaws.push(("answer".to_owned(), format!("task {shown:?}, asked was {asked:?}")));
    }
}

fn history(seen: &Seen<'_>, flaws: &mut Flaws) {
    let asked = match &seen.call.request {
        Some(Request::GetTask { history_length, .. }) => *history_length,
        Some(Request::SendMessage(send)) => {
            send.configuration.as_ref().and_then(|it| it.history_length)
        }
        Some(Request::ListTasks(list)) => list.history_length,
        Some(_) | None => None,
    };
    let Some(most) = asked.and_then(|asked| usize::try_from(asked).ok()) else { return };
    // 0.3 says nothing of none at all.
    if most == 0 && !seen.is_v1_0() {
        return;
    }
    for (at, task) in seen.tasks() {
        // What a stream shows later is no answer to the length that was asked for.
        if task.history.len() > most && !seen.is_stream() {
            let text = format!("{} messages of history, asked were {most}", task.history.len());
            flaws.push((at, text));
        }
    }
}

fn list_artifacts(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Request::ListTasks(asked)) = &seen.call.request else { return };
    if asked.include_artifacts == Some(true) {
        return;
    }
    for (at, task) in seen.tasks() {
        if !task.artifacts.is_empty() {
            flaws.push((at, format!("{} artifacts nobody asked for", task.artifacts.len())));
        }
    }
}

fn list_order(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Reply::Tasks(page)) = seen.reply() else { return };
    let times: Vec<Timestamp> = page
        .tasks
        .iter()
        .filter_map(|task| task.status.timestamp.as_deref()?.parse().ok())
        .collect();
    if times.len() == page.tasks.len() && !times.is_sorted_by(|a, b| a >= b) {
        flaws.push(("answer tasks".to_owned(), "a task stands before one that is newer".into()));
    }
}

fn list_page(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Request::ListTasks(asked)) = &seen.call.request else { return };
    let Some(Reply::Tasks(page)) = seen.reply() else { return };
    let most = asked.page_size.and_then(|size| usize::try_from(size).ok());
    if let Some(most) = most.filter(|most| *most > 0 && page.tasks.len() > *most) {
        let text = format!("{} tasks, asked were {most}", page.tasks.len());
        flaws.push(("answer tasks".to_owned(), text));
    }
}

fn send_to_ended(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(task) = seen.sent().and_then(|send| send.message.task_id.as_deref()) else { return };
    if let Some(end) = ended(seen, task)
        && seen.is_served()
    {
        let text = format!("task {task:?} was `{end}` and the message was taken");
        flaws.push(("answer".to_owned(), text));
    }
}

fn state_known(seen: &Seen<'_>, flaws: &mut Flaws) {
    let tasks = seen.tasks().into_iter().map(|(at, task)| (at, &task.status.state));
    let updates = seen.events().filter_map(|(n, event)| match event {
        StreamResponse::StatusUpdate(update) => {
            Some((format!("answer event {n}"), &update.status.state))
        }
        StreamResponse::Task(_)
        | StreamResponse::Message(_)
        | StreamResponse::ArtifactUpdate(_) => None,
    });
    for (at, state) in tasks.chain(updates) {
        if let TaskState::Unspecified(word) = state {
            flaws.push((at, format!("the state is {word:?}")));
        }
    }
}

fn subscribe_to_ended(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(Request::SubscribeToTask { id }) = &seen.call.request else { return };
    if let Some(end) = ended(seen, id)
        && seen.is_served()
    {
        flaws.push(("answer".to_owned(), format!("task {id:?} was `{end}` and no error came")));
    }
}

/// The state in which a task had ended before this exchange began.
fn ended<'a>(seen: &Seen<'a>, task: &str) -> Option<&'a TaskState> {
    let (state, at) = seen.known(task)?.ended.as_ref()?;
    (*at <= seen.exchange.started).then_some(state)
}
