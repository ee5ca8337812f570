//! Answers of Meddler's making, in the shape that the operation asks for.
//!
//! A fault says what the answer means; here it becomes a task, a message, or the events of a stream.
//! Streams are those of a real agent of either version: the task as submitted, its artifacts, and a
//! last status (0.3 marks it `final`, 1.0 closes the stream after it).

use crate::a2a::call::Call;
use crate::a2a::model::{
    Artifact, Message, Object, Operation, Part, Reply, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use crate::fault::facts::Needs;
use crate::fault::shot::Shot;
use crate::fault::verdict::{Made, Start};

/// What an answer means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Words, and no task. Where only a task can answer: a completed task with this as its status.
    Message(Said),
    /// A task.
    Task(Outline),
}

/// What is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) parts: Vec<Part>,
    pub(super) metadata: Option<Object>,
}

/// How a task ends up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outline {
    pub(super) state: TaskState,
    pub(super) said: Option<Said>,
    pub(super) artifacts: Vec<Artifact>,
}

/// What takes hold of an answer. The first rule that fires at a place has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// All of it is Meddler's: the agent is not asked.
    Whole,
    /// The agent's answer, with something put in.
    Answer,
    /// The agent's stream, from one event on.
    Stream,
}

/// What an operation is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A task or a message.
    TaskOrMessage,
    /// A task.
    Task,
    /// A card.
    Card,
    /// Something else: a page, a webhook, nothing, or what is no A2A.
    Other,
}

impl Place {
    /// Whether two rules cannot both have it.
    pub(super) fn excludes(self, other: Self) -> bool {
        self == other || self == Self::Whole || other == Self::Whole
    }

    /// The place of an answer that begins here.
    pub(super) const fn of_start(from: Start) -> Self {
        match from {
            Start::Beginning => Self::Whole,
            Start::Event(_) => Self::Stream,
        }
    }
}

impl Shape {
    pub(super) const fn of(operation: Operation) -> Self {
        match operation {
            Operation::SendMessage | Operation::SendStreamingMessage => Self::TaskOrMessage,
            Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask => Self::Task,
            Operation::GetExtendedAgentCard | Operation::AgentCard => Self::Card,
            Operation::ListTasks
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::PushNotification
            | Operation::Unknown => Self::Other,
        }
    }
}

impl Said {
    /// One text part.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::text(text)], metadata: None }
    }
}

/// Whether the call can be answered with a task; the error says why not.
pub(super) fn place_of_task(call: &Call, from: Start) -> Result<Place, String> {
    match Shape::of(call.operation) {
        Shape::TaskOrMessage | Shape::Task => Ok(Place::of_start(from)),
        Shape::Card | Shape::Other => {
            Err(format!("{} is not answered by a task or message", call.operation))
        }
    }
}

/// What must be read for a task or message that begins here: the conversation, and the task that is
/// continued, stand in the request's body. Late in a stream the agent's events tell them.
pub(super) const fn needs(from: Start) -> Needs {
    match from {
        Start::Event(2..) => Needs { operation: true, body: false },
        Start::Beginning | Start::Event(_) => Needs { operation: true, body: true },
    }
}

/// The answer with this meaning, in the shape of the call.
pub(super) fn answer(shot: &mut Shot<'_>, meaning: Meaning) -> Made {
    match (meaning, Shape::of(shot.call.operation)) {
        (Meaning::Message(said), Shape::TaskOrMessage) if !shot.is_late() => message(shot, said),
        (
            Meaning::Message(said),
            Shape::TaskOrMessage | Shape::Task | Shape::Card | Shape::Other,
        ) => {
            let state = TaskState::Completed;
            task(shot, Outline { state, said: Some(said), artifacts: Vec::new() })
        }
        (Meaning::Task(outline), _) => task(shot, outline),
    }
}

/// The last status of a task, as an event. Its ids are left empty when the agent's events tell them.
pub(super) fn status(shot: &mut Shot<'_>, state: TaskState, said: Option<Said>) -> StreamResponse {
    let status = status_of(shot, state, said);
    status_event(shot, status)
}

/// An artifact, as an event.
pub(super) fn artifact(shot: &mut Shot<'_>, artifact: Artifact) -> TaskArtifactUpdateEvent {
    let (task_id, context_id) = event_ids(shot);
    TaskArtifactUpdateEvent {
        task_id,
        context_id,
        artifact,
        append: false,
        last_chunk: true,
        metadata: None,
    }
}

/// The task as it is when its stream begins.
pub(super) fn begun(shot: &mut Shot<'_>) -> StreamResponse {
    let state = match Shape::of(shot.call.operation) {
        Shape::TaskOrMessage | Shape::Card | Shape::Other => TaskState::Submitted,
        Shape::Task => TaskState::Working,
    };
    StreamResponse::Task(Task {
        id: shot.task_id(),
        context_id: Some(shot.context_id()),
        status: TaskStatus { state, ..TaskStatus::default() },
        ..Task::default()
    })
}

/// A message of the agent that belongs to no task.
pub(super) fn bare_message(shot: &mut Shot<'_>, said: Said) -> Message {
    let context_id = (!shot.is_late()).then(|| shot.context_id());
    message_of(shot, context_id, said)
}

fn message(shot: &mut Shot<'_>, said: Said) -> Made {
    let message = bare_message(shot, said);
    if shot.call.operation.is_streaming() {
        return Made::Stream { events: vec![StreamResponse::Message(message)], error: None };
    }
    Made::Reply(Reply::Message(message))
}

fn task(shot: &mut Shot<'_>, outline: Outline) -> Made {
    if shot.call.operation.is_streaming() {
        return stream(shot, outline);
    }
    let status = status_of(shot, outline.state, outline.said);
    let task = finished(shot, status, outline.artifacts);
    shot.task = Some(task.clone());
    Made::Reply(Reply::Task(task))
}

fn stream(shot: &mut Shot<'_>, outline: Outline) -> Made {
    let mut events = Vec::new();
    if !shot.is_late() {
        events.push(begun(shot));
    }
    for made in outline.artifacts.clone() {
        events.push(StreamResponse::ArtifactUpdate(artifact(shot, made)));
    }
    let status = status_of(shot, outline.state, outline.said);
    if !shot.is_late() {
        shot.task = Some(finished(shot, status.clone(), outline.artifacts));
    }
    events.push(status_event(shot, status));
    Made::Stream { events, error: None }
}

fn finished(shot: &mut Shot<'_>, status: TaskStatus, artifacts: Vec<Artifact>) -> Task {
    let context_id = Some(shot.context_id());
    Task { id: shot.task_id(), context_id, status, artifacts, ..Task::default() }
}

fn status_of(shot: &mut Shot<'_>, state: TaskState, said: Option<Said>) -> TaskStatus {
    let message = said.map(|said| {
        let ids = (!shot.is_late()).then(|| (shot.task_id(), shot.context_id()));
        let (task_id, context_id) = ids.unzip();
        Message { task_id, ..message_of(shot, context_id, said) }
    });
    TaskStatus { state, message, timestamp: None }
}

fn status_event(shot: &mut Shot<'_>, status: TaskStatus) -> StreamResponse {
    let (task_id, context_id) = event_ids(shot);
    let last = status.state.is_terminal() || status.state.is_interrupted();
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id,
        context_id,
        status,
        last: Some(last),
        metadata: None,
    })
}

fn message_of(shot: &mut Shot<'_>, context_id: Option<String>, said: Said) -> Message {
    Message {
        message_id: shot.uuid(),
        context_id,
        role: Role::Agent,
        parts: said.parts,
        metadata: said.metadata,
        ..Message::default()
    }
}

fn event_ids(shot: &mut Shot<'_>) -> (String, String) {
    if shot.is_late() {
        return (String::new(), String::new());
    }
    (shot.task_id(), shot.context_id())
}
