//! Webhooks in requests and answers: every place where one is registered, and their replacement in the
//! octets as they came.
//!
//! Registrations have known places (`json`, `protobuf`: one table a spelling), and each is replaced
//! there. What shows a registered address again has none: agents repeat it where they like, in a config,
//! a list, a task's metadata, the text of an error. So an address of ours is looked for anywhere
//! (`shown`): it ends in a token that nobody guesses, and cannot be mistaken for anything else.

mod json;
mod protobuf;
mod shown;

use std::fmt;

pub(crate) use json::register_in_json;
pub(crate) use protobuf::register_in_protobuf;
pub(crate) use shown::{restore_in_protobuf, restore_in_text, text_in_json};

use crate::a2a::binding;
use crate::a2a::call::{Head, Recognized, WireView};
use crate::a2a::model::Operation;

/// The path below which Meddler receives deliveries; a token follows.
pub const PATH: &str = "/.meddler/push/";

/// A webhook that a request registers.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where its address stands: `$.params.configuration.pushNotificationConfig.url`.
    pub at: String,
    /// Its address, as written.
    pub url: String,
    /// What the agent is to send as `X-A2A-Notification-Token`. A secret.
    pub token: Option<String>,
}

/// An address of ours and the one that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Ours, as it was given to the agent.
    pub given: String,
    /// The orchestrator's own.
    pub own: String,
}

/// What decides about a webhook: its new address, or `None` to leave it.
pub type Decide<'a> = &'a mut dyn FnMut(&Webhook) -> Option<String>;

/// What knows a token that was found in an answer.
pub type Find<'a> = &'a mut dyn FnMut(&str) -> Option<Known>;

/// Whether a request of this operation may register a webhook.
pub const fn is_registered_by(operation: Operation) -> bool {
    operation.is_send() || matches!(operation, Operation::CreateTaskPushNotificationConfig)
}

/// Whether the answer to this operation says which webhooks are registered.
pub const fn is_told_by(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
    )
}

/// Replaces the webhooks in a request (content coding undone). `None` when nothing changes.
pub fn register(
    head: Head<'_>,
    recognized: &Recognized,
    body: &[u8],
    decide: Decide<'_>,
) -> Option<Vec<u8>> {
    binding::carrier(recognized.binding)?.register_webhooks(head, recognized, body, decide)
}

/// The webhooks in a request, in the order they stand.
pub fn registered(head: Head<'_>, recognized: &Recognized, body: &[u8]) -> Vec<Webhook> {
    let mut found = Vec::new();
    // Looking is replacing nothing.
    let nothing = register(head, recognized, body, &mut |webhook| {
        found.push(webhook.clone());
        None
    });
    debug_assert!(nothing.is_none(), "nothing was to be changed");
    found
}

/// Puts the orchestrator's own addresses back into an answer (content coding undone), wherever one of
/// ours stands. `None` when none does.
pub fn restore(recognized: &Recognized, wire: WireView<'_>, find: Find<'_>) -> Option<Vec<u8>> {
    binding::carrier(recognized.binding)?.restore_webhooks(wire, find)
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("at", &self.at).finish_non_exhaustive()
    }
}
