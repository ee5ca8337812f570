//! Markdown: the summary of a step of GitHub Actions, or a comment.

use std::io;

use super::super::finding::{Status, Verdict};
use super::{Format, Report, Style};

pub(super) struct Markdown;

impl Format for Markdown {
    const NAME: &'static str = "markdown";
    const SUMMARY: &'static str = "a summary to paste, as GitHub's steps show it";
    const EXTENSION: &'static str = "md";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        let word = match report.verdict {
            Verdict::Held => "held",
            Verdict::Failed => "failed",
            Verdict::CouldNotRun => "could not run",
        };
        writeln!(to, "### {}: {word}\n", escaped(&report.suite))?;
        writeln!(to, "| | test | assertions held | delegations |")?;
        writeln!(to, "|---|---|---|---|")?;
        for test in &report.tests {
            let held = test.assertions.iter().filter(|it| it.status == Status::Held).count();
            let (name, all) = (escaped(&test.name), test.assertions.len());
            let delegations = test.delegations;
            writeln!(
                to,
                "| {} | {name} | {held} of {all} | {delegations} |",
                test.status.as_str()
            )?;
        }
        for test in &report.tests {
            for check in test.assertions.iter().filter(|it| it.status != Status::Held) {
                writeln!(to, "\n**{}** · `{}`\n", escaped(&test.name), code(&check.assertion))?;
                for finding in &check.findings {
                    writeln!(to, "- expected {}", escaped(&finding.expected))?;
                    writeln!(to, "- {} {}", check.status.as_str(), escaped(&finding.actual))?;
                    let shown = finding.evidence.iter().filter(|proof| !proof.show.is_empty());
                    for proof in shown {
                        writeln!(to, "- `meddler show {}` {}", proof.show, escaped(&proof.agent))?;
                    }
                    for hint in &finding.hints {
                        writeln!(to, "- {}", escaped(hint))?;
                    }
                }
            }
        }
        writeln!(to)
    }
}

/// A peer's words draw nothing and link nowhere.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '!' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            '@' => safe.push_str("&#64;"),
            _ => safe.push(c),
        }
    }
    safe
}

fn code(text: &str) -> String {
    text.replace('`', "'").replace(['\r', '\n'], " ")
}
