//! Whether an agent was made to do the same work twice: what a client does wrong when an answer is lost.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::record::delegation::Delegation;
use crate::record::exchange::Outcome;

use super::super::finding::Finding;
use super::super::quote::{plural, quote};
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// No message was executed twice by the same agent.
#[derive(Debug)]
pub(super) struct NoDuplicateDelegation(By);

/// What makes two messages the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    MessageId,
    Content,
}

impl Named for NoDuplicateDelegation {
    const NAME: &'static str = "no_duplicate_delegation";
    const SUMMARY: &'static str =
        "no message reached the same agent twice, told by its message id or by its content";
    const EXAMPLES: &'static [&'static str] = &[
        "no_duplicate_delegation: { by: message_id }",
        "no_duplicate_delegation: { by: content }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Null | Yaml::Bool(true) = body.value {
            return Some(Self(By::MessageId));
        }
        let mut fields = Fields::of(body, "a map like { by: message_id }", reader)?;
        let known = [("content", By::Content), ("message_id", By::MessageId)];
        let by = fields.need("by", reader).and_then(|node| reader.word(node, &known));
        fields.finish(reader);
        by.map(Self)
    }
}

impl Assertion for NoDuplicateDelegation {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let (expected, what) = match self.0 {
            By::MessageId => ("no message reaches an agent twice, by message id", "message id"),
            By::Content => ("no message reaches an agent twice, by content", "content"),
        };
        if view.delegations.is_empty() {
            return vec![Finding::vacuous(
                expected,
                "nothing to look at: no delegation is left here",
            )];
        }
        let mut same: BTreeMap<(&str, String), Vec<&Delegation>> = BTreeMap::new();
        for delegation in view.delegations.iter().filter(|delegation| reached(view, delegation)) {
            if let Some(key) = self.key(delegation) {
                same.entry((&delegation.agent, key)).or_default().push(delegation);
            }
        }
        let twice: Vec<_> = same.into_iter().filter(|(_, sent)| sent.len() > 1).collect();
        if twice.is_empty() {
            return Vec::new();
        }
        let actual = format!(
            "{} reached an agent more than once, by {what}",
            plural(twice.len(), "message")
        );
        let sent = twice.iter().flat_map(|(_, sent)| sent);
        let proof =
            sent.take(10).map(|delegation| view.evidence(delegation, quote(&delegation.text)));
        vec![Finding::failed(expected, actual).proved_by(proof)]
    }
}

impl NoDuplicateDelegation {
    fn key(&self, delegation: &Delegation) -> Option<String> {
        match self.0 {
            By::MessageId => delegation.message_id.clone(),
            By::Content => Some(match delegation.message.as_ref().and_then(|m| m.get("parts")) {
                Some(parts) => parts.to_string(),
                None => Value::String(delegation.text.clone()).to_string(),
            }),
        }
    }
}

/// Whether the agent was asked at all: what a rule answered in its place, or what found no way to it,
/// was not executed.
fn reached(view: &RunView<'_>, delegation: &Delegation) -> bool {
    match delegation.outcome {
        Outcome::AnsweredByFault => {
            view.exchanges_of(delegation).iter().any(|exchange| exchange.response.is_some())
        }
        Outcome::UpstreamError => false,
        Outcome::Completed
        | Outcome::Failed
        | Outcome::Rejected
        | Outcome::Canceled
        | Outcome::InputRequired
        | Outcome::AuthRequired
        | Outcome::Message
        | Outcome::Working
        | Outcome::Error
        | Outcome::Incomplete
        | Outcome::CutByAgent
        | Outcome::CutByClient
        | Outcome::Malformed
        | Outcome::OpenAtStop => true,
    }
}
