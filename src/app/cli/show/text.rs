//! A story for the terminal.

use std::io::{self, Write};

use super::super::output::{Style, Tint};
use super::super::words;
use super::story::{Kind, Story, Who};

/// Writes the story.
pub(super) fn write(out: &mut dyn Write, story: &Story, style: Style) -> io::Result<()> {
    writeln!(out, "{}", style.tint(words::tint(story.outcome), &story.title))?;
    for (label, value) in &story.facts {
        writeln!(out, "  {} {value}", style.tint(Tint::Faint, &format!("{label:<13}")))?;
    }
    if !story.steps.is_empty() {
        writeln!(out, "\n{}", style.tint(Tint::Strong, "timeline"))?;
    }
    for step in &story.steps {
        let arrow = match step.who {
            Who::Asked => "→",
            Who::Answered => "←",
            Who::Here => "·",
        };
        writeln!(out, "  {:>10.1} ms {arrow} {}", step.at_ms, step.text)?;
    }
    for block in &story.blocks {
        let tint = match block.kind {
            Kind::Json | Kind::Http => Tint::Strong,
            Kind::Notes => Tint::Warn,
        };
        writeln!(out, "\n{}", style.tint(tint, &block.heading))?;
        for line in block.text.lines() {
            writeln!(out, "{}", format!("  {line}").trim_end())?;
        }
    }
    Ok(())
}
