//! The short form of `text: { contains: ... }`.

use super::super::finding::Finding;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::words::Words;
use super::super::yaml::Node;
use super::text::Text;
use super::{Assertion, Named};

/// A reply contains this.
#[derive(Debug)]
pub(super) struct Contains(Text);

impl Named for Contains {
    const NAME: &'static str = "contains";
    const SUMMARY: &'static str =
        "a reply's text contains this: short for `text: { contains: ... }`";
    const EXAMPLES: &'static [&'static str] =
        &["contains: \"RF-889\"", "{ contains: [refund, \"RF-889\"], on: { agent: billing } }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.shown_texts(body).map(|texts| Self(Text::of(Words::containing(texts))))
    }
}

impl Assertion for Contains {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        self.0.check(view)
    }

    fn settles(&self) -> bool {
        true
    }
}
