//! `coverage`: what of each agent's offer the recording has seen.

use std::io::Write;

use clap::{Args, ValueEnum};

use super::Context;
use super::filter::FilterArgs;
use super::output::{self, Tint};
use super::recording::RecordingArgs;
use crate::app::failure::{Exit, Failure};
use crate::assertion::coverage::{Coverage as Seen, Row, coverage};

/// Say what of each agent's offer was seen
///
/// Skills, operations, bindings, states and faults: what the cards allow against what passed. Exit 1:
/// less than --min, or there was nothing to look at.
#[derive(Debug, Args)]
pub(super) struct Coverage {
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Fail below this part of what could have been seen
    #[arg(long, value_name = "PERCENT", env = "MEDDLER_MIN", value_parser = percent)]
    min: Option<f64>,
    /// How to print
    #[arg(long, value_name = "FORMAT", env = "MEDDLER_FORMAT", default_value = "text")]
    format: Format,
}

/// How to print.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| "expected a number")?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err("expected 0 to 100".to_owned()) }
}

impl Coverage {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let filter = self.filter.filter(context)?;
        let recording = self.recording.open(context)?;
        let seen = coverage(&recording, &filter);
        let mut out = output::stdout();
        match self.format {
            Format::Text => print(&seen, context, &mut out)?,
            Format::Json => {
                serde_json::to_writer_pretty(&mut out, &seen)?;
                writeln!(out)?;
            }
        }
        out.flush()?;
        if seen.agents.is_empty() {
            context.style.say("nothing to look at: no exchange was recorded");
            return Ok(Exit::Findings);
        }
        let enough = self.min.is_none_or(|min| seen.percent() >= min);
        Ok(if enough { Exit::Ok } else { Exit::Findings })
    }
}

fn print(seen: &Seen, context: &Context, out: &mut dyn Write) -> Result<(), Failure> {
    for agent in &seen.agents {
        let name = context.style.tint(Tint::Strong, &agent.agent);
        let count = output::count(agent.delegations, "delegation");
        let card =
            if agent.has_card { "" } else { " (no card was recorded: its offer is not known)" };
        writeln!(out, "{name}  {count}{card}")?;
        for row in &agent.rows {
            writeln!(out, "  {:10} {}", row.dimension, line(row, context))?;
        }
    }
    writeln!(out, "{} of {} seen, {:.0} %", seen.seen, seen.cells, seen.percent())?;
    Ok(())
}

fn line(row: &Row, context: &Context) -> String {
    let mut words: Vec<String> = row
        .seen
        .iter()
        .map(|(word, count)| format!("{}×{count}", output::clean(word, output::Lines::Joined)))
        .collect();
    let missing = row.missing.iter().map(|word| output::clean(word, output::Lines::Joined));
    words.extend(missing.map(|word| context.style.tint(Tint::Faint, &format!("-{word}"))));
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}
