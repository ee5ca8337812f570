//! A path into JSON: `$...` is a `JSONPath` (RFC 9535), `/...` or nothing a JSON Pointer (RFC 6901).

use serde_json::Value;
use serde_json_path::JsonPath;

use super::reader::Reader;
use super::yaml::Node;

/// A path, read once.
#[derive(Clone, Debug)]
pub(super) struct Path {
    way: Way,
    /// As it was written.
    pub(super) written: String,
}

#[derive(Clone, Debug)]
enum Way {
    Query(Box<JsonPath>),
    Pointer(String),
}

/// A place that a path leads to.
#[derive(Clone, Debug)]
pub(super) struct Place<'v> {
    /// The way there, normalised.
    pub(super) at: String,
    /// What stands there.
    pub(super) value: &'v Value,
}

impl Path {
    /// Reads a path; its two notations are told apart by the first character.
    pub(super) fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let written = reader.text(node)?;
        if written.starts_with('$') {
            return match JsonPath::parse(&written) {
                Ok(query) => Some(Self { way: Way::Query(Box::new(query)), written }),
                Err(error) => {
                    let at = error.position();
                    let why = error.message();
                    reader.problem(node.at, format!("no JSONPath: {why} at character {at}"));
                    None
                }
            };
        }
        if written.is_empty() || written.starts_with('/') {
            return Some(Self { way: Way::Pointer(written.clone()), written });
        }
        let text = format!(
            "a path begins with `$` (JSONPath) or `/` (JSON Pointer); did you mean `$.{written}`?"
        );
        reader.problem(node.at, text);
        None
    }

    /// The places it leads to.
    pub(super) fn find<'v>(&self, document: &'v Value) -> Vec<Place<'v>> {
        match &self.way {
            Way::Query(query) => query
                .query_located(document)
                .iter()
                .map(|node| Place { at: node.location().to_string(), value: node.node() })
                .collect(),
            Way::Pointer(pointer) => document
                .pointer(pointer)
                .map(|value| Place { at: pointer.clone(), value })
                .into_iter()
                .collect(),
        }
    }
}

impl Place<'_> {
    /// The name of the member it stands under, if it is one.
    pub(super) fn member(&self) -> &str {
        let end = self.at.trim_end_matches("']");
        end.rsplit(['\'', '/']).next().unwrap_or_default()
    }
}
