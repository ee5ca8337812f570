//! A story to paste into an issue: facts, a sequence diagram, and the rest folded away.

use std::io::{self, Write};

use super::story::{Kind, Story, Who};

/// Steps that a diagram shows; a stream of thousands of events is no picture.
const STEPS_MAX: usize = 60;

/// Writes the story.
pub(super) fn write(out: &mut dyn Write, story: &Story) -> io::Result<()> {
    writeln!(out, "### {}\n", escape(&story.title))?;
    writeln!(out, "| | |\n|---|---|")?;
    for (label, value) in &story.facts {
        writeln!(out, "| {label} | {} |", escape(value))?;
    }
    diagram(out, story)?;
    for block in &story.blocks {
        let language = match block.kind {
            Kind::Json => "json",
            Kind::Http => "http",
            Kind::Notes => "text",
        };
        let fence = fence(&block.text);
        writeln!(out, "\n<details><summary>{}</summary>\n", block.heading)?;
        writeln!(out, "{fence}{language}\n{}\n{fence}\n\n</details>", block.text)?;
    }
    Ok(())
}

fn diagram(out: &mut dyn Write, story: &Story) -> io::Result<()> {
    if story.steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n```mermaid\nsequenceDiagram")?;
    writeln!(out, "  participant O as orchestrator\n  participant M as Meddler")?;
    writeln!(out, "  participant A as {}", label(&story.agent))?;
    for step in story.steps.iter().take(STEPS_MAX) {
        let text = format!("{:.1} ms {}", step.at_ms, label(&step.text));
        match step.who {
            Who::Asked => writeln!(out, "  O->>A: {text}")?,
            Who::Answered => writeln!(out, "  A-->>O: {text}")?,
            Who::Here => writeln!(out, "  Note over M: {text}")?,
        }
    }
    if story.steps.len() > STEPS_MAX {
        writeln!(out, "  Note over M: {} more", story.steps.len() - STEPS_MAX)?;
    }
    writeln!(out, "```")
}

/// A fence longer than any run of backticks inside.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Mermaid ends a statement at `;` and a comment begins with `#`.
fn label(text: &str) -> String {
    text.replace([';', '#', '%'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_cannot_be_closed_from_inside() {
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("a ``` b"), "````");
    }

    #[test]
    fn a_label_ends_no_statement() {
        assert_eq!(label("POST /; drop #1"), "POST /  drop  1");
    }
}
