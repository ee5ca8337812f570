//! Suites as `a2a-proof` writes them: `scenarios:` with `expect:`, and `card:`, as tests of ours.
//!
//! A scenario looks at the delegations whose message is the scenario's, in every conversation that was
//! recorded: each is a trial, so what is expected must hold in every one of them. What only a driver can
//! do (send the message, its data and files) is listed as not driven.

use super::check::Check;
use super::reader::{Fields, Reader};
use super::select::Select;
use super::suite::{BadEnds, Test};
use super::yaml::{Key, Node, Position, Yaml};

/// Keys of `expect:`, which are assertions of the same name.
const EXPECTED: &[&str] =
    &["data", "files", "max_first_event_seconds", "max_seconds", "state", "states", "text"];

/// Keys of a scenario or turn that a driver acts on.
const NOT_DRIVEN: &[&str] =
    &["action", "data", "files", "metadata", "pass_rate", "push_notification", "trials"];

/// The key `card:`, as a test of its own.
pub(super) fn card(node: &Node, reader: &mut Reader<'_>) -> Option<Test> {
    let entry = map(node.at, vec![("card", node.clone())]);
    let check = Check::parse(&entry, reader)?;
    Some(test("card".to_owned(), node.at, Select::default(), vec![check]))
}

/// The key `scenarios:`.
pub(super) fn scenarios(
    node: &Node,
    not_driven: &mut Vec<String>,
    reader: &mut Reader<'_>,
) -> Option<Vec<Test>> {
    let Yaml::List(items) = &node.value else {
        reader.expected("a list of scenarios", node);
        return None;
    };
    let tests: Vec<Option<Test>> =
        items.iter().map(|item| scenario(item, not_driven, reader)).collect();
    tests.into_iter().collect()
}

fn scenario(node: &Node, not_driven: &mut Vec<String>, reader: &mut Reader<'_>) -> Option<Test> {
    let mut fields = Fields::of(node, "a scenario with `name` and `message`", reader)?;
    let name = fields.need("name", reader);
    let at = name.map_or(node.at, |name| name.at);
    let name = name.and_then(|name| reader.name(name));
    let turns = fields.take("turns");
    let latency = fields.take("latency");
    let mut checks: Vec<Option<Check>> = Vec::new();
    if let Some(latency) = latency {
        checks.push(Check::parse(&map(latency.at, vec![("latency", latency.clone())]), reader));
    }
    let mut messages = Vec::new();
    match turns.map(|turns| (turns, &turns.value)) {
        Some((_, Yaml::List(items))) => {
            for (number, item) in (1_u64..).zip(items) {
                let mut turn = Fields::of(item, "a turn with `message`", reader)?;
                messages.push(one_turn(&mut turn, Some(number), &mut checks, reader)?);
                note(&mut turn, name.as_deref(), not_driven);
                turn.finish(reader);
            }
        }
        Some((turns, _)) => {
            reader.expected("a list of turns", turns);
            return None;
        }
        None => messages.push(one_turn(&mut fields, None, &mut checks, reader)?),
    }
    note(&mut fields, name.as_deref(), not_driven);
    fields.finish(reader);
    let checks: Option<Vec<Check>> = checks.into_iter().collect();
    let mut checks = checks?;
    if checks.is_empty() {
        // Nothing but that it worked: the rule on ends, and that it happened at all.
        let any = map(at, vec![("delegated_to", map(at, vec![]))]);
        checks.push(Check::parse(&any, reader)?);
    }
    Some(test(name?, at, Select::of_messages(&messages), checks))
}

/// Takes a turn's `message` and `expect`. Returns the message's words.
fn one_turn(
    fields: &mut Fields<'_>,
    number: Option<u64>,
    checks: &mut Vec<Option<Check>>,
    reader: &mut Reader<'_>,
) -> Option<String> {
    let message = match fields.take("message") {
        None => String::new(),
        Some(node) => reader.text(node)?,
    };
    let Some(expect) = fields.take("expect") else { return Some(message) };
    let mut expected = Fields::of(expect, "a map like { state: completed }", reader)?;
    for name in EXPECTED {
        let Some(node) = expected.take(name) else { continue };
        // `data:` may be a list: each entry is an assertion.
        let bodies = match &node.value {
            Yaml::List(items) if *name == "data" || *name == "files" => items.clone(),
            Yaml::List(_)
            | Yaml::Null
            | Yaml::Bool(_)
            | Yaml::Number(_)
            | Yaml::Text(_)
            | Yaml::Map(_) => vec![node.clone()],
        };
        for body in bodies {
            let mut on = vec![("delegation", text(node.at, "every"))];
            if let Some(number) = number {
                on.push(("turn", Node { at: node.at, value: Yaml::Number(number.into()) }));
            }
            let entry = map(node.at, vec![(name, body), ("on", map(node.at, on))]);
            checks.push(Check::parse(&entry, reader));
        }
    }
    expected.finish(reader);
    Some(message)
}

fn note(fields: &mut Fields<'_>, name: Option<&str>, not_driven: &mut Vec<String>) {
    for key in NOT_DRIVEN {
        if fields.take(key).is_some() {
            not_driven.push(format!("{}: {key}", name.unwrap_or_default()));
        }
    }
}

fn test(name: String, at: Position, select: Select, checks: Vec<Check>) -> Test {
    Test { name, at, select, captures: Vec::new(), checks, bad_ends: BadEnds::Fail }
}

fn map(at: Position, entries: Vec<(&str, Node)>) -> Node {
    let entries = entries.into_iter().map(|(name, node)| {
        let key = Key { name: name.to_owned(), at };
        (key, node)
    });
    Node { at, value: Yaml::Map(entries.collect()) }
}

fn text(at: Position, text: &str) -> Node {
    Node { at, value: Yaml::Text(text.to_owned()) }
}
