//! Delegations: exchanges of one message, put together by the rules of `recording.md`.

mod grouper;
mod part;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::exchange::{Exchange, Outcome};

pub use grouper::Grouper;

/// One message an orchestrator sent to a remote agent, with everything that answered it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delegation {
    /// The id of its first exchange.
    pub id: ExchangeId,
    /// The session of its first exchange.
    pub session: String,
    /// The run of the daemon that recorded its first exchange.
    pub instance: InstanceId,
    /// The remote agent.
    pub agent: String,
    /// Who sent it.
    pub orchestrator: String,
    /// When.
    pub started: Timestamp,
    /// The binding of the send.
    pub binding: Option<Binding>,
    /// The version of the send.
    pub version: Option<ProtocolVersion>,
    /// `SendMessage` or `SendStreamingMessage`.
    pub operation: Operation,
    /// The message's id.
    pub message_id: Option<String>,
    /// The conversation.
    pub context_id: Option<String>,
    /// The task that answered.
    pub task_id: Option<String>,
    /// The text of the message.
    pub text: String,
    /// The last state known, in its short name.
    pub state: Option<String>,
    /// The states seen, repeats in a row collapsed.
    pub states: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// The rules that fired.
    pub faults: Vec<String>,
    /// An earlier delegation to the same agent with the same message id.
    pub retry_of: Option<ExchangeId>,
    /// The delegation that caused it, where that is known.
    pub parent: Option<ExchangeId>,
    /// From the head of the request to the end of the answer of the send.
    pub duration_ms: Option<f64>,
    /// From the head of the request to the first event of the send's stream.
    pub first_event_ms: Option<f64>,
    /// Its exchanges, oldest first.
    pub exchanges: Vec<ExchangeId>,
    /// The message, canonical. Not part of the listing.
    #[serde(skip)]
    pub message: Option<Value>,
    /// The reply, canonical, after stream, polls and pushes are merged. Not part of the listing.
    #[serde(skip)]
    pub reply: Option<Value>,
    /// The words of the reply. Not part of the listing.
    #[serde(skip)]
    pub reply_text: String,
    /// The events of its streams and pushes, canonical, in the order they arrived. Not part of the listing.
    #[serde(skip)]
    pub events: Vec<Value>,
    /// The skill the message's metadata names, if any. Not part of the listing.
    #[serde(skip)]
    pub skill: Option<String>,
}

/// Puts exchanges together. They may come in any order.
pub fn group<'a>(exchanges: impl IntoIterator<Item = &'a Exchange>) -> Vec<Delegation> {
    let mut grouper = Grouper::default();
    for exchange in exchanges {
        grouper.push(exchange);
    }
    grouper.delegations()
}
