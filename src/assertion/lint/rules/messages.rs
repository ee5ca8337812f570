//! Messages: who says them, that they say something, and that their ids are their own.

use super::super::Level::{Must, Should};
use super::super::memory::digest;
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::canonical;
use crate::a2a::model::{Operation, PartContent, Role};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("message-id-given", Must, ("4.1.4", "6.4"), "a message has an id", id_given),
    rule("message-id-reused", Must, ("4.1.4", "6.4"), "another message has another id", id_reused),
    rule("message-parts", Must, ("4.1.4", "6.4"), "a message has a part", parts),
    rule("message-role-agent", Must, ("4.1.5", "6.4"), "what the agent says has the role of the agent", role_agent),
    rule("message-role-user", Must, ("4.1.5", "6.4"), "what the orchestrator says has the role of the user", role_user),
    rule("operation-known", Should, ("5.3", "3.5"), "a request on an agent's interface is an operation of the protocol", operation_known),
    rule("output-modes", Should, ("3.2.2", "7.1.1"), "answers keep to the media types that the orchestrator takes", output_modes),
];

fn id_given(seen: &Seen<'_>, flaws: &mut Flaws) {
    let sent = seen.sent().map(|send| ("request message".to_owned(), &send.message));
    for (at, message) in sent.into_iter().chain(seen.said()) {
        if message.message_id.is_empty() {
            flaws.push((at, "`messageId` is missing or empty".to_owned()));
        }
    }
}

/// The same message again is a retry, which is allowed.
fn id_reused(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(message) = seen.sent().map(|send| &send.message) else { return };
    let key = (seen.exchange.agent.clone(), message.message_id.clone());
    let before = seen.memory.messages.get(&key);
    let now = digest(&canonical::message(message).to_string());
    if before.is_some_and(|before| *before != now) && !message.message_id.is_empty() {
        let text = format!("{:?} was the id of another message", message.message_id);
        flaws.push(("request message.messageId".to_owned(), text));
    }
}

fn parts(seen: &Seen<'_>, flaws: &mut Flaws) {
    let sent = seen.sent().map(|send| ("request message".to_owned(), &send.message));
    for (at, message) in sent.into_iter().chain(seen.said()) {
        if message.parts.is_empty() {
            flaws.push((at, "the message has no part".to_owned()));
        }
    }
}

fn role_agent(seen: &Seen<'_>, flaws: &mut Flaws) {
    for (at, message) in seen.said() {
        if message.role != Role::Agent {
            flaws.push((at, format!("the role is {:?}", message.role.as_str())));
        }
    }
}

fn role_user(seen: &Seen<'_>, flaws: &mut Flaws) {
    if let Some(send) = seen.sent()
        && send.message.role != Role::User
    {
        let text = format!("the role is {:?}", send.message.role.as_str());
        flaws.push(("request message".to_owned(), text));
    }
}

fn operation_known(seen: &Seen<'_>, flaws: &mut Flaws) {
    if seen.asks(Operation::Unknown)
        && seen.exchange.binding.is_some()
        && !seen.exchange.wire_name.is_empty()
    {
        let text = format!("{:?} is no operation of A2A", seen.exchange.wire_name);
        flaws.push(("request".to_owned(), text));
    }
}

fn output_modes(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(configuration) = seen.sent().and_then(|send| send.configuration.as_ref()) else {
        return;
    };
    let takes = &configuration.accepted_output_modes;
    if takes.is_empty() {
        return;
    }
    for (at, artifact) in seen.artifacts() {
        for part in &artifact.parts {
            // A part that names no type is of its kind's usual one; only files must say theirs.
            let usual = match &part.content {
                PartContent::Text(_) => Some("text/plain"),
                PartContent::Data(_) => Some("application/json"),
                PartContent::File(_) | PartContent::Empty => None,
            };
            let Some(is) = part.media_type.as_deref().or(usual) else { continue };
            if !takes.iter().any(|mode| accepts(mode, is)) {
                let text = format!("a part of type {is:?}, taken are {}", takes.join(", "));
                flaws.push((at.clone(), text));
            }
        }
    }
}

/// Whether a media range takes a type. `text` alone is how older clients say `text/plain`.
fn accepts(range: &str, is: &str) -> bool {
    let essence =
        |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (range, is) = (essence(range), essence(is));
    let top = |text: &str| text.split('/').next().unwrap_or_default().to_owned();
    range == "*/*"
        || range == "*"
        || range == is
        || (range.ends_with("/*") || !range.contains('/')) && top(&range) == top(&is)
}
