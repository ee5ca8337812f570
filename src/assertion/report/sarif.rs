//! For code scanning: each assertion that does not hold, at its line of the suite.

use std::io;

use super::super::finding::Status;
use super::super::kinds::KINDS;
use super::super::sarif::{SarifResult, SarifRule, document};
use super::{Format, Report, Style};

pub(super) struct Sarif;

impl Format for Sarif {
    const NAME: &'static str = "sarif";
    const SUMMARY: &'static str = "SARIF 2.1.0, for code scanning";
    const EXTENSION: &'static str = "sarif";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        let mut rules: Vec<SarifRule> = Vec::new();
        let mut results = Vec::new();
        for test in &report.tests {
            for check in &test.assertions {
                let level = match check.status {
                    Status::Held => continue,
                    Status::Skipped => "note",
                    Status::Vacuous | Status::Failed | Status::Error => "error",
                };
                if rules.iter().all(|rule| rule.id != check.kind) {
                    rules.push(rule(&check.kind));
                }
                results.extend(check.findings.iter().map(|finding| SarifResult {
                    rule: check.kind.clone(),
                    level,
                    text: format!(
                        "{}: {}: expected {}, actual {}",
                        test.name, check.assertion, finding.expected, finding.actual
                    ),
                    file: Some((report.suite.clone(), check.line)),
                    places: finding.evidence.iter().map(|proof| proof.show.clone()).collect(),
                }));
            }
        }
        serde_json::to_writer_pretty(&mut *to, &document(&rules, &results))?;
        writeln!(to)
    }
}

fn rule(kind: &str) -> SarifRule {
    let row = KINDS.iter().find(|row| row.name == kind);
    let text = match (row, kind) {
        (Some(row), _) => row.summary,
        (None, "ends") => "no delegation ends badly, unless the test expects it",
        (None, "select") => "the selection has a delegation",
        (None, _) => "what is captured is there",
    };
    let example = row.and_then(|row| row.examples.first()).copied().unwrap_or_default();
    SarifRule { id: kind.to_owned(), text: text.to_owned(), help: format!("{text}. {example}") }
}
