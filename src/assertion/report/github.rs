//! For GitHub Actions: a workflow command for each assertion that does not hold, so that it is shown at
//! its line of the suite. What goes into the step's summary is `markdown`.

use std::io;

use super::super::finding::Status;
use super::text::Text;
use super::{CheckResult, Format, Report, Style, TestResult};

pub(super) struct GitHub;

impl Format for GitHub {
    const NAME: &'static str = "github";
    const SUMMARY: &'static str = "annotations of GitHub Actions";
    const EXTENSION: &'static str = "github";

    fn write(report: &Report, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
        Text::write(report, style, to)?;
        for test in &report.tests {
            for check in &test.assertions {
                annotate(report, test, check, to)?;
            }
        }
        Ok(())
    }
}

fn annotate(
    report: &Report,
    test: &TestResult,
    check: &CheckResult,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let command = match check.status {
        Status::Held => return Ok(()),
        Status::Skipped => "notice",
        Status::Vacuous | Status::Failed | Status::Error => "error",
    };
    for finding in &check.findings {
        let told = format!(
            "{}\nexpected {}\nactual {}",
            check.assertion, finding.expected, finding.actual
        );
        writeln!(to, "{}", command_line(command, &report.suite, check.line, &test.name, &told))?;
    }
    Ok(())
}

/// One workflow command. Its own marks are escaped in what a peer may have said.
pub(in crate::assertion) fn command_line(
    command: &str,
    file: &str,
    line: usize,
    title: &str,
    text: &str,
) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    let line = if line == 0 { String::new() } else { format!(",line={line}") };
    let file = if file.is_empty() { String::new() } else { format!("file={}", property(file)) };
    let separator = if file.is_empty() { "" } else { "," };
    format!("::{command} {file}{line}{separator}title={}::{}", property(title), data(text))
}
