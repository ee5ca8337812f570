//! `assert`: holds suites against a recording, and says so by its exit code.

mod command;
mod evidence;
mod http;
mod judge;
mod outside;
mod wait;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;
use outside::{Allowed, Lent};

use super::output::{self, Colour};
use super::recording::{RecordingArgs, Source};
use super::{Context, recording};
use crate::app::failure::{Exit, Explain, Failure};
use crate::assertion::report::{FormatRow, Report, Style, Totals};
use crate::assertion::{Explain as Explained, Options, RecordingRef, Suite, Verdict, evaluate};
use crate::base::units;
use crate::record::query::Recording;

/// Where GitHub Actions reads the summary of a step from.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Hold suites against a recording
///
/// Exit 0: all held. 1: something failed, or there was nothing to look at. 2: it could not run.
#[derive(Debug, Args)]
pub(super) struct Assert {
    /// Files of tests
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Only the test of this name; repeatable
    #[arg(long = "test", value_name = "NAME", env = "MEDDLER_TEST")]
    tests: Vec<String>,
    /// Look at this session, whatever the suite says; `any` for all
    #[arg(long, value_name = "NAME", env = "MEDDLER_SESSION")]
    session: Option<String>,
    /// How to print: text, github, html, json, junit, markdown, sarif, tap
    #[arg(long, value_name = "FORMAT", env = "MEDDLER_FORMAT", value_parser = FormatRow::named)]
    format: Option<&'static FormatRow>,
    /// Write a report into this file as well, in the format of its ending; repeatable
    #[arg(short, long = "output", value_name = "FILE", env = "MEDDLER_OUTPUT")]
    outputs: Vec<PathBuf>,
    /// Write what the run was about and what failed into this new directory
    #[arg(long, value_name = "DIR", env = "MEDDLER_EVIDENCE")]
    evidence: Option<PathBuf>,
    /// Wait so long for what must occur, and the whole time where something must not
    #[arg(long, value_name = "DURATION", env = "MEDDLER_WAIT", value_parser = units::duration)]
    wait: Option<Duration>,
    /// Hold the suites again whenever they or the recording change
    #[arg(long, env = "MEDDLER_WATCH", value_parser = FalseyValueParser::new())]
    #[arg(conflicts_with_all = ["wait", "evidence"])]
    watch: bool,
    #[command(flatten)]
    flags: Flags,
}

/// What else is asked for, and what is allowed.
#[derive(Clone, Copy, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line are independent")]
struct Flags {
    /// Take what was skipped for a failure
    #[arg(long, env = "MEDDLER_STRICT", value_parser = FalseyValueParser::new())]
    strict: bool,
    /// Say of every assertion what it looked at
    #[arg(long, env = "MEDDLER_EXPLAIN", value_parser = FalseyValueParser::new())]
    explain: bool,
    /// Make the baselines of `golden` anew
    #[arg(long, env = "MEDDLER_UPDATE_GOLDEN", value_parser = FalseyValueParser::new())]
    update_golden: bool,
    /// Run the programs that suites name
    #[arg(long, env = "MEDDLER_ALLOW_COMMANDS", value_parser = FalseyValueParser::new())]
    allow_commands: bool,
    /// Make the HTTP requests that suites name
    #[arg(long, env = "MEDDLER_ALLOW_LIVE", value_parser = FalseyValueParser::new())]
    allow_live: bool,
}

/// One suite, held against its recording.
struct Judged<'s> {
    suite: &'s Suite,
    sources: Vec<Source>,
    recording: Recording,
    report: Report,
}

impl Assert {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        if self.watch {
            return self.watch(context);
        }
        // Everything that can be wrong with the command is found before anything is judged.
        let suites = self.read_suites()?;
        let files: Vec<(&PathBuf, &'static FormatRow)> = self
            .outputs
            .iter()
            .map(|path| Ok((path, self.format_of(path)?)))
            .collect::<Result<_, Failure>>()?;
        if let Some(directory) = &self.evidence {
            evidence::refuse_existing(directory)?;
        }
        let options = self.options(context, &suites)?;
        let judged = match self.wait {
            None => self.judge(context, &suites, &options)?,
            Some(limit) => self.judge_within(context, &suites, &options, limit)?,
        };
        let reports: Vec<Report> = judged.iter().map(|judged| judged.report.clone()).collect();
        for (path, format) in &files {
            write_file(path, format, &reports)?;
        }
        self.summarise(&reports)?;
        if let Some(directory) = &self.evidence {
            let parts: Vec<evidence::Part<'_>> = judged.iter().map(Judged::part).collect();
            evidence::write(directory, &context.clock.now().to_string(), &parts)?;
        }
        self.print(&files, &reports, context)?;
        Ok(self.exit(&reports))
    }

    fn read_suites(&self) -> Result<Vec<Suite>, Failure> {
        self.suites.iter().map(|path| read(path)).collect()
    }

    /// Holds each suite against its recording, once.
    fn judge<'s>(
        &self,
        context: &Context,
        suites: &'s [Suite],
        options: &Options,
    ) -> Result<Vec<Judged<'s>>, Failure> {
        let mut judged = Vec::new();
        for suite in suites.iter().filter(|suite| self.concerns(suite)) {
            let path = Path::new(&suite.file);
            let named = source_of(&suite.recording, path)?;
            let sources = self.recording.sources(context, &named)?;
            let recording = recording::open(context, &sources)?;
            let directory = path.parent().unwrap_or(Path::new("")).to_owned();
            let keys = recording::digest_keys(&sources);
            let (judge, allowed) = (suite.judge.clone(), self.flags.allowed());
            let outside = Arc::new(Lent { directory, keys, judge, allowed });
            let options = Options { outside, ..for_suite(options, suite) };
            let report = evaluate(suite, &recording, &options).map_err(Failure::from)?;
            judged.push(Judged { suite, sources, recording, report });
        }
        Ok(judged)
    }

    /// The summary of a step, where GitHub Actions asks for one.
    fn summarise(&self, reports: &[Report]) -> Result<(), Failure> {
        let is_github = self.format.is_some_and(|format| format.name == "github");
        let Some(path) = std::env::var_os(STEP_SUMMARY).filter(|_| is_github) else {
            return Ok(());
        };
        let markdown = FormatRow::named("markdown").map_err(Failure::new)?;
        let doing = || "cannot write the step's summary".to_owned();
        let mut file = File::options().create(true).append(true).open(path).doing(doing)?;
        write_all(markdown, reports, Style::Plain, &mut file).doing(doing)
    }

    /// With several suites, `--test` names a test of one of them; the others are left out.
    fn concerns(&self, suite: &Suite) -> bool {
        self.tests.is_empty() || suite.tests.iter().any(|test| self.tests.contains(&test.name))
    }

    fn format_of(&self, path: &Path) -> Result<&'static FormatRow, Failure> {
        match (FormatRow::for_file(path), self.format) {
            (Ok(format), _) | (Err(_), Some(format)) => Ok(format),
            (Err(why), None) => Err(Failure::new(why).with_hint("or say --format")),
        }
    }

    fn options(&self, context: &Context, suites: &[Suite]) -> Result<Options, Failure> {
        let known: BTreeSet<&str> =
            suites.iter().flat_map(|suite| &suite.tests).map(|test| test.name.as_str()).collect();
        if let Some(name) = self.tests.iter().find(|name| !known.contains(name.as_str())) {
            let known: Vec<&str> = known.into_iter().collect();
            return Err(Failure::new(format!("no test `{name}` in these suites"))
                .with_hint(format!("there are: {}", known.join(", "))));
        }
        // A broken configuration is no reason to judge nothing; it only knows more names.
        let configured = context.reader_config().map(|config| config.agents).unwrap_or_default();
        let explain = if self.flags.explain { Explained::Everything } else { Explained::Failures };
        Ok(Options {
            now: context.clock.now(),
            configured,
            session: self.session.clone(),
            tests: self.tests.clone(),
            explain,
            ..Options::default()
        })
    }

    /// Standard output gets the format asked for, or text when a file has it already.
    fn print(
        &self,
        files: &[(&PathBuf, &'static FormatRow)],
        reports: &[Report],
        context: &Context,
    ) -> Result<(), Failure> {
        let in_a_file =
            |format: &FormatRow| files.iter().any(|(_, other)| other.name == format.name);
        let format = match self.format.filter(|format| !in_a_file(format)) {
            Some(format) => format,
            None => FormatRow::named("text").map_err(Failure::new)?,
        };
        let style = match context.style.colour() {
            Colour::On => Style::Colour,
            Colour::Off => Style::Plain,
        };
        let mut out = output::stdout();
        write_all(format, reports, style, &mut out)?;
        out.flush()?;
        Ok(())
    }

    fn exit(&self, reports: &[Report]) -> Exit {
        let verdict = |report: &Report| {
            if self.flags.strict { report.strict_verdict() } else { report.verdict }
        };
        match reports.iter().map(verdict).max() {
            Some(Verdict::Held) => Exit::Ok,
            Some(Verdict::Failed) => Exit::Findings,
            Some(Verdict::CouldNotRun) | None => Exit::CouldNotRun,
        }
    }
}

impl Flags {
    fn allowed(self) -> Allowed {
        Allowed {
            commands: self.allow_commands.into(),
            live: self.allow_live.into(),
            new_baselines: self.update_golden.into(),
        }
    }
}

impl Judged<'_> {
    fn part(&self) -> evidence::Part<'_> {
        evidence::Part {
            suite: self.suite,
            sources: &self.sources,
            recording: &self.recording,
            report: &self.report,
        }
    }
}

/// Digits for octets.
fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("a String takes any text");
        text
    })
}

/// Reads a suite with `${NAME}` from the environment.
pub(super) fn read(path: &Path) -> Result<Suite, Failure> {
    let text = std::fs::read_to_string(path)
        .doing(|| format!("cannot read the suite {}", path.display()))?;
    let variables = |name: &str| std::env::var(name).ok();
    Ok(Suite::parse(&path.display().to_string(), &text, &variables)?)
}

/// What a suite says it is meant for; files and directories are taken from its own directory.
fn source_of(named: &RecordingRef, suite: &Path) -> Result<Vec<Source>, Failure> {
    let base = suite.parent().unwrap_or(Path::new(""));
    let place = match (&named.file, &named.store, &named.daemon) {
        (Some(path), _, _) | (None, Some(path), _) => base.join(path).display().to_string(),
        (None, None, Some(url)) => url.clone(),
        (None, None, None) => return Ok(Vec::new()),
    };
    Ok(vec![Source::parse(&place)?])
}

/// The tests that are named and are in this suite.
fn for_suite(options: &Options, suite: &Suite) -> Options {
    let has = |name: &String| suite.tests.iter().any(|test| test.name == *name);
    let tests = options.tests.iter().filter(|name| has(name)).cloned().collect();
    Options { tests, ..options.clone() }
}

fn write_file(path: &Path, format: &FormatRow, reports: &[Report]) -> Result<(), Failure> {
    let doing = || format!("cannot write the report {}", path.display());
    let mut file = BufWriter::new(File::create(path).doing(doing)?);
    write_all(format, reports, Style::Plain, &mut file).doing(doing)?;
    file.flush().doing(doing)
}

/// Text is for people, who read one report after the other; other formats are one document.
fn write_all(
    format: &FormatRow,
    reports: &[Report],
    style: Style,
    to: &mut dyn Write,
) -> std::io::Result<()> {
    if format.name == "text" || reports.len() == 1 {
        return reports.iter().try_for_each(|report| format.write(report, style, to));
    }
    format.write(&together(reports), style, to)
}

/// Several reports as one, each test named after its file.
fn together(reports: &[Report]) -> Report {
    let mut tests = Vec::new();
    let mut totals = Totals::default();
    for report in reports {
        add(&mut totals, &report.totals);
        for test in &report.tests {
            let name = format!("{}: {}", report.suite, test.name);
            tests.push(crate::assertion::TestResult { name, ..test.clone() });
        }
    }
    Report {
        suite: reports.iter().map(|report| report.suite.as_str()).collect::<Vec<_>>().join(", "),
        verdict: reports.iter().map(|report| report.verdict).max().unwrap_or(Verdict::CouldNotRun),
        totals,
        tests,
        not_driven: reports.iter().flat_map(|report| report.not_driven.clone()).collect(),
    }
}

fn add(sum: &mut Totals, part: &Totals) {
    for (sum, part) in [(&mut sum.tests, &part.tests), (&mut sum.assertions, &part.assertions)] {
        sum.held += part.held;
        sum.failed += part.failed;
        sum.vacuous += part.vacuous;
        sum.error += part.error;
        sum.skipped += part.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertion::report::FORMATS;

    #[test]
    fn the_help_names_every_format() {
        let names: Vec<&str> = FORMATS.iter().map(|row| row.name).collect();
        let command = <Assert as Args>::augment_args(clap::Command::new("assert"));
        let format = command.get_arguments().find(|argument| argument.get_id() == "format");
        let help = format.unwrap().get_help().unwrap().to_string();
        for name in names {
            assert!(help.contains(name), "`{name}` is not in: {help}");
        }
    }
}
