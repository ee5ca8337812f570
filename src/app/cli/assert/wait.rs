//! `--wait` and `--watch`: suites held against a recording that still grows.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::{Assert, Judged};
use crate::app::cli::output::{self, Colour};
use crate::app::cli::recording::Source;
use crate::app::cli::{Context, block_on};
use crate::app::failure::{Exit, Failure};
use crate::assertion::report::{FormatRow, Report, Style};
use crate::assertion::{BadEnds, Options, Position, Select, Suite, Test, Verdict, evaluate};
use crate::record::exchange::Outcome;
use crate::record::query::Filter;

/// How long is slept between two looks.
const PAUSE: Duration = Duration::from_millis(250);

impl Assert {
    /// Looks again until there is nothing left to wait for, or the time is over.
    ///
    /// What must occur is waited for; what must not occur has to hold the whole time, unless the suite
    /// says by `until:` when the traffic is over. A recording that is not there yet may come.
    pub(super) fn judge_within<'s>(
        &self,
        context: &Context,
        suites: &'s [Suite],
        options: &Options,
        limit: Duration,
    ) -> Result<Vec<Judged<'s>>, Failure> {
        let deadline = Instant::now() + limit;
        loop {
            let options = Options { now: context.clock.now(), ..options.clone() };
            let judged = self.judge(context, suites, &options);
            let is_over = Instant::now() >= deadline;
            match judged {
                Ok(judged) if is_over || judged.iter().all(|it| is_settled(it, &options)) => {
                    return Ok(judged);
                }
                Err(failure) if is_over => return Err(failure),
                Ok(_) | Err(_) => pause()?,
            }
        }
    }

    /// Holds the suites again whenever they or the recording change; ends with the terminal's patience.
    pub(super) fn watch(&self, context: &Context) -> Result<Exit, Failure> {
        let mut before = None;
        loop {
            let shown = self.look(context);
            if before.as_ref() != Some(&shown) {
                let mut out = output::stdout();
                std::io::Write::write_all(&mut out, shown.as_bytes())?;
                std::io::Write::flush(&mut out)?;
                context.style.say("watching for changes; end with Ctrl-C");
                before = Some(shown);
            }
            let seen = self.signature(context);
            while seen == self.signature(context) {
                pause()?;
            }
        }
    }

    /// The report for people; a suite that cannot be read is told in its place.
    fn look(&self, context: &Context) -> String {
        let told = || -> Result<String, Failure> {
            let suites = self.read_suites()?;
            let options = self.options(context, &suites)?;
            let judged = self.judge(context, &suites, &options)?;
            let reports: Vec<Report> = judged.into_iter().map(|judged| judged.report).collect();
            let format = match self.format {
                Some(format) => format,
                None => FormatRow::named("text").map_err(Failure::new)?,
            };
            let style = match context.style.colour() {
                Colour::On => Style::Colour,
                Colour::Off => Style::Plain,
            };
            let mut octets = Vec::new();
            super::write_all(format, &reports, style, &mut octets)?;
            Ok(String::from_utf8_lossy(&octets).into_owned())
        };
        told().unwrap_or_else(|failure| format!("error: {failure}\n"))
    }

    /// What changes when there may be something new to see. A daemon has none: it is asked each time.
    fn signature(&self, context: &Context) -> Vec<(u64, Option<std::time::SystemTime>)> {
        let mut files: Vec<_> = self.suites.iter().map(|path| of_file(path)).collect();
        let named = self.read_suites().ok().into_iter().flatten();
        let sources = named
            .filter_map(|suite| super::source_of(&suite.recording, Path::new(&suite.file)).ok())
            .filter_map(|named| self.recording.sources(context, &named).ok())
            .flatten();
        for source in sources {
            match source {
                Source::File(path) => files.push(of_file(&path)),
                Source::Store(path) => {
                    let segments = fs::read_dir(path.join("seg")).into_iter().flatten().flatten();
                    files.extend(segments.map(|segment| of_file(&segment.path())));
                }
                Source::Daemon(_) => {
                    let now = context.clock.now().as_microsecond();
                    files.push((now.unsigned_abs(), None));
                }
            }
        }
        files.sort();
        files
    }
}

/// A timer wants the runtime that drives it.
fn pause() -> Result<(), Failure> {
    block_on(async { tokio::time::sleep(PAUSE).await })
}

fn of_file(path: &Path) -> (u64, Option<std::time::SystemTime>) {
    let metadata = fs::metadata(path).ok();
    (metadata.as_ref().map_or(0, fs::Metadata::len), metadata.and_then(|it| it.modified().ok()))
}

/// Whether there is nothing left to wait for.
fn is_settled(judged: &Judged<'_>, options: &Options) -> bool {
    let Judged { suite, recording, report, .. } = judged;
    let session = options.session.as_ref().or(suite.recording.session.as_ref());
    let session = session.map_or("last", String::as_str);
    let session = (session != "any").then(|| session.to_owned());
    let outcomes = vec![Outcome::Working];
    let open = Filter { session, outcomes, limit: Some(1), ..Filter::default() };
    if !recording.delegations(&open).is_empty() {
        return false;
    }
    if suite.until.is_empty() {
        return report.verdict == Verdict::Held && suite.settles();
    }
    let until = Suite {
        tests: vec![Test {
            name: "until".to_owned(),
            at: Position::default(),
            select: Select::default(),
            captures: Vec::new(),
            checks: suite.until.clone(),
            bad_ends: BadEnds::Allowed,
        }],
        invariants: Vec::new(),
        ..(*suite).clone()
    };
    let options = Options { tests: Vec::new(), ..options.clone() };
    evaluate(&until, recording, &options).is_ok_and(|report| report.verdict == Verdict::Held)
}
