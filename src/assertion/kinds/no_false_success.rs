//! Whether an orchestrator says "done" over what was not done.
//!
//! Its own reply is seen only where it is asked over A2A itself, through Meddler. Without a model words
//! are judged by words: a reply that admits the trouble in none of the usual ones claims success.

use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::super::ends::is_bad_end;
use super::super::finding::Finding;
use super::super::quote::quote;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};
use crate::record::delegation::Delegation;
use crate::record::exchange::Outcome;
use crate::record::query::Filter;

/// What failed for good was not reported as done.
#[derive(Debug)]
pub(super) struct NoFalseSuccess;

/// Words by which a reply admits that something went wrong.
static ADMITS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"sorry|unable|unfortunately|could ?n['’o]t|can(?:not|['’]t)|did ?n['’o]t|was ?n['’o]t|not (?:able|available|possible|completed?|done)|fail\w*|error|unavailable|refus\w+|reject\w+|problem|trouble|issue|time[ds]? ?out|try again|down";
    Regex::new(&format!(r"(?i)\b(?:{words})\b")).ok()
});

impl Named for NoFalseSuccess {
    const NAME: &'static str = "no_false_success";
    const SUMMARY: &'static str = "what failed for good is not reported as done: the delegation that caused it does not complete with a reply that admits nothing; skipped where no such reply is recorded";
    const EXAMPLES: &'static [&'static str] = &["no_false_success: true"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        super::only_true(body, Self::NAME, reader).map(|()| Self)
    }
}

impl Assertion for NoFalseSuccess {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "no success is claimed over what failed";
        let failed: Vec<&Arc<Delegation>> =
            view.delegations.iter().filter(|it| failed_for_good(view, it)).collect();
        if failed.is_empty() {
            let text = "nothing to look at: no delegation failed for good";
            return vec![Finding::vacuous(expected, text)];
        }
        let everything = Filter { session: view.filter.session.clone(), ..Filter::default() };
        let all = view.source.delegations(&everything);
        let causes: Vec<&Arc<Delegation>> = all
            .iter()
            .filter(|cause| failed.iter().any(|failed| failed.parent == Some(cause.id)))
            .collect();
        if causes.is_empty() {
            let text = "the orchestrator's own reply is not recorded";
            return vec![Finding::skipped(expected, text)];
        }
        let admits = |text: &str| ADMITS.as_ref().is_none_or(|words| words.is_match(text));
        let claims: Vec<_> = causes
            .into_iter()
            .filter(|it| matches!(it.outcome, Outcome::Completed | Outcome::Message))
            .filter(|cause| !admits(&cause.reply_text))
            .map(|cause| (cause, quote(&cause.reply_text)))
            .collect();
        if claims.is_empty() {
            return Vec::new();
        }
        let actual = "a reply that admits nothing";
        vec![Finding::failed(expected, actual).proved_by(view.proof(&claims))]
    }
}

/// Whether it failed and no later attempt succeeded.
fn failed_for_good(view: &RunView<'_>, delegation: &Delegation) -> bool {
    let has_failed = |it: &Delegation| is_bad_end(it) || it.outcome == Outcome::AnsweredByFault;
    let again = |later: &&Arc<Delegation>| {
        later.id > delegation.id && later.agent == delegation.agent && !has_failed(later)
    };
    has_failed(delegation) && !view.delegations.iter().any(|later| again(&later))
}
