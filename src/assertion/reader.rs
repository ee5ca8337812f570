//! Reading a suite's tree: every mistake is noted with its place, and reading goes on.
//!
//! A reading function returns `None` after it has noted why, so that callers need no error type of
//! their own and the user is told all mistakes of a file in one go.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use regex::Regex;
use serde_json::{Number, Value};

use super::nearest::suggestion;
use super::yaml::{Key, Node, Position, Yaml};
use crate::base::units;

/// Where the values of `${NAME}` come from; `None` for a name that is not set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The prefix of a name whose value another test's agent returned: `${captured.NAME}`.
pub(super) const CAPTURED: &str = "captured.";

/// Octets of compiled program one regular expression may take. `\w{1000}` alone takes a few MiB.
const REGEX_BYTES_MAX: usize = 10 << 20;

/// One mistake in a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteProblem {
    /// Where.
    pub at: Position,
    /// What, and what to write instead.
    pub text: String,
    /// The line as it stands in the file.
    pub snippet: String,
}

/// Why a suite could not be read: every mistake that was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SuiteError {
    /// The file, as it was named.
    pub file: String,
    /// The mistakes, in the order of the file. Never empty.
    pub problems: Vec<SuiteProblem>,
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let Position { line, column, len } = problem.at;
            write!(f, "{}:{line}:{column}: {}", self.file, problem.text)?;
            if !problem.snippet.is_empty() {
                let gutter = line.to_string();
                let room =
                    problem.snippet.chars().count().saturating_sub(column.saturating_sub(1)).max(1);
                write!(
                    f,
                    "\n  {gutter} | {}\n  {:width$} | {:indent$}{}",
                    problem.snippet,
                    "",
                    "",
                    "^".repeat(len.min(room)),
                    width = gutter.len(),
                    indent = column.saturating_sub(1),
                )?;
            }
        }
        Ok(())
    }
}

/// A value and how the suite writes it: a report shows what was written, never the value of a variable,
/// which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown<T> {
    pub(super) value: T,
    pub(super) written: String,
}

/// Notes mistakes and knows the variables.
pub(super) struct Reader<'a> {
    lines: Vec<&'a str>,
    variables: Variables<'a>,
    problems: Vec<SuiteProblem>,
    captures: Vec<String>,
    used: BTreeMap<String, String>,
    secrets: Vec<String>,
    awaited: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, variables: Variables<'a>) -> Self {
        let lines = text.lines().collect();
        Self {
            lines,
            variables,
            problems: Vec::new(),
            captures: Vec::new(),
            used: BTreeMap::new(),
            secrets: Vec::new(),
            awaited: Vec::new(),
        }
    }

    /// The mistakes so far, in the order of the file.
    pub(super) fn finish(mut self) -> Vec<SuiteProblem> {
        self.problems.sort_by_key(|problem| (problem.at.line, problem.at.column));
        self.problems.dedup();
        self.problems
    }

    /// Notes a mistake.
    pub(super) fn problem(&mut self, at: Position, text: impl Into<String>) {
        let snippet = at.line.checked_sub(1).and_then(|index| self.lines.get(index));
        let snippet = snippet.map_or(String::new(), |line| line.replace('\t', " "));
        self.problems.push(SuiteProblem { at, text: text.into(), snippet });
    }

    /// Notes that something else was expected.
    pub(super) fn expected(&mut self, what: &str, node: &Node) {
        self.problem(node.at, format!("expected {what}, found {}", node.what()));
    }

    /// Makes `${captured.NAME}` known while the assertions of one test are read.
    pub(super) fn set_captures(&mut self, names: Vec<String>) {
        self.captures = names;
    }

    /// The captured values that were asked for since this was last called.
    pub(super) fn awaited(&mut self) -> Vec<String> {
        std::mem::take(&mut self.awaited)
    }

    /// The values that were asked for as secrets so far: by keys like `not_contains_env`.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.clone()
    }

    /// The variables that were put in so far, for what must be read again later.
    pub(super) fn used(&self) -> BTreeMap<String, String> {
        self.used.clone()
    }

    /// A text, its variables put in.
    pub(super) fn text(&mut self, node: &Node) -> Option<String> {
        self.shown_text(node).map(|shown| shown.value)
    }

    /// A text, its variables put in, and as it was written.
    pub(super) fn shown_text(&mut self, node: &Node) -> Option<Shown<String>> {
        let written = match &node.value {
            Yaml::Text(text) => text.clone(),
            Yaml::Number(number) => number.to_string(),
            Yaml::Null | Yaml::Bool(_) | Yaml::List(_) | Yaml::Map(_) => {
                self.expected("a text", node);
                return None;
            }
        };
        let value = self.expand(&written, node.at);
        Some(Shown { value, written: format!("{written:?}") })
    }

    /// A word that is used as a name: no variables, not empty.
    pub(super) fn name(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node)?;
        if text.trim().is_empty() {
            self.problem(node.at, "expected a name, found an empty text");
            return None;
        }
        Some(text)
    }

    /// One name or a list of them; not empty.
    pub(super) fn names(&mut self, node: &Node) -> Option<Vec<String>> {
        match &node.value {
            Yaml::List(items) if items.is_empty() => {
                self.problem(node.at, "expected at least one name");
                None
            }
            Yaml::List(items) => items.iter().map(|item| self.name(item)).collect(),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                self.name(node).map(|name| vec![name])
            }
        }
    }

    /// One text or a list of them; not empty, and none of them empty, because every text contains an
    /// empty one.
    pub(super) fn shown_texts(&mut self, node: &Node) -> Option<Vec<Shown<String>>> {
        let texts: Vec<Shown<String>> = match &node.value {
            Yaml::List(items) => {
                items.iter().map(|item| self.shown_text(item)).collect::<Option<_>>()?
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                vec![self.shown_text(node)?]
            }
        };
        if texts.is_empty() || texts.iter().any(|text| text.value.is_empty()) {
            self.problem(
                node.at,
                "expected a text that is not empty: every text contains an empty one",
            );
            return None;
        }
        Some(texts)
    }

    /// One of these words.
    pub(super) fn word<T: Copy>(&mut self, node: &Node, known: &[(&'static str, T)]) -> Option<T> {
        let text = self.text(node)?;
        if let Some((_, value)) = known.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        self.problem(node.at, format!("unknown word `{text}`{}", suggestion(&text, &words)));
        None
    }

    /// Anything that reads itself from a text and says why it cannot.
    pub(super) fn parsed<T: std::str::FromStr<Err = String>>(&mut self, node: &Node) -> Option<T> {
        match self.text(node)?.parse() {
            Ok(value) => Some(value),
            Err(why) => {
                self.problem(node.at, why);
                None
            }
        }
    }

    /// One or a list of things that read themselves.
    pub(super) fn parsed_list<T: std::str::FromStr<Err = String>>(
        &mut self,
        node: &Node,
    ) -> Option<Vec<T>> {
        match &node.value {
            Yaml::List(items) => items.iter().map(|item| self.parsed(item)).collect(),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::Map(_) => {
                self.parsed(node).map(|one| vec![one])
            }
        }
    }

    /// `true` or `false`.
    pub(super) fn truth(&mut self, node: &Node) -> Option<bool> {
        match node.value {
            Yaml::Bool(value) => Some(value),
            Yaml::Null | Yaml::Number(_) | Yaml::Text(_) | Yaml::List(_) | Yaml::Map(_) => {
                self.expected("true or false", node);
                None
            }
        }
    }

    /// A number.
    pub(super) fn number(&mut self, node: &Node) -> Option<Number> {
        match &node.value {
            Yaml::Number(number) => Some(number.clone()),
            Yaml::Text(text) if text.contains("${") => {
                let text = self.expand(text, node.at);
                let number = serde_json::from_str(&text).ok();
                if number.is_none() {
                    self.problem(node.at, "the variable's value is no number");
                }
                number
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Text(_) | Yaml::List(_) | Yaml::Map(_) => {
                self.expected("a number", node);
                None
            }
        }
    }

    /// A number of seconds or of anything that is not negative.
    pub(super) fn amount(&mut self, node: &Node) -> Option<f64> {
        let number = self.number(node)?.as_f64()?;
        if number < 0.0 {
            self.problem(node.at, "expected a number that is not negative");
            return None;
        }
        Some(number)
    }

    /// A duration like `10s`; a plain number is seconds.
    pub(super) fn duration(&mut self, node: &Node) -> Option<Duration> {
        if let Yaml::Number(_) = node.value {
            let seconds = Duration::try_from_secs_f64(self.amount(node)?);
            return seconds.map_err(|why| self.problem(node.at, why.to_string())).ok();
        }
        let text = self.text(node)?;
        units::duration(&text).map_err(|why| self.problem(node.at, why)).ok()
    }

    /// A whole number from 0.
    pub(super) fn count(&mut self, node: &Node) -> Option<usize> {
        let number = self.number(node)?;
        let count = number.as_u64().and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            self.problem(node.at, format!("expected a whole number from 0, found {number}"));
        }
        count
    }

    /// A regular expression. Matching takes time in proportion to the text, whatever the expression.
    pub(super) fn regex(&mut self, node: &Node) -> Option<Shown<Regex>> {
        let Shown { value, written } = self.shown_text(node)?;
        match regex::RegexBuilder::new(&value).size_limit(REGEX_BYTES_MAX).build() {
            Ok(value) => Some(Shown { value, written }),
            Err(error) => {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.problem(node.at, format!("no regular expression: {why}"));
                None
            }
        }
    }

    /// Any value.
    pub(super) fn json(&mut self, node: &Node) -> Shown<Value> {
        let value = node.to_json(&mut |text, at| self.expand_json(text, at));
        let written = node.to_json(&mut |text, _| Value::String(text.to_owned())).to_string();
        Shown { value, written }
    }

    /// The value of an environment variable named by a key like `not_contains_env`.
    pub(super) fn environment(&mut self, node: &Node) -> Option<Shown<String>> {
        let name = self.name(node)?;
        let value = self.variable(&name, node.at)?;
        self.secrets.push(value.clone());
        Some(Shown { value, written: name })
    }

    /// A text that is nothing but one captured value is that value, whatever its type.
    fn expand_json(&mut self, text: &str, at: Position) -> Value {
        let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        match whole {
            Some(name) if name.starts_with(CAPTURED) => {
                let value = self.variable(name, at).unwrap_or_default();
                serde_json::from_str(&value).unwrap_or(Value::String(value))
            }
            Some(_) | None => Value::String(self.expand(text, at)),
        }
    }

    /// Puts in `${NAME}`; `{{secrets.NAME}}`, which other tools' suites write, is the same; `$${` is `${`.
    fn expand(&mut self, text: &str, at: Position) -> String {
        let mut done = String::new();
        let mut rest = text;
        loop {
            let marks = ["$${", "${", "{{secrets."];
            let next = marks.iter().filter_map(|mark| rest.find(mark).map(|at| (at, *mark))).min();
            let Some((index, mark)) = next else { break };
            let (before, from) = rest.split_at(index);
            done.push_str(before);
            let after = from.strip_prefix(mark).unwrap_or_default();
            if mark == "$${" {
                done.push_str("${");
                rest = after;
                continue;
            }
            let Some((name, behind)) = after.split_once(if mark == "${" { "}" } else { "}}" })
            else {
                self.problem(
                    at,
                    format!("`{mark}` without its end; write `$${{` for a plain `${{`"),
                );
                return done;
            };
            let value = self.variable(name.trim(), at).unwrap_or_default();
            match serde_json::from_str(&value) {
                Ok(Value::String(bare)) if name.trim().starts_with(CAPTURED) => {
                    done.push_str(&bare);
                }
                Ok(_) | Err(_) => done.push_str(&value),
            }
            rest = behind;
        }
        done.push_str(rest);
        done
    }

    fn variable(&mut self, name: &str, at: Position) -> Option<String> {
        let value = (self.variables)(name).filter(|value| !value.is_empty());
        if let Some(value) = value {
            self.used.insert(name.to_owned(), value.clone());
            return Some(value);
        }
        if let Some(capture) = name.strip_prefix(CAPTURED) {
            if self.captures.iter().any(|known| known == capture) {
                // Read again with the true value before it is judged; this one fits any place.
                self.awaited.push(capture.to_owned());
                return Some("0".to_owned());
            }
            let known: Vec<&str> = self.captures.iter().map(String::as_str).collect();
            let hint = suggestion(capture, &known);
            self.problem(at, format!("nothing is captured as `{capture}` in this test{hint}"));
            return None;
        }
        self.problem(at, format!("the variable `{name}` is not set, or empty"));
        None
    }
}

/// The entries of a map, taken one by one; what is not taken is unknown.
pub(super) struct Fields<'n> {
    at: Position,
    entries: Vec<(&'n Key, &'n Node)>,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The entries of `node`, which must be a map; `form` says what to write instead.
    pub(super) fn of(node: &'n Node, form: &str, reader: &mut Reader<'_>) -> Option<Self> {
        match &node.value {
            Yaml::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key, node)).collect();
                Some(Self { at: node.at, entries, known: Vec::new() })
            }
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) | Yaml::List(_) => {
                reader.expected(form, node);
                None
            }
        }
    }

    /// Where the map stands.
    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// Takes an entry.
    pub(super) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.take_entry(name).map(|(_, node)| node)
    }

    /// Takes an entry with its key.
    pub(super) fn take_entry(&mut self, name: &'static str) -> Option<(&'n Key, &'n Node)> {
        self.known.push(name);
        let index = self.entries.iter().position(|(key, _)| key.name == name)?;
        Some(self.entries.remove(index))
    }

    /// Takes an entry that must be there.
    pub(super) fn need(&mut self, name: &'static str, reader: &mut Reader<'_>) -> Option<&'n Node> {
        let node = self.take(name);
        if node.is_none() {
            reader.problem(self.at, format!("`{name}` is missing"));
        }
        node
    }

    /// What is left, for maps whose keys are not fixed.
    pub(super) fn rest(self) -> Vec<(&'n Key, &'n Node)> {
        self.entries
    }

    /// Whatever is left is unknown.
    pub(super) fn finish(self, reader: &mut Reader<'_>) {
        let mut known = self.known;
        known.sort_unstable();
        known.dedup();
        for (key, _) in &self.entries {
            let hint = suggestion(&key.name, &known);
            reader.problem(key.at, format!("unknown key `{}`{hint}", key.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let variables = |name: &str| match name {
            "TOKEN" => Some("s3cret".to_owned()),
            "captured.ref" => Some("\"RF-889\"".to_owned()),
            "captured.n" => Some("7".to_owned()),
            _ => None,
        };
        let mut reader = Reader::new(text, &variables);
        let node = Node::parse(text).unwrap();
        let json = reader.json(&node).value;
        let problems = reader.finish();
        let actual = match problems.first() {
            Some(problem) => format!("{}: {}", problem.at.column, problem.text),
            None => json.to_string(),
        };
        assert_eq!(actual, expected, "{text}");
    }

    #[test]
    fn variables_are_put_into_values() {
        check("'Bearer ${TOKEN}'", r#""Bearer s3cret""#);
        check("'{{secrets.TOKEN}}!'", r#""s3cret!""#);
        check("'$${TOKEN} costs $5'", r#""${TOKEN} costs $5""#);
        check("'${NOPE}'", "1: the variable `NOPE` is not set, or empty");
        check("['x', '${TOKEN']", "7: `${` without its end; write `$${` for a plain `${`");
    }

    #[test]
    fn a_captured_value_keeps_its_type_when_it_stands_alone() {
        check("'${captured.n}'", "7");
        check("'${captured.ref}'", r#""RF-889""#);
        check("'ref ${captured.ref}, n ${captured.n}'", r#""ref RF-889, n 7""#);
        check("'${captured.x}'", "1: nothing is captured as `x` in this test");
    }

    #[test]
    fn an_error_shows_the_line_and_points_at_the_word() {
        let text = "version: 1\ntests:\n  - nmae: x\n";
        let mut reader = Reader::new(text, &|_| None);
        reader.problem(Position { line: 3, column: 5, len: 4 }, "unknown key `nmae`");
        let error = SuiteError { file: "s.yaml".to_owned(), problems: reader.finish() };
        assert_eq!(
            error.to_string(),
            "s.yaml:3:5: unknown key `nmae`\n  3 |   - nmae: x\n    |     ^^^^"
        );
    }
}
