//! Findings that a team has looked at and lives with: a kept list, each with its reason.
//!
//! A row that accepts nothing any more is told, so that the list does not outlive what it was for.

use super::super::reader::{Fields, Reader, SuiteError, Variables};
use super::super::yaml::{Node, Yaml};
use super::{Flaw, named};

/// A kept list.
#[derive(Clone, Debug, Default)]
pub struct Accepted {
    rows: Vec<Row>,
}

/// One row: everything that is given must fit.
#[derive(Clone, Debug)]
struct Row {
    rule: String,
    agent: Option<String>,
    at: Option<String>,
    text: Option<String>,
    reason: String,
    line: usize,
}

impl Accepted {
    /// Reads a list. `file` is its name in messages.
    pub fn parse(file: &str, text: &str, variables: Variables<'_>) -> Result<Self, SuiteError> {
        let mut reader = Reader::new(text, variables);
        let rows = match Node::parse(text) {
            Ok(root) => rows(&root, &mut reader),
            Err(error) => {
                reader.problem(error.at, error.text);
                None
            }
        };
        let problems = reader.finish();
        match rows {
            Some(rows) if problems.is_empty() => Ok(Self { rows }),
            Some(_) | None => Err(SuiteError { file: file.to_owned(), problems }),
        }
    }

    /// Takes out what is accepted: what is left, how many were taken, and the rows that took nothing.
    pub fn sift(&self, flaws: Vec<Flaw>) -> (Vec<Flaw>, usize, Vec<String>) {
        let mut used = vec![false; self.rows.len()];
        let before = flaws.len();
        let left: Vec<Flaw> = flaws
            .into_iter()
            .filter(|flaw| {
                let row = self.rows.iter().position(|row| row.takes(flaw));
                if let Some(used) = row.and_then(|row| used.get_mut(row)) {
                    *used = true;
                }
                row.is_none()
            })
            .collect();
        let idle = self.rows.iter().zip(used).filter(|(_, used)| !used);
        let idle = idle.map(|(row, _)| {
            format!("line {}: `{}` accepts nothing here ({})", row.line, row.rule, row.reason)
        });
        let taken = before - left.len();
        (left, taken, idle.collect())
    }
}

impl Row {
    fn takes(&self, flaw: &Flaw) -> bool {
        let fits = |wanted: &Option<String>, is: &str| {
            wanted.as_ref().is_none_or(|wanted| is.contains(wanted.as_str()))
        };
        self.rule == flaw.rule
            && self.agent.as_ref().is_none_or(|agent| *agent == flaw.agent)
            && fits(&self.at, &flaw.at)
            && fits(&self.text, &flaw.text)
    }
}

fn rows(root: &Node, reader: &mut Reader<'_>) -> Option<Vec<Row>> {
    let mut fields = Fields::of(root, "a map with `version` and `accept`", reader)?;
    let version = fields.need("version", reader).and_then(|node| match reader.count(node)? {
        1 => Some(()),
        other => {
            reader.problem(node.at, format!("version {other} is not known here"));
            None
        }
    });
    let list = fields.need("accept", reader);
    fields.finish(reader);
    version?;
    let list = list?;
    let Yaml::List(items) = &list.value else {
        reader.expected("a list of accepted findings", list);
        return None;
    };
    let rows: Vec<Option<Row>> = items.iter().map(|item| row(item, reader)).collect();
    rows.into_iter().collect()
}

fn row(node: &Node, reader: &mut Reader<'_>) -> Option<Row> {
    let form = "a map like { rule: error-info, agent: billing, reason: \"...\" }";
    let mut fields = Fields::of(node, form, reader)?;
    let rule = fields.need("rule", reader).and_then(|node| {
        let name = reader.name(node)?;
        match named(&name) {
            Ok(_) => Some(name),
            Err(why) => {
                reader.problem(node.at, why);
                None
            }
        }
    });
    let reason = fields.need("reason", reader).and_then(|node| reader.name(node));
    let mut optional = |name: &'static str| {
        fields.take(name).map(|node| reader.name(node)).map_or(Some(None), |it| it.map(Some))
    };
    let (agent, at, text) = (optional("agent"), optional("at"), optional("text"));
    fields.finish(reader);
    let (rule, reason) = (rule?, reason?);
    Some(Row { rule, agent: agent?, at: at?, text: text?, reason, line: node.at.line })
}
