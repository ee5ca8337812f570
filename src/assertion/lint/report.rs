//! What the lint found, for people and for programs.

use std::io;

use serde::Serialize;

use super::super::nearest::suggestion;
use super::super::quote::{plain, plural};
use super::super::report::{Style, annotation};
use super::super::sarif::{SarifResult, SarifRule, document};
use super::{Flaw, Level, all};

/// Places that a report for people names of one rule; the rest are counted.
const PLACES_MAX: usize = 5;

/// What the lint found.
#[derive(Clone, Debug, Serialize)]
pub struct LintReport {
    /// How many exchanges were looked at.
    pub exchanges: usize,
    /// What is wrong, oldest first.
    pub flaws: Vec<Listed>,
    /// How many a kept list accepted.
    pub accepted: usize,
}

/// One flaw, with the name that `meddler show` takes.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// `x-1234abcd`
    pub show: String,
    /// What is wrong.
    #[serde(flatten)]
    pub flaw: Flaw,
}

/// A way to write it.
#[derive(Clone, Copy)]
pub struct LintFormat {
    /// What `--format` calls it.
    pub name: &'static str,
    /// The ending of file names that mean it, without the dot.
    pub extension: &'static str,
    write: fn(&LintReport, Style, &mut dyn io::Write) -> io::Result<()>,
}

/// All formats, by name.
pub const LINT_FORMATS: &[LintFormat] = &[
    LintFormat { name: "github", extension: "github", write: github },
    LintFormat { name: "json", extension: "json", write: json },
    LintFormat { name: "sarif", extension: "sarif", write: sarif },
    LintFormat { name: "text", extension: "txt", write: text },
];

impl LintFormat {
    /// The format of this name.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let known: Vec<&str> = LINT_FORMATS.iter().map(|row| row.name).collect();
        LINT_FORMATS
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| format!("unknown report format `{name}`{}", suggestion(name, &known)))
    }

    /// The format that a file's name asks for by its ending.
    pub fn for_file(path: &std::path::Path) -> Result<&'static Self, String> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        LINT_FORMATS.iter().find(|row| row.extension == ending).ok_or_else(|| {
            let known: Vec<String> =
                LINT_FORMATS.iter().map(|row| format!(".{}", row.extension)).collect();
            format!("no report format for {}; known endings: {}", path.display(), known.join(", "))
        })
    }

    /// Writes a report.
    pub fn write(
        &self,
        report: &LintReport,
        style: Style,
        to: &mut dyn io::Write,
    ) -> io::Result<()> {
        (self.write)(report, style, to)
    }
}

impl std::fmt::Debug for LintFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LintFormat").field(&self.name).finish()
    }
}

impl LintReport {
    /// How many flaws are of this level.
    pub fn count(&self, level: Level) -> usize {
        self.flaws.iter().filter(|listed| listed.flaw.level == level).count()
    }
}

/// By rule, the binding ones first: one mistake of an agent is usually made many times.
fn text(report: &LintReport, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    for level in [Level::Must, Level::Should] {
        for rule in all().filter(|rule| rule.level == level) {
            let broken: Vec<&Listed> =
                report.flaws.iter().filter(|listed| listed.flaw.rule == rule.id).collect();
            let Some(first) = broken.first() else { continue };
            let id = style.strong(rule.id);
            let section = &first.flaw.section;
            writeln!(to, "{:6} {id}  {} ({section})", level.as_str(), rule.summary)?;
            for Listed { show, flaw } in broken.iter().take(PLACES_MAX) {
                let (at, text) = (plain(&flaw.at), plain(&flaw.text));
                writeln!(to, "       meddler show {show}  {}  {at}: {text}", flaw.agent)?;
            }
            if let Some(more) = broken.len().checked_sub(PLACES_MAX).filter(|more| *more > 0) {
                writeln!(to, "       and {more} more")?;
            }
        }
    }
    let accepted = match report.accepted {
        0 => String::new(),
        count => format!(", {count} accepted"),
    };
    let (must, should) = (report.count(Level::Must), report.count(Level::Should));
    let exchanges = plural(report.exchanges, "exchange");
    writeln!(to, "{exchanges}: {must} against a must, {should} against a should{accepted}")
}

fn json(report: &LintReport, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, report)?;
    writeln!(to)
}

fn sarif(report: &LintReport, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
    let rules: Vec<SarifRule> = all()
        .map(|rule| SarifRule {
            id: rule.id.to_owned(),
            text: rule.summary.to_owned(),
            help: format!(
                "{}. A2A 1.0 §{}, 0.3 §{}",
                rule.summary,
                or_none(rule.section_v1_0),
                or_none(rule.section_v0_3)
            ),
        })
        .collect();
    let results: Vec<SarifResult> = report
        .flaws
        .iter()
        .map(|Listed { show, flaw }| SarifResult {
            rule: flaw.rule.to_owned(),
            level: match flaw.level {
                Level::Must => "error",
                Level::Should => "warning",
            },
            text: plain(&format!("{}: {}: {}", flaw.agent, flaw.at, flaw.text)),
            file: None,
            places: vec![show.clone()],
        })
        .collect();
    serde_json::to_writer_pretty(&mut *to, &document(&rules, &results))?;
    writeln!(to)
}

fn github(report: &LintReport, style: Style, to: &mut dyn io::Write) -> io::Result<()> {
    text(report, style, to)?;
    for Listed { show, flaw } in &report.flaws {
        let command = match flaw.level {
            Level::Must => "error",
            Level::Should => "warning",
        };
        let text = plain(&format!("{} {show}: {}: {}", flaw.agent, flaw.at, flaw.text));
        writeln!(to, "{}", annotation(command, "", 0, flaw.rule, &text))?;
    }
    Ok(())
}

fn or_none(section: &str) -> &str {
    if section.is_empty() { "(none)" } else { section }
}
