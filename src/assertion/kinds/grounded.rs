//! Whether replies claim only what they were given.

use serde_json::Value;

use super::super::finding::Finding;
use super::super::outside::Question;
use super::super::path::Path;
use super::super::reader::{Fields, Reader};
use super::super::transcript;
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// A judge finds everything that the replies claim in the context.
#[derive(Debug)]
pub(super) struct Grounded(Context);

#[derive(Debug)]
enum Context {
    Text(String),
    /// What the path finds in the replies.
    Found(Path),
}

const CLAIM: &str =
    "Everything that the agents state as a fact in their replies is supported by the context.";

impl Named for Grounded {
    const NAME: &'static str = "grounded";
    const SUMMARY: &'static str = "a judge finds every fact that the replies state in the context: a text, or what a JSONPath finds in the replies; skipped where no judge is configured";
    const EXAMPLES: &'static [&'static str] = &[
        "grounded: { context: \"Refunds take five days. The reference of ORD-1001 is RF-889.\" }",
        "grounded: { context: { json_path: \"$.artifacts[*].parts[?@.kind == 'data'].data\" } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(body, "a map like { context: \"...\" }", reader)?;
        let context = fields.need("context", reader).and_then(|node| match node.value {
            Yaml::Map(_) => {
                let form = "a text or a map like { json_path: \"$.artifacts\" }";
                let mut inner = Fields::of(node, form, reader)?;
                let path = inner.need("json_path", reader);
                let path = path.and_then(|node| Path::parse(node, reader));
                inner.finish(reader);
                path.map(Context::Found)
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::List(_) => {
                reader.text(node).map(Context::Text)
            }
        });
        fields.finish(reader);
        context.map(Self)
    }
}

impl Assertion for Grounded {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "a judge finds every claim of the replies in the context".to_owned();
        let context = match &self.0 {
            Context::Text(text) => text.clone(),
            Context::Found(path) => {
                let mut found: Vec<Value> = Vec::new();
                for delegation in &view.delegations {
                    match view.document(delegation) {
                        Err(why) => return vec![Finding::error(expected, why)],
                        Ok(None) => {}
                        Ok(Some(document)) => match path.find(&document) {
                            Err(why) => return vec![Finding::error(expected, why)],
                            Ok(places) => {
                                found.extend(places.iter().map(|place| place.value.clone()));
                            }
                        },
                    }
                }
                if found.is_empty() {
                    let text = format!("nothing to look at: {} finds no context", path.written);
                    return vec![Finding::vacuous(expected, text)];
                }
                Value::Array(found).to_string()
            }
        };
        let evidence = format!("Context:\n{context}\n\nReplies:\n{}", transcript::of(view));
        let question = Question { claim: CLAIM.to_owned(), evidence };
        super::judge::ask(view, expected, &question)
    }
}
