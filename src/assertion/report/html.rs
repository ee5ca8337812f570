//! One page with everything on it, to send to someone: results, proofs, and a sequence diagram for each
//! conversation. It loads nothing from anywhere and runs no script.

use std::io;

use super::super::diagram::{Conversation, Turn};
use super::super::finding::{Finding, Status, Verdict};
use super::super::quote::plural;
use super::{CheckResult, Format, Report, Style, TestResult};

pub(super) struct Html;

const STYLE: &str = include_str!("../page.css");

/// Where the two life lines stand, and how far one arrow is from the next.
const LEFT: usize = 90;
const RIGHT: usize = 710;
const STEP: usize = 56;
/// Characters of a message that fit between the lines.
const CHARS_MAX: usize = 84;

impl Format for Html {
    const NAME: &'static str = "html";
    const SUMMARY: &'static str =
        "one page with sequence diagrams, without anything from elsewhere";
    const EXTENSION: &'static str = "html";

    fn write(report: &Report, _: Style, to: &mut dyn io::Write) -> io::Result<()> {
        let word = match report.verdict {
            Verdict::Held => "held",
            Verdict::Failed => "failed",
            Verdict::CouldNotRun => "error",
        };
        let title = escaped(&report.suite);
        writeln!(to, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
        writeln!(to, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
        writeln!(to, "<title>{title}: {word}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>")?;
        writeln!(to, "<h1><span class=\"{word}\">{word}</span> {title}</h1>")?;
        let tests = &report.totals.tests;
        writeln!(to, "<p>{} of {} held.</p>", tests.held, plural(tests.all(), "test"))?;
        table(report, to)?;
        for (number, test) in report.tests.iter().enumerate() {
            write_test(number, test, to)?;
        }
        for line in &report.not_driven {
            writeln!(to, "<p class=\"faint\">not driven: {}</p>", escaped(line))?;
        }
        writeln!(to, "</body>\n</html>")
    }
}

fn table(report: &Report, to: &mut dyn io::Write) -> io::Result<()> {
    writeln!(to, "<table>\n<tr><th></th><th>test</th><th>held</th><th>delegations</th></tr>")?;
    for (number, test) in report.tests.iter().enumerate() {
        let status = test.status.as_str();
        let held = test.assertions.iter().filter(|check| check.status == Status::Held).count();
        writeln!(
            to,
            "<tr><td class=\"{status}\">{status}</td><td><a href=\"#test-{number}\">{}</a></td>\
             <td>{held} of {}</td><td>{}</td></tr>",
            escaped(&test.name),
            test.assertions.len(),
            test.delegations
        )?;
    }
    writeln!(to, "</table>")
}

fn write_test(number: usize, test: &TestResult, to: &mut dyn io::Write) -> io::Result<()> {
    let (status, name) = (test.status.as_str(), escaped(&test.name));
    writeln!(to, "<section id=\"test-{number}\">")?;
    writeln!(to, "<h2><span class=\"{status}\">{status}</span> {name}</h2>")?;
    if let Some(session) = &test.session {
        writeln!(to, "<p class=\"faint\">session {}</p>", escaped(session))?;
    }
    for check in &test.assertions {
        write_check(check, to)?;
    }
    for conversation in &test.conversations {
        draw(conversation, to)?;
    }
    writeln!(to, "</section>")
}

fn write_check(check: &CheckResult, to: &mut dyn io::Write) -> io::Result<()> {
    let status = check.status.as_str();
    let open = if check.status == Status::Held { "" } else { " open" };
    writeln!(
        to,
        "<details{open}><summary><span class=\"{status}\">{status}</span> <code>{}</code></summary>",
        escaped(&check.assertion)
    )?;
    if let Some(looked_at) = &check.looked_at {
        writeln!(to, "<p>looked at {}</p>", escaped(looked_at))?;
    }
    for note in &check.notes {
        writeln!(to, "<p>{}</p>", escaped(note))?;
    }
    for finding in &check.findings {
        write_finding(finding, to)?;
    }
    writeln!(to, "</details>")
}

fn write_finding(finding: &Finding, to: &mut dyn io::Write) -> io::Result<()> {
    let (expected, actual) = (escaped(&finding.expected), escaped(&finding.actual));
    writeln!(to, "<dl><dt>expected</dt><dd>{expected}</dd><dt>actual</dt><dd>{actual}</dd>")?;
    for proof in &finding.evidence {
        let show = match proof.show.as_str() {
            "" => String::new(),
            show => format!("<code>meddler show {}</code> ", escaped(show)),
        };
        let faults = match proof.faults.as_slice() {
            [] => String::new(),
            rules => format!(" <em>fault injected: {}</em>", escaped(&rules.join(", "))),
        };
        let (agent, found) = (escaped(&proof.agent), escaped(&proof.found));
        writeln!(to, "<dt>proof</dt><dd>{show}{agent} {found}{faults}</dd>")?;
    }
    for hint in &finding.hints {
        writeln!(to, "<dt>hint</dt><dd>{}</dd>", escaped(hint))?;
    }
    writeln!(to, "</dl>")
}

/// A sequence diagram of one conversation.
fn draw(conversation: &Conversation, to: &mut dyn io::Write) -> io::Result<()> {
    let Conversation { orchestrator, agent, context, turns, more } = conversation;
    let context = context.as_deref().unwrap_or("no context");
    let height = 60 + turns.len() * 2 * STEP;
    let (left, right) = (escaped(orchestrator), escaped(agent));
    writeln!(
        to,
        "<figure><figcaption>{left} and {right} · {}</figcaption>\n\
         <svg viewBox=\"0 0 800 {height}\" role=\"img\" aria-label=\"sequence of {left} and {right}\">",
        escaped(context)
    )?;
    for (x, name) in [(LEFT, &left), (RIGHT, &right)] {
        writeln!(to, "<text class=\"who\" x=\"{x}\" y=\"20\">{name}</text>")?;
        writeln!(to, "<line class=\"life\" x1=\"{x}\" y1=\"30\" x2=\"{x}\" y2=\"{height}\"/>")?;
    }
    for (number, turn) in turns.iter().enumerate() {
        let y = 60 + number * 2 * STEP;
        arrow(&turn.said, "ask", (LEFT, RIGHT), y, to)?;
        let class = if turn.faults.is_empty() { "answer" } else { "answer injected" };
        arrow(&answer(turn), class, (RIGHT, LEFT), y + STEP, to)?;
    }
    writeln!(to, "</svg>")?;
    if *more > 0 {
        writeln!(to, "<p class=\"faint\">and {}</p>", plural(*more, "more turn"))?;
    }
    writeln!(to, "</figure>")
}

fn answer(turn: &Turn) -> String {
    let states = if turn.states.is_empty() { turn.outcome.clone() } else { turn.states.join(" ") };
    let time = turn.duration_ms.map_or(String::new(), |ms| format!(" {ms:.0} ms"));
    let faults = match turn.faults.as_slice() {
        [] => String::new(),
        rules => format!(" [{}]", rules.join(", ")),
    };
    format!("{states}{time}{faults} {}", turn.replied)
}

fn arrow(
    text: &str,
    class: &str,
    (from, to_x): (usize, usize),
    y: usize,
    to: &mut dyn io::Write,
) -> io::Result<()> {
    let mut line: String = text.chars().take(CHARS_MAX).collect();
    if text.chars().count() > CHARS_MAX {
        line.push('…');
    }
    let (line, whole) = (escaped(&line), escaped(text));
    let tip = if to_x > from { to_x - 8 } else { to_x + 8 };
    let (above, below, label) = (y - 4, y + 4, y - 8);
    writeln!(to, "<g class=\"{class}\"><title>{whole}</title>")?;
    writeln!(to, "<text x=\"400\" y=\"{label}\">{line}</text>")?;
    writeln!(to, "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{y}\"/>")?;
    writeln!(to, "<polygon points=\"{to_x},{y} {tip},{above} {tip},{below}\"/></g>")
}

/// Text that is text, whatever it says.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ if c.is_control() => safe.extend(c.escape_default()),
            _ => safe.push(c),
        }
    }
    safe
}
