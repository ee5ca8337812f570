//! Tasks, their states, and what a stream says of them (A2A 1.0, section 4.1 and 4.2).

use std::fmt;
use std::str::FromStr;

use super::{Message, Object, Part};

/// A unit of work that a remote agent does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// Made by the agent; opaque to us.
    pub id: String,
    /// The conversation.
    pub context_id: Option<String>,
    /// How it stands.
    pub status: TaskStatus,
    /// What it has made.
    pub artifacts: Vec<Artifact>,
    /// What was said, as much of it as the agent tells.
    pub history: Vec<Message>,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// How a task stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    pub message: Option<Message>,
    /// When it was reached, as the agent wrote it.
    pub timestamp: Option<String>,
}

/// The state of a task, in the short names of suites and output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Nothing, `unknown`, or a word that no version knows. Kept as it came; empty when absent.
    Unspecified(String),
    /// Accepted, not begun.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for the orchestrator to say more.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended on request.
    Canceled,
    /// Never begun, by the agent's choice.
    Rejected,
}

/// Something a task made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Artifact {
    /// Unique within its task.
    pub artifact_id: String,
    /// For people.
    pub name: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// The content.
    pub parts: Vec<Part>,
    /// Anything else.
    pub metadata: Option<Object>,
    /// URIs of the extensions that shaped it.
    pub extensions: Vec<String>,
}

/// One event of a stream, and (in 1.0) the payload of a push notification.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamResponse {
    /// The task as it stands.
    Task(Task),
    /// An answer without a task.
    Message(Message),
    /// The state changed.
    StatusUpdate(TaskStatusUpdateEvent),
    /// An artifact, or the next chunk of one.
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// The state of a task changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskStatusUpdateEvent {
    /// Whose state.
    pub task_id: String,
    /// In which conversation.
    pub context_id: String,
    /// The new status.
    pub status: TaskStatus,
    /// Whether the stream ends here: 0.3's `final`; 1.0 has no such member and leaves `None`.
    pub last: Option<bool>,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// An artifact of a task, whole or in chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskArtifactUpdateEvent {
    /// Whose artifact.
    pub task_id: String,
    /// In which conversation.
    pub context_id: String,
    /// The artifact or chunk.
    pub artifact: Artifact,
    /// Whether its parts are added to what came before under the same id.
    pub append: bool,
    /// Whether it is the last chunk.
    pub last_chunk: bool,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// Short name, 1.0 enum name, 0.3 JSON name, protobuf number. The 0.3 protobuf spells
/// `TASK_STATE_CANCELLED`; [`TaskState::parse`] accepts it.
const STATES: &[(TaskState, &str, &str, &str, i32)] = &[
    (TaskState::Submitted, "submitted", "TASK_STATE_SUBMITTED", "submitted", 1),
    (TaskState::Working, "working", "TASK_STATE_WORKING", "working", 2),
    (TaskState::Completed, "completed", "TASK_STATE_COMPLETED", "completed", 3),
    (TaskState::Failed, "failed", "TASK_STATE_FAILED", "failed", 4),
    (TaskState::Canceled, "canceled", "TASK_STATE_CANCELED", "canceled", 5),
    (TaskState::InputRequired, "input_required", "TASK_STATE_INPUT_REQUIRED", "input-required", 6),
    (TaskState::Rejected, "rejected", "TASK_STATE_REJECTED", "rejected", 7),
    (TaskState::AuthRequired, "auth_required", "TASK_STATE_AUTH_REQUIRED", "auth-required", 8),
];

impl Default for TaskState {
    fn default() -> Self {
        Self::Unspecified(String::new())
    }
}

impl TaskState {
    /// The state of any spelling: short, 1.0, 0.3, both spellings of *canceled*, or a number.
    /// `None` when no version knows the word.
    pub fn parse(word: &str) -> Option<Self> {
        let plain = word.trim().to_ascii_lowercase().replace('-', "_");
        let plain = plain.strip_prefix("task_state_").unwrap_or(&plain);
        let plain = if plain == "cancelled" { "canceled" } else { plain };
        STATES
            .iter()
            .find(|(_, short, _, _, number)| *short == plain || number.to_string() == plain)
            .map(|(state, ..)| state.clone())
    }

    /// The short name, `input_required`; a word that no version knows as it came.
    pub fn as_str(&self) -> &str {
        match self.row() {
            Some((_, short, ..)) => short,
            None => self.word(),
        }
    }

    /// The 1.0 spelling, `TASK_STATE_INPUT_REQUIRED`; a word that no version knows as it came.
    pub fn as_enum_name(&self) -> &str {
        match self.row() {
            Some((_, _, name, ..)) => name,
            None => self.word(),
        }
    }

    /// The 0.3 JSON spelling, `input-required`; a word that no version knows as it came.
    pub fn as_hyphenated(&self) -> &str {
        match self.row() {
            Some((_, _, _, name, _)) => name,
            None => self.word(),
        }
    }

    /// Whether the task will never change again.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the agent waits for the orchestrator.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    fn row(&self) -> Option<&'static (Self, &'static str, &'static str, &'static str, i32)> {
        STATES.iter().find(|(state, ..)| state == self)
    }

    fn word(&self) -> &str {
        match self {
            Self::Unspecified(word) => word,
            Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected => "",
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TaskState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::parse(word).ok_or_else(|| {
            let known: Vec<&str> = STATES.iter().map(|(_, short, ..)| *short).collect();
            format!("unknown task state `{word}`; known: {}", known.join(", "))
        })
    }
}

impl StreamResponse {
    /// The task it speaks of.
    pub fn task_id(&self) -> Option<&str> {
        match self {
            Self::Task(task) => Some(&task.id),
            Self::Message(message) => message.task_id.as_deref(),
            Self::StatusUpdate(event) => Some(&event.task_id),
            Self::ArtifactUpdate(event) => Some(&event.task_id),
        }
    }

    /// The conversation it belongs to.
    pub fn context_id(&self) -> Option<&str> {
        match self {
            Self::Task(task) => task.context_id.as_deref(),
            Self::Message(message) => message.context_id.as_deref(),
            Self::StatusUpdate(event) => Some(&event.context_id),
            Self::ArtifactUpdate(event) => Some(&event.context_id),
        }
    }

    /// The state it reports, if it reports one.
    pub fn state(&self) -> Option<&TaskState> {
        match self {
            Self::Task(task) => Some(&task.status.state),
            Self::StatusUpdate(event) => Some(&event.status.state),
            Self::Message(_) | Self::ArtifactUpdate(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_state_is_one_state() {
        for word in ["input_required", "input-required", "TASK_STATE_INPUT_REQUIRED", "6"] {
            assert_eq!(TaskState::parse(word), Some(TaskState::InputRequired), "{word}");
        }
        for word in ["canceled", "cancelled", "TASK_STATE_CANCELLED", "TASK_STATE_CANCELED", "5"] {
            assert_eq!(TaskState::parse(word), Some(TaskState::Canceled), "{word}");
        }
        assert_eq!(TaskState::parse("done"), None);
    }
}
