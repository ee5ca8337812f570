//! A program of the user's that judges: the way out for whatever the language does not say.

use std::time::Duration;

use super::super::finding::Finding;
use super::super::outside::CommandCall;
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::transcript;
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// A command that exits with 0.
#[derive(Debug)]
pub(super) struct Command {
    run: Vec<String>,
    timeout: Duration,
}

/// How long a command may take when it is not told.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Named for Command {
    const NAME: &'static str = "command";
    const SUMMARY: &'static str = "a command exits with 0; it gets `{\"delegations\": [...]}`, canonical, on standard input; no shell; only with --allow-commands";
    const EXAMPLES: &'static [&'static str] = &[
        "command: { run: [python3, check.py, --strict], timeout: 10s }",
        "command: [jq, -e, \".delegations | length > 0\"]",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::List(_) = body.value {
            return Some(Self { run: arguments(body, reader)?, timeout: TIMEOUT });
        }
        let form = "a list or a map like { run: [python3, check.py] }";
        let mut fields = Fields::of(body, form, reader)?;
        let run = fields.need("run", reader).and_then(|node| arguments(node, reader));
        let timeout = match fields.take("timeout") {
            None => Some(TIMEOUT),
            Some(node) => reader.duration(node),
        };
        fields.finish(reader);
        Some(Self { run: run?, timeout: timeout? })
    }
}

/// The program and its arguments; arguments may be empty, the program may not.
fn arguments(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let Yaml::List(items) = &node.value else {
        reader.expected("a list like [python3, check.py]; no shell reads it", node);
        return None;
    };
    let run: Vec<String> = items.iter().map(|item| reader.text(item)).collect::<Option<_>>()?;
    if run.first().is_none_or(String::is_empty) {
        reader.problem(node.at, "expected the name of a program");
        return None;
    }
    Some(run)
}

impl Assertion for Command {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let program = self.run.first().map_or("", String::as_str);
        let expected = format!("{program} exits with 0");
        if view.delegations.is_empty() {
            let text = "nothing to look at: no delegation is left here";
            return vec![Finding::vacuous(expected, text)];
        }
        let input = transcript::json(view).to_string();
        let call = CommandCall { run: &self.run, input: &input, timeout: self.timeout };
        let ran = match view.outside.command(&call) {
            Ok(ran) => ran,
            Err(why) => return vec![Finding::error(expected, why)],
        };
        let said = match (ran.complaint.trim(), ran.output.trim()) {
            ("", "") => String::new(),
            ("", words) | (words, _) => format!(": {}", quote(words)),
        };
        match ran.code {
            Some(0) => Vec::new(),
            Some(code) => {
                let actual = format!("it exited with {code}{said}");
                let proof = view.messages(|_| true);
                vec![Finding::failed(expected, actual).proved_by(proof)]
            }
            None => {
                let limit = self.timeout.as_secs_f64();
                let actual =
                    format!("it was ended by a signal, or by the limit of {limit} s{said}");
                vec![Finding::error(expected, actual)]
            }
        }
    }
}
