//! A sentence that a model grades.
//!
//! No model is part of Meddler. Where the suite names none the sentence is shown and counted as skipped,
//! never as held, and `--strict` fails on it.

use super::super::finding::Finding;
use super::super::outside::Question;
use super::super::reader::{Reader, Shown};
use super::super::transcript;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// The sentence is true.
#[derive(Debug)]
pub(super) struct Judge(Shown<String>);

impl Named for Judge {
    const NAME: &'static str = "judge";
    const SUMMARY: &'static str = "a judge (the suite's `judge:`, a model or a command) finds the sentence true of what was said; skipped where none is configured";
    const EXAMPLES: &'static [&'static str] =
        &["judge: \"The agent reports the refund reference RF-889 to the user\""];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.shown_text(body).map(Self)
    }
}

impl Assertion for Judge {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("a judge agrees: {}", self.0.written);
        let question = Question { claim: self.0.value.clone(), evidence: transcript::of(view) };
        ask(view, expected, &question)
    }
}

/// Asks the judge, and notes who judged and what it was shown.
pub(super) fn ask(view: &RunView<'_>, expected: String, question: &Question) -> Vec<Finding> {
    if view.delegations.is_empty() {
        let text = "nothing to look at: no delegation is left here";
        return vec![Finding::vacuous(expected, text)];
    }
    let judgement = match view.outside.judge(question) {
        Ok(Some(judgement)) => judgement,
        Ok(None) => return vec![Finding::skipped(expected, "no judge is configured")],
        Err(why) => return vec![Finding::error(expected, why)],
    };
    let reason = super::super::quote::quote(&judgement.reason);
    let word = if judgement.holds { "agrees" } else { "disagrees" };
    view.note(format!("{} {word}: {reason} (prompt {})", judgement.model, judgement.prompt_sha256));
    if judgement.holds {
        return Vec::new();
    }
    let actual = format!("{} disagrees: {reason}", judgement.model);
    vec![Finding::failed(expected, actual).proved_by(view.messages(|_| true))]
}
