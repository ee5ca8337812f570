//! The command line: one file a subcommand, one variant of [`Command`] each.

mod agents;
mod assert;
mod columns;
mod completions;
mod config;
mod coverage;
mod daemon;
mod demo;
mod export;
mod filter;
mod healthcheck;
mod help;
mod import;
mod lint;
mod log;
pub(super) mod output;
mod recording;
mod schema;
mod serve;
mod session;
mod show;
mod suite;
mod words;

use std::future::Future;
use std::path::{Path, PathBuf};

use clap::builder::FalseyValueParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use output::{Style, Talk};

use crate::admin::Token;
use crate::app::config::{Config, ReaderConfig};
use crate::app::failure::{Exit, Explain, Failure};
use crate::base::clock::WallClock;

/// Records and breaks the traffic between an A2A orchestrator and its remote agents.
#[derive(Debug, Parser)]
#[command(name = "meddler", version, propagate_version = true, after_help = help::BRIEF)]
#[command(after_long_help = help::LONG, max_term_width = 100, subcommand_required = true)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The configuration that is read when none is named.
const DEFAULT_CONFIG: &str = "meddler.yaml";

/// What every subcommand takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The configuration; without it `meddler.yaml` is read if it is there
    #[arg(short, long, global = true, value_name = "FILE", env = "MEDDLER_CONFIG")]
    config: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long, global = true, env = "MEDDLER_QUIET", value_parser = FalseyValueParser::new())]
    quiet: bool,
    /// Never colour the output (`NO_COLOR` does the same)
    #[arg(long, global = true, env = "MEDDLER_NO_COLOR", value_parser = FalseyValueParser::new())]
    no_color: bool,
    /// Log more: -v what happens, -vv every exchange, -vvv every frame
    #[arg(short, long, global = true, action = ArgAction::Count, env = "MEDDLER_VERBOSE")]
    verbose: u8,
    /// What the daemon's admin listener asks for, if it asks; better given by the environment
    #[arg(long, global = true, value_name = "TOKEN", env = "MEDDLER_ADMIN_TOKEN")]
    #[arg(hide_env_values = true, hide_short_help = true)]
    admin_token: Option<Token>,
}

/// The subcommands, in the order the help lists them.
#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Serve(serve::Serve),
    Log(log::Log),
    Show(show::Show),
    Assert(assert::Assert),
    Lint(lint::Lint),
    Coverage(coverage::Coverage),
    Export(export::Export),
    Import(import::Import),
    Suite(suite::Suite),
    Schema(schema::Schema),
    Agents(agents::Agents),
    Session(session::Session),
    Config(config::ConfigCommand),
    Healthcheck(healthcheck::Healthcheck),
    Completions(completions::Completions),
}

/// What a subcommand is given beside its own arguments.
pub(crate) struct Context {
    global: Global,
    style: Style,
    clock: WallClock,
}

impl Cli {
    /// Reads the arguments of this process.
    ///
    /// A URL and a configuration named beside it contradict each other; one that the environment names is
    /// there for other commands.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches()?;
        let cli = Self::from_arg_matches(&matches)?;
        let named = matches.subcommand().and_then(|(_, below)| below.value_source("config"));
        match &cli.command {
            Command::Serve(serve) if serve.has_url() && named == Some(ValueSource::CommandLine) => {
                let text = "a URL takes no configuration: leave out the URL or --config";
                Err(Self::command().error(ErrorKind::ArgumentConflict, text))
            }
            Command::Serve(_)
            | Command::Demo(_)
            | Command::Log(_)
            | Command::Show(_)
            | Command::Assert(_)
            | Command::Lint(_)
            | Command::Coverage(_)
            | Command::Schema(_)
            | Command::Export(_)
            | Command::Import(_)
            | Command::Suite(_)
            | Command::Agents(_)
            | Command::Session(_)
            | Command::Config(_)
            | Command::Healthcheck(_)
            | Command::Completions(_) => Ok(cli),
        }
    }

    /// How much is to be logged: the number of `-v`.
    pub(crate) const fn verbosity(&self) -> u8 {
        self.global.verbose
    }

    /// Whether a daemon is to be run, which logs its life cycle unless it is told to be quiet.
    pub(crate) const fn tells_life_cycle(&self) -> bool {
        matches!(self.command, Command::Serve(_)) && !self.global.quiet
    }

    /// Runs the subcommand.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let variable = |name: &str| std::env::var(name).ok();
        let no_colour =
            if self.global.no_color { Some("1".to_owned()) } else { variable("NO_COLOR") };
        let talk = if self.global.quiet { Talk::Off } else { Talk::On };
        let style = Style::detect(no_colour.as_deref(), talk, variable("COLUMNS").as_deref());
        let context = Context { global: self.global, style, clock: WallClock::system() };
        match self.command {
            Command::Demo(command) => command.run(&context),
            Command::Serve(command) => command.run(&context),
            Command::Log(command) => command.run(&context),
            Command::Show(command) => command.run(&context),
            Command::Assert(command) => command.run(&context),
            Command::Lint(command) => command.run(&context),
            Command::Coverage(command) => command.run(&context),
            Command::Schema(command) => command.run(),
            Command::Export(command) => command.run(&context),
            Command::Import(command) => command.run(&context),
            Command::Suite(command) => command.run(&context),
            Command::Agents(command) => command.run(&context),
            Command::Session(command) => command.run(&context),
            Command::Config(command) => command.run(&context),
            Command::Healthcheck(command) => command.run(&context),
            Command::Completions(command) => command.run(),
        }
    }
}

impl Context {
    /// The configuration: the file of `--config`, else `meddler.yaml` if it is there.
    pub(super) fn config(&self) -> Result<Option<Config>, Failure> {
        match &self.global.config {
            Some(path) => Config::load(path).map(Some),
            None if Path::new(DEFAULT_CONFIG).exists() => {
                Config::load(Path::new(DEFAULT_CONFIG)).map(Some)
            }
            None => Ok(None),
        }
    }

    /// What a reading command needs of it; the defaults when there is none.
    pub(super) fn reader_config(&self) -> Result<ReaderConfig, Failure> {
        match &self.global.config {
            Some(path) => ReaderConfig::load(path),
            None if Path::new(DEFAULT_CONFIG).exists() => {
                ReaderConfig::load(Path::new(DEFAULT_CONFIG))
            }
            None => Ok(ReaderConfig::default()),
        }
    }

    /// The file that is meant, whether it is there or not.
    pub(super) fn config_path(&self) -> &Path {
        self.global.config.as_deref().unwrap_or(Path::new(DEFAULT_CONFIG))
    }

    /// What the admin listener is shown, if anything.
    pub(super) fn token(&self) -> Option<Token> {
        self.global.admin_token.clone()
    }
}

/// Runs something that waits, for commands that come and go: one thread is enough.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .doing(|| "cannot start the runtime".to_owned())?;
    Ok(runtime.block_on(work))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each(command: &clap::Command, visit: &mut impl FnMut(&clap::Command, &clap::Arg)) {
        for argument in command.get_arguments() {
            visit(command, argument);
        }
        for below in command.get_subcommands() {
            each(below, visit);
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_has_a_variable_of_its_name() {
        each(&Cli::command(), &mut |command, argument| {
            let Some(long) = argument.get_long() else { return };
            if matches!(long, "help" | "version") {
                return;
            }
            // With the command's name in it where the word alone would mean too much: `--fail`.
            let word = |text: &str| text.to_uppercase().replace('-', "_");
            let short = format!("MEDDLER_{}", word(long));
            let full = format!("MEDDLER_{}_{}", word(command.get_name()), word(long));
            let actual = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            let is_right = actual.as_ref().is_some_and(|name| *name == short || *name == full);
            assert!(is_right, "--{long} of {}: {actual:?}", command.get_name());
        });
    }

    #[test]
    fn everything_says_what_it_is() {
        each(&Cli::command(), &mut |command, argument| {
            let name = command.get_name();
            assert!(argument.get_help().is_some(), "{name}: {}", argument.get_id());
            assert!(command.get_about().is_some(), "{name}");
        });
    }
}
