//! Agent cards of every shape: 1.0, 0.3, and those that are both at once.
//!
//! This is the one reader that looks at two versions in one go, because one card may serve both: it
//! is fetched before anyone knows which version will be spoken.

use serde_json::Value;

use crate::a2a::dialect::json::log::Spelling;
use crate::a2a::dialect::json::node::{Need, Node, read};
use crate::a2a::dialect::json::write::Members;
use crate::a2a::model::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Object};
use crate::a2a::problem::Problem;

/// What the address of a 0.3 card speaks when the card does not say.
const DEFAULT_TRANSPORT: &str = "JSONRPC";

/// The types of security scheme: as the 0.3 JSON schema names them in `type`, and as protobuf names
/// the member that holds them.
const SCHEMES: &[(&str, &str)] = &[
    ("apiKey", "apiKeySecurityScheme"),
    ("http", "httpAuthSecurityScheme"),
    ("mutualTLS", "mtlsSecurityScheme"),
    ("oauth2", "oauth2SecurityScheme"),
    ("openIdConnect", "openIdConnectSecurityScheme"),
];

/// Reads a card of any version or shape (1.0, 0.3, mixed; JSON schema or ProtoJSON).
pub fn read_card(value: &Value, problems: &mut Vec<Problem>) -> AgentCard {
    read(Spelling::Proto, value, problems, card)
}

pub(crate) fn card(node: &Node<'_>) -> AgentCard {
    if !node.is_object() {
        return AgentCard { raw: node.value().clone(), ..AgentCard::default() };
    }
    let own = node.member("capabilities").map(|own| capabilities(&own));
    if own.is_none() {
        node.missing("capabilities");
    }
    let mut own = own.unwrap_or_default();
    let extended = node.flag("supportsAuthenticatedExtendedCard");
    own.extended_agent_card = own.extended_agent_card.or(extended);
    AgentCard {
        name: node.text("name"),
        description: node.text("description"),
        version: node.text("version"),
        protocol_version: node.optional_text("protocolVersion"),
        interfaces: interfaces(node),
        capabilities: own,
        default_input_modes: node.texts("defaultInputModes"),
        default_output_modes: node.texts("defaultOutputModes"),
        skills: node.each(&["skills"], Need::Nothing, |item| skill(&item)),
        security_schemes: schemes(node),
        signatures: node.each(&["signatures"], Need::Nothing, |_| ()).len(),
        raw: node.value().clone(),
    }
}

/// A security scheme as protobuf has it (`{"httpAuthSecurityScheme": {...}}`), whichever way the card
/// spells it; what is neither is left as it is.
pub(crate) fn scheme_as_proto(scheme: &Value) -> Value {
    let kind = scheme.get("type").and_then(Value::as_str);
    let known = |member: &str| scheme.get(member);
    if let Some((member, content)) =
        SCHEMES.iter().find_map(|(_, member)| known(member).map(|content| (*member, content)))
    {
        return Members::of(member, content.clone()).into();
    }
    let row = SCHEMES.iter().find(|(name, _)| Some(*name) == kind);
    let (Some((_, member)), Some(members)) = (row, scheme.as_object()) else {
        return scheme.clone();
    };
    let mut content = Object::new();
    for (key, value) in members.iter().filter(|(key, _)| *key != "type") {
        let key = if key == "in" { "location" } else { key };
        content.insert(key.to_owned(), value.clone());
    }
    Members::of(member, content).into()
}

/// A card as the protobuf of 0.3 can carry it: schemes and requirements of the JSON schema respelled.
/// Members of other versions stay, for the schema to leave out.
pub(crate) fn card_as_proto(raw: &Value) -> Value {
    let Value::Object(members) = raw else { return raw.clone() };
    let respelled = members.iter().map(|(key, value)| {
        let value = match (key.as_str(), value) {
            ("securitySchemes", Value::Object(schemes)) => schemes
                .iter()
                .map(|(name, scheme)| (name.clone(), scheme_as_proto(scheme)))
                .collect(),
            ("security", Value::Array(requirements)) => {
                requirements.iter().map(requirement_as_proto).collect()
            }
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    });
    Value::Object(respelled.collect())
}

fn requirement_as_proto(requirement: &Value) -> Value {
    let Value::Object(members) = requirement else { return requirement.clone() };
    if members.contains_key("schemes") {
        return requirement.clone();
    }
    let schemes: Object = members
        .iter()
        .map(|(name, scopes)| (name.clone(), Members::of("list", scopes.clone()).into()))
        .collect();
    Members::of("schemes", schemes).into()
}

fn interfaces(node: &Node<'_>) -> Vec<AgentInterface> {
    let mut found = node.each(&["supportedInterfaces"], Need::Nothing, |item| AgentInterface {
        url: item.text("url"),
        protocol_binding: item.text("protocolBinding"),
        protocol_version: item.optional_text("protocolVersion").unwrap_or_default(),
        tenant: item.optional_text("tenant"),
    });
    if found.is_empty() && node.member("url").is_none() {
        node.missing(if node.member("additionalInterfaces").is_some() {
            "url"
        } else {
            "supportedInterfaces"
        });
    }
    let version = node.optional_text("protocolVersion").unwrap_or_default();
    let preferred = node.optional_text("url").map(|url| AgentInterface {
        url,
        protocol_binding: node
            .optional_text("preferredTransport")
            .unwrap_or_else(|| DEFAULT_TRANSPORT.to_owned()),
        protocol_version: version.clone(),
        tenant: None,
    });
    let additional = node.each(&["additionalInterfaces"], Need::Nothing, |item| AgentInterface {
        url: item.text("url"),
        protocol_binding: item.text("transport"),
        protocol_version: version.clone(),
        tenant: None,
    });
    for interface in preferred.into_iter().chain(additional) {
        let is_known = found.iter().any(|known| {
            known.url == interface.url && known.protocol_binding == interface.protocol_binding
        });
        if !is_known {
            found.push(interface);
        }
    }
    found
}

fn capabilities(node: &Node<'_>) -> AgentCapabilities {
    if !node.is_object() {
        return AgentCapabilities::default();
    }
    AgentCapabilities {
        streaming: node.flag("streaming"),
        push_notifications: node.flag("pushNotifications"),
        extended_agent_card: node.flag("extendedAgentCard"),
        extensions: node.each(&["extensions"], Need::Nothing, |item| item.text("uri")),
    }
}

fn skill(node: &Node<'_>) -> AgentSkill {
    if !node.is_object() {
        return AgentSkill::default();
    }
    AgentSkill {
        id: node.text("id"),
        name: node.text("name"),
        description: node.optional_text("description").unwrap_or_default(),
        tags: node.texts("tags"),
    }
}

fn schemes(node: &Node<'_>) -> Vec<String> {
    node.object("securitySchemes")
        .map(|schemes| schemes.into_iter().map(|(name, _)| name).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scheme_reads_the_same_in_both_spellings() {
        for (schema, proto) in [
            (
                json!({ "type": "http", "scheme": "Bearer" }),
                json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } }),
            ),
            (
                json!({ "type": "apiKey", "in": "header", "name": "X-Key" }),
                json!({ "apiKeySecurityScheme": { "location": "header", "name": "X-Key" } }),
            ),
        ] {
            assert_eq!(scheme_as_proto(&schema), proto);
            assert_eq!(scheme_as_proto(&proto), proto);
        }
    }

    #[test]
    fn requirements_are_respelled_for_protobuf() {
        let card = json!({ "security": [{ "bearer": ["read"] }], "name": "a" });
        let expected =
            json!({ "security": [{ "schemes": { "bearer": { "list": ["read"] } } }], "name": "a" });
        assert_eq!(card_as_proto(&card), expected);
        assert_eq!(card_as_proto(&expected), expected);
    }
}
