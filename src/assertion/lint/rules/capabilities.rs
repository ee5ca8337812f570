//! What is asked for and given against what the agent's card says.

use serde_json::Value;

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::model::{AgentCard, Operation, Request};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("auth-sent", Should, ("7.3", "4.3"), "a request to an agent whose card declares security carries credentials", auth_sent),
    rule("extended-card-undeclared", Must, ("3.3.4", "7"), "an extended card is given only by an agent whose card says so", extended_served),
    rule("extension-required", Must, ("3.3.4, 4.6", "4.6"), "a request names the extensions that the card requires", extension_required),
    rule("push-asked", Should, ("3.3.4", "7.5"), "webhooks are registered only with an agent whose card says that it calls them", push_asked),
    rule("push-undeclared", Must, ("3.3.4", "7.5"), "webhooks are taken only by an agent whose card says so", push_served),
    rule("streaming-asked", Should, ("3.3.4", "7.2"), "streams are asked for only from an agent whose card says that it streams", streaming_asked),
    rule("streaming-undeclared", Must, ("3.3.4", "7.2"), "streams are given only by an agent whose card says so", streaming_served),
];

/// Whether a request carries credentials of any kind that a card can ask for.
pub(in crate::assertion) fn has_credentials(
    headers: &[(String, String)],
    target: &str,
    card: &AgentCard,
) -> bool {
    let has_header = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if has_header("authorization") || has_header("cookie") {
        return true;
    }
    // API keys stand where the card says.
    let schemes = ["securitySchemes", "security_schemes"];
    let schemes = schemes.iter().find_map(|name| card.raw.get(*name)?.as_object());
    schemes.into_iter().flatten().any(|(_, scheme)| {
        let inner = ["apiKeySecurityScheme", "api_key_security_scheme"];
        let scheme = inner.iter().find_map(|name| scheme.get(*name)).unwrap_or(scheme);
        // Mutual TLS leaves no trace in a request.
        let is_tls = scheme.get("type").and_then(Value::as_str) == Some("mutualTLS")
            || scheme.get("mtlsSecurityScheme").is_some();
        let name = scheme.get("name").and_then(Value::as_str).unwrap_or_default();
        is_tls || !name.is_empty() && (has_header(name) || target.contains(&format!("{name}=")))
    })
}

/// Whether a card asks for credentials. Alternatives may include none.
pub(in crate::assertion) fn asks_for_credentials(card: &AgentCard) -> bool {
    let names = ["securityRequirements", "security_requirements", "security"];
    let required = names.iter().find_map(|name| card.raw.get(*name)?.as_array());
    required.is_some_and(|alternatives| {
        !alternatives.is_empty() && alternatives.iter().all(is_some_scheme)
    })
}

fn is_some_scheme(requirement: &Value) -> bool {
    let inner = requirement.get("schemes").unwrap_or(requirement);
    inner.as_object().is_some_and(|schemes| !schemes.is_empty())
}

fn is_operation(seen: &Seen<'_>) -> bool {
    !matches!(
        seen.exchange.operation,
        Operation::AgentCard | Operation::PushNotification | Operation::Unknown
    )
}

fn auth_sent(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.card().filter(|card| asks_for_credentials(card)) else { return };
    let request = &seen.exchange.request;
    if is_operation(seen) && !has_credentials(&request.headers, &request.target, card) {
        flaws.push(("request".to_owned(), "no credentials, and the card asks for some".into()));
    }
}

fn extended_served(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.card() else { return };
    if seen.asks(Operation::GetExtendedAgentCard)
        && card.capabilities.extended_agent_card != Some(true)
        && seen.brought_card().is_some()
    {
        let text = "the card does not offer an extended one, and one was given".to_owned();
        flaws.push(("answer".to_owned(), text));
    }
}

fn extension_required(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(card) = seen.card().filter(|_| is_operation(seen)) else { return };
    let named: Vec<&str> = ["a2a-extensions", "x-a2a-extensions"]
        .iter()
        .filter_map(|name| seen.asked_header(name))
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    let extensions = card.raw.pointer("/capabilities/extensions").and_then(Value::as_array);
    for extension in extensions.into_iter().flatten() {
        let is_required = extension.get("required").and_then(Value::as_bool) == Some(true);
        let uri = extension.get("uri").and_then(Value::as_str).unwrap_or_default();
        if is_required && !named.contains(&uri) {
            let text = format!("the card requires {uri:?}, the request does not name it");
            flaws.push(("request header".to_owned(), text));
        }
    }
}

fn asks_for_push(seen: &Seen<'_>) -> bool {
    let by_send = seen.sent().and_then(|send| send.configuration.as_ref());
    matches!(seen.call.request, Some(Request::CreatePushConfig(_)))
        || by_send.is_some_and(|configuration| configuration.push.is_some())
}

fn push_asked(seen: &Seen<'_>, flaws: &mut Flaws) {
    let denies = seen.card().is_some_and(|card| card.capabilities.push_notifications != Some(true));
    if denies && asks_for_push(seen) {
        let text = "the card does not say that the agent calls webhooks".to_owned();
        flaws.push(("request".to_owned(), text));
    }
}

/// A send with a webhook may be served without it; a registration may not.
fn push_served(seen: &Seen<'_>, flaws: &mut Flaws) {
    let denies = seen.card().is_some_and(|card| card.capabilities.push_notifications != Some(true));
    if denies && seen.asks(Operation::CreateTaskPushNotificationConfig) && seen.is_served() {
        let text = "the card denies webhooks, and one was taken".to_owned();
        flaws.push(("answer".to_owned(), text));
    }
}

fn asks_for_stream(seen: &Seen<'_>) -> bool {
    seen.exchange.operation.is_streaming()
        && seen.card().is_some_and(|card| card.capabilities.streaming != Some(true))
}

fn streaming_asked(seen: &Seen<'_>, flaws: &mut Flaws) {
    if asks_for_stream(seen) {
        let text = "the card does not say that the agent streams".to_owned();
        flaws.push(("request".to_owned(), text));
    }
}

fn streaming_served(seen: &Seen<'_>, flaws: &mut Flaws) {
    if asks_for_stream(seen) && seen.is_stream() && seen.is_served() {
        let text = "the card denies streams, and one was given".to_owned();
        flaws.push(("answer".to_owned(), text));
    }
}
