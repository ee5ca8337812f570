//! What stands in the replies.

use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::path::Path;
use super::super::predicate::Predicate;
use super::super::reader::{Fields, Reader};
use super::super::view::{Look, RunView};
use super::super::yaml::Node;
use super::{Assertion, Named};

/// A path into the canonical reply, and what must stand there.
#[derive(Debug)]
pub(super) struct JsonPathIs {
    path: Path,
    predicate: Predicate,
}

impl Named for JsonPathIs {
    const NAME: &'static str = "json_path";
    const SUMMARY: &'static str = "what a JSONPath (`$...`) or JSON Pointer (`/...`) finds in the canonical reply is as it should be";
    const EXAMPLES: &'static [&'static str] = &[
        "json_path: { path: \"$.status.state\", equals: completed, on: { agent: billing, delegation: last } }",
        "json_path: { path: \"$.artifacts[*].parts[?@.kind == 'data'].data.amount\", gte: 1, lt: 100 }",
        "{ json_path: { path: /artifacts/0/name, matches: \"^refund\" }, on_turn: last }",
        "json_path: { path: \"$.artifacts[*]\", count: { gte: 1 } }",
        "json_path: { path: \"$.result.id\", exists: true, on: wire }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { path: \"$.status.state\", equals: completed }";
        let mut fields = Fields::of(body, form, reader)?;
        let path = fields.need("path", reader).and_then(|node| Path::parse(node, reader));
        let predicate = Predicate::take(&mut fields, reader);
        fields.finish(reader);
        Some(Self { path: path?, predicate: predicate? })
    }
}

impl Assertion for JsonPathIs {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("{} {}", self.path.written, self.predicate);
        let default =
            if self.predicate.is_negative() { Quantifier::Every } else { Quantifier::Any };
        view.hold(default, &expected, |delegation| match view.document(delegation) {
            Err(why) => Look::Cannot(why),
            Ok(None) => Look::Misses("there is no reply".to_owned()),
            Ok(Some(document)) => match self.path.find(&document) {
                Err(why) => Look::Cannot(why),
                Ok(places) => {
                    self.predicate.miss(&places, view.sees).map_or(Look::Holds, Look::Misses)
                }
            },
        })
    }

    fn settles(&self) -> bool {
        !self.predicate.is_negative()
    }
}
