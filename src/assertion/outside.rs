//! What an assertion may ask of the world outside the recording, and who answers.
//!
//! Nothing in this module reads files, runs commands or knows the network; whoever evaluates a suite
//! lends it that, as far as the user allowed it. [`Sealed`] lends nothing, which is the default.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is lent. Each refusal says what to do, in words.
pub trait Outside: fmt::Debug + Send + Sync {
    /// The baseline in this file; `current` replaces it when baselines are being made anew.
    fn baseline(&self, file: &str, current: &str) -> Result<Baseline, String>;

    /// The digests of a secret as the recordings would show it: one for each key that is at hand.
    fn digests(&self, secret: &str) -> Vec<String>;

    /// Runs a command. `Err`: it was not allowed, or could not be started.
    fn command(&self, call: &CommandCall<'_>) -> Result<Ran, String>;

    /// Makes an HTTP request. `Err`: it was not allowed, or nothing answered.
    fn http(&self, call: &HttpCall) -> Result<HttpAnswer, String>;

    /// Has a question judged. `Ok(None)`: no judge is configured.
    fn judge(&self, question: &Question) -> Result<Option<Judgement>, String>;
}

/// A kept baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// What it says.
    Kept(String),
    /// It was just made of what is there now.
    Made,
}

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct CommandCall<'a> {
    /// The program and its arguments; no shell reads them.
    pub run: &'a [String],
    /// What it reads on standard input.
    pub input: &'a str,
    /// When it is ended.
    pub timeout: Duration,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; `None`: a signal or the timeout ended it.
    pub code: Option<i32>,
    /// The head of its standard output.
    pub output: String,
    /// The head of its standard error.
    pub complaint: String,
}

/// An HTTP request to make. Redirects are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCall {
    /// `GET`, `POST`.
    pub method: String,
    /// Where to.
    pub url: String,
    /// Header fields.
    pub headers: BTreeMap<String, String>,
    /// The body; empty for none.
    pub body: String,
    /// How long it may take.
    pub timeout: Duration,
}

/// What answered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The body, as far as it is read.
    pub body: String,
}

/// A question for a judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// What must be so.
    pub claim: String,
    /// What it is judged by: the conversation, and the context when there is one.
    pub evidence: String,
}

/// A judge's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Whether the claim is so.
    pub holds: bool,
    /// Why, in the judge's words.
    pub reason: String,
    /// The model or command that judged.
    pub model: String,
    /// SHA-256 of the whole prompt, hex: the same prompt has the same answer from the cache.
    pub prompt_sha256: String,
}

/// Lends nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sealed;

impl Outside for Sealed {
    fn baseline(&self, file: &str, _: &str) -> Result<Baseline, String> {
        Err(format!("no files can be read here, so there is no baseline {file}"))
    }

    fn digests(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn command(&self, _: &CommandCall<'_>) -> Result<Ran, String> {
        Err("commands are run only with --allow-commands".to_owned())
    }

    fn http(&self, _: &HttpCall) -> Result<HttpAnswer, String> {
        Err("the network is asked only with --allow-live".to_owned())
    }

    fn judge(&self, _: &Question) -> Result<Option<Judgement>, String> {
        Ok(None)
    }
}
