//! What `when:` can look at: one file a condition, one row in [`MATCHERS`].
//!
//! A matcher says what must be known before it can be asked ([`Matcher::needs`]), so that bodies are
//! read ahead only for rules that look at them.

mod binding;
mod context;
mod event;
mod header;
mod operation;
mod orchestrator;
mod session;
mod streaming;
mod task;
mod tenant;
mod text;
mod version;

use std::fmt;

use serde_json::Value;

use crate::a2a::model::Operation;
use crate::fault::facts::{Facts, Needs};
use crate::fault::settings;

/// One condition of a rule.
pub trait Matcher: fmt::Debug + Send + Sync {
    /// What must be read before it can be asked.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Operations it can hold for: an index, so that most rules need not be asked at all.
    fn operations(&self) -> Operations {
        Operations::ALL
    }

    /// The event of a stream that it names: where the rule's fault begins.
    fn event(&self) -> Option<u64> {
        None
    }

    /// Whether it is asked of a session: such rules come before those of no session.
    fn is_of_session(&self) -> bool {
        false
    }

    /// Whether it holds.
    fn matches(&self, facts: &Facts<'_>) -> Match;
}

/// What a condition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It looks at what has not been read.
    NotKnownYet,
}

/// A set of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operations(u32);

/// One key of `when:`.
#[derive(Debug)]
pub struct Row {
    /// The key.
    pub key: &'static str,
    /// What it says, for the documentation.
    pub summary: &'static str,
    parse: fn(&Value) -> Result<Box<dyn Matcher>, String>,
}

/// All conditions, sorted by key.
#[rustfmt::skip]
pub const MATCHERS: &[Row] = &[
    Row { key: "binding", summary: "`jsonrpc`, `http+json` or `grpc`; a list is allowed", parse: binding::parse },
    Row { key: "context", summary: "the conversation's id, name or glob", parse: context::parse },
    Row { key: "event", summary: "the event of a stream, counted from 1, at which the fault begins", parse: event::parse },
    Row { key: "header", summary: "request header fields: name to regular expression", parse: header::parse },
    Row { key: "operation", summary: "any wire name of an operation; a list is allowed", parse: operation::parse },
    Row { key: "orchestrator", summary: "who called, name or glob", parse: orchestrator::parse },
    Row { key: "session", summary: "the session's name or glob", parse: session::parse },
    Row { key: "streaming", summary: "whether the operation is answered by a stream", parse: streaming::parse },
    Row { key: "task", summary: "the id of the task that the request names, name or glob", parse: task::parse },
    Row { key: "tenant", summary: "the tenant that the request names, name or glob", parse: tenant::parse },
    Row { key: "text", summary: "regular expression over the message's text parts", parse: text::parse },
    Row { key: "version", summary: "`0.3` or `1.0`, as spoken; a list is allowed", parse: version::parse },
];

/// One condition under its key.
pub(super) type Condition = (&'static str, Box<dyn Matcher>);

/// Reads one condition. The error begins with the path to the key.
pub(super) fn parse(key: &str, value: &Value) -> Result<Condition, String> {
    let Some(row) = MATCHERS.iter().find(|row| row.key == key) else {
        let known: Vec<&str> = MATCHERS.iter().map(|row| row.key).collect();
        return Err(format!("when: {}", settings::unknown("condition", key, &known)));
    };
    match (row.parse)(value) {
        Ok(matcher) => Ok((row.key, matcher)),
        Err(error) => Err(format!("when.{key}: {error}")),
    }
}

/// The condition that stands for an `operation:` that is not there.
pub(super) fn only(operations: Operations) -> Condition {
    ("operation", Box::new(operation::OperationIs(operations)))
}

impl Match {
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl Operations {
    /// Every operation.
    pub const ALL: Self = Self(u32::MAX);
    /// None.
    pub const NONE: Self = Self(0);
    /// Those that send a message.
    pub const SENDS: Self =
        Self::NONE.with(Operation::SendMessage).with(Operation::SendStreamingMessage);
    /// Those that fetch a card.
    pub const CARDS: Self =
        Self::NONE.with(Operation::AgentCard).with(Operation::GetExtendedAgentCard);
    /// Those that are answered by a stream.
    pub const STREAMS: Self =
        Self::NONE.with(Operation::SendStreamingMessage).with(Operation::SubscribeToTask);

    /// These and one more.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Self {
        Self(self.0 | 1 << operation as u32)
    }

    /// Those in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those in either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is one of them.
    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & (1 << operation as u32) != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Whether the operation's name has not gone by yet: it is A2A, but nothing has named it.
pub(super) fn is_unnamed(facts: &Facts<'_>) -> bool {
    let call = facts.call;
    let is_nameless = call.operation == Operation::Unknown && call.wire_name.is_empty();
    is_nameless && call.binding.is_some() && !facts.body_is_read
}
