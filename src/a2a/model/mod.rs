//! The model: A2A 1.0's own types, which 0.3 is read into.
//!
//! Plain structs with public fields; every combination is a value a peer may send. Absent and empty
//! are told apart where the wire can tell them apart (`Option`). Names are those of `a2a.proto` 1.0.

mod card;
mod error;
mod message;
mod operation;
mod request;
mod task;

pub use card::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill};
pub use error::{A2aError, ErrorKind, GrpcCode};
pub use message::{FileSource, Message, Part, PartContent, Role};
pub use operation::Operation;
pub use request::{
    AuthenticationInfo, ListTasks, Reply, Request, SendMessage, SendMessageConfiguration, TaskPage,
    TaskPushNotificationConfig,
};
pub use task::{
    Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};

/// A JSON object, members in the order they came.
pub type Object = serde_json::Map<String, serde_json::Value>;
