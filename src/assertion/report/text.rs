//! For people: what failed and why, with the command that shows the proof; then a table and one line that
//! sums it up, last, where a terminal leaves the eye.

use std::io;

use super::super::finding::{Finding, Status, Verdict};
use super::super::quote::plural;
use super::{CheckResult, Format, Report, Style, TestResult};

pub(super) struct Text;

impl Format for Text {
    const NAME: &'static str = "text";
    const SUMMARY: &'static str = "for people";
    const EXTENSION: &'static str = "txt";

    fn write(report: &Report, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
        for test in &report.tests {
            if test.assertions.iter().any(is_told) {
                writeln!(to, "{} {}", style.word(test.status), style.strong(&test.name))?;
                Self::explain(report, test, style, to)?;
            }
        }
        let width = report.tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
        for test in &report.tests {
            let held = test.assertions.iter().filter(|check| check.status == Status::Held).count();
            let of = plural(test.assertions.len(), "assertion");
            let name = &test.name;
            let delegations = plural(test.delegations, "delegation");
            let word = style.word(test.status);
            let session = test.session.as_ref().map_or(String::new(), |name| format!(" in {name}"));
            writeln!(to, "{word} {name:width$}  {held} of {of} held, {delegations}{session}")?;
        }
        for line in &report.not_driven {
            writeln!(to, "not driven: {line}")?;
        }
        writeln!(to, "{}", summary(report, style))
    }
}

impl Text {
    /// Everything that did not hold in a test.
    pub(super) fn explain(
        report: &Report,
        test: &TestResult,
        style: Style,
        to: &mut dyn io::Write,
    ) -> io::Result<()> {
        for check in &test.assertions {
            if is_told(check) {
                explain_check(report, check, style, to)?;
            }
        }
        Ok(())
    }
}

/// Whether there is something to say of an assertion: it does not hold, or it was asked to explain.
fn is_told(check: &CheckResult) -> bool {
    check.status != Status::Held || check.looked_at.is_some() || !check.notes.is_empty()
}

fn explain_check(
    report: &Report,
    check: &CheckResult,
    style: Style,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    writeln!(to, "  {}  ({}:{})", style.strong(&check.assertion), report.suite, check.line)?;
    if let Some(looked_at) = &check.looked_at {
        writeln!(to, "    {:8}  {looked_at}", check.status.as_str())?;
    }
    for note in &check.notes {
        writeln!(to, "    note      {note}")?;
    }
    for finding in &check.findings {
        writeln!(to, "    expected  {}", finding.expected)?;
        let label = match finding.status {
            Status::Skipped => "skipped",
            Status::Error => "problem",
            Status::Held | Status::Vacuous | Status::Failed => "actual",
        };
        writeln!(to, "    {label:8}  {}", finding.actual)?;
        proof(finding, to)?;
        for hint in &finding.hints {
            writeln!(to, "    hint      {hint}")?;
        }
    }
    writeln!(to)
}

fn proof(finding: &Finding, to: &mut dyn io::Write) -> io::Result<()> {
    let width = finding.evidence.iter().map(|proof| proof.agent.chars().count()).max().unwrap_or(0);
    for (index, proof) in finding.evidence.iter().enumerate() {
        let label = if index == 0 { "proof" } else { "" };
        let line = match proof.show.as_str() {
            "" => format!("{:width$}  {}", proof.agent, proof.found),
            show => format!("meddler show {show}  {:width$}  {}", proof.agent, proof.found),
        };
        let faults = match proof.faults.as_slice() {
            [] => String::new(),
            rules => format!("  (fault injected: {})", rules.join(", ")),
        };
        writeln!(to, "    {label:8}  {}{faults}", line.trim_end())?;
    }
    Ok(())
}

fn summary(report: &Report, style: Style) -> String {
    let tests = &report.totals.tests;
    let mut parts = vec![format!("{} of {} held", tests.held, plural(tests.all(), "test"))];
    for (count, word) in [
        (tests.failed, "failed"),
        (tests.vacuous, "found nothing to look at"),
        (tests.error, "could not be judged"),
        (tests.skipped, "skipped"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let skipped = report.totals.assertions.skipped;
    if skipped > 0 {
        parts.push(format!("{} skipped", plural(skipped, "assertion")));
    }
    let line = format!("{}: {}", report.suite, parts.join(", "));
    match report.verdict {
        Verdict::Held => style.paint(GREEN, &line),
        Verdict::Failed | Verdict::CouldNotRun => style.paint(RED, &line),
    }
}

const BOLD: &str = "1";
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";

impl Style {
    /// The status as a word of fixed width, so that it reads without colour.
    fn word(self, status: Status) -> String {
        match status {
            Status::Held => self.paint(GREEN, "ok     "),
            Status::Failed => self.paint(RED, "FAILED "),
            Status::Vacuous => self.paint(RED, "NOTHING"),
            Status::Error => self.paint(RED, "ERROR  "),
            Status::Skipped => self.paint(YELLOW, "skipped"),
        }
    }

    /// What matters most of a line.
    pub(in crate::assertion) fn strong(self, text: &str) -> String {
        self.paint(BOLD, text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}
