//! Insertion into JSON: what is not touched keeps every octet.

use serde_json::{Value, json};

use super::plan::{Change, Step, plan};
use super::{How, Insertion, NOTE};
use crate::a2a::dialect::Dialect;
use crate::a2a::splice::Splice;
use crate::a2a::splice::text::Node;

/// Puts something into the answer that stands at this path of a JSON text.
pub(crate) fn insert_into_json(
    text: &str,
    path: &[&str],
    dialect: &dyn Dialect,
    insertion: &Insertion,
) -> Result<String, String> {
    let root = Node::root(text).ok_or("the answer is no JSON")?;
    let answer = path
        .iter()
        .try_fold(root, |node, name| node.get(name))
        .ok_or("the answer is an error, or has no result")?;
    let value: Value = text
        .get(answer.range())
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or("the answer is no JSON")?;
    let change = plan(&value, dialect, insertion)?;
    let mut splice = Splice::default();
    make(answer, &change, &mut splice).ok_or("the place is not where it was found")?;
    Ok(splice.apply(text))
}

fn make(answer: Node<'_>, change: &Change, splice: &mut Splice) -> Option<()> {
    match change {
        Change::Text { path, text } => set(answer, path, &Value::from(text.as_str()), splice),
        Change::Message { path, message } => set(answer, path, message, splice),
        Change::Part { path, part } => {
            let list = walk(answer, path)?;
            push(list, &part.to_string(), splice);
            Some(())
        }
        Change::Note { path, how, text } => {
            let note = Value::from(text.as_str());
            match (walk(answer, path).filter(|node| node.is_object()), how) {
                (Some(_), How::Append) => {
                    let path = [path.as_slice(), &[Step::Member(NOTE)]].concat();
                    set(answer, &path, &note, splice)
                }
                (Some(_), How::Replace) | (None, How::Append | How::Replace) => {
                    set(answer, path, &json!({ NOTE: note }), splice)
                }
            }
        }
    }
}

/// Puts a value at a path: over the one that is there, or behind the last member.
fn set(answer: Node<'_>, path: &[Step], value: &Value, splice: &mut Splice) -> Option<()> {
    let (last, way) = path.split_last()?;
    let holder = walk(answer, way)?;
    match (step(holder, *last), last) {
        (Some(old), _) => splice.replace(old.range(), value.to_string()),
        (None, Step::Member(name)) if holder.is_object() => {
            push(holder, &format!("{}:{value}", Value::from(*name)), splice);
        }
        (None, Step::Member(_) | Step::Item(_)) => return None,
    }
    Some(())
}

/// Puts something behind the last member or item.
fn push(holder: Node<'_>, text: &str, splice: &mut Splice) {
    let (range, separator) = holder.room();
    splice.replace(range, format!("{separator}{text}"));
}

fn walk<'t>(from: Node<'t>, path: &[Step]) -> Option<Node<'t>> {
    path.iter().try_fold(from, |node, next| step(node, *next))
}

fn step(node: Node<'_>, step: Step) -> Option<Node<'_>> {
    match step {
        Step::Member(name) => node.get(name),
        Step::Item(index) => node.items().get(index).copied(),
    }
}
