//! `capture:`, which gives a name to what one agent returned, so that a test can ask whether another
//! agent was given it.

use super::finding::Finding;
use super::on::On;
use super::path::Path;
use super::reader::{Fields, Reader};
use super::view::RunView;
use super::yaml::Node;

/// A named value of a test.
#[derive(Clone, Debug)]
pub struct Capture {
    /// `NAME` of `${captured.NAME}`.
    pub name: String,
    /// As it was written, on one line.
    pub text: String,
    /// The line it stands on.
    pub line: usize,
    path: Path,
    on: On,
}

impl Capture {
    /// Reads a map of names.
    pub(super) fn parse_all(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<Self>> {
        let form = "a map like { ref: { json_path: \"$.artifacts[0].name\" } }";
        let entries = Fields::of(node, form, reader)?.rest();
        let mut captures = Vec::new();
        for (key, node) in entries {
            let form = "a map like { json_path: \"$.id\", on: { agent: billing } }";
            let Some(mut fields) = Fields::of(node, form, reader) else {
                captures.push(None);
                continue;
            };
            let path = fields.need("json_path", reader).and_then(|node| Path::parse(node, reader));
            let on = match fields.take("on") {
                None => Some(On::default()),
                Some(node) => On::parse(node, reader),
            };
            fields.finish(reader);
            let (name, text) = (key.name.clone(), format!("capture: {}: {node}", key.name));
            let line = key.at.line;
            captures.push(path.zip(on).map(|(path, on)| Self { name, text, line, path, on }));
        }
        captures.into_iter().collect()
    }

    /// The agents it names.
    pub(super) fn agents(&self) -> Vec<&str> {
        self.on.agents.iter().map(String::as_str).collect()
    }

    /// The first value that the path finds, the oldest delegation first, as JSON.
    pub(super) fn value(&self, view: &RunView<'_>) -> Result<String, Finding> {
        let view = view.narrow(&self.on);
        let expected = format!("{} finds a value", self.path.written);
        if let Some(gap) = view.gap() {
            return Err(gap);
        }
        for delegation in &view.delegations {
            match view.document(delegation) {
                Err(why) => return Err(Finding::error(expected, why)),
                Ok(None) => {}
                Ok(Some(document)) => match self.path.find(&document) {
                    Err(why) => return Err(Finding::error(expected, why)),
                    Ok(places) => {
                        if let Some(place) = places.first() {
                            return Ok(place.value.to_string());
                        }
                    }
                },
            }
        }
        let actual = format!("nothing to look at: none in {}", view.counted());
        Err(Finding::vacuous(expected, actual).proved_by(view.messages(|_| true)))
    }
}
