//! Holding a suite against a recording.
//!
//! A pure function of the suite, the recording and the options: no clock, no files, nothing printed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::check::Check;
use super::ends::no_bad_end;
use super::finding::{Finding, Status, status_of};
use super::nearest::suggestion;
use super::outside::{Outside, Sealed};
use super::quote::plural;
use super::report::{CheckResult, Report, TestResult};
use super::select::Selected;
use super::source::Source;
use super::suite::{BadEnds, Suite, Test};
use super::view::RunView;
use super::{diagram, hush};
use crate::record::query::Filter;

/// What else decides an evaluation.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time, which `since: 10m` counts back from.
    pub now: Timestamp,
    /// Agents that the configuration knows: naming one that was never called is no mistake.
    pub configured: Vec<String>,
    /// A session to look at instead of the suite's.
    pub session: Option<String>,
    /// Only the tests of these names; empty for all.
    pub tests: Vec<String>,
    /// Whether each result says what it looked at.
    pub explain: Explain,
    /// What may be asked of the world outside the recording.
    pub outside: Arc<dyn Outside>,
}

/// Whether each result says what it looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Explain {
    /// Only failures say what proves them.
    #[default]
    Failures,
    /// Every assertion names what it was held against.
    Everything,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            now: Timestamp::UNIX_EPOCH,
            configured: Vec::new(),
            session: None,
            tests: Vec::new(),
            explain: Explain::default(),
            outside: Arc::new(Sealed),
        }
    }
}

/// Why nothing was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// A test that was asked for by name is not in the suite.
    #[error("no test `{name}` in {file}{hint}")]
    NoSuchTest {
        /// The suite.
        file: String,
        /// What was asked for.
        name: String,
        /// What there is.
        hint: String,
    },
}

/// Holds a suite against a recording.
pub fn evaluate(
    suite: &Suite,
    source: &dyn Source,
    options: &Options,
) -> Result<Report, EvaluateError> {
    let names: Vec<&str> = suite.tests.iter().map(|test| test.name.as_str()).collect();
    if let Some(name) = options.tests.iter().find(|name| !names.contains(&name.as_str())) {
        let (file, hint) = (suite.file.clone(), suggestion(name, &names));
        return Err(EvaluateError::NoSuchTest { file, name: name.clone(), hint });
    }
    let mut agents: BTreeSet<String> = source.agents().into_iter().collect();
    agents.extend(options.configured.iter().chain(&suite.configured).cloned());
    let run = Run { suite, source, options, agents };
    let wanted = |test: &&Test| options.tests.is_empty() || options.tests.contains(&test.name);
    let tests = suite.tests.iter().filter(wanted).map(|test| run.test(test)).collect();
    Ok(Report::new(&suite.file, tests, suite.not_driven.clone()))
}

struct Run<'a> {
    suite: &'a Suite,
    source: &'a dyn Source,
    options: &'a Options,
    agents: BTreeSet<String>,
}

impl Run<'_> {
    fn test(&self, test: &Test) -> TestResult {
        let unknown = test.select.agents.iter().find_map(|agent| self.unknown(agent));
        if let Some(finding) = unknown {
            return Self::whole(test, finding);
        }
        let session = self.options.session.as_ref().or(self.suite.recording.session.as_ref());
        let session = session.map_or("last", String::as_str);
        match test.select.of(self.source, session, self.options.now) {
            Selected::Unknown(why) => Self::whole(test, Finding::error(SELECTION, why)),
            Selected::Nothing(hints) => {
                let mut finding =
                    Finding::vacuous(SELECTION, "no delegation is selected: nothing to look at");
                finding.hints = hints;
                Self::whole(test, finding)
            }
            Selected::Some(view) => match self.lost(&view) {
                Some(finding) => Self::whole(test, finding),
                None => self.checks(test, &view),
            },
        }
    }

    fn checks(&self, test: &Test, view: &RunView<'_>) -> TestResult {
        let mut results = Vec::new();
        let view = &self.with_captures(test, view, &mut results);
        for check in self.suite.invariants.iter().chain(&test.checks) {
            // A pack is told part by part, so that what is skipped is seen to be.
            match check.parts() {
                [] => results.push(self.judged(check, view)),
                parts => {
                    let view = &check.narrowed(view);
                    results.extend(parts.iter().map(|part| self.judged(part, view)));
                }
            }
        }
        if test.bad_ends == BadEnds::Fail {
            let expected: Vec<String> = test.checks.iter().flat_map(Check::expected_ends).collect();
            let findings = no_bad_end(view, &expected);
            if status_of(&findings) != Status::Held {
                let line = test.at.line;
                results.push(CheckResult::new("ends", "no delegation ends badly", line, findings));
            }
        }
        let mut result = TestResult::new(&test.name, test.at.line, results);
        result.session.clone_from(&view.filter.session);
        result.delegations = view.delegations.len();
        result.conversations = diagram::of(view);
        hush::hush(&mut result, view, &self.suite.secrets);
        result
    }

    fn judged(&self, check: &Check, view: &RunView<'_>) -> CheckResult {
        let unknown = check.agents().into_iter().find_map(|agent| self.unknown(agent));
        let findings = unknown.map_or_else(|| check.judge(view), |finding| vec![finding]);
        let mut result = CheckResult::new(check.kind, &check.text, check.at.line, findings);
        result.notes = view.take_notes();
        if self.options.explain == Explain::Everything {
            result.looked_at = Some(check.narrowed(view).described());
        }
        result
    }

    /// The view that knows what the test captures; what cannot be captured is a result of its own.
    fn with_captures<'v>(
        &self,
        test: &Test,
        view: &RunView<'v>,
        results: &mut Vec<CheckResult>,
    ) -> RunView<'v> {
        let mut captured = BTreeMap::new();
        for capture in &test.captures {
            let unknown = capture.agents().into_iter().find_map(|agent| self.unknown(agent));
            let finding = match unknown {
                Some(finding) => finding,
                None => match capture.value(view) {
                    Ok(value) => {
                        captured.insert(capture.name.clone(), value);
                        continue;
                    }
                    Err(finding) => finding,
                },
            };
            results.push(CheckResult::new("capture", &capture.text, capture.line, vec![finding]));
        }
        let mut view = view.clone();
        view.captured = Arc::new(captured);
        view.outside = Arc::clone(&self.options.outside);
        view
    }

    /// A test that comes to nothing before any of its assertions is asked.
    fn whole(test: &Test, finding: Finding) -> TestResult {
        let select = match test.select.written.as_str() {
            "" => "select: everything in the session".to_owned(),
            written => format!("select: {written}"),
        };
        let selection = CheckResult::new("select", &select, test.at.line, vec![finding]);
        TestResult::new(&test.name, test.at.line, vec![selection])
    }

    fn unknown(&self, agent: &str) -> Option<Finding> {
        if self.agents.contains(agent) {
            return None;
        }
        let known: Vec<&str> = self.agents.iter().map(String::as_str).collect();
        let hint = suggestion(agent, &known);
        let text = format!("`{agent}` is neither recorded nor configured{hint}");
        Some(Finding::error("an agent that exists", text))
    }

    /// Whether whole exchanges were lost while what is looked at was recorded: nobody can say to whom
    /// they went.
    fn lost(&self, view: &RunView<'_>) -> Option<Finding> {
        let Filter { session, since, until, .. } = &view.filter;
        let records: Vec<_> = self
            .source
            .sessions()
            .iter()
            .filter(|record| session.as_ref().is_none_or(|name| *name == record.name))
            .collect();
        let concerns = |gap: &&crate::record::store::GapRecord| {
            gap.exchange.is_none()
                && since.is_none_or(|since| gap.at >= since)
                && until.is_none_or(|until| gap.at < until)
                && (records.is_empty()
                    || records
                        .iter()
                        .any(|record| record.instance == gap.instance && gap.at >= record.started))
        };
        let gaps: Vec<_> = self.source.gaps().iter().filter(concerns).collect();
        let first = gaps.first()?;
        let exchanges: u64 = gaps.iter().map(|gap| gap.exchanges).sum();
        let count = plural(usize::try_from(exchanges).unwrap_or(usize::MAX), "exchange");
        let text = format!(
            "the recording has gaps here: {count} lost ({}), the first at {}",
            first.reason, first.at
        );
        Some(Finding::error("a recording without gaps", text))
    }
}

const SELECTION: &str = "a selection that is not empty";
