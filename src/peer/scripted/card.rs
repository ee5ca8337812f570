//! Who a scripted agent is: its card, in the shape of either version or of both.

use serde_json::{Value, json};

use crate::a2a::binding::ProtocolVersion;
use crate::peer::scripted::script::Skill;

const BINDINGS: &[&str] = &["JSONRPC", "HTTP+JSON", "GRPC"];

/// What a card is made of.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The agent's name.
    pub name: String,
    /// Where it can be reached: an `http` URL without a path.
    pub base: String,
    /// What it offers.
    pub skills: Vec<Skill>,
}

impl Identity {
    /// The card for discovery: both shapes in one document, as SDKs that serve both versions write it.
    pub fn mixed_card(&self) -> Value {
        let mut card = self.card(ProtocolVersion::V1_0);
        if let (Value::Object(card), Value::Object(older)) =
            (&mut card, self.card(ProtocolVersion::V0_3))
        {
            for (name, value) in older {
                card.entry(name).or_insert(value);
            }
            let versions = ["1.0", "0.3"];
            let both = versions.iter().flat_map(|version| self.interfaces(version)).collect();
            card.insert("supportedInterfaces".to_owned(), Value::Array(both));
        }
        card
    }

    /// The card in the shape of one version.
    pub fn card(&self, version: ProtocolVersion) -> Value {
        match version {
            ProtocolVersion::V1_0 => self.card_v1_0(),
            ProtocolVersion::V0_3 => self.card_v0_3(),
        }
    }

    fn card_v1_0(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description(),
            "version": env!("CARGO_PKG_VERSION"),
            "supportedInterfaces": self.interfaces("1.0").collect::<Vec<_>>(),
            "capabilities": {"streaming": true, "pushNotifications": false, "extendedAgentCard": false},
            "defaultInputModes": ["text/plain", "application/json"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": self.skills(),
        })
    }

    fn card_v0_3(&self) -> Value {
        let additional: Vec<Value> = BINDINGS
            .iter()
            .map(|binding| json!({"url": self.address(binding), "transport": binding}))
            .collect();
        json!({
            "protocolVersion": "0.3.0",
            "name": self.name,
            "description": self.description(),
            "version": env!("CARGO_PKG_VERSION"),
            "url": self.address("JSONRPC"),
            "preferredTransport": "JSONRPC",
            "additionalInterfaces": additional,
            "capabilities": {"streaming": true, "pushNotifications": false},
            "defaultInputModes": ["text/plain", "application/json"],
            "defaultOutputModes": ["text/plain", "application/json"],
            "skills": self.skills(),
        })
    }

    fn description(&self) -> String {
        format!("{}, played by Meddler from a script.", self.name)
    }

    fn interfaces(&self, version: &str) -> impl Iterator<Item = Value> {
        let entries: Vec<Value> = BINDINGS
            .iter()
            .map(|binding| {
                json!({
                    "url": self.address(binding),
                    "protocolBinding": binding,
                    "protocolVersion": version,
                })
            })
            .collect();
        entries.into_iter()
    }

    /// gRPC interfaces are written as `host:port`: that is what the SDKs hand to their gRPC library.
    fn address(&self, binding: &str) -> String {
        match binding {
            "GRPC" => {
                let authority = self.base.split_once("://").map_or(&*self.base, |(_, rest)| rest);
                if authority.contains(':') {
                    authority.to_owned()
                } else {
                    format!("{authority}:80")
                }
            }
            "JSONRPC" => format!("{}/", self.base),
            _ => self.base.clone(),
        }
    }

    fn skills(&self) -> Vec<Value> {
        self.skills
            .iter()
            .map(|skill| {
                json!({
                    "id": skill.id,
                    "name": skill.name,
                    "description": skill.description,
                    "tags": skill.tags,
                })
            })
            .collect()
    }
}
