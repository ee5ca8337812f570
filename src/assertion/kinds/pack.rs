//! Assertions that belong together, by one name.

use super::super::check::{Check, judge_all};
use super::super::finding::Finding;
use super::super::packs::Pack as Row;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// All of a pack holds.
#[derive(Debug)]
pub(super) struct Pack(Vec<Check>);

impl Named for Pack {
    const NAME: &'static str = "pack";
    const SUMMARY: &'static str = "all assertions of a pack hold; each is a result of its own in the report; `meddler suite pack NAME` prints it";
    const EXAMPLES: &'static [&'static str] = &[
        "pack: graceful_degradation",
        "pack: { name: graceful_degradation, retries: 1 }",
        "pack: no_secret_leak",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let (row, given) = match body.value {
            Yaml::Map(_) => {
                let mut fields = Fields::of(body, "a pack's name", reader)?;
                let row = fields.need("name", reader).and_then(|node| named(node, reader))?;
                let mut given = Vec::new();
                for (name, _) in row.settings {
                    if let Some(node) = fields.take(name) {
                        given.push((*name, reader.text(node)?));
                    }
                }
                fields.finish(reader);
                (row, given)
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::List(_) => {
                (named(body, reader)?, Vec::new())
            }
        };
        let setting = |wanted: &str| {
            let given = given.iter().find(|(name, _)| *name == wanted);
            let default = row.settings.iter().find(|(name, _)| *name == wanted);
            given.map(|(_, value)| value.clone()).or(default.map(|(_, it)| (*it).to_owned()))
        };
        let mut inner = Reader::new(row.text, &setting);
        let checks = match Node::parse(row.text) {
            Ok(list) => Check::parse_list(&list, &mut inner),
            Err(error) => {
                inner.problem(error.at, error.text);
                None
            }
        };
        // The files are sound; what is wrong is a setting.
        for problem in inner.finish() {
            reader.problem(body.at, format!("pack `{}`: {}", row.name, problem.text));
        }
        let at = body.at;
        checks.map(|checks| Self(checks.into_iter().map(|it| it.of_pack(row.name, at)).collect()))
    }
}

fn named(node: &Node, reader: &mut Reader<'_>) -> Option<&'static Row> {
    let name = reader.name(node)?;
    match Row::named(&name) {
        Ok(row) => Some(row),
        Err(why) => {
            reader.problem(node.at, why);
            None
        }
    }
}

impl Assertion for Pack {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        judge_all(&self.0, view)
    }

    fn parts(&self) -> &[Check] {
        &self.0
    }
}
