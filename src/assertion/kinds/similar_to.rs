//! Replies that may be worded differently each time.

use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::overlap::{overlap, words};
use super::super::quote::quote;
use super::super::reader::{Fields, Reader, Shown};
use super::super::view::{Look, RunView};
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// The share of words that two texts have in common, when none is asked for.
const THRESHOLD: f64 = 0.8;

/// A reply's words overlap with these.
#[derive(Debug)]
pub(super) struct SimilarTo {
    text: Shown<String>,
    threshold: f64,
}

impl Named for SimilarTo {
    const NAME: &'static str = "similar_to";
    const SUMMARY: &'static str = "a reply's words overlap with these: twice the words in common over the words of both (no model)";
    const EXAMPLES: &'static [&'static str] = &[
        "similar_to: \"The refund is on its way\"",
        "similar_to: { text: \"The refund is on its way\", threshold: 0.6 }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let (text, threshold) = match body.value {
            Yaml::Text(_) => (reader.shown_text(body)?, THRESHOLD),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::List(_) | Yaml::Map(_) => {
                let mut fields = Fields::of(body, "a text or a map like { text: ... }", reader)?;
                let text = fields.need("text", reader).and_then(|node| reader.shown_text(node));
                let threshold = match fields.take("threshold") {
                    None => Some(THRESHOLD),
                    Some(node) => reader.amount(node),
                };
                fields.finish(reader);
                (text?, threshold?)
            }
        };
        if !(threshold > 0.0 && threshold <= 1.0) {
            reader.problem(body.at, "expected a threshold above 0 and up to 1");
            return None;
        }
        if words(&text.value).is_empty() {
            reader.problem(body.at, "expected a text with words in it");
            return None;
        }
        Some(Self { text, threshold })
    }
}

impl Assertion for SimilarTo {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("reply text at least {} like {}", self.threshold, self.text.written);
        view.hold(Quantifier::Any, &expected, |delegation| match view.text(delegation) {
            Err(why) => Look::Cannot(why),
            Ok(text) => match overlap(&self.text.value, &text) {
                share if share >= self.threshold => Look::Holds,
                share => Look::Misses(format!("{share:.2}: {}", quote(&text))),
            },
        })
    }

    fn settles(&self) -> bool {
        true
    }
}
