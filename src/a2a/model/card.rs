//! Agent cards: what Meddler reads of them (A2A 1.0, section 4.4).
//!
//! A card is only read here. It is never written back from this model: [`crate::a2a::address`]
//! edits the octets as they came, so that unknown members survive.

use serde_json::Value;

/// Who an agent is and where it can be reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentCard {
    /// Its name.
    pub name: String,
    /// For people.
    pub description: String,
    /// The agent's own version.
    pub version: String,
    /// 0.3's `protocolVersion`.
    pub protocol_version: Option<String>,
    /// Every address of both shapes, preferred first: 1.0's `supportedInterfaces`, else 0.3's `url`
    /// and `additionalInterfaces`. A mixed card lists 1.0's first, then those only 0.3's name.
    pub interfaces: Vec<AgentInterface>,
    /// What it can do.
    pub capabilities: AgentCapabilities,
    /// Media types it takes.
    pub default_input_modes: Vec<String>,
    /// Media types it gives.
    pub default_output_modes: Vec<String>,
    /// What it offers.
    pub skills: Vec<AgentSkill>,
    /// Names of the security schemes it declares.
    pub security_schemes: Vec<String>,
    /// How many signatures it carries.
    pub signatures: usize,
    /// The whole card as JSON, in its own spelling.
    pub raw: Value,
}

/// One address of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentInterface {
    /// As written: a URL, or `host:port` for gRPC.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON`, `GRPC`, or a URI; as written.
    pub protocol_binding: String,
    /// As written; empty when the card does not say.
    pub protocol_version: String,
    /// 1.0's tenant.
    pub tenant: Option<String>,
}

/// What an agent can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// Answers by streams.
    pub streaming: Option<bool>,
    /// Calls webhooks.
    pub push_notifications: Option<bool>,
    /// Has an extended card.
    pub extended_agent_card: Option<bool>,
    /// URIs of its extensions.
    pub extensions: Vec<String>,
}

/// One thing an agent offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSkill {
    /// Unique within the card.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people.
    pub description: String,
    /// Words to find it by.
    pub tags: Vec<String>,
}
