//! `${NAME}` from the environment: after parsing, in values only.
//!
//! What a variable holds can therefore never become structure: a `: ` or a line feed in it stays
//! text. `$${NAME}` stands for the words `${NAME}`.

use super::error::Fault;
use super::tree::{Node, Scalar, Value};

/// Where variables come from; the process environment, but for tests.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What was put in, so that no error message repeats a secret.
#[derive(Clone, Default)]
pub(super) struct Expanded(Vec<(String, String)>);

impl Expanded {
    /// The message with every value that was put in replaced by the name it came from.
    pub(super) fn mask(&self, message: &str) -> String {
        let mut masked = message.to_owned();
        for (name, value) in &self.0 {
            masked = masked.replace(value.as_str(), &format!("${{{name}}}"));
        }
        masked
    }
}

/// Puts the variables into every value of the tree. A missing or empty one is a fault at its place.
pub(super) fn expand(node: &mut Node, environment: Environment<'_>) -> (Expanded, Vec<Fault>) {
    let mut expanded = Expanded::default();
    let mut faults = Vec::new();
    visit(node, environment, &mut expanded, &mut faults);
    // The longest first, so that one value inside of another is not left half shown.
    expanded.0.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
    (expanded, faults)
}

fn visit(
    node: &mut Node,
    environment: Environment<'_>,
    expanded: &mut Expanded,
    faults: &mut Vec<Fault>,
) {
    let at = node.at;
    match &mut node.value {
        Value::Scalar(scalar @ Scalar::Text, text) if text.contains("${") => {
            match replace(text, environment, expanded) {
                Ok(replaced) => {
                    *text = replaced;
                    *scalar = Scalar::Expanded;
                }
                Err(trouble) => faults.push(trouble.at(at)),
            }
        }
        Value::Scalar(..) => {}
        Value::List(items) => {
            for item in items {
                visit(item, environment, expanded, faults);
            }
        }
        Value::Map(members) => {
            for (_, member) in members {
                visit(member, environment, expanded, faults);
            }
        }
    }
}

/// Why a value could not be put together.
enum Trouble {
    Missing(String),
    Empty(String),
    Malformed(String),
}

impl Trouble {
    fn at(self, place: super::error::Place) -> Fault {
        match self {
            Self::Missing(name) => {
                Fault::new(place, format!("the environment variable `{name}` is not set"))
                    .with_hint(format!("set {name}, or write $${{{name}}} for these very words"))
            }
            Self::Empty(name) => {
                Fault::new(place, format!("the environment variable `{name}` is empty"))
                    .with_hint(format!("give {name} a value"))
            }
            Self::Malformed(text) => {
                Fault::new(place, format!("`{text}` names no environment variable"))
                    .with_hint("write ${NAME}, or $${ for the words `${`")
            }
        }
    }
}

fn replace(
    text: &str,
    environment: Environment<'_>,
    expanded: &mut Expanded,
) -> Result<String, Trouble> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = after;
            continue;
        }
        out.push_str(before);
        let (name, after) = match after.split_once('}') {
            Some((name, after)) if is_name(name) => (name, after),
            Some((name, _)) => return Err(Trouble::Malformed(format!("${{{name}}}"))),
            None => return Err(Trouble::Malformed(format!("${{{after}"))),
        };
        let value = environment(name).ok_or_else(|| Trouble::Missing(name.to_owned()))?;
        if value.is_empty() {
            return Err(Trouble::Empty(name.to_owned()));
        }
        out.push_str(&value);
        expanded.0.push((name.to_owned(), value));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn is_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("s3cret: [x]".to_owned()),
            "PORT" => Some("8100".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn expanded(source: &str) -> Result<Node, String> {
        let mut node = Node::parse(source).unwrap().unwrap();
        let (_, faults) = expand(&mut node, &environment);
        match faults.into_iter().next() {
            Some(fault) => Err(format!("{}:{}: {}", fault.at.line, fault.at.column, fault.text)),
            None => Ok(node),
        }
    }

    #[track_caller]
    fn check(value: &str, expected: &str) {
        let text = match expanded(&format!("key: {value}\n")) {
            Ok(node) => node.member("key").unwrap().text().unwrap().to_owned(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(text, expected, "{value}");
    }

    #[test]
    fn variables_are_put_into_values() {
        check("\"Bearer ${TOKEN}\"", "Bearer s3cret: [x]");
        check("127.0.0.1:${PORT}", "127.0.0.1:8100");
        check("\"$${TOKEN} and ${PORT}\"", "${TOKEN} and 8100");
        check("\"$.a.b\"", "$.a.b");
    }

    #[test]
    fn a_variable_that_is_missing_or_empty_is_told_with_its_place() {
        check("${MISSING}", "error: 1:6: the environment variable `MISSING` is not set");
        check("\"x${EMPTY}\"", "error: 1:6: the environment variable `EMPTY` is empty");
        check("\"${not a name}\"", "error: 1:6: `${not a name}` names no environment variable");
        check("\"${open\"", "error: 1:6: `${open` names no environment variable");
    }

    #[test]
    fn keys_stay_as_they_are() {
        let node = expanded("\"${PORT}\": 1\n").unwrap();
        assert!(node.member("${PORT}").is_some());
    }

    #[test]
    fn a_message_does_not_repeat_what_was_put_in() {
        let mut node = Node::parse("key: \"${TOKEN}\"\n").unwrap().unwrap();
        let (expanded, _) = expand(&mut node, &environment);
        assert_eq!(expanded.mask("`s3cret: [x]` is no URL"), "`${TOKEN}` is no URL");
    }
}
