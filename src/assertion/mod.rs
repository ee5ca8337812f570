//! Questions about recordings: suites, the kinds of assertion, and reports.
//!
//! A [`Suite`] is read once and checked whole; [`evaluate`] holds it against a [`Source`] (a recording,
//! or lists in memory) and gives a [`Report`], which the formats of [`report`] write. Nothing here
//! reads files, knows the time or prints: a suite means the same on a live daemon and on a file from
//! last week.
//!
//! What finds nothing to look at does not hold. A kind of assertion is one file and one row in
//! [`kinds::KINDS`], a report format one in [`report::FORMATS`]; metrics and events are rows in
//! [`metrics::METRICS`] and [`events::EVENTS`].

mod canaries;
mod capture;
mod cards;
mod check;
mod compare;
mod contract;
pub mod coverage;
pub mod diagram;
mod ends;
mod evaluate;
pub mod events;
mod finding;
mod graph;
mod hush;
mod json_schema;
pub mod kinds;
pub mod lint;
mod matching;
pub mod metrics;
mod nearest;
mod normal;
mod on;
pub mod outside;
mod overlap;
pub mod packs;
mod parts;
mod path;
mod predicate;
mod quote;
mod reader;
pub mod reference;
pub mod report;
mod sarif;
pub mod schema;
mod select;
mod source;
mod suite;
mod timing;
mod transcript;
mod view;
mod wire;
mod words;
mod yaml;

pub use capture::Capture;
pub use check::Check;
pub use evaluate::{EvaluateError, Explain, Options, evaluate};
pub use finding::{Evidence, Finding, Status, Verdict};
pub use on::{Injected, On, Pick, Quantifier, Sees};
pub use reader::{SuiteError, SuiteProblem, Variables};
pub use report::{CheckResult, Report, Style, TestResult};
pub use select::Select;
pub use source::{Lists, Source};
pub use suite::{BadEnds, Defaults, JudgeBy, JudgeConfig, RecordingRef, Suite, Test};
pub use view::{Reach, RunView};
pub use yaml::Position;
