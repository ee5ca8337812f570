//! The short form of `text: { matches: ... }`.

use super::super::finding::Finding;
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::words::Words;
use super::super::yaml::Node;
use super::text::Text;
use super::{Assertion, Named};

/// A reply matches this.
#[derive(Debug)]
pub(super) struct Matches(Text);

impl Named for Matches {
    const NAME: &'static str = "regex";
    const SUMMARY: &'static str = "a reply's text matches this: short for `text: { matches: ... }`";
    const EXAMPLES: &'static [&'static str] = &["regex: \"RF-[0-9]+\""];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.regex(body).map(|regex| Self(Text::of(Words::matching(regex))))
    }
}

impl Assertion for Matches {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        self.0.check(view)
    }

    fn settles(&self) -> bool {
        true
    }
}
