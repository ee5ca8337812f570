//! What the replies say.

use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::quote::quote;
use super::super::reader::Reader;
use super::super::view::{Look, RunView};
use super::super::words::Words;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// A reply says this, and none says that.
#[derive(Debug)]
pub(super) struct Text(Words);

impl Text {
    pub(super) fn of(words: Words) -> Self {
        Self(words)
    }
}

impl Named for Text {
    const NAME: &'static str = "text";
    const SUMMARY: &'static str =
        "a reply's text contains, equals or matches; no reply's text contains";
    const EXAMPLES: &'static [&'static str] = &[
        "text: { contains: \"RF-889\", not_contains: [error, sorry], case_sensitive: false }",
        "text: { equals: \"Done.\", on: { agent: billing, delegation: last } }",
        "text: { matches: \"(?i)refund(ed)?\" }",
        "text: { not_contains_env: BILLING_TOKEN }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Words::parse(body, reader).map(Self)
    }
}

impl Assertion for Text {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let words = &self.0;
        let mut findings = Vec::new();
        if words.has_positive() {
            let expected = format!("reply text {}", words.positive());
            findings =
                view.hold(Quantifier::Any, &expected, |delegation| match view.text(delegation) {
                    Err(why) => Look::Cannot(why),
                    Ok(text) if words.hold_positive(&text) => Look::Holds,
                    // A reply that broke a rule of secrecy is shown nowhere.
                    Ok(text) => Look::Misses(words.offence(&text).unwrap_or_else(|| quote(&text))),
                });
        }
        if words.has_negative() {
            let expected = format!("reply text {}", words.negative());
            findings.extend(view.hold(Quantifier::Every, &expected, |delegation| {
                match view.text(delegation) {
                    Err(why) => Look::Cannot(why),
                    Ok(text) => words.offence(&text).map_or(Look::Holds, Look::Misses),
                }
            }));
        }
        findings
    }

    fn settles(&self) -> bool {
        !self.0.has_negative()
    }
}
