//! `demo`: the main job in a few seconds, without a network: two played agents, an orchestrator that
//! delegates to them on all three bindings, one fault, and a suite over what was recorded.

mod acts;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::FalseyValueParser;
use tokio::runtime::Builder;

use self::acts::Act;
use super::output::{self, Colour, Lines, Style, Tint};
use super::{Context, words};
use crate::admin::DaemonInfo;
use crate::app::config::Config;
use crate::app::failure::{Exit, Explain, Failure};
use crate::app::serve::Started;
use crate::assertion::report::{FormatRow, Report};
use crate::assertion::{Options, Suite, Verdict, evaluate};
use crate::base::clock::WallClock;
use crate::peer::orchestrator::Orchestrator;
use crate::record::query::{Filter, Recording};

/// The same files that a user finds in the repository.
const CONFIG: (&str, &str) = ("config/demo.yaml", include_str!("../../../../config/demo.yaml"));
const HOLDS: (&str, &str) =
    ("config/suites/demo.yaml", include_str!("../../../../config/suites/demo.yaml"));
const FAILS: (&str, &str) =
    ("config/suites/demo-fails.yaml", include_str!("../../../../config/suites/demo-fails.yaml"));

/// Show the main job: two agents, three bindings, one fault, one suite
///
/// Needs no network and no set-up, and takes a few seconds. The recording stays, so that `log`, `show`,
/// `export` and `assert` have something to look at.
#[derive(Debug, Args)]
pub(super) struct Demo {
    /// Hold a suite that fails, to see how a failure explains itself (exit 1)
    #[arg(long, env = "MEDDLER_DEMO_FAIL", value_parser = FalseyValueParser::new())]
    fail: bool,
    /// Where to record
    #[arg(long, value_name = "DIR", env = "MEDDLER_STORE", default_value = "recordings")]
    store: PathBuf,
}

impl Demo {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let (name, text) = CONFIG;
        let mut config = Config::parse(name, Path::new(""), text, &|_| None)?;
        config.store.path.clone_from(&self.store);
        let runtime = Builder::new_multi_thread()
            .enable_all()
            .build()
            .doing(|| "cannot start the runtime".to_owned())?;
        let (info, acts) = runtime.block_on(play(&config, &context.clock))?;

        let recording = Recording::open(&self.store)?;
        let (suite_name, suite_text) = if self.fail { FAILS } else { HOLDS };
        let suite = Suite::parse(suite_name, suite_text, &|_| None)?;
        let options = Options {
            now: context.clock.now(),
            configured: info.agents.iter().map(|agent| agent.name.clone()).collect(),
            session: Some(info.session.clone()),
            ..Options::default()
        };
        let report = evaluate(&suite, &recording, &options)?;
        let mut out = output::stdout();
        let story = Story { style: context.style, store: &self.store, info: &info };
        story.scene(&mut out, &config)?;
        story.acts(&mut out, &acts, &recording)?;
        story.verdict(&mut out, &report, suite_name)?;
        story.next(
            &mut out,
            &recording,
            if self.fail { Next::AfterFail } else { Next::AfterPass },
        )?;
        out.flush()?;
        Ok(if report.verdict == Verdict::Held { Exit::Ok } else { Exit::Findings })
    }
}

/// Starts the daemon in this process, lets the orchestrator do its work, and stops again.
async fn play(config: &Config, clock: &WallClock) -> Result<(DaemonInfo, Vec<Act>), Failure> {
    let started = Started::start(config, clock).await?;
    let info = started.info.clone();
    let acts = acts::perform(&Orchestrator::default(), &info).await;
    started.stop(std::future::pending()).await?;
    Ok((info, acts?))
}

/// What to try next depends on what was shown.
#[derive(Clone, Copy)]
enum Next {
    AfterPass,
    AfterFail,
}

/// What happened, told to a person.
struct Story<'a> {
    style: Style,
    store: &'a Path,
    info: &'a DaemonInfo,
}

impl Story<'_> {
    fn heading(&self, out: &mut dyn Write, text: &str) -> std::io::Result<()> {
        writeln!(out, "{}", self.style.tint(Tint::Strong, text))
    }

    fn scene(&self, out: &mut dyn Write, config: &Config) -> std::io::Result<()> {
        self.heading(out, "Two remote agents, played by Meddler, with Meddler in front of them:")?;
        for agent in &self.info.agents {
            writeln!(out, "  {:<10}{}", agent.name, agent.url)?;
        }
        for fault in &config.faults {
            let name = fault.name.as_deref().unwrap_or("unnamed");
            writeln!(out, "  {:<10}`{name}` fails the first refund of ORD-1002", "fault")?;
        }
        writeln!(out)
    }

    fn acts(
        &self,
        out: &mut dyn Write,
        acts: &[Act],
        recording: &Recording,
    ) -> std::io::Result<()> {
        self.heading(out, "An orchestrator delegates, on every binding:")?;
        let filter = Filter { session: Some(self.info.session.clone()), ..Filter::default() };
        let delegations = recording.delegations(&filter);
        for (act, delegation) in acts.iter().zip(&delegations) {
            let id = recording.short('d', delegation.id);
            writeln!(
                out,
                "  {id}  to {:<9} {:<9} {}  \"{}\"",
                act.agent, act.binding, act.version, act.says
            )?;
            let state = words::state_and_outcome(delegation);
            let state = self.style.tint(words::tint(delegation.outcome), &format!("{state:<15}"));
            let took = words::ms(delegation.duration_ms);
            let reply = output::clean(&delegation.reply_text, Lines::Joined);
            writeln!(out, "  {:<11} {state} \"{reply}\"  {took} ms", "")?;
            for rule in &delegation.faults {
                let text = format!("broken by the rule `{rule}`: the agent never saw it");
                writeln!(out, "  {:<11} {}", "", self.style.tint(Tint::Warn, &text))?;
            }
            if let Some(first) = delegation.retry_of {
                let first = recording.short('d', first);
                writeln!(out, "  {:<11} a retry of {first}: the same message again", "")?;
            }
        }
        writeln!(out)
    }

    fn verdict(&self, out: &mut dyn Write, report: &Report, suite: &str) -> Result<(), Failure> {
        self.heading(out, &format!("A suite over the recording ({suite}):"))?;
        let style = match self.style.colour() {
            Colour::On => crate::assertion::report::Style::Colour,
            Colour::Off => crate::assertion::report::Style::Plain,
        };
        FormatRow::named("text").map_err(Failure::new)?.write(report, style, out)?;
        writeln!(out)?;
        Ok(())
    }

    fn next(&self, out: &mut dyn Write, recording: &Recording, next: Next) -> std::io::Result<()> {
        self.heading(out, &format!("The recording is in {}. Try next:", self.store.display()))?;
        let filter = Filter { session: Some(self.info.session.clone()), ..Filter::default() };
        let broken = recording.delegations(&filter).into_iter().find(|d| !d.faults.is_empty());
        let at = if self.store == Path::new("recordings") {
            String::new()
        } else {
            format!(" -R {}", self.store.display())
        };
        let mut lines = vec![(format!("meddler log{at}"), "every delegation, newest last")];
        if let Some(broken) = broken {
            let id = recording.short('d', broken.id);
            lines.push((format!("meddler show {id}{at}"), "the broken one, as a timeline"));
        }
        lines.push((
            format!("meddler export -o demo.a2a.jsonl{at}"),
            "a file for git or a bug report",
        ));
        lines.push(match next {
            Next::AfterPass => ("meddler demo --fail".to_owned(), "how a failure explains itself"),
            Next::AfterFail => ("meddler demo".to_owned(), "the same with a suite that holds"),
        });
        lines.push(("meddler serve URL".to_owned(), "in front of a real agent"));
        for (command, what) in lines {
            writeln!(out, "  {command:<38} {what}")?;
        }
        Ok(())
    }
}
