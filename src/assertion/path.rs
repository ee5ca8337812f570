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

    /// The places it leads to. `Err`: the document is too large for such a path.
    pub(super) fn find<'v>(&self, document: &'v Value) -> Result<Vec<Place<'v>>, String> {
        match &self.way {
            Way::Query(query) => {
                self.affordable(document)?;
                let found = query.query_located(document);
                let place = |node: &serde_json_path::LocatedNode<'v>| Place {
                    at: node.location().to_string(),
                    value: node.node(),
                };
                Ok(found.iter().map(place).collect())
            }
            Way::Pointer(pointer) => {
                let found = document.pointer(pointer);
                Ok(found.map(|value| Place { at: pointer.clone(), value }).into_iter().collect())
            }
        }
    }

    /// Each `..` visits everything below every node that the one before it gave, so their number is an
    /// exponent of the depth. A peer chooses the document; it does not choose how long we work.
    fn affordable(&self, document: &Value) -> Result<(), String> {
        let descents = u32::try_from(self.written.matches("..").count()).unwrap_or(u32::MAX);
        if descents < 2 {
            return Ok(());
        }
        let Size { nodes, depth } = Size::of(document);
        let visits = nodes.saturating_mul(depth.saturating_pow(descents - 1));
        if visits <= VISITS_MAX {
            return Ok(());
        }
        Err(format!(
            "{} with {descents} `..` is too much for a document of {nodes} values, {depth} deep",
            self.written
        ))
    }
}

/// Visits of a value that one path may cost: about a second.
const VISITS_MAX: u64 = 20_000_000;

/// How large a document is.
struct Size {
    nodes: u64,
    depth: u64,
}

impl Size {
    /// The reader has bounded the depth.
    fn of(value: &Value) -> Self {
        let inner: Vec<Self> = match value {
            Value::Array(items) => items.iter().map(Self::of).collect(),
            Value::Object(members) => members.values().map(Self::of).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        let nodes = 1 + inner.iter().map(|size| size.nodes).sum::<u64>();
        let depth = 1 + inner.iter().map(|size| size.depth).max().unwrap_or(0);
        Self { nodes, depth }
    }
}

impl Place<'_> {
    /// The name of the member it stands under, if it is one.
    pub(super) fn member(&self) -> &str {
        let end = self.at.trim_end_matches("']");
        end.rsplit(['\'', '/']).next().unwrap_or_default()
    }
}
