//! `lint`: what passed against the specification.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Context;
use super::output::{self, Colour};
use super::recording::RecordingArgs;
use crate::app::failure::{Exit, Explain, Failure};
use crate::assertion::Style;
use crate::assertion::lint::report::{LintFormat, LintReport, Listed};
use crate::assertion::lint::{self, Accepted, Level};
use crate::record::query::Filter;

/// Hold what passed against the A2A specification
///
/// Judged is what orchestrators and agents sent themselves, never what a fault rule put in its place.
/// Exit 0: nothing against a must. 1: something, or there was nothing to look at. 2: it could not run.
#[derive(Debug, Args)]
pub(super) struct Lint {
    #[command(flatten)]
    recording: RecordingArgs,
    /// Only what passed to these agents; repeatable
    #[arg(long = "agent", value_name = "NAME", env = "MEDDLER_AGENT")]
    agents: Vec<String>,
    /// Only this session; `last` for the newest. Otherwise all of them
    #[arg(long, value_name = "NAME", env = "MEDDLER_SESSION")]
    session: Option<String>,
    /// From which level on a finding fails
    #[arg(long, value_name = "LEVEL", env = "MEDDLER_LEVEL", default_value = "must")]
    level: From,
    /// Leave out this rule; repeatable
    #[arg(long = "except", value_name = "RULE", env = "MEDDLER_EXCEPT", value_parser = known_rule)]
    except: Vec<String>,
    /// A kept list of findings to live with, each with its reason
    #[arg(long, value_name = "FILE", env = "MEDDLER_ACCEPT")]
    accept: Option<PathBuf>,
    /// How to print: text, json, sarif, github
    #[arg(long, value_name = "FORMAT", env = "MEDDLER_FORMAT", value_parser = LintFormat::named)]
    format: Option<&'static LintFormat>,
    /// Write a report into this file as well, in the format of its ending; repeatable
    #[arg(short, long = "output", value_name = "FILE", env = "MEDDLER_OUTPUT")]
    outputs: Vec<PathBuf>,
    /// List the rules and look at nothing
    #[arg(long, env = "MEDDLER_RULES", value_parser = clap::builder::FalseyValueParser::new())]
    rules: bool,
}

/// From which level on a finding fails.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum From {
    /// Only what a peer must do.
    Must,
    /// What it should do as well.
    Should,
}

fn known_rule(name: &str) -> Result<String, String> {
    lint::named(name).map(|rule| rule.id.to_owned())
}

impl Lint {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        if self.rules {
            return list_rules();
        }
        let files: Vec<(&PathBuf, &'static LintFormat)> = self
            .outputs
            .iter()
            .map(|path| Ok((path, self.format_of(path)?)))
            .collect::<Result<_, Failure>>()?;
        let accepted = self.accept.as_deref().map(read_accepted).transpose()?;
        let recording = self.recording.open(context)?;
        let filter = Filter {
            agents: self.agents.clone(),
            session: self.session.clone(),
            ..Filter::default()
        };
        let exchanges = recording.exchanges(&filter);
        let mut flaws = lint::lint(&exchanges);
        flaws.retain(|flaw| !self.except.iter().any(|except| except == flaw.rule));
        let (flaws, taken, idle) = accepted.unwrap_or_default().sift(flaws);
        for row in idle {
            context.style.say(&format!("note: {row}"));
        }
        let listed = flaws
            .into_iter()
            .map(|flaw| Listed { show: recording.short('x', flaw.exchange), flaw })
            .collect();
        let report = LintReport { exchanges: exchanges.len(), flaws: listed, accepted: taken };
        for (path, format) in &files {
            let doing = || format!("cannot write the report {}", path.display());
            let mut file = BufWriter::new(File::create(path).doing(doing)?);
            format.write(&report, Style::Plain, &mut file).doing(doing)?;
            file.flush().doing(doing)?;
        }
        self.print(&report, context)?;
        Ok(self.exit(&report))
    }

    fn format_of(&self, path: &Path) -> Result<&'static LintFormat, Failure> {
        match (LintFormat::for_file(path), self.format) {
            (Ok(format), _) | (Err(_), Some(format)) => Ok(format),
            (Err(why), None) => Err(Failure::new(why).with_hint("or say --format")),
        }
    }

    fn print(&self, report: &LintReport, context: &Context) -> Result<(), Failure> {
        let format = match self.format {
            Some(format) => format,
            None => LintFormat::named("text").map_err(Failure::new)?,
        };
        let style = match context.style.colour() {
            Colour::On => Style::Colour,
            Colour::Off => Style::Plain,
        };
        let mut out = output::stdout();
        format.write(report, style, &mut out)?;
        out.flush()?;
        if report.exchanges == 0 {
            context.style.say("nothing to look at: no exchange was recorded");
        }
        Ok(())
    }

    fn exit(&self, report: &LintReport) -> Exit {
        let failing = match self.level {
            From::Must => report.count(Level::Must),
            From::Should => report.flaws.len(),
        };
        if failing == 0 && report.exchanges > 0 { Exit::Ok } else { Exit::Findings }
    }
}

fn read_accepted(path: &Path) -> Result<Accepted, Failure> {
    let text = std::fs::read_to_string(path)
        .doing(|| format!("cannot read the list {}", path.display()))?;
    let variables = |name: &str| std::env::var(name).ok();
    Ok(Accepted::parse(&path.display().to_string(), &text, &variables)?)
}

fn list_rules() -> Result<Exit, Failure> {
    let mut out = output::stdout();
    for rule in lint::all() {
        let (level, id, summary) = (rule.level.as_str(), rule.id, rule.summary);
        let sections = [("1.0", rule.section_v1_0), ("0.3", rule.section_v0_3)];
        let sections: Vec<String> = sections
            .iter()
            .filter(|(_, section)| !section.is_empty())
            .map(|(version, section)| format!("{version} §{section}"))
            .collect();
        writeln!(out, "{level:6} {id:26} {summary} ({})", sections.join(", "))?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}
