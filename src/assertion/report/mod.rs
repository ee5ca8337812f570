//! Reports: what an evaluation came to, and the formats it is written in. One file a format, one row in
//! [`FORMATS`].

use std::io;

pub(in crate::assertion) use github::command_line as annotation;
use serde::Serialize;

use super::diagram::Conversation;
use super::finding::{Finding, Status, Verdict, status_of};
use super::nearest::suggestion;

mod github;
mod html;
mod json;
mod junit;
mod markdown;
mod sarif;
mod tap;
mod text;

/// How a suite came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The suite's file, as it was named.
    pub suite: String,
    /// The whole of it.
    pub verdict: Verdict,
    /// How many.
    pub totals: Totals,
    /// The tests, in the order of the file.
    pub tests: Vec<TestResult>,
    /// What the suite asks for that only a driver can do, as `test: key`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_driven: Vec<String>,
}

/// How many tests and assertions came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Tests.
    pub tests: Counts,
    /// Assertions.
    pub assertions: Counts,
}

/// Numbers by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of `Status`")]
pub struct Counts {
    pub held: usize,
    pub failed: usize,
    pub vacuous: usize,
    pub error: usize,
    pub skipped: usize,
}

/// How one test came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub line: usize,
    /// The worst of its assertions.
    pub status: Status,
    /// The session it looked at, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many delegations it looked at.
    pub delegations: usize,
    /// Its assertions, the suite's invariants first.
    pub assertions: Vec<CheckResult>,
    /// What was said, for pages that draw it. Not part of the JSON.
    #[serde(skip)]
    pub conversations: Vec<Conversation>,
}

/// How one assertion came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckResult {
    /// Its kind; `select` for the selection, `ends` for the rule that no delegation ends badly.
    pub kind: String,
    /// As it was written, on one line.
    pub assertion: String,
    /// Where it stands.
    pub line: usize,
    /// The worst of its findings.
    pub status: Status,
    /// What it was held against, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<String>,
    /// What is worth telling however it came out: who judged, what was written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it does not hold; empty when it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// Whether a report for people may use colour. It never carries meaning alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Letters only.
    #[default]
    Plain,
    /// ANSI colours.
    Colour,
}

/// A way to write a report.
trait Format {
    /// What `--format` calls it.
    const NAME: &'static str;
    /// In one line.
    const SUMMARY: &'static str;
    /// The ending of file names that mean it.
    const EXTENSION: &'static str;

    fn write(report: &Report, style: Style, to: &mut dyn io::Write) -> io::Result<()>;
}

/// One row of [`FORMATS`].
#[derive(Clone, Copy)]
pub struct FormatRow {
    /// What `--format` calls it.
    pub name: &'static str,
    /// In one line.
    pub summary: &'static str,
    /// The ending of file names that mean it, without the dot.
    pub extension: &'static str,
    write: fn(&Report, Style, &mut dyn io::Write) -> io::Result<()>,
}

/// All formats, by name.
pub const FORMATS: &[FormatRow] = &[
    FormatRow::of::<github::GitHub>(),
    FormatRow::of::<html::Html>(),
    FormatRow::of::<json::Json>(),
    FormatRow::of::<junit::JUnit>(),
    FormatRow::of::<markdown::Markdown>(),
    FormatRow::of::<sarif::Sarif>(),
    FormatRow::of::<tap::Tap>(),
    FormatRow::of::<text::Text>(),
];

impl FormatRow {
    const fn of<F: Format>() -> Self {
        Self { name: F::NAME, summary: F::SUMMARY, extension: F::EXTENSION, write: F::write }
    }

    /// The format of this name.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let known: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
        FORMATS
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| format!("unknown report format `{name}`{}", suggestion(name, &known)))
    }

    /// The format that a file's name asks for by its ending.
    pub fn for_file(path: &std::path::Path) -> Result<&'static Self, String> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        FORMATS.iter().find(|row| row.extension == ending).ok_or_else(|| {
            let known: Vec<String> =
                FORMATS.iter().map(|row| format!(".{}", row.extension)).collect();
            format!("no report format for {}; known endings: {}", path.display(), known.join(", "))
        })
    }

    /// Writes a report.
    pub fn write(&self, report: &Report, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
        (self.write)(report, style, to)
    }
}

impl std::fmt::Debug for FormatRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("FormatRow").field(&self.name).finish()
    }
}

impl Report {
    pub(super) fn new(suite: &str, tests: Vec<TestResult>, not_driven: Vec<String>) -> Self {
        let mut totals = Totals::default();
        for test in &tests {
            totals.tests.add(test.status);
            for check in &test.assertions {
                totals.assertions.add(check.status);
            }
        }
        let verdict = tests.iter().map(TestResult::verdict).max().unwrap_or(Verdict::CouldNotRun);
        Self { suite: suite.to_owned(), verdict, totals, tests, not_driven }
    }

    /// The verdict when nothing may be skipped (`--strict`).
    pub fn strict_verdict(&self) -> Verdict {
        let skipped = self.totals.tests.skipped + self.totals.assertions.skipped;
        if skipped > 0 { self.verdict.max(Verdict::Failed) } else { self.verdict }
    }
}

impl TestResult {
    pub(super) fn new(name: &str, line: usize, assertions: Vec<CheckResult>) -> Self {
        let status = assertions.iter().map(|check| check.status).max().unwrap_or(Status::Vacuous);
        let (name, conversations) = (name.to_owned(), Vec::new());
        Self { name, line, status, session: None, delegations: 0, assertions, conversations }
    }

    fn verdict(&self) -> Verdict {
        match self.status {
            Status::Held | Status::Skipped => Verdict::Held,
            Status::Failed | Status::Vacuous => Verdict::Failed,
            Status::Error => Verdict::CouldNotRun,
        }
    }
}

impl CheckResult {
    pub(super) fn new(kind: &str, assertion: &str, line: usize, findings: Vec<Finding>) -> Self {
        let status = status_of(&findings);
        let (kind, assertion) = (kind.to_owned(), assertion.to_owned());
        Self { kind, assertion, line, status, looked_at: None, notes: Vec::new(), findings }
    }
}

impl Counts {
    fn add(&mut self, status: Status) {
        match status {
            Status::Held => self.held += 1,
            Status::Failed => self.failed += 1,
            Status::Vacuous => self.vacuous += 1,
            Status::Error => self.error += 1,
            Status::Skipped => self.skipped += 1,
        }
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.held + self.failed + self.vacuous + self.error + self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_here_has_its_row_and_rows_are_sorted() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assertion/report");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let rows: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
        assert_eq!(rows, files);
    }

    #[test]
    fn a_format_is_found_by_name_and_by_the_ending_of_a_file() {
        assert_eq!(FormatRow::named("junit").unwrap().name, "junit");
        assert_eq!(
            FormatRow::named("jnuit").unwrap_err(),
            "unknown report format `jnuit`; did you mean `junit`?"
        );
        let path = std::path::Path::new("out/report.xml");
        assert_eq!(FormatRow::for_file(path).unwrap().name, "junit");
        assert!(FormatRow::for_file(std::path::Path::new("report")).is_err());
    }
}
