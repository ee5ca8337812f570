//! `log`: what was delegated, one line each, newest last.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};

use super::columns::{Cell, Columns};
use super::filter::FilterArgs;
use super::output::{self, Lines, Tint, clean};
use super::recording::RecordingArgs;
use super::{Context, words};
use crate::admin::word;
use crate::app::failure::{Exit, Failure};
use crate::base::id::ExchangeId;
use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;
use crate::record::jsonl;
use crate::record::query::{Filter, Recording};

/// List delegations, newest last
#[derive(Debug, Args)]
pub(super) struct Log {
    #[command(flatten)]
    recording: RecordingArgs,
    /// List exchanges instead: every request and its answer
    #[arg(long, env = "MEDDLER_EXCHANGES", value_parser = FalseyValueParser::new())]
    exchanges: bool,
    /// Only the newest so many
    #[arg(short = 'n', long = "lines", value_name = "COUNT", env = "MEDDLER_LINES")]
    lines: Option<usize>,
    /// Go on printing what is recorded from now on
    #[arg(short, long, env = "MEDDLER_FOLLOW", value_parser = FalseyValueParser::new())]
    follow: bool,
    /// How to print: a table, or one JSON object a line
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", env = "MEDDLER_FORMAT")]
    format: Format,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    #[default]
    Text,
    Json,
}

/// How often a followed recording is looked at again.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);

impl Log {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let sources = self.recording.sources(context, &[])?;
        let filter = self.filter.filter(context)?;
        let mut listing = Listing::new(&self);
        // The first look is bounded by -n; later ones show all that is new.
        let mut at_most = self.lines;
        loop {
            let recording = super::recording::open(context, &sources)?;
            let printed = listing.print(&recording, &filter, at_most, context)?;
            if !self.follow {
                if printed == 0 {
                    context.style.say(&nothing(&recording, listing.of));
                }
                return Ok(Exit::Ok);
            }
            at_most = None;
            thread::sleep(FOLLOW_EVERY);
        }
    }
}

/// Why a listing is empty, in words that help.
fn nothing(recording: &Recording, of: Of) -> String {
    let agents = recording.agents().join(", ");
    let all = Filter::default();
    let exchanges = recording.exchanges(&all).len();
    match of {
        Of::Delegations | Of::Exchanges if exchanges == 0 => "nothing is recorded yet".to_owned(),
        Of::Delegations if recording.delegations(&all).is_empty() => format!(
            "no delegation is recorded yet, only other exchanges, with {agents}: `meddler log --exchanges` \
             lists all {exchanges}"
        ),
        Of::Delegations => format!("nothing matches; recorded are delegations to {agents}"),
        Of::Exchanges => format!("nothing matches; recorded are exchanges with {agents}"),
    }
}

/// What was printed, so that a followed recording is not printed twice.
struct Listing {
    format: Format,
    of: Of,
    columns: Columns,
    seen: BTreeSet<ExchangeId>,
}

/// The rules that fired; their absence is no news, so it has no colour.
fn faults(fired: &[String]) -> Cell {
    let cell = Cell::new(words::list(fired));
    if fired.is_empty() { cell } else { cell.tinted(Tint::Warn) }
}

#[derive(Clone, Copy)]
enum Of {
    Delegations,
    Exchanges,
}

impl Listing {
    fn new(log: &Log) -> Self {
        let of = if log.exchanges { Of::Exchanges } else { Of::Delegations };
        let columns = Columns::new(match of {
            Of::Delegations => &[
                "ID",
                "TIME",
                "AGENT",
                "OPERATION",
                "BINDING",
                "VER",
                "STATE",
                "FAULTS",
                "MS",
                "TEXT",
            ],
            Of::Exchanges => &[
                "ID",
                "TIME",
                "AGENT",
                "OPERATION",
                "BINDING",
                "VER",
                "STATUS",
                "OUTCOME",
                "FAULTS",
                "MS",
                "TARGET",
            ],
        });
        Self { format: log.format, of, columns, seen: BTreeSet::new() }
    }

    /// Prints what was not seen before, the newest so many of it; how much that was.
    ///
    /// What began before the newest and ended after it is new as well, so nothing is left out by time.
    fn print(
        &mut self,
        recording: &Recording,
        filter: &Filter,
        at_most: Option<usize>,
        context: &Context,
    ) -> Result<usize, Failure> {
        let mut out = output::stdout();
        let printed = match self.of {
            Of::Delegations => {
                let new = self.new_ones(recording.delegations(filter), at_most, |found| found.id);
                for delegation in &new {
                    self.delegation(&mut out, recording, delegation)?;
                }
                new.len()
            }
            Of::Exchanges => {
                let new = self.new_ones(recording.exchanges(filter), at_most, |found| found.id);
                for exchange in &new {
                    self.exchange(&mut out, recording, exchange)?;
                }
                new.len()
            }
        };
        if printed > 0 && self.format == Format::Text {
            self.columns.write(&mut out, context.style)?;
        }
        out.flush()?;
        Ok(printed)
    }

    fn new_ones<T>(
        &mut self,
        all: Vec<Arc<T>>,
        at_most: Option<usize>,
        id: impl Fn(&T) -> ExchangeId,
    ) -> Vec<Arc<T>> {
        let mut new: Vec<Arc<T>> =
            all.into_iter().filter(|found| self.seen.insert(id(found))).collect();
        let first = at_most.map_or(0, |at_most| new.len().saturating_sub(at_most));
        new.drain(..first);
        new
    }

    fn delegation(
        &mut self,
        out: &mut dyn Write,
        recording: &Recording,
        delegation: &Arc<Delegation>,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => {
                serde_json::to_writer(&mut *out, delegation.as_ref())?;
                writeln!(out)?;
            }
            Format::Text => {
                let outcome = words::state_and_outcome(delegation);
                let tint = words::tint(delegation.outcome);
                self.columns.push(vec![
                    Cell::new(recording.short('d', delegation.id)).tinted(Tint::Strong),
                    Cell::new(words::time(delegation.started)),
                    Cell::new(clean(&delegation.agent, Lines::Joined)),
                    Cell::new(delegation.operation.as_str()),
                    Cell::new(words::binding(delegation.binding)),
                    Cell::new(words::version(delegation.version)),
                    Cell::new(outcome).tinted(tint),
                    faults(&delegation.faults),
                    Cell::right(words::ms(delegation.duration_ms)),
                    Cell::new(clean(&delegation.text, Lines::Joined)),
                ]);
            }
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        out: &mut dyn Write,
        recording: &Recording,
        exchange: &Arc<Exchange>,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => {
                serde_json::to_writer(&mut *out, &jsonl::exchange(exchange))?;
                writeln!(out)?;
            }
            Format::Text => {
                let seen = exchange.delivered.as_ref().or(exchange.response.as_ref());
                let request = &exchange.request;
                let target = format!("{} {}", request.method, request.target);
                self.columns.push(vec![
                    Cell::new(recording.short('x', exchange.id)).tinted(Tint::Strong),
                    Cell::new(words::time(exchange.started)),
                    Cell::new(clean(&exchange.agent, Lines::Joined)),
                    Cell::new(exchange.operation.as_str()),
                    Cell::new(words::binding(exchange.binding)),
                    Cell::new(words::version(exchange.version)),
                    Cell::new(seen.map_or_else(|| "-".to_owned(), words::status)),
                    Cell::new(word(exchange.outcome)).tinted(words::tint(exchange.outcome)),
                    faults(&words::fired(exchange)),
                    Cell::right(words::ms(words::duration(exchange))),
                    Cell::new(clean(&target, Lines::Joined)),
                ]);
            }
        }
        Ok(())
    }
}
