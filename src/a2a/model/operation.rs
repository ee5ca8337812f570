//! What is asked: the operations of A2A by their 1.0 names (section 3.1), and what surrounds them.

use std::fmt;
use std::str::FromStr;

/// An operation. The 1.0 name is the canonical one, whatever the wire said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Send a message, be answered once.
    SendMessage,
    /// Send a message, be answered by a stream.
    SendStreamingMessage,
    /// Ask how a task stands.
    GetTask,
    /// List tasks.
    ListTasks,
    /// Ask for a task to be ended.
    CancelTask,
    /// Follow a task by a stream.
    SubscribeToTask,
    /// Register a webhook.
    CreateTaskPushNotificationConfig,
    /// Read a webhook's registration.
    GetTaskPushNotificationConfig,
    /// List the webhooks of a task.
    ListTaskPushNotificationConfigs,
    /// Forget a webhook.
    DeleteTaskPushNotificationConfig,
    /// The card for those who have credentials.
    GetExtendedAgentCard,
    /// Card discovery at a well-known address. Not an operation of the protocol; named by us.
    AgentCard,
    /// A delivery from the agent to a webhook. Not an operation of the protocol; named by us.
    PushNotification,
    /// Not A2A, or not an A2A we know: passes through under its wire name.
    #[default]
    Unknown,
}

/// Operation, 1.0 name, 0.3 JSON-RPC method, 0.3 gRPC method where it differs.
const NAMES: &[(Operation, &str, &str, &str)] = &[
    (Operation::SendMessage, "SendMessage", "message/send", ""),
    (Operation::SendStreamingMessage, "SendStreamingMessage", "message/stream", ""),
    (Operation::GetTask, "GetTask", "tasks/get", ""),
    (Operation::ListTasks, "ListTasks", "tasks/list", ""),
    (Operation::CancelTask, "CancelTask", "tasks/cancel", ""),
    (Operation::SubscribeToTask, "SubscribeToTask", "tasks/resubscribe", "TaskSubscription"),
    (
        Operation::CreateTaskPushNotificationConfig,
        "CreateTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/set",
        "",
    ),
    (
        Operation::GetTaskPushNotificationConfig,
        "GetTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/get",
        "",
    ),
    (
        Operation::ListTaskPushNotificationConfigs,
        "ListTaskPushNotificationConfigs",
        "tasks/pushNotificationConfig/list",
        "ListTaskPushNotificationConfig",
    ),
    (
        Operation::DeleteTaskPushNotificationConfig,
        "DeleteTaskPushNotificationConfig",
        "tasks/pushNotificationConfig/delete",
        "",
    ),
    (
        Operation::GetExtendedAgentCard,
        "GetExtendedAgentCard",
        "agent/getAuthenticatedExtendedCard",
        "GetAgentCard",
    ),
    (Operation::AgentCard, "AgentCard", "", ""),
    (Operation::PushNotification, "PushNotification", "", ""),
    (Operation::Unknown, "unknown", "", ""),
];

impl Operation {
    /// All operations, in the order of the table in the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(operation, ..)| *operation)
    }

    /// The operation of any of its names: 1.0, 0.3 JSON-RPC, 0.3 gRPC.
    pub fn parse(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, v1, rpc, grpc)| {
                !name.is_empty() && (*v1 == name || *rpc == name || *grpc == name)
            })
            .map(|(operation, ..)| *operation)
    }

    /// The canonical name.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    /// The 0.3 JSON-RPC method; empty where there is none.
    pub fn rpc_method_v0_3(self) -> &'static str {
        self.row().2
    }

    /// The 0.3 gRPC method, which is the 1.0 name but for three operations.
    pub fn grpc_method_v0_3(self) -> &'static str {
        let (_, v1_0, _, own) = self.row();
        if own.is_empty() { v1_0 } else { own }
    }

    /// Whether it is answered by a stream.
    pub const fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }

    /// Whether it begins a delegation.
    pub const fn is_send(self) -> bool {
        matches!(self, Self::SendMessage | Self::SendStreamingMessage)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        const UNKNOWN: &(Operation, &str, &str, &str) = &(Operation::Unknown, "unknown", "", "");
        NAMES.iter().find(|(operation, ..)| *operation == self).unwrap_or(UNKNOWN)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::parse(name).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(_, name, ..)| *name).collect();
            format!("unknown operation `{name}`; known: {}", known.join(", "))
        })
    }
}

impl serde::Serialize for Operation {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Operation {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wire_name_leads_to_its_operation() {
        for name in ["SubscribeToTask", "tasks/resubscribe", "TaskSubscription"] {
            assert_eq!(Operation::parse(name), Some(Operation::SubscribeToTask), "{name}");
        }
        assert_eq!(Operation::parse(""), None);
        assert_eq!(Operation::parse("message/shout"), None);
    }
}
