//! One exchange as it is kept: octets first, everything decoded beside them.
//!
//! The raw octets (after redaction) are the ground state; operation, ids, problems and outcome are
//! derived from them and can be made anew by a later decoder.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::Ids;
use crate::a2a::model::Operation;
use crate::a2a::problem::Problem;
use crate::base::id::{ExchangeId, InstanceId};

/// A request and everything that answered it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Its name.
    pub id: ExchangeId,
    /// The session it was recorded in.
    pub session: String,
    /// The run of the daemon that recorded it.
    pub instance: InstanceId,
    /// The remote agent, by its name in the configuration.
    pub agent: String,
    /// Who called: a configured name, else the peer's address without the port.
    pub orchestrator: String,
    /// `None`: not A2A.
    pub binding: Option<Binding>,
    /// The version that was spoken.
    pub version: Option<ProtocolVersion>,
    /// The version that was declared.
    pub declared_version: Option<String>,
    /// What was asked.
    pub operation: Operation,
    /// By which name.
    pub wire_name: String,
    /// Ids of the peers, of request and answer together.
    pub ids: Ids,
    /// When its head had arrived.
    pub started: Timestamp,
    /// When the rest happened.
    pub timings: Timings,
    /// The request as it came.
    pub request: RecordedRequest,
    /// The answer as it came from the agent; `None` when the agent gave none or was not asked.
    pub response: Option<RecordedResponse>,
    /// The answer as it was delivered, only when it differs from `response`.
    pub delivered: Option<RecordedResponse>,
    /// Where it was sent: the upstream's URL.
    pub upstream: Option<String>,
    /// The rules that matched, fired or were shadowed.
    pub faults: Vec<FaultRecord>,
    /// The sanctioned changes that were made (addresses in cards, webhooks).
    pub edits: Vec<EditRecord>,
    /// What is wrong with request or answer.
    pub problems: Vec<Problem>,
    /// What was masked before it was written.
    pub redactions: Vec<Redaction>,
    /// How it ended.
    pub outcome: Outcome,
    /// Trouble with the upstream, by its `meddler-error` word and a sentence.
    pub upstream_error: Option<UpstreamTrouble>,
}

/// When things happened, in microseconds after `started`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// The last octet of the request had arrived.
    pub request_us: Option<u64>,
    /// The head of the answer had arrived from the agent.
    pub head_us: Option<u64>,
    /// The first event of a stream had arrived.
    pub first_event_us: Option<u64>,
    /// The answer had ended, well or badly.
    pub end_us: Option<u64>,
}

/// A request on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The request target, as written.
    pub target: String,
    /// The path in front of it that is the address of the HTTP+JSON interface called, where the agent's
    /// card has told: what follows it names the operation. Empty for none.
    pub base: String,
    /// `1.0`, `1.1` or `2`.
    pub http: String,
    /// The header fields in order, with the names as written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Payload,
    /// The trailer fields.
    pub trailers: Vec<(String, String)>,
}

/// An answer on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedResponse {
    /// The HTTP status.
    pub status: u16,
    /// `1.0`, `1.1` or `2`.
    pub http: String,
    /// The header fields in order, with the names as written.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Payload,
    /// The frames of a stream, in order.
    pub events: Vec<EventMark>,
    /// The trailer fields.
    pub trailers: Vec<(String, String)>,
    /// The gRPC status number.
    pub grpc_status: Option<u8>,
}

/// A body: what was kept of it, and what it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The kept octets, content coding undone, secrets masked.
    pub kept: Bytes,
    /// Octets on the wire.
    pub bytes: u64,
    /// The content coding on the wire; empty for none. `kept` has it undone.
    pub encoding: String,
    /// Whether `kept` is only the head of it.
    pub truncated: bool,
    /// SHA-256 of the octets on the wire; keyed (HMAC) when `digest_is_keyed`.
    pub sha256: [u8; 32],
    /// Whether something in it was masked, so that a plain digest would tell the secret.
    pub digest_is_keyed: bool,
    /// Octets that were lost because the recorder's queue was full.
    pub gap: u64,
}

/// Where one frame of a stream stands in the kept body, and when its last octet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMark {
    /// Microseconds after the exchange's start.
    pub at_us: u64,
    /// Offset of the frame's first octet.
    pub start: u64,
    /// Length of the frame, separators included.
    pub len: u64,
}

/// What a rule did to an exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultRecord {
    /// The rule's name.
    pub rule: String,
    /// Its fault's family.
    pub kind: String,
    /// What became of it.
    pub verdict: FaultVerdict,
    /// The rule's count of eligible exchanges, this one included.
    pub n: u64,
    /// The seed of its draws.
    #[serde(with = "seed_as_text")]
    pub seed: u64,
    /// The number drawn, in `[0, 1)`; absent when nothing was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<f64>,
    /// The canary in a hostile payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
    /// Why it did not fire, or what it did, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What became of a rule that matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultVerdict {
    /// It did what it says.
    Fired,
    /// Its conditions held, its counters or its draw said no.
    Passed,
    /// An earlier rule had the place.
    Shadowed,
    /// Its fault cannot be applied to what came.
    NotApplicable,
}

/// A sanctioned change to what passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditRecord {
    /// What kind: `card_address`, `card_signature`, `webhook`, `location`, `header`.
    pub kind: String,
    /// Where: a JSON path or a header name.
    pub at: String,
    /// What stood there.
    pub from: String,
    /// What stands there now.
    pub to: String,
}

/// A secret that was masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// `request.header`, `request.body`, `response.body`, `target`, ...
    #[serde(rename = "where")]
    pub place: String,
    /// The header's name, or the offset in the body.
    pub at: String,
    /// How many octets were masked.
    pub bytes: u64,
    /// What it was: `authorization`, `cookie`, `push_token`, `api_key`, `learned`, `rule`.
    pub kind: String,
    /// HMAC-SHA-256 of the value under the store's key, hex.
    pub hmac: String,
}

/// How an exchange or a delegation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The task ended well; for exchanges without a task: answered without an error.
    Completed,
    /// The task ended in `failed`.
    Failed,
    /// The task ended in `rejected`.
    Rejected,
    /// The task ended in `canceled`.
    Canceled,
    /// The agent waits for input.
    InputRequired,
    /// The agent waits for credentials.
    AuthRequired,
    /// Answered by a message without a task.
    Message,
    /// The task is known and neither ended nor interrupted.
    Working,
    /// An error of the protocol, or below it.
    Error,
    /// A stream ended cleanly before an end state.
    Incomplete,
    /// The agent broke off.
    CutByAgent,
    /// The orchestrator broke off.
    CutByClient,
    /// The agent could not be reached or did not speak HTTP.
    UpstreamError,
    /// A rule answered in the agent's place.
    AnsweredByFault,
    /// What came could not be read.
    Malformed,
    /// Meddler stopped while it was open.
    #[default]
    OpenAtStop,
}

/// Trouble with the upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamTrouble {
    /// `dns connect_refused connect_timeout tls reset closed first_byte_timeout idle_timeout protocol loop`.
    pub word: String,
    /// What happened, in words.
    pub text: String,
}

/// Seeds are written as text: JSON readers in other languages lose digits above 2^53.
mod seed_as_text {
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
    pub(super) fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(seed)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}
