//! Reading a fault's settings: units, and errors that name the nearest right word.
//!
//! Settings arrive as JSON values, because one key takes scalars and maps (`delay: 500ms`,
//! `delay: { range: [1s, 3s] }`), and derived readers of such unions say only that nothing matched.

use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::base::units;

/// A duration as people write it: `500ms`, `2s`, `1m 30s`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Span(pub(super) Duration);

/// Octets a second: `16KiB/s`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Rate(pub(super) u64);

impl TryFrom<Value> for Span {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        units::duration(&text(&value)?).map(Self)
    }
}

impl TryFrom<Value> for Rate {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        units::bytes_per_second(&text(&value)?).map(Self)
    }
}

/// Reads a map of settings. A misspelt key is told the nearest right one.
pub(super) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| with_nearest(&error.to_string()))
}

/// The text of a scalar: numbers and truth values as they were meant (`version: 1.0`).
pub(super) fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(yes) => Ok(yes.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("{value} is no text")),
    }
}

/// The texts of a scalar or of a list of scalars; never an empty list.
pub(super) fn texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(values) if values.is_empty() => Err("the list is empty".to_owned()),
        Value::Array(values) => values.iter().map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Ok(vec![text(value)?])
        }
    }
}

/// Every scalar of a value or list, parsed by its own type.
pub(super) fn parsed<T>(value: &Value) -> Result<Vec<T>, String>
where
    T: std::str::FromStr<Err = String>,
{
    texts(value)?.iter().map(|text| text.parse()).collect()
}

/// A regular expression. The error is one line.
pub(super) fn regex(value: &Value) -> Result<Regex, String> {
    let pattern = text(value)?;
    Regex::new(&pattern).map_err(|error| {
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
        format!("regex `{pattern}`: {why}")
    })
}

/// Says that a word is not known, what is, and which is nearest.
pub(super) fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let list = known.join(", ");
    match nearest(word, known) {
        Some(near) => format!("unknown {what} `{word}`, did you mean `{near}`? known: {list}"),
        None => format!("unknown {what} `{word}`; known: {list}"),
    }
}

/// The known word that a misspelt one was meant to be: at most a third of its letters differ.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .iter()
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), *candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Adds the nearest known word to serde's "unknown field `x`, expected one of `a`, `b`".
fn with_nearest(error: &str) -> String {
    if !error.starts_with("unknown field") && !error.starts_with("unknown variant") {
        return error.to_owned();
    }
    let mut quoted = error.split('`').skip(1).step_by(2);
    let word = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    match nearest(word, &known) {
        Some(near) => format!("{error}; did you mean `{near}`?"),
        None => error.to_owned(),
    }
}

/// How many letters must be changed, added, left out or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let changed = at(&last, j) + usize::from(from != to);
            let added = at(&row, j).min(at(&last, j + 1)) + 1;
            let is_swap = i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            let swapped = if is_swap { at(&before, j - 1) + 1 } else { usize::MAX };
            row.push(changed.min(added).min(swapped));
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_and_rates_have_units() {
        assert_eq!(Span::try_from(json!("500ms")), Ok(Span(Duration::from_millis(500))));
        assert_eq!(Rate::try_from(json!("16KiB/s")), Ok(Rate(16 * 1024)));
        for wrong in [json!(5), json!("soon"), json!([1])] {
            assert!(Span::try_from(wrong.clone()).is_err(), "{wrong}");
            assert!(Rate::try_from(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_misspelt_word_is_told_the_nearest() {
        let known = ["operation", "binding", "text"];
        assert_eq!(nearest("opertion", &known), Some("operation"));
        assert_eq!(nearest("Text", &known), Some("text"));
        assert_eq!(nearest("tetx", &known), Some("text"));
        assert_eq!(nearest("weather", &known), None);
        assert_eq!(
            unknown("condition", "tetx", &known),
            "unknown condition `tetx`, did you mean `text`? known: operation, binding, text"
        );
    }
}
