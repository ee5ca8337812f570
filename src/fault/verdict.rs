//! What rules decide: a closed list, so that `proxy` can be complete and rules stay pure.

use std::time::Duration;

use bytes::Bytes;

use crate::a2a::edit::Insertion;
use crate::a2a::model::{A2aError, Reply, StreamResponse};

/// What the rules say of one exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// What `proxy` must do, in order. Empty: pass.
    pub effects: Vec<Effect>,
    /// What became of each rule that matched: all of it goes into the recording.
    pub notes: Vec<Note>,
}

/// One thing that `proxy` must do.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful an exchange, and only when rules fire")]
pub enum Effect {
    /// Wait. Delays at one moment add up.
    Delay {
        /// When.
        at: Moment,
        /// How long, already drawn.
        wait: Duration,
    },
    /// Let the answer's body through at this rate.
    Throttle {
        /// Octets a second.
        bytes_per_second: u64,
    },
    /// Answer in the agent's place.
    Answer {
        /// Index into [`Judgement::notes`]: the rule that did it.
        note: usize,
        /// With what.
        with: Made,
        /// From where on.
        from: Start,
        /// Whether the answer carries `meddler-fault: RULE`.
        mark: bool,
    },
    /// Put something into the agent's real answer.
    Insert {
        /// Index into [`Judgement::notes`]: the rule that did it.
        note: usize,
        /// What, and where in the message.
        insertion: Insertion,
        /// Into which event of a stream, counted from 1; `None`: the plain answer, or the first event
        /// that has a place for it.
        event: Option<u64>,
        /// Whether the answer carries `meddler-fault: RULE`.
        mark: bool,
    },
}

/// When to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the request goes on.
    Request,
    /// Before the first octet of the answer's head.
    FirstByte,
    /// Before every event of a stream, or before the one with this number (from 1).
    Event(Option<u64>),
    /// Before the end of the answer.
    End,
}

/// From where on an answer is Meddler's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From the beginning: the agent is never asked.
    Beginning,
    /// From this event of a stream on (counted from 1): what came before it is the agent's, the
    /// upstream is then cancelled. On a plain answer this is not applicable.
    Event(u64),
}

/// An answer of Meddler's making.
///
/// Empty ids mean *the exchange's own*: with [`Start::Event`] above 1, `task_id` and `context_id` of
/// the events are empty, and `proxy` fills them in from the events of the agent that went before. An
/// answer from the [`Start::Beginning`], or from event 1, names its ids itself.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one an exchange, and only when a rule fires")]
pub enum Made {
    /// A plain answer, written in the call's binding and version. For a streaming operation that
    /// begins with it, the stream has the same content as events.
    Reply(Reply),
    /// Events of a stream, then its proper end or an error.
    Stream {
        /// The events.
        events: Vec<StreamResponse>,
        /// How it ends.
        error: Option<A2aError>,
    },
    /// An error, written in the call's binding and version.
    Error {
        /// The error, with the numbers it must carry.
        error: A2aError,
        /// Header fields: `retry-after`, `www-authenticate`.
        headers: Vec<(String, String)>,
    },
    /// A well-formed HTTP answer with an empty body (on gRPC: status OK and no message).
    EmptyBody,
    /// What the binding has for nothing: null, an empty object, a message of no octets.
    Nothing,
    /// Exactly this.
    Raw {
        /// The HTTP status.
        status: u16,
        /// The header fields.
        headers: Vec<(String, String)>,
        /// The body.
        body: Bytes,
    },
}

impl Made {
    /// Puts the exchange's own ids where they were left empty.
    pub fn fill_ids(&mut self, task_id: &str, context_id: &str) {
        let Self::Stream { events, .. } = self else { return };
        for event in events {
            match event {
                StreamResponse::StatusUpdate(event) => {
                    fill(&mut event.task_id, task_id);
                    fill(&mut event.context_id, context_id);
                }
                StreamResponse::ArtifactUpdate(event) => {
                    fill(&mut event.task_id, task_id);
                    fill(&mut event.context_id, context_id);
                }
                StreamResponse::Task(_) | StreamResponse::Message(_) => {}
            }
        }
    }
}

fn fill(id: &mut String, own: &str) {
    if id.is_empty() {
        own.clone_into(id);
    }
}

/// What became of a rule that matched.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// The rule's name.
    pub rule: String,
    /// Its fault's family.
    pub kind: &'static str,
    /// What became of it.
    pub became: Became,
    /// Its count of eligible exchanges in its scope, this one included.
    pub n: u64,
    /// The seed of its draws.
    pub seed: u64,
    /// The number drawn.
    pub draw: Option<f64>,
    /// The canary of a hostile payload.
    pub canary: Option<String>,
    /// In words.
    pub text: String,
}

/// What became of a rule that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    /// Its effects are in the judgement.
    Fired,
    /// Its counters or its draw said no.
    Passed,
    /// An earlier rule had the place.
    Shadowed,
    /// Its fault cannot be applied to this call.
    NotApplicable,
}
