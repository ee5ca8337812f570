//! For harnesses that read the Test Anything Protocol, version 14: a test of the suite is a test point,
//! its assertions are the subtest.

use std::io;

use super::super::finding::Status;
use super::{CheckResult, Format, Report, Style};

pub(super) struct Tap;

impl Format for Tap {
    const NAME: &'static str = "tap";
    const SUMMARY: &'static str = "the Test Anything Protocol, version 14";
    const EXTENSION: &'static str = "tap";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        writeln!(to, "TAP version 14")?;
        writeln!(to, "1..{}", report.tests.len())?;
        for (number, test) in (1..).zip(&report.tests) {
            writeln!(to, "# Subtest: {}", escaped(&test.name))?;
            writeln!(to, "    1..{}", test.assertions.len())?;
            for (number, check) in (1..).zip(&test.assertions) {
                point(to, "    ", number, check.status, &check.assertion)?;
                diagnosis(to, check)?;
            }
            point(to, "", number, test.status, &test.name)?;
        }
        Ok(())
    }
}

fn point(
    to: &mut dyn io::Write,
    indent: &str,
    number: usize,
    status: Status,
    name: &str,
) -> io::Result<()> {
    let (word, directive) = match status {
        Status::Held => ("ok", ""),
        Status::Skipped => ("ok", " # SKIP could not be judged here"),
        Status::Vacuous | Status::Failed | Status::Error => ("not ok", ""),
    };
    writeln!(to, "{indent}{word} {number} - {}{directive}", escaped(name))
}

/// The findings as the YAML block that the protocol allows after a point.
fn diagnosis(to: &mut dyn io::Write, check: &CheckResult) -> io::Result<()> {
    if check.findings.is_empty() || check.status == Status::Skipped {
        return Ok(());
    }
    writeln!(to, "      ---")?;
    writeln!(to, "      status: {}", check.status.as_str())?;
    writeln!(to, "      line: {}", check.line)?;
    writeln!(to, "      findings:")?;
    for finding in &check.findings {
        writeln!(to, "        - expected: {}", json(&finding.expected))?;
        writeln!(to, "          actual: {}", json(&finding.actual))?;
        if !finding.evidence.is_empty() {
            let shown: Vec<&str> = finding.evidence.iter().map(|it| it.show.as_str()).collect();
            writeln!(to, "          proof: {}", json(&shown.join(" ")))?;
        }
    }
    writeln!(to, "      ...")
}

/// A JSON text is a YAML text.
fn json(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// `#` begins a directive, and a line is one line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('#', "\\#").replace(['\r', '\n'], " ")
}
