//! Moments within a delegation that only its octets tell: when it settled, when its agent began to speak.

use crate::a2a::model::{Operation, Part, PartContent, Reply, Request, StreamResponse, TaskState};
use crate::record::decode::{folded, understand};
use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;

use super::view::RunView;

/// Milliseconds from the head of the send to the last octet of the answer, stream, poll or push that first
/// told the last known state (or the message).
pub(super) fn settled_ms(view: &RunView<'_>, delegation: &Delegation) -> Option<f64> {
    if delegation.exchanges.len() <= 1 {
        return delegation.duration_ms;
    }
    for exchange in view.exchanges_of(delegation) {
        if tells_of_a_task(exchange.operation) && tells(&exchange, delegation.state.as_deref()) {
            let end = exchange.timings.end_us?;
            return Some(since_ms(delegation, &exchange, end));
        }
    }
    delegation.duration_ms
}

/// Milliseconds from the head of the send to the last octet of the first event of its stream that has
/// text.
pub(super) fn first_text_ms(view: &RunView<'_>, delegation: &Delegation) -> Option<f64> {
    let exchange = view.source.exchange(delegation.id)?;
    let understood = understand(&exchange);
    let (response, answer) = match (&exchange.delivered, &understood.delivered) {
        (Some(response), Some(answer)) => (response, answer),
        _ => (exchange.response.as_ref()?, understood.answer.as_ref()?),
    };
    let speaks = |event: &&crate::a2a::call::Event| event.event.as_ref().is_some_and(has_text);
    let first = answer.events.iter().find(speaks)?;
    let mark = response.events.iter().find(|mark| mark.start == first.start)?;
    Some(since_ms(delegation, &exchange, mark.at_us))
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a recording are far below 2^52")]
fn since_ms(delegation: &Delegation, exchange: &Exchange, at_us: u64) -> f64 {
    let begun_us = exchange.started.as_microsecond() - delegation.started.as_microsecond();
    begun_us as f64 / 1000.0 + at_us as f64 / 1000.0
}

/// Whether what an exchange brought tells this state, or is a message when there is no state.
fn tells(exchange: &Exchange, state: Option<&str>) -> bool {
    let understood = understand(exchange);
    if let Some(Request::PushNotification(event)) = &understood.call.request {
        return event.state().map(TaskState::as_str) == state;
    }
    let Some(answer) = understood.seen() else { return false };
    let folded = folded(answer);
    match state {
        Some(state) => folded.states.iter().any(|seen| seen.as_str() == state),
        None => matches!(folded.reply, Some(Reply::Message(_))),
    }
}

/// Whether the answer to it says how a task stands.
fn tells_of_a_task(operation: Operation) -> bool {
    match operation {
        Operation::SendMessage
        | Operation::SendStreamingMessage
        | Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::PushNotification => true,
        Operation::ListTasks
        | Operation::CreateTaskPushNotificationConfig
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::GetExtendedAgentCard
        | Operation::AgentCard
        | Operation::Unknown => false,
    }
}

/// Whether an event has words of the agent for the orchestrator.
fn has_text(event: &StreamResponse) -> bool {
    let says = |parts: &[Part]| {
        parts
            .iter()
            .any(|part| matches!(&part.content, PartContent::Text(text) if !text.is_empty()))
    };
    match event {
        StreamResponse::Message(message) => says(&message.parts),
        StreamResponse::ArtifactUpdate(update) => says(&update.artifact.parts),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.as_ref().is_some_and(|message| says(&message.parts))
        }
        StreamResponse::Task(task) => {
            task.status.message.as_ref().is_some_and(|message| says(&message.parts))
                || task.artifacts.iter().any(|artifact| says(&artifact.parts))
        }
    }
}
