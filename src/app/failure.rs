//! How a command ends: with a code, and if badly with one readable chain and a hint.

use std::any::Any;
use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::admin::client::ClientError;

/// How a command that could do its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: all well.
    Ok,
    /// 1: it did its work and found something: a failed test, a daemon that is not ready.
    Findings,
    /// 2: it could not run.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Ok => Self::SUCCESS,
            Exit::Findings => Self::from(1),
            Exit::CouldNotRun => Self::from(2),
        }
    }
}

/// Why a command could not run, and what to try.
#[derive(Debug)]
pub(crate) struct Failure {
    error: anyhow::Error,
    hint: Option<String>,
}

impl Failure {
    /// A failure in words.
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self { error: anyhow::anyhow!("{text}"), hint: None }
    }

    /// What to try.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What was being done when it happened.
    pub(crate) fn while_doing(self, what: impl fmt::Display) -> Self {
        Self { error: self.error.context(what.to_string()), hint: self.hint }
    }

    /// The error of this type, if that is what it was.
    pub(crate) fn downcast<E>(self) -> Result<E, Self>
    where
        E: fmt::Display + fmt::Debug + Send + Sync + 'static,
    {
        let Self { error, hint } = self;
        error.downcast().map_err(|error| Self { error, hint })
    }

    /// Whether the reader of our output went away, which is its right: `meddler log | head`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.error.chain().any(|cause| {
            cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        // What a daemon advises is passed on as our own advice.
        let advice = (&error as &dyn Any).downcast_ref::<ClientError>().and_then(ClientError::hint);
        let hint = advice.map(ToOwned::to_owned);
        Self { error: error.into(), hint }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = String::new();
        for (depth, cause) in self.error.chain().enumerate() {
            let text = cause.to_string();
            // A source that its wrapper has said already is not said twice.
            if before.contains(&text) {
                continue;
            }
            if depth > 0 {
                f.write_str(": ")?;
            }
            f.write_str(&text)?;
            before = text;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Adds to an error what was being done, and what to try.
pub(crate) trait Explain<T> {
    /// What was being done.
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure>;

    /// What to try.
    fn hint(self, hint: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<Failure>> Explain<T> for Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| error.into().while_doing(what()))
    }

    fn hint(self, hint: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| error.into().with_hint(hint()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_chain_and_a_hint() {
        let missing: Result<(), io::Error> = Err(io::Error::other("no such file"));
        let failure = missing
            .doing(|| "cannot read x.yaml".to_owned())
            .hint(|| "create it".to_owned())
            .unwrap_err();
        assert_eq!(failure.to_string(), "cannot read x.yaml: no such file\nhint: create it");
    }

    #[test]
    fn a_broken_pipe_is_known_however_deep() {
        let broken: Result<(), io::Error> = Err(io::ErrorKind::BrokenPipe.into());
        assert!(broken.doing(|| "cannot write".to_owned()).unwrap_err().is_broken_pipe());
        assert!(!Failure::new("else").is_broken_pipe());
    }
}
