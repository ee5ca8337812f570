//! What all versions spell alike: messages, tasks, artifacts and events, but for a few members.
//!
//! A version says by [`Shape`] what is its own: the content of a part, its words, and which lists must
//! have something in them. There is no fallback from one version to another in here.

use crate::a2a::dialect::json::node::{Need, Node, Word};
use crate::a2a::model::{
    Artifact, ListTasks, Message, Part, PartContent, Role, Task, TaskArtifactUpdateEvent, TaskPage,
    TaskState, TaskStatus, TaskStatusUpdateEvent,
};

/// What is a version's own.
pub(crate) trait Shape {
    /// Names of a message's list of parts, the version's own first.
    const MESSAGE_PARTS: &'static [&'static str];
    /// How much of it must be there.
    const MESSAGE_PARTS_NEED: Need;
    /// How much of an artifact's parts must be there.
    const ARTIFACT_PARTS_NEED: Need;
    /// Whether a task must name its conversation.
    const TASK_CONTEXT_NEED: Need;

    /// Reads a part; the node is an object.
    fn part(node: &Node<'_>) -> Part;

    /// What a word for who speaks means.
    fn role(word: &str) -> Word<Role>;

    /// What a word for a state means.
    fn state(word: &str) -> Word<TaskState>;

    /// The state of a status that names none.
    fn absent_state(status: &Node<'_>) -> TaskState {
        status.missing("state");
        TaskState::default()
    }

    /// Whether a status update ends its stream, in versions that say so.
    fn last(event: &Node<'_>) -> Option<bool>;
}

pub(crate) fn message<S: Shape>(node: &Node<'_>) -> Message {
    if !node.is_object() {
        return Message::default();
    }
    Message {
        message_id: node.text("messageId"),
        context_id: node.optional_text("contextId"),
        task_id: node.optional_text("taskId"),
        role: role::<S>(node),
        parts: node.each(S::MESSAGE_PARTS, S::MESSAGE_PARTS_NEED, |part| any_part::<S>(&part)),
        metadata: node.object("metadata"),
        extensions: node.texts("extensions"),
        reference_task_ids: node.texts("referenceTaskIds"),
    }
}

pub(crate) fn task<S: Shape>(node: &Node<'_>) -> Task {
    if !node.is_object() {
        return Task::default();
    }
    let context_id = node.optional_text("contextId");
    if context_id.is_none() && S::TASK_CONTEXT_NEED != Need::Nothing {
        node.missing("contextId");
    }
    Task {
        id: node.text("id"),
        context_id,
        status: node
            .required("status")
            .map(|status| self::status::<S>(&status))
            .unwrap_or_default(),
        artifacts: node.each(&["artifacts"], Need::Nothing, |item| artifact::<S>(&item)),
        history: node.each(&["history"], Need::Nothing, |item| message::<S>(&item)),
        metadata: node.object("metadata"),
    }
}

pub(crate) fn status_update<S: Shape>(node: &Node<'_>) -> TaskStatusUpdateEvent {
    if !node.is_object() {
        return TaskStatusUpdateEvent::default();
    }
    TaskStatusUpdateEvent {
        task_id: node.text("taskId"),
        context_id: node.text("contextId"),
        status: node
            .required("status")
            .map(|status| self::status::<S>(&status))
            .unwrap_or_default(),
        last: S::last(node),
        metadata: node.object("metadata"),
    }
}

pub(crate) fn artifact_update<S: Shape>(node: &Node<'_>) -> TaskArtifactUpdateEvent {
    if !node.is_object() {
        return TaskArtifactUpdateEvent::default();
    }
    let artifact = node.required("artifact");
    TaskArtifactUpdateEvent {
        task_id: node.text("taskId"),
        context_id: node.text("contextId"),
        artifact: artifact.map(|artifact| self::artifact::<S>(&artifact)).unwrap_or_default(),
        append: node.flag("append").unwrap_or_default(),
        last_chunk: node.flag("lastChunk").unwrap_or_default(),
        metadata: node.object("metadata"),
    }
}

pub(crate) fn list_tasks<S: Shape>(node: &Node<'_>) -> ListTasks {
    ListTasks {
        context_id: node.optional_text("contextId"),
        status: node.word("status", S::state, TaskState::Unspecified),
        page_size: node.integer("pageSize"),
        page_token: node.optional_text("pageToken"),
        history_length: node.integer("historyLength"),
        status_timestamp_after: node.timestamp("statusTimestampAfter"),
        include_artifacts: node.flag("includeArtifacts"),
    }
}

/// A page of tasks. ProtoJSON may leave out zeros and empty lists, so nothing of it is missed.
pub(crate) fn task_page<S: Shape>(node: &Node<'_>) -> TaskPage {
    TaskPage {
        tasks: node.each(&["tasks"], Need::Nothing, |item| task::<S>(&item)),
        next_page_token: node.optional_text("nextPageToken").unwrap_or_default(),
        page_size: node.integer("pageSize").unwrap_or_default(),
        total_size: node.integer("totalSize").unwrap_or_default(),
    }
}

fn status<S: Shape>(node: &Node<'_>) -> TaskStatus {
    if !node.is_object() {
        return TaskStatus::default();
    }
    let state = node.word("state", S::state, TaskState::Unspecified);
    TaskStatus {
        state: state.unwrap_or_else(|| S::absent_state(node)),
        message: node.member("message").map(|said| message::<S>(&said)),
        timestamp: node.timestamp("timestamp"),
    }
}

fn artifact<S: Shape>(node: &Node<'_>) -> Artifact {
    if !node.is_object() {
        return Artifact::default();
    }
    Artifact {
        artifact_id: node.text("artifactId"),
        name: node.optional_text("name"),
        description: node.optional_text("description"),
        parts: node.each(&["parts"], S::ARTIFACT_PARTS_NEED, |part| any_part::<S>(&part)),
        metadata: node.object("metadata"),
        extensions: node.texts("extensions"),
    }
}

fn any_part<S: Shape>(node: &Node<'_>) -> Part {
    if node.is_object() { S::part(node) } else { Part::of(PartContent::Empty) }
}

fn role<S: Shape>(node: &Node<'_>) -> Role {
    node.word("role", S::role, Role::Unspecified).unwrap_or_else(|| {
        node.missing("role");
        Role::default()
    })
}
