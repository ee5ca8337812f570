//! What a rule may look at.

use http::HeaderMap;

use crate::a2a::call::Call;

/// What is known of an exchange at the moment a rule is asked.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The remote agent's name in the configuration.
    pub agent: &'a str,
    /// The session the exchange belongs to.
    pub session: &'a str,
    /// Who called.
    pub orchestrator: &'a str,
    /// The header fields of the request.
    pub headers: &'a HeaderMap,
    /// The request as far as it is known: from the head alone, or with its body.
    pub call: &'a Call,
    /// Whether the body has been read (or there is none to read).
    pub body_is_read: bool,
}

/// What must be read of a request before the rules of an agent can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The operation's name: the head tells it, but for JSON-RPC.
    pub operation: bool,
    /// The whole body: a rule looks at text, ids or fields.
    pub body: bool,
}

impl Needs {
    /// What both need.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { operation: self.operation || other.operation, body: self.body || other.body }
    }
}
