//! Structured data in the replies.
//!
//! The form is a2a-proof's: a list of entries, each with filters, a JSON Pointer and exactly one predicate.

use std::borrow::Cow;

use serde_json::Value;

use super::super::finding::Finding;
use super::super::json_schema::Schema;
use super::super::on::{Quantifier, Sees};
use super::super::parts::{PartFilter, of_kind};
use super::super::path::Path;
use super::super::predicate::Predicate;
use super::super::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::{Look, RunView};
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// In some data part there is what there should be; of several entries, each in some part.
#[derive(Debug)]
pub(super) struct Data(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    filter: PartFilter,
    path: Path,
    test: Test,
}

#[derive(Debug)]
enum Test {
    Predicate(Box<Predicate>),
    Schema(Box<Schema>),
}

impl Named for Data {
    const NAME: &'static str = "data";
    const SUMMARY: &'static str =
        "a data part of a reply, after the filters, has what a JSON Pointer finds there";
    const EXAMPLES: &'static [&'static str] = &[
        "data: { path: /amount, gte: 1, source: artifact, artifact_name: receipt }",
        "data: [{ path: /city, equals: Paris }, { path: /alerts, exists: true, media_type: application/json }]",
        "data: { path: \"\", json_schema: { type: object, required: [city] } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let items = match &body.value {
            Yaml::List(items) if items.is_empty() => {
                reader.problem(body.at, "expected at least one entry");
                return None;
            }
            Yaml::List(items) => items.as_slice(),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                std::slice::from_ref(body)
            }
        };
        let entries: Vec<Option<Entry>> =
            items.iter().map(|item| Entry::parse(item, reader)).collect();
        entries.into_iter().collect::<Option<_>>().map(Self)
    }
}

impl Entry {
    fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a map like { path: /city, equals: Paris }", reader)?;
        let at = fields.at();
        let path = fields.need("path", reader).and_then(|node| Path::parse(node, reader));
        let filter = PartFilter::take(&mut fields, reader);
        let test = match fields.take("json_schema") {
            Some(schema) => {
                Schema::parse(schema, reader).map(|schema| Test::Schema(Box::new(schema)))
            }
            None => Predicate::take(&mut fields, reader)
                .map(|predicate| Test::Predicate(Box::new(predicate))),
        };
        fields.finish(reader);
        let entry = Self { path: path?, filter: filter?, test: test? };
        let wrong = match &entry.test {
            Test::Predicate(predicate) if predicate.len() > 1 => {
                Some("expected exactly one predicate; write a second entry for another")
            }
            Test::Predicate(predicate)
                if predicate.exists.is_some() && entry.path.written.is_empty() =>
            {
                Some("`exists` asks for something within the data; the path is the whole")
            }
            Test::Predicate(_) | Test::Schema(_) => None,
        };
        if let Some(wrong) = wrong {
            reader.problem(at, wrong);
            return None;
        }
        Some(entry)
    }

    fn describe(&self) -> String {
        let path = match self.path.written.as_str() {
            "" => "the whole",
            path => path,
        };
        let test = match &self.test {
            Test::Predicate(predicate) => predicate.to_string(),
            Test::Schema(_) => "fits the schema".to_owned(),
        };
        format!("data{}: {path} {test}", self.filter)
    }

    /// What is wrong with one data part, if anything.
    fn miss(&self, data: &Value) -> Option<String> {
        let places = match self.path.find(data) {
            Ok(places) => places,
            Err(why) => return Some(why),
        };
        match &self.test {
            Test::Predicate(predicate) => predicate.miss(&places, Sees::Wire),
            Test::Schema(schema) => match places.first() {
                None => Some("nothing is there".to_owned()),
                Some(place) => schema.flaw(place.value),
            },
        }
    }
}

impl Assertion for Data {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for entry in &self.0 {
            findings.extend(view.hold(Quantifier::Any, &entry.describe(), |delegation| {
                let Some(reply) = &delegation.reply else {
                    return Look::Misses("there is no reply".to_owned());
                };
                let mut parts = of_kind(reply, "data");
                parts.retain(|part| entry.filter.is(part));
                let mut first_miss = None;
                for part in &parts {
                    let data =
                        part.value.get("data").map_or(Cow::Owned(Value::Null), Cow::Borrowed);
                    match entry.miss(&data) {
                        None => return Look::Holds,
                        Some(miss) => first_miss = first_miss.or(Some(miss)),
                    }
                }
                let count = quote::plural(parts.len(), "data part");
                Look::Misses(match first_miss {
                    None => "there is no such data part".to_owned(),
                    Some(miss) if parts.len() == 1 => miss,
                    Some(miss) => format!("in none of {count}; in the first {miss}"),
                })
            }));
        }
        findings
    }

    fn settles(&self) -> bool {
        true
    }
}
