//! The compound names of 0.3: `tasks/ID` and `tasks/ID/pushNotificationConfigs/CONFIG`.
//!
//! The model has plain ids; names are taken apart on the way in and put together on the way out.

use crate::a2a::dialect::json::node::Node;

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs";

/// The task that a request names: `name`, `parent`, or the JSON schema's `id`.
pub(super) fn task(node: &Node<'_>) -> String {
    let Some(name) = name(node) else { return plain(node, &["id", "taskId"]) };
    let (task, _) = taken_apart(&name);
    if task.is_none() {
        invalid(node, &name, "tasks/ID");
    }
    task.unwrap_or(name)
}

/// The task and the webhook that a message names, or the JSON schema's `id` and
/// `pushNotificationConfigId`.
pub(super) fn config(node: &Node<'_>) -> (String, Option<String>) {
    let Some(name) = name(node) else {
        let task_id = plain(node, &["id", "taskId"]);
        return (task_id, node.optional_text("pushNotificationConfigId"));
    };
    let (task, config) = taken_apart(&name);
    if task.is_none() || config.is_none() {
        invalid(node, &name, "tasks/ID/pushNotificationConfigs/CONFIG");
    }
    (task.unwrap_or(name), config)
}

/// `tasks/ID`
pub(super) fn of_task(task: &str) -> String {
    format!("{TASKS}{task}")
}

/// `tasks/ID/pushNotificationConfigs/CONFIG`
pub(super) fn of_config(task: &str, config: &str) -> String {
    format!("{TASKS}{task}{CONFIGS}/{config}")
}

fn name(node: &Node<'_>) -> Option<String> {
    node.optional_text("name").or_else(|| node.optional_text("parent"))
}

fn plain(node: &Node<'_>, names: &[&'static str]) -> String {
    let id = names.iter().find_map(|name| node.optional_text(name));
    id.unwrap_or_else(|| {
        node.missing("name");
        String::new()
    })
}

fn invalid(node: &Node<'_>, name: &str, form: &str) {
    node.note("invalid_name", format!("`{name}` does not have the form `{form}`"));
}

fn taken_apart(name: &str) -> (Option<String>, Option<String>) {
    let Some(rest) = name.strip_prefix(TASKS) else { return (None, None) };
    let (task, config) = match rest.split_once(CONFIGS) {
        Some((task, config)) => (task, config.strip_prefix('/')),
        None => (rest, None),
    };
    let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    (filled(task), config.and_then(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_into_plain_ids() {
        let some = |text: &str| Some(text.to_owned());
        for (name, expected) in [
            ("tasks/t", (some("t"), None)),
            ("tasks/t/pushNotificationConfigs", (some("t"), None)),
            ("tasks/t/pushNotificationConfigs/c", (some("t"), some("c"))),
            ("tasks/", (None, None)),
            ("t", (None, None)),
        ] {
            assert_eq!(taken_apart(name), expected, "{name}");
        }
    }
}
