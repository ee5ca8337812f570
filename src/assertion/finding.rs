//! What an assertion finds: nothing when it holds, else what was expected, what was there, and the proof.

use serde::Serialize;

use crate::base::id::ExchangeId;

/// How an assertion, a test or a whole suite came out. Later ones outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It could not be judged here, and that is no fault of the recording's.
    Skipped,
    /// It is as it should be.
    Held,
    /// There was nothing to look at.
    Vacuous,
    /// It is not as it should be.
    Failed,
    /// It could not be judged at all.
    Error,
}

/// What a suite's evaluation means for whoever ran it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything held.
    Held,
    /// Something did not.
    Failed,
    /// Something could not be judged.
    CouldNotRun,
}

/// One reason why an assertion does not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// `Failed`, `Vacuous`, `Error` or `Skipped`; never `Held`.
    pub status: Status,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub actual: String,
    /// What to try, near misses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// The delegations and exchanges that prove it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

/// A delegation (or an exchange that belongs to none) and what was found there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// What `meddler show` takes: `d-1234abcd` or `x-1234abcd`.
    pub show: String,
    /// The remote agent.
    pub agent: String,
    /// What was found there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The fault rules that fired at it: what was found may be Meddler's own doing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// The ids of its exchanges, whole.
    pub exchanges: Vec<ExchangeId>,
}

impl Status {
    /// As it stands in machine output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Held => "held",
            Self::Vacuous => "vacuous",
            Self::Failed => "failed",
            Self::Error => "error",
        }
    }
}

impl Verdict {
    /// 0 all held, 1 something failed, 2 something could not run.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Failed => 1,
            Self::CouldNotRun => 2,
        }
    }
}

impl Finding {
    /// It is not as it should be.
    pub fn failed(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self::new(Status::Failed, expected, actual)
    }

    /// There was nothing to look at.
    pub fn vacuous(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self::new(Status::Vacuous, expected, actual)
    }

    /// It cannot be judged.
    pub fn error(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self::new(Status::Error, expected, actual)
    }

    /// It cannot be judged here.
    pub fn skipped(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self::new(Status::Skipped, expected, actual)
    }

    /// The same with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The same with evidence.
    #[must_use]
    pub fn proved_by(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    fn new(status: Status, expected: impl Into<String>, actual: impl Into<String>) -> Self {
        let (expected, actual) = (expected.into(), actual.into());
        Self { status, expected, actual, hints: Vec::new(), evidence: Vec::new() }
    }
}

/// The status of an assertion with these findings.
pub(super) fn status_of(findings: &[Finding]) -> Status {
    findings.iter().map(|finding| finding.status).max().unwrap_or(Status::Held)
}
