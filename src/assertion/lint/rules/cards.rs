//! Agent cards.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::model::{AgentCard, Operation};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("card-content-type", Should, ("8.2, 14", "5.3"), "a card is served as application/json", content_type),
    rule("card-interface", Must, ("4.4.6, 8.3", "5.5.5"), "a card names an interface, each with an address", interface),
    rule("card-interface-binding", Should, ("4.4.6", "5.6.2"), "bindings are JSONRPC, HTTP+JSON, GRPC or a URI", binding),
    rule("card-interface-version", Must, ("4.4.6", ""), "an interface of 1.0 says its version, as Major.Minor", interface_version),
    rule("card-path", Should, ("8.2, 14", "5.3"), "a card is asked for at agent-card.json", path),
    rule("card-security-scheme", Must, ("4.4.1, 4.5", "5.5.3"), "the security that a card requires is among the schemes it declares", security),
    rule("card-signature", Must, ("8.4", "5.5.6"), "a signature has a protected header with an algorithm, and octets", signature),
    rule("card-skill-id", Must, ("4.4.5", "5.5.4"), "skills have ids, each its own", skill_ids),
];

fn content_type(seen: &Seen<'_>, flaws: &mut Flaws) {
    if seen.asks(Operation::AgentCard) && seen.brought_card().is_some() {
        let is = seen.answered_header("content-type").unwrap_or_default();
        let essence = is.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_json = essence == "application/json" || essence.ends_with("+json");
        let is_grpc = essence.starts_with("application/grpc");
        if !is_json && !is_grpc {
            flaws.push(("answer header content-type".to_owned(), format!("{is:?}")));
        }
    }
}

fn interface(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.brought_card() else { return };
    if card.interfaces.is_empty() {
        flaws.push(("card".to_owned(), "the card names no interface".to_owned()));
    }
    for (n, interface) in card.interfaces.iter().enumerate() {
        if interface.url.trim().is_empty() {
            flaws.push((format!("card interface {n}"), "the address is empty".to_owned()));
        }
    }
}

fn binding(seen: &Seen<'_>, flaws: &mut Flaws) {
    for interface in seen.brought_card().into_iter().flat_map(|card| &card.interfaces) {
        let is = interface.protocol_binding.as_str();
        if !matches!(is, "JSONRPC" | "HTTP+JSON" | "GRPC") && !is.contains(':') {
            flaws.push(("card interface".to_owned(), format!("the binding is {is:?}")));
        }
    }
}

fn interface_version(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.brought_card() else { return };
    let names = ["supportedInterfaces", "supported_interfaces"];
    let interfaces = names.iter().find_map(|name| card.raw.get(*name)?.as_array());
    for (n, interface) in interfaces.into_iter().flatten().enumerate() {
        let names = ["protocolVersion", "protocol_version"];
        let version = names.iter().find_map(|name| interface.get(*name)?.as_str());
        let version = version.unwrap_or_default();
        if !is_major_minor(version) {
            flaws.push((format!("card interface {n}"), format!("the version is {version:?}")));
        }
    }
}

/// `1.0`, `0.3`.
pub(super) fn is_major_minor(version: &str) -> bool {
    let is_number =
        |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    version.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

fn path(seen: &Seen<'_>, flaws: &mut Flaws) {
    let target = seen.exchange.request.target.split('?').next().unwrap_or_default();
    if seen.asks(Operation::AgentCard) && target.ends_with("/.well-known/agent.json") {
        flaws.push(("request target".to_owned(), "agent.json is the name of 0.2".to_owned()));
    }
}

fn security(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.brought_card() else { return };
    let mut named: Vec<(String, String)> = required(&card.raw, "card");
    let skills = card.raw.get("skills").and_then(Value::as_array);
    for (n, skill) in skills.into_iter().flatten().enumerate() {
        named.extend(required(skill, &format!("card skills[{n}]")));
    }
    for (at, scheme) in named {
        if !card.security_schemes.contains(&scheme) {
            flaws.push((at, format!("{scheme:?} is required and not declared")));
        }
    }
}

/// The schemes that a card or a skill requires, whatever the spelling.
fn required(of: &Value, at: &str) -> Vec<(String, String)> {
    let names = ["securityRequirements", "security_requirements", "security"];
    let list = names.iter().find_map(|name| of.get(*name)?.as_array());
    let mut schemes = Vec::new();
    for alternative in list.into_iter().flatten() {
        let inner = alternative.get("schemes").unwrap_or(alternative);
        let members = inner.as_object().into_iter().flatten();
        schemes.extend(members.map(|(name, _)| (at.to_owned(), name.clone())));
    }
    schemes
}

fn signature(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.brought_card() else { return };
    for (n, signature) in signatures(card).iter().enumerate() {
        if let Err(why) = well_formed(signature) {
            flaws.push((format!("card signatures[{n}]"), why));
        }
    }
}

/// The signatures of a card as they came.
pub(in crate::assertion) fn signatures(card: &AgentCard) -> &[Value] {
    card.raw.get("signatures").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a signature can be one at all: a JWS header with an algorithm, and octets.
pub(in crate::assertion) fn well_formed(signature: &Value) -> Result<(), String> {
    let member = |name: &str| signature.get(name).and_then(Value::as_str).unwrap_or_default();
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
    let header = decode(member("protected")).map_err(|_| "`protected` is no base64url")?;
    let header: Value =
        serde_json::from_slice(&header).map_err(|_| "the protected header is no JSON")?;
    match header.get("alg").and_then(Value::as_str) {
        None => return Err("the protected header names no `alg`".to_owned()),
        Some("none") => return Err("the algorithm is `none`".to_owned()),
        Some(_) => {}
    }
    match decode(member("signature")) {
        Ok(octets) if !octets.is_empty() => Ok(()),
        Ok(_) => Err("`signature` is empty".to_owned()),
        Err(_) => Err("`signature` is no base64url".to_owned()),
    }
}

fn skill_ids(seen: &Seen<'_>, flaws: &mut Flaws) {
    let mut ids = BTreeSet::new();
    for skill in seen.brought_card().into_iter().flat_map(|card| &card.skills) {
        if skill.id.is_empty() {
            flaws.push(("card skills".to_owned(), format!("{:?} has no id", skill.name)));
        } else if !ids.insert(skill.id.as_str()) {
            flaws.push(("card skills".to_owned(), format!("two skills {:?}", skill.id)));
        }
    }
}
