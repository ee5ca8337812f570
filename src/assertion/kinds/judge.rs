//! A sentence that a model grades.
//!
//! No model is part of this version's configuration, and a sentence cannot be judged without one: it is
//! shown and counted as skipped, never as held, and `--strict` fails on it.

use super::super::finding::Finding;
use super::super::reader::{Reader, Shown};
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// The sentence is true.
#[derive(Debug)]
pub(super) struct Judge(Shown<String>);

impl Named for Judge {
    const NAME: &'static str = "judge";
    const SUMMARY: &'static str =
        "a model finds the sentence true; skipped where no judge is configured";
    const EXAMPLES: &'static [&'static str] =
        &["judge: \"The agent reports the refund reference RF-889 to the user\""];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.shown_text(body).map(Self)
    }
}

impl Assertion for Judge {
    fn check(&self, _: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("a judge agrees: {}", self.0.written);
        vec![Finding::skipped(expected, "no judge is configured")]
    }
}
