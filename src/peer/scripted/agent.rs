//! What a scripted agent answers: a call in, an answer out, no sockets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::a2a::binding::ProtocolVersion;
use crate::a2a::call::{self, Call, StreamEnd, WireAnswer};
use crate::a2a::dialect;
use crate::a2a::model::{
    A2aError, Artifact, ErrorKind, Message, Operation, Part, Reply, Request, Role, SendMessage,
    StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use crate::base::clock::WallClock;
use crate::base::id::IdSource;
use crate::peer::scripted::card::Identity;
use crate::peer::scripted::script::{Answer, Script};
use crate::peer::scripted::tasks::{Tasks, with_history};

/// An agent that is played.
#[derive(Debug)]
pub struct ScriptedAgent {
    identity: Identity,
    script: Script,
    tasks: Tasks,
    ids: Arc<IdSource>,
    clock: WallClock,
}

/// What it answers.
#[derive(Debug)]
pub enum Played {
    /// One answer, after a while.
    Whole {
        /// How long to wait first.
        after: Duration,
        /// The answer.
        answer: WireAnswer,
    },
    /// A stream.
    Stream {
        /// Status and content type.
        head: (http::StatusCode, http::HeaderMap),
        /// Each event, and how long to wait before it.
        events: Vec<(Duration, Bytes)>,
        /// How it ends.
        end: StreamEnd,
    },
}

impl ScriptedAgent {
    /// An agent of this name, reached at `base` (an `http` URL without a path).
    pub fn new(
        name: &str,
        base: &str,
        script: Script,
        ids: Arc<IdSource>,
        clock: WallClock,
    ) -> Self {
        let identity = Identity {
            name: name.to_owned(),
            base: base.to_owned(),
            skills: script.skills.clone(),
        };
        Self { identity, script, tasks: Tasks::default(), ids, clock }
    }

    /// The card for discovery.
    pub fn card(&self) -> Value {
        self.identity.mixed_card()
    }

    /// The answer to a call.
    pub fn play(&self, call: &Call) -> Played {
        let whole = |reply: Reply| Played::Whole {
            after: Duration::ZERO,
            answer: call::write_reply(call, &reply),
        };
        let Some(request) = &call.request else { return whole(Reply::Error(unreadable(call))) };
        match request {
            Request::SendMessage(send) => self.send(call, send),
            Request::GetTask { id, history_length } => whole(match self.tasks.get(id) {
                Some(task) => Reply::Task(with_history(task, *history_length)),
                None => not_found(id),
            }),
            Request::ListTasks(wanted) => whole(match self.tasks.list(wanted) {
                Ok(page) => Reply::Tasks(page),
                Err(why) => error(ErrorKind::InvalidParams, why),
            }),
            Request::CancelTask { id, .. } => whole(self.cancel(id)),
            Request::SubscribeToTask { id } => self.subscribe(call, id),
            Request::CreatePushConfig(_)
            | Request::GetPushConfig { .. }
            | Request::ListPushConfigs { .. }
            | Request::DeletePushConfig { .. } => whole(error(
                ErrorKind::PushNotificationNotSupported,
                "push notifications are not supported",
            )),
            Request::Card => whole(self.extended_card(call)),
            Request::PushNotification(_) => {
                whole(error(ErrorKind::UnsupportedOperation, "an agent takes no deliveries"))
            }
        }
    }

    fn send(&self, call: &Call, send: &SendMessage) -> Played {
        let task = match self.begin(&send.message) {
            Ok(task) => task,
            Err(why) => {
                let answer = call::write_reply(call, &Reply::Error(why));
                return Played::Whole { after: Duration::ZERO, answer };
            }
        };
        let answer = self.script.answer(&send.message.text());
        let events = self.events(&task, &answer);
        let mut last = task;
        for event in &events {
            apply(&mut last, event);
        }
        self.tasks.put(last.clone());
        if call.operation.is_streaming() {
            return stream(call, &events, answer.after);
        }
        let length = send.configuration.as_ref().and_then(|wanted| wanted.history_length);
        let reply = Reply::Task(with_history(last, length));
        Played::Whole { after: answer.after, answer: call::write_reply(call, &reply) }
    }

    /// A new task, or the one that the message continues.
    fn begin(&self, message: &Message) -> Result<Task, A2aError> {
        let mut message = message.clone();
        let mut task = match &message.task_id {
            None => Task { id: self.ids.opaque(), ..Task::default() },
            Some(id) => {
                let known = self.tasks.get(id).ok_or_else(|| {
                    A2aError::of(ErrorKind::TaskNotFound, format!("task {id} was not found"))
                })?;
                if known.status.state.is_terminal() {
                    let state = known.status.state;
                    let text = format!("task {id} is {state} and takes no more messages");
                    return Err(A2aError::of(ErrorKind::UnsupportedOperation, text));
                }
                known
            }
        };
        let context = task.context_id.clone().or(message.context_id.clone());
        let context = context.unwrap_or_else(|| self.ids.opaque());
        message.task_id = Some(task.id.clone());
        message.context_id = Some(context.clone());
        task.context_id = Some(context);
        task.status = self.status(TaskState::Submitted, None);
        task.history.push(message);
        Ok(task)
    }

    /// The task's course: it is there, it works, it makes something, it ends.
    fn events(&self, task: &Task, answer: &Answer) -> Vec<StreamResponse> {
        let state = answer.state.clone().unwrap_or(TaskState::Completed);
        let mut events = vec![
            StreamResponse::Task(task.clone()),
            status_update(task, self.status(TaskState::Working, None)),
        ];
        // An agent that waits or refuses says so in its status; one that ends hands over an artifact.
        let says_in_status = state != TaskState::Completed;
        let words = answer.say.clone().unwrap_or_else(|| answer.stream.concat());
        let mut note = None;
        if says_in_status && !words.is_empty() {
            note = Some(self.message(task, Part::text(words)));
        } else {
            events.extend(artifact_events(task, answer));
        }
        if let Some(data) = &answer.data {
            events.push(artifact(task, "data", vec![Part::data(data.clone())], Chunk::WHOLE));
        }
        events.push(status_update(task, self.status(state, note)));
        events
    }

    fn cancel(&self, id: &str) -> Reply {
        let Some(mut task) = self.tasks.get(id) else { return not_found(id) };
        if task.status.state.is_terminal() {
            let text = format!("task {id} is {} and cannot be canceled", task.status.state);
            return error(ErrorKind::TaskNotCancelable, text);
        }
        task.status = self.status(TaskState::Canceled, None);
        self.tasks.put(task.clone());
        Reply::Task(task)
    }

    fn subscribe(&self, call: &Call, id: &str) -> Played {
        let reply = match self.tasks.get(id) {
            None => not_found(id),
            Some(task) if task.status.state.is_terminal() => {
                let text = format!("task {id} is {} and has no more events", task.status.state);
                error(ErrorKind::UnsupportedOperation, text)
            }
            Some(task) => return stream(call, &[StreamResponse::Task(task)], Duration::ZERO),
        };
        Played::Whole { after: Duration::ZERO, answer: call::write_reply(call, &reply) }
    }

    /// A scripted agent has one card: asked for the extended one it says that there is none, but for
    /// 0.3's gRPC, which has no other way to ask for the public one.
    fn extended_card(&self, call: &Call) -> Reply {
        if call.operation == Operation::AgentCard || call.wire_name.ends_with("/GetAgentCard") {
            let version = call.version.unwrap_or(ProtocolVersion::V1_0);
            let raw = self.identity.card(version);
            return Reply::Card(Box::new(dialect::read_card(&raw, &mut Vec::new())));
        }
        error(ErrorKind::ExtendedAgentCardNotConfigured, "this agent has no extended card")
    }

    fn status(&self, state: TaskState, message: Option<Message>) -> TaskStatus {
        TaskStatus { state, message, timestamp: Some(format!("{:.3}", self.clock.now())) }
    }

    fn message(&self, task: &Task, part: Part) -> Message {
        Message {
            message_id: self.ids.opaque(),
            context_id: task.context_id.clone(),
            task_id: Some(task.id.clone()),
            role: Role::Agent,
            parts: vec![part],
            ..Message::default()
        }
    }
}

fn status_update(task: &Task, status: TaskStatus) -> StreamResponse {
    let last = status.state.is_terminal() || status.state.is_interrupted();
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        status,
        last: Some(last),
        metadata: None,
    })
}

/// Where a chunk stands among those of its artifact.
#[derive(Clone, Copy)]
struct Chunk {
    append: bool,
    last: bool,
}

impl Chunk {
    const WHOLE: Self = Self { append: false, last: true };
}

fn artifact_events(task: &Task, answer: &Answer) -> Vec<StreamResponse> {
    if answer.stream.is_empty() {
        let words = answer.say.clone().unwrap_or_default();
        return vec![artifact(task, "reply", vec![Part::text(words)], Chunk::WHOLE)];
    }
    let count = answer.stream.len();
    let chunks = answer.stream.iter().enumerate();
    chunks
        .map(|(index, text)| {
            let chunk = Chunk { append: index > 0, last: index + 1 == count };
            artifact(task, "reply", vec![Part::text(text.clone())], chunk)
        })
        .collect()
}

fn artifact(task: &Task, id: &str, parts: Vec<Part>, chunk: Chunk) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone().unwrap_or_default(),
        artifact: Artifact {
            artifact_id: id.to_owned(),
            name: Some(id.to_owned()),
            parts,
            ..Artifact::default()
        },
        append: chunk.append,
        last_chunk: chunk.last,
        metadata: None,
    })
}

/// The task after an event of its own.
fn apply(task: &mut Task, event: &StreamResponse) {
    match event {
        StreamResponse::Task(whole) => *task = whole.clone(),
        StreamResponse::Message(_) => {}
        StreamResponse::StatusUpdate(update) => task.status = update.status.clone(),
        StreamResponse::ArtifactUpdate(update) => {
            let id = &update.artifact.artifact_id;
            let known = task.artifacts.iter_mut().find(|known| known.artifact_id == *id);
            match known {
                Some(known) if update.append => known.parts.extend(update.artifact.parts.clone()),
                Some(known) => *known = update.artifact.clone(),
                None => task.artifacts.push(update.artifact.clone()),
            }
        }
    }
}

fn stream(call: &Call, events: &[StreamResponse], between: Duration) -> Played {
    let events = events.iter().map(|event| (between, call::write_event(call, event))).collect();
    Played::Stream {
        head: call::write_stream_head(call),
        events,
        end: call::write_stream_end(call, None),
    }
}

fn unreadable(call: &Call) -> A2aError {
    let why = call.problems.first().map_or_else(String::new, ToString::to_string);
    if call.operation == Operation::Unknown {
        let text = format!("no operation is called `{}`", call.wire_name);
        return A2aError::of(ErrorKind::MethodNotFound, text);
    }
    A2aError::of(ErrorKind::InvalidParams, why)
}

fn not_found(id: &str) -> Reply {
    error(ErrorKind::TaskNotFound, format!("task {id} was not found"))
}

fn error(kind: ErrorKind, text: impl Into<String>) -> Reply {
    Reply::Error(A2aError::of(kind, text))
}
