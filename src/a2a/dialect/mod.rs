//! How one protocol version spells the model: one file a dialect, one row in [`DIALECTS`].
//!
//! A dialect works on JSON values, also for gRPC: [`protobuf`] turns a message into the value its
//! schema gives it (ProtoJSON) and back. So each version has one reader and one writer per spelling,
//! and nothing outside this folder compares versions.

use serde_json::Value;

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::{Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;

/// How one version spells the model as JSON.
///
/// Readers are lenient: they read what is there, note what is wrong as problems whose `at` is a JSON
/// path from `$`, and never fail. `None` means that nothing of the kind was there.
pub trait Dialect: Sync {
    /// Reads what is asked: JSON-RPC's `params`, an HTTP+JSON body, a gRPC request message.
    fn read_request(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Request>;

    /// Reads a single answer: JSON-RPC's `result`, an HTTP+JSON body, a gRPC response message.
    fn read_reply(
        &self,
        operation: Operation,
        value: &Value,
        problems: &mut Vec<Problem>,
    ) -> Option<Reply>;

    /// Reads one event of a stream, or a push notification.
    fn read_event(&self, value: &Value, problems: &mut Vec<Problem>) -> Option<StreamResponse>;

    /// Writes what is asked.
    fn write_request(&self, operation: Operation, request: &Request) -> Value;

    /// Writes a single answer. An error is the binding's to write, not the dialect's.
    fn write_reply(&self, operation: Operation, reply: &Reply) -> Value;

    /// Writes one event of a stream.
    fn write_event(&self, event: &StreamResponse) -> Value;
}

pub mod generated;
mod json;
pub mod protobuf;
mod v0_3;
mod v0_3_proto;
mod v1_0;

pub use json::card::read_card;
pub(in crate::a2a) use json::card::scheme_as_proto;
pub(in crate::a2a) use json::values::{base64_encoded, utc};
pub(in crate::a2a) use json::write::{Members, list};

/// One dialect and where it is spoken.
pub struct Row {
    /// Its name, for messages and tests.
    pub name: &'static str,
    /// The version that it spells.
    pub version: ProtocolVersion,
    /// The bindings that carry it.
    pub bindings: &'static [Binding],
    /// The dialect.
    pub dialect: &'static dyn Dialect,
}

/// Every dialect; each pair of version and binding is in exactly one row.
#[rustfmt::skip]
pub const DIALECTS: &[Row] = &[
    Row { name: "0.3 JSON schema", version: ProtocolVersion::V0_3, bindings: &[Binding::JsonRpc], dialect: &v0_3::V0_3 },
    Row { name: "0.3 ProtoJSON", version: ProtocolVersion::V0_3, bindings: &[Binding::HttpJson, Binding::Grpc], dialect: &v0_3_proto::V0_3Proto },
    Row { name: "1.0", version: ProtocolVersion::V1_0, bindings: &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc], dialect: &v1_0::V1_0 },
];

/// The dialect of a version on a binding: 1.0 has one, 0.3 has its JSON schema on JSON-RPC and its
/// protobuf JSON on HTTP+JSON and gRPC (whose reader also takes the JSON schema's shapes).
pub fn of(version: ProtocolVersion, binding: Binding) -> &'static dyn Dialect {
    let row = DIALECTS.iter().find(|row| row.version == version && row.bindings.contains(&binding));
    row.map_or(&v1_0::V1_0, |row| row.dialect)
}

/// The version that a push notification speaks, by its shape: an agent that serves both versions
/// sends 1.0's to a webhook that was registered by 0.3. `None` when it looks like neither.
pub fn version_of_notification(value: &Value) -> Option<ProtocolVersion> {
    let has = |member: &str| value.get(member).is_some();
    if has("kind") {
        return Some(ProtocolVersion::V0_3);
    }
    let is_wrapped = ["task", "message", "statusUpdate", "artifactUpdate"].into_iter().any(has);
    is_wrapped.then_some(ProtocolVersion::V1_0)
}
