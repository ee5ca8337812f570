//! The ids of a stream, noted from the agent's events, for the events of ours that come after them: a
//! stream whose task changes in its middle would be another fault than the one that was asked for.

use crate::a2a::call::{self, Call};
use crate::a2a::frame::Frame;
use crate::a2a::model::{Message, StreamResponse, Task};
use crate::fault::verdict::Made;

/// Task and context of a stream, as far as its events have named them.
#[derive(Debug, Default)]
pub(super) struct StreamIds {
    task: Option<String>,
    context: Option<String>,
}

impl StreamIds {
    /// What the request names: a continued task, a known conversation.
    pub(super) fn of(call: &Call) -> Self {
        Self { task: call.ids.task_id.clone(), context: call.ids.context_id.clone() }
    }

    /// Looks at an event of the agent's.
    pub(super) fn note(&mut self, call: &Call, frame: &Frame) {
        // What is wrong with the agent's events is the recorder's to say.
        let Some(event) = call::read_event(call, frame, &mut Vec::new()) else { return };
        let Some(event) = event.event else { return };
        let named = |id: Option<&str>| id.filter(|id| !id.is_empty()).map(str::to_owned);
        self.task = named(event.task_id()).or_else(|| self.task.take());
        self.context = named(event.context_id()).or_else(|| self.context.take());
    }

    /// Fills in the ids that a made answer leaves empty.
    pub(super) fn fill(&self, made: Made) -> Made {
        match made {
            Made::Stream { mut events, error } => {
                for event in &mut events {
                    self.fill_event(event);
                }
                Made::Stream { events, error }
            }
            Made::Reply(_)
            | Made::Error { .. }
            | Made::EmptyBody
            | Made::Nothing
            | Made::Raw { .. } => made,
        }
    }

    fn fill_event(&self, event: &mut StreamResponse) {
        match event {
            StreamResponse::Task(task) => self.fill_task(task),
            StreamResponse::Message(message) => self.fill_message(message),
            StreamResponse::StatusUpdate(update) => {
                fill(&mut update.task_id, self.task.as_ref());
                fill(&mut update.context_id, self.context.as_ref());
                if let Some(message) = &mut update.status.message {
                    self.fill_message(message);
                }
            }
            StreamResponse::ArtifactUpdate(update) => {
                fill(&mut update.task_id, self.task.as_ref());
                fill(&mut update.context_id, self.context.as_ref());
            }
        }
    }

    fn fill_task(&self, task: &mut Task) {
        fill(&mut task.id, self.task.as_ref());
        fill_some(&mut task.context_id, self.context.as_ref());
        for message in task.history.iter_mut().chain(&mut task.status.message) {
            self.fill_message(message);
        }
    }

    fn fill_message(&self, message: &mut Message) {
        fill_some(&mut message.task_id, self.task.as_ref());
        fill_some(&mut message.context_id, self.context.as_ref());
    }
}

fn fill(place: &mut String, id: Option<&String>) {
    if let (true, Some(id)) = (place.is_empty(), id) {
        place.clone_from(id);
    }
}

/// An id that is absent stays so; an empty one is a place to fill.
fn fill_some(place: &mut Option<String>, id: Option<&String>) {
    if place.as_deref() == Some("") {
        *place = id.cloned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::model::TaskStatusUpdateEvent;

    #[test]
    fn empty_ids_become_the_streams_and_others_stay() {
        let ids = StreamIds { task: Some("t".into()), context: Some("c".into()) };
        let update = |task: &str, context: &str| {
            StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task.into(),
                context_id: context.into(),
                ..TaskStatusUpdateEvent::default()
            })
        };
        let made = Made::Stream { events: vec![update("", ""), update("own", "")], error: None };
        let expected =
            Made::Stream { events: vec![update("t", "c"), update("own", "c")], error: None };
        assert_eq!(ids.fill(made), expected);
    }
}
