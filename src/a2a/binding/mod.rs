//! How a call is carried: one file a binding, one row in `BINDINGS`.
//!
//! A carrier knows where a call's name stands, how an answer is framed and how an error looks. What
//! differs between versions of the protocol within a binding is a table of that binding; how a version
//! spells the model is the [`dialect`](crate::a2a::dialect)'s.

mod grpc;
mod http_json;
mod jsonrpc;
mod shared;

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
pub(crate) use jsonrpc::{peek_method, peek_rpc_id};
pub(crate) use shared::json::members;
pub(crate) use shared::{EXTENSIONS, VERSION};

use crate::a2a::call::{
    Answer, Call, Event, Head, Recognized, StreamEnd, WireAnswer, WireRequest, WireView,
};
use crate::a2a::edit::Insertion;
use crate::a2a::frame::Frame;
use crate::a2a::model::{A2aError, Operation, Reply, Request, StreamResponse};
use crate::a2a::problem::Problem;
use crate::a2a::webhook;

/// How calls are carried in one binding.
///
/// Readers never fail: what is wrong is a problem. Writers write what the official servers and clients
/// of the call's binding and version write.
pub(crate) trait Carrier: Sync {
    /// Which binding this is.
    fn binding(&self) -> Binding;

    /// What the head of a request tells, if it is one of this binding's.
    fn recognize(&self, head: Head<'_>) -> Option<Recognized>;

    /// Reads a request into a call that holds what its head tells already.
    fn read_call(&self, head: Head<'_>, recognized: &Recognized, body: &[u8], call: &mut Call);

    /// Reads a whole answer.
    fn read_answer(&self, call: &Call, wire: WireView<'_>) -> Answer;

    /// Reads one frame of a stream. `None` for frames that carry no event.
    fn read_event(&self, call: &Call, frame: &Frame, problems: &mut Vec<Problem>) -> Option<Event>;

    /// Writes a plain answer.
    fn write_reply(&self, call: &Call, reply: &Reply) -> WireAnswer;

    /// Writes an answer that is well formed and says nothing.
    fn write_nothing(&self, call: &Call) -> WireAnswer {
        self.write_reply(call, &Reply::Empty)
    }

    /// The head of a stream.
    fn write_stream_head(&self) -> (StatusCode, HeaderMap);

    /// One event of a stream, whole.
    fn write_event(&self, call: &Call, event: &StreamResponse) -> Bytes;

    /// The end of a stream that has begun.
    fn write_stream_end(&self, call: &Call, error: Option<&A2aError>) -> StreamEnd;

    /// Writes a request. `rpc_id` is the JSON text of the JSON-RPC id.
    fn write_request(
        &self,
        version: ProtocolVersion,
        operation: Operation,
        request: &Request,
        rpc_id: &str,
    ) -> WireRequest;

    /// Puts something into a plain answer. The error says why it cannot be done.
    fn insert_into_reply(
        &self,
        call: &Call,
        wire: WireView<'_>,
        insertion: &Insertion,
    ) -> Result<Bytes, String>;

    /// Puts something into one event of a stream and gives the whole new frame.
    fn insert_into_event(
        &self,
        call: &Call,
        frame: &Frame,
        insertion: &Insertion,
    ) -> Result<Bytes, String>;

    /// Replaces the webhooks that a request registers. `None` when nothing changes.
    fn register_webhooks(
        &self,
        head: Head<'_>,
        recognized: &Recognized,
        body: &[u8],
        decide: webhook::Decide<'_>,
    ) -> Option<Vec<u8>>;

    /// Puts the orchestrator's own webhooks back into an answer. `None` when nothing changes.
    fn restore_webhooks(&self, wire: WireView<'_>, find: webhook::Find<'_>) -> Option<Vec<u8>>;
}

/// The bindings, in the order in which they are asked whether a request is theirs: gRPC says so by its
/// content type, HTTP+JSON by its path, and JSON-RPC is what else posts JSON.
pub(crate) const BINDINGS: &[&dyn Carrier] =
    &[&grpc::Grpc, &http_json::HttpJson, &jsonrpc::JsonRpc];

/// The carrier of a binding; `None` for what is not A2A.
pub(crate) fn carrier(binding: Option<Binding>) -> Option<&'static dyn Carrier> {
    BINDINGS.iter().copied().find(|carrier| Some(carrier.binding()) == binding)
}

/// The carrier that answers a call: a request that is not A2A is answered in plain HTTP.
pub(crate) fn carrier_or_plain(binding: Option<Binding>) -> &'static dyn Carrier {
    carrier(binding).unwrap_or(&http_json::HttpJson)
}

/// A protocol binding (A2A 1.0, section 5), by the names of suites and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP, streams as server-sent events.
    JsonRpc,
    /// HTTP+JSON ("REST"), streams as server-sent events.
    HttpJson,
    /// gRPC over HTTP/2.
    Grpc,
}

/// A version of the protocol that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// 0.3
    V0_3,
    /// 1.0
    V1_0,
}

impl Binding {
    /// `jsonrpc`, `http+json` or `grpc`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::HttpJson => "http+json",
            Self::Grpc => "grpc",
        }
    }

    /// The binding of any name in use: ours, the card's (`JSONRPC`, `HTTP+JSON`, `GRPC`), `rest`,
    /// `http`; any case.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "jsonrpc" | "json-rpc" | "rpc" => Some(Self::JsonRpc),
            "http+json" | "http" | "rest" | "http_json" => Some(Self::HttpJson),
            "grpc" => Some(Self::Grpc),
            _ => None,
        }
    }
}

impl ProtocolVersion {
    /// `0.3` or `1.0`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// The version that a declared one is served by: the same major version, and for 0 the same minor
    /// (`1.1` is 1.0, `0.3.0` is 0.3). `None` for others.
    pub fn parse(text: &str) -> Option<Self> {
        // Several are none, unless they are one.
        if let Some((first, rest)) = text.split_once(',') {
            return Self::parse(first).filter(|first| Self::parse(rest) == Some(*first));
        }
        let mut numbers = text.trim().trim_start_matches('v').split('.');
        match (numbers.next(), numbers.next()) {
            (Some("1"), _) => Some(Self::V1_0),
            (Some("0"), Some("3")) => Some(Self::V0_3),
            _ => None,
        }
    }
}

macro_rules! named {
    ($name:ident, $what:literal, $known:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::parse(text).ok_or_else(|| {
                    format!(concat!("unknown ", $what, " `{}`; known: ", $known), text)
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

named!(Binding, "binding", "jsonrpc, http+json, grpc");
named!(ProtocolVersion, "version", "0.3, 1.0");
