//! Whether an orchestrator keeps the ids that agents gave it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::finding::Finding;
use super::super::quote::{plural, quote};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};
use crate::record::delegation::Delegation;
use crate::record::query::Filter;

/// A message names a task only as its agent named it, and in the task's own conversation.
#[derive(Debug)]
pub(super) struct IdsKept;

impl Named for IdsKept {
    const NAME: &'static str = "ids_kept";
    const SUMMARY: &'static str = "a message that names a task names one that this very agent gave before, and no other conversation than that task's";
    const EXAMPLES: &'static [&'static str] = &["ids_kept: true"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        super::only_true(body, Self::NAME, reader).map(|()| Self)
    }
}

impl Assertion for IdsKept {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "messages keep the ids that the agent gave";
        if view.delegations.is_empty() {
            let text = "nothing to look at: no delegation is left here";
            return vec![Finding::vacuous(expected, text)];
        }
        // Ids may have been given before what is selected.
        let all = view.source.delegations(&Filter::default());
        let mut given: BTreeMap<(&str, &str), Option<&str>> = BTreeMap::new();
        let mut broken = BTreeMap::new();
        for delegation in &all {
            if let Some(why) = broken_by(delegation, &given) {
                broken.insert(delegation.id, why);
            }
            if let Some(task) = &delegation.task_id {
                let context = delegation.context_id.as_deref();
                given.entry((&delegation.agent, task)).or_insert(context);
            }
        }
        let found: Vec<_> = view
            .delegations
            .iter()
            .filter_map(|it| broken.get(&it.id).map(|why| (it, why.clone())))
            .collect();
        if found.is_empty() {
            return Vec::new();
        }
        let actual = format!("{} did not", plural(found.len(), "message"));
        vec![Finding::failed(expected, actual).proved_by(view.proof(&found))]
    }
}

fn broken_by(
    delegation: &Delegation,
    given: &BTreeMap<(&str, &str), Option<&str>>,
) -> Option<String> {
    let named = |name: &str| delegation.message.as_ref()?.get(name)?.as_str();
    let task = named("taskId").filter(|task| !task.is_empty())?;
    let Some(context) = given.get(&(delegation.agent.as_str(), task)) else {
        return Some(format!("task {}, which {} never gave", quote(task), delegation.agent));
    };
    let said: Option<&str> =
        delegation.message.as_ref().and_then(|it| it.get("contextId")).and_then(Value::as_str);
    match (said, context) {
        (Some(said), Some(context)) if !said.is_empty() && said != *context => {
            Some(format!("conversation {}, the task's is {}", quote(said), quote(context)))
        }
        (Some(_) | None, _) => None,
    }
}
