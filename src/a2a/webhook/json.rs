//! Webhooks registered in JSON, in every spelling that is alive: 1.0, the JSON schema of 0.3, and the
//! protobuf JSON of 0.3 in camel and snake case.

use super::{Decide, Webhook};
use crate::a2a::model::Operation;
use crate::a2a::splice::Splice;
use crate::a2a::splice::text::Node;

/// Members that hold a config: 1.0, 0.3, 0.3's protobuf; each as peers print it.
const CONFIGS: &[&str] = &[
    "taskPushNotificationConfig",
    "task_push_notification_config",
    "pushNotificationConfig",
    "push_notification_config",
    "pushNotification",
    "push_notification",
];

/// The member of a send that holds a config, and the one of 0.3's registration that wraps it.
const CONFIGURATION: &[&str] = &["configuration"];
const WRAPPER: &[&str] = &["config"];

/// Configs in configs in a wrapper: no version nests deeper.
const DEPTH_MAX: usize = 3;

/// Replaces the webhooks that a request of this operation registers. `requests` are its parameters and
/// where they stand in the text.
pub(crate) fn register_in_json(
    text: &str,
    requests: &[(String, Node<'_>, Operation)],
    decide: Decide<'_>,
) -> Option<Vec<u8>> {
    let mut splice = Splice::default();
    for (at, request, operation) in requests {
        let mut found = Vec::new();
        if operation.is_send() {
            for (at, configuration) in inside(*request, at, CONFIGURATION) {
                for (at, config) in inside(configuration, &at, CONFIGS) {
                    collect(config, &at, DEPTH_MAX, &mut found);
                }
            }
        } else if super::is_registered_by(*operation) {
            collect(*request, at, DEPTH_MAX, &mut found);
        }
        for (webhook, node) in found {
            if let Some(new) = decide(&webhook).filter(|new| *new != webhook.url) {
                splice.replace(node.range(), serde_json::Value::from(new).to_string());
            }
        }
    }
    (!splice.is_empty()).then(|| splice.apply(text).into_bytes())
}

/// The members of these names. Of two with one name parsers take this or that, so both count.
fn inside<'t>(node: Node<'t>, at: &str, names: &[&str]) -> Vec<(String, Node<'t>)> {
    let members = node.members().into_iter();
    let members = members.filter(|(name, _)| names.contains(&name.as_str()));
    members.map(|(name, node)| (format!("{at}.{name}"), node)).collect()
}

/// The address in a config, and in what it wraps.
fn collect<'t>(config: Node<'t>, at: &str, depth: usize, found: &mut Vec<(Webhook, Node<'t>)>) {
    let token = config.get("token").and_then(Node::as_string).filter(|token| !token.is_empty());
    for (at, node) in inside(config, at, &["url"]) {
        if let Some(url) = node.as_string() {
            found.push((Webhook { at, url, token: token.clone() }, node));
        }
    }
    if depth > 0 {
        for names in [CONFIGS, WRAPPER] {
            for (at, inner) in inside(config, at, names) {
                collect(inner, &at, depth - 1, found);
            }
        }
    }
}
