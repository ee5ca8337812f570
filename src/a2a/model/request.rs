//! What an operation asks and what answers it, free of any binding.

use super::{A2aError, AgentCard, Message, Object, StreamResponse, Task, TaskState};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `SendMessage` and `SendStreamingMessage`.
    SendMessage(SendMessage),
    /// `GetTask`.
    GetTask {
        /// Which task.
        id: String,
        /// How many messages of its history.
        history_length: Option<i64>,
    },
    /// `ListTasks`.
    ListTasks(ListTasks),
    /// `CancelTask`.
    CancelTask {
        /// Which task.
        id: String,
        /// Anything else.
        metadata: Option<Object>,
    },
    /// `SubscribeToTask`.
    SubscribeToTask {
        /// Which task.
        id: String,
    },
    /// `CreateTaskPushNotificationConfig`.
    CreatePushConfig(TaskPushNotificationConfig),
    /// `GetTaskPushNotificationConfig`.
    GetPushConfig {
        /// Whose.
        task_id: String,
        /// Which; 0.3 may leave it out.
        id: Option<String>,
    },
    /// `ListTaskPushNotificationConfigs`.
    ListPushConfigs {
        /// Whose.
        task_id: String,
        /// How many at once.
        page_size: Option<i64>,
        /// Where to go on.
        page_token: Option<String>,
    },
    /// `DeleteTaskPushNotificationConfig`.
    DeletePushConfig {
        /// Whose.
        task_id: String,
        /// Which.
        id: String,
    },
    /// `GetExtendedAgentCard`, and card discovery.
    Card,
    /// A delivery: in 1.0 any stream response, in 0.3 the task.
    PushNotification(StreamResponse),
}

/// A message and how its answer is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendMessage {
    /// The message.
    pub message: Message,
    /// How the answer is wanted.
    pub configuration: Option<SendMessageConfiguration>,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// How an answer is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendMessageConfiguration {
    /// Media types the caller can take.
    pub accepted_output_modes: Vec<String>,
    /// A webhook to register with the send.
    pub push: Option<TaskPushNotificationConfig>,
    /// How many messages of the task's history.
    pub history_length: Option<i64>,
    /// 1.0's `returnImmediately`; 0.3's `blocking` is its opposite. `None` when not said.
    pub return_immediately: Option<bool>,
}

/// A webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPushNotificationConfig {
    /// Its own id; a task may have several.
    pub id: Option<String>,
    /// Whose; absent inside a send.
    pub task_id: Option<String>,
    /// Where deliveries go.
    pub url: String,
    /// Echoed in deliveries. A secret.
    pub token: Option<String>,
    /// How the agent shows who it is.
    pub authentication: Option<AuthenticationInfo>,
}

/// How an agent shows who it is to a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationInfo {
    /// Schemes, best first (1.0 has exactly one).
    pub schemes: Vec<String>,
    /// A secret.
    pub credentials: Option<String>,
}

/// Which tasks are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListTasks {
    /// Of this conversation.
    pub context_id: Option<String>,
    /// In this state.
    pub status: Option<TaskState>,
    /// How many at once.
    pub page_size: Option<i64>,
    /// Where to go on.
    pub page_token: Option<String>,
    /// How many messages of each history.
    pub history_length: Option<i64>,
    /// Changed after this time.
    pub status_timestamp_after: Option<String>,
    /// With artifacts.
    pub include_artifacts: Option<bool>,
}

/// What answers, once. A stream is a list of [`StreamResponse`]s instead.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most replies are tasks: a box would cost each of them"
)]
pub enum Reply {
    /// A task.
    Task(Task),
    /// A message without a task.
    Message(Message),
    /// A page of tasks.
    Tasks(TaskPage),
    /// A webhook's registration.
    PushConfig(TaskPushNotificationConfig),
    /// The webhooks of a task.
    PushConfigs {
        /// One page of them.
        configs: Vec<TaskPushNotificationConfig>,
        /// Where the next page starts; empty or absent on the last one.
        next_page_token: Option<String>,
    },
    /// Done, and nothing to say.
    Empty,
    /// A card.
    Card(Box<AgentCard>),
    /// An error of the protocol or below it.
    Error(A2aError),
}

/// A page of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskPage {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page starts; empty on the last one.
    pub next_page_token: String,
    /// How many at once.
    pub page_size: i64,
    /// How many in all.
    pub total_size: i64,
}
