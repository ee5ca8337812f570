//! Delegations against a kept baseline: whether anything changed at all.

use super::super::finding::Finding;
use super::super::normal;
use super::super::overlap::overlap;
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};
use crate::assertion::outside::Baseline;

/// The delegations equal the baseline, ids and times aside.
#[derive(Debug)]
pub(super) struct Golden {
    file: String,
    mode: Mode,
    threshold: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Exact,
    Similar,
}

const MODES: &[(&str, Mode)] = &[("exact", Mode::Exact), ("similar", Mode::Similar)];

/// What `similar` asks for when it is not told.
const THRESHOLD: f64 = 0.8;

impl Named for Golden {
    const NAME: &'static str = "golden";
    const SUMMARY: &'static str = "the delegations equal a kept baseline, ids and times normalised; with `mode: similar` each line of it by its words, from `threshold` (0.8) on; `assert --update-golden` writes it";
    const EXAMPLES: &'static [&'static str] = &[
        "golden: golden/refund.txt",
        "golden: { file: golden/refund.txt, mode: similar, threshold: 0.8 }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Text(_) = body.value {
            return Some(Self {
                file: reader.name(body)?,
                mode: Mode::Exact,
                threshold: THRESHOLD,
            });
        }
        let mut fields = Fields::of(body, "a file or a map like { file: golden/x.txt }", reader)?;
        let file = fields.need("file", reader).and_then(|node| reader.name(node));
        let mode = match fields.take("mode") {
            None => Some(Mode::Exact),
            Some(node) => reader.word(node, MODES),
        };
        let threshold = match fields.take("threshold") {
            None => Some(THRESHOLD),
            Some(node) => reader.amount(node).filter(|it| {
                let is_share = *it > 0.0 && *it <= 1.0;
                if !is_share {
                    reader.problem(node.at, "expected a threshold above 0 and up to 1");
                }
                is_share
            }),
        };
        fields.finish(reader);
        Some(Self { file: file?, mode: mode?, threshold: threshold? })
    }
}

impl Assertion for Golden {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = match self.mode {
            Mode::Exact => format!("as in {}", self.file),
            Mode::Similar => format!("at least {} like {}", self.threshold, self.file),
        };
        if view.delegations.is_empty() {
            let text = "nothing to look at: no delegation is left here";
            return vec![Finding::vacuous(expected, text)];
        }
        let current = normal::text(&view.delegations);
        let kept = match view.outside.baseline(&self.file, &current) {
            Ok(Baseline::Kept(kept)) => kept,
            Ok(Baseline::Made) => {
                view.note(format!("{} was written", self.file));
                return Vec::new();
            }
            Err(why) => return vec![Finding::error(expected, why)],
        };
        let Some(difference) = self.difference(&kept, &current) else { return Vec::new() };
        let finding = Finding::failed(expected, difference)
            .hint("if the change is right, make it the baseline with --update-golden")
            .proved_by(view.messages(|_| true));
        vec![finding]
    }
}

impl Golden {
    /// The first line that differs, with its number.
    fn difference(&self, kept: &str, current: &str) -> Option<String> {
        let (mut before, mut after) = (kept.lines(), current.lines());
        for number in 1.. {
            let (was, is) = (before.next(), after.next());
            let is_same = match (was, is) {
                (None, None) => return None,
                (Some(was), Some(is)) => match self.mode {
                    Mode::Exact => was == is,
                    Mode::Similar => was == is || overlap(was, is) >= self.threshold,
                },
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !is_same {
                let shown = |line: Option<&str>| line.map_or("nothing".to_owned(), quote);
                return Some(format!("line {number}: {} was {}", shown(is), shown(was)));
            }
        }
        None
    }
}
