//! The body of an exchange's record: JSON for what is said about it, its octets as they are behind it.
//!
//! Every member but `session`, `agent` and `request` may be absent, and members that are not known are
//! skipped: that is how a version 1 file stays readable in both directions.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::call::Ids;
use crate::a2a::model::Operation;
use crate::a2a::problem::Problem;
use crate::base::id::{ExchangeId, InstanceId};
use crate::record::exchange::{
    EditRecord, EventMark, Exchange, FaultRecord, Outcome, Payload, RecordedRequest,
    RecordedResponse, Redaction, Timings, UpstreamTrouble,
};
use crate::record::format::fields::Fields;

type Headers<'a> = Cow<'a, [(String, String)]>;

#[derive(Serialize, Deserialize)]
struct Meta<'a> {
    session: Cow<'a, str>,
    agent: Cow<'a, str>,
    #[serde(default)]
    orchestrator: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    binding: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declared_version: Option<Cow<'a, str>>,
    #[serde(default)]
    operation: Cow<'a, str>,
    #[serde(default)]
    wire_name: Cow<'a, str>,
    #[serde(default)]
    ids: Cow<'a, Ids>,
    #[serde(default)]
    timings_us: [Option<u64>; 4],
    request: Request<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<Response<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivered: Option<Response<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    faults: Cow<'a, [FaultRecord]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    edits: Cow<'a, [EditRecord]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    problems: Cow<'a, [Problem]>,
    #[serde(default, skip_serializing_if = "is_empty")]
    redactions: Cow<'a, [Redaction]>,
    #[serde(default = "unknown_outcome", deserialize_with = "known_outcome")]
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_error: Option<Cow<'a, UpstreamTrouble>>,
}

#[derive(Serialize, Deserialize)]
struct Request<'a> {
    method: Cow<'a, str>,
    target: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    base: Cow<'a, str>,
    #[serde(default)]
    http: Cow<'a, str>,
    #[serde(default)]
    headers: Headers<'a>,
    body: Body<'a>,
    #[serde(default, skip_serializing_if = "is_empty")]
    trailers: Headers<'a>,
}

#[derive(Serialize, Deserialize)]
struct Response<'a> {
    status: u16,
    #[serde(default)]
    http: Cow<'a, str>,
    #[serde(default)]
    headers: Headers<'a>,
    body: Body<'a>,
    #[serde(default, skip_serializing_if = "Events::is_empty")]
    events: Events<'a>,
    #[serde(default, skip_serializing_if = "is_empty")]
    trailers: Headers<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grpc_status: Option<u8>,
}

#[derive(Serialize, Deserialize)]
struct Body<'a> {
    /// Octets of it that follow the JSON.
    kept: u64,
    bytes: u64,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    encoding: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "is_false")]
    truncated: bool,
    #[serde(with = "hex")]
    sha256: [u8; 32],
    #[serde(default, skip_serializing_if = "is_false")]
    digest_is_keyed: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    gap: u64,
}

/// Marks of events as `[at_us, start, len]`.
#[derive(Default)]
struct Events<'a>(Cow<'a, [EventMark]>);

impl Events<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|mark| [mark.at_us, mark.start, mark.len]))
    }
}

impl<'de> Deserialize<'de> for Events<'_> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let marks = Vec::<[u64; 3]>::deserialize(from)?;
        let marks = marks.into_iter().map(|[at_us, start, len]| EventMark { at_us, start, len });
        Ok(Self(Cow::Owned(marks.collect())))
    }
}

/// Appends the body of this exchange's record.
pub(in crate::record) fn write(exchange: &Exchange, out: &mut Vec<u8>) -> Result<(), String> {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    serde_json::to_writer(&mut *out, &meta(exchange)).map_err(|error| error.to_string())?;
    let len = u32::try_from(out.len() - begin - 4)
        .map_err(|_| "what is said about the exchange is longer than 4 GiB".to_owned())?;
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&len.to_le_bytes());
    }
    out.extend_from_slice(&exchange.request.body.kept);
    for answer in exchange.response.iter().chain(&exchange.delivered) {
        out.extend_from_slice(&answer.body.kept);
    }
    Ok(())
}

/// Reads it back. Bodies share the allocation of `octets`.
pub(in crate::record) fn read(
    (id, started, instance): (ExchangeId, Timestamp, InstanceId),
    octets: &Bytes,
) -> Result<Exchange, String> {
    let mut fields = Fields::new(octets);
    let json = fields
        .u32()
        .and_then(|len| fields.octets(usize::try_from(len).ok()?))
        .ok_or("shorter than it says")?;
    let meta: Meta<'_> = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let mut rest = octets.slice(octets.len() - fields.rest().len()..);
    let request = meta.request.into_recorded(&mut rest)?;
    let response = meta.response.map(|answer| answer.into_recorded(&mut rest)).transpose()?;
    let delivered = meta.delivered.map(|answer| answer.into_recorded(&mut rest)).transpose()?;
    let [request_us, head_us, first_event_us, end_us] = meta.timings_us;
    Ok(Exchange {
        id,
        session: meta.session.into_owned(),
        instance,
        agent: meta.agent.into_owned(),
        orchestrator: meta.orchestrator.into_owned(),
        binding: meta.binding.as_deref().and_then(Binding::parse),
        version: meta.version.as_deref().and_then(ProtocolVersion::parse),
        declared_version: meta.declared_version.map(Cow::into_owned),
        operation: Operation::parse(&meta.operation).unwrap_or(Operation::Unknown),
        wire_name: meta.wire_name.into_owned(),
        ids: meta.ids.into_owned(),
        started,
        timings: Timings { request_us, head_us, first_event_us, end_us },
        request,
        response,
        delivered,
        upstream: meta.upstream.map(Cow::into_owned),
        faults: meta.faults.into_owned(),
        edits: meta.edits.into_owned(),
        problems: meta.problems.into_owned(),
        redactions: meta.redactions.into_owned(),
        outcome: meta.outcome,
        upstream_error: meta.upstream_error.map(Cow::into_owned),
    })
}

fn meta(exchange: &Exchange) -> Meta<'_> {
    let timings = &exchange.timings;
    Meta {
        session: Cow::Borrowed(&exchange.session),
        agent: Cow::Borrowed(&exchange.agent),
        orchestrator: Cow::Borrowed(&exchange.orchestrator),
        binding: exchange.binding.map(|binding| Cow::Borrowed(binding.as_str())),
        version: exchange.version.map(|version| Cow::Borrowed(version.as_str())),
        declared_version: exchange.declared_version.as_deref().map(Cow::Borrowed),
        operation: Cow::Borrowed(exchange.operation.as_str()),
        wire_name: Cow::Borrowed(&exchange.wire_name),
        ids: Cow::Borrowed(&exchange.ids),
        timings_us: [timings.request_us, timings.head_us, timings.first_event_us, timings.end_us],
        request: Request::of(&exchange.request),
        response: exchange.response.as_ref().map(Response::of),
        delivered: exchange.delivered.as_ref().map(Response::of),
        upstream: exchange.upstream.as_deref().map(Cow::Borrowed),
        faults: Cow::Borrowed(&exchange.faults),
        edits: Cow::Borrowed(&exchange.edits),
        problems: Cow::Borrowed(&exchange.problems),
        redactions: Cow::Borrowed(&exchange.redactions),
        outcome: exchange.outcome,
        upstream_error: exchange.upstream_error.as_ref().map(Cow::Borrowed),
    }
}

impl<'a> Request<'a> {
    fn of(request: &'a RecordedRequest) -> Self {
        Self {
            method: Cow::Borrowed(&request.method),
            target: Cow::Borrowed(&request.target),
            base: Cow::Borrowed(&request.base),
            http: Cow::Borrowed(&request.http),
            headers: Cow::Borrowed(&request.headers),
            body: Body::of(&request.body),
            trailers: Cow::Borrowed(&request.trailers),
        }
    }

    fn into_recorded(self, rest: &mut Bytes) -> Result<RecordedRequest, String> {
        Ok(RecordedRequest {
            method: self.method.into_owned(),
            target: self.target.into_owned(),
            base: self.base.into_owned(),
            http: self.http.into_owned(),
            headers: self.headers.into_owned(),
            body: self.body.into_payload(rest)?,
            trailers: self.trailers.into_owned(),
        })
    }
}

impl<'a> Response<'a> {
    fn of(response: &'a RecordedResponse) -> Self {
        Self {
            status: response.status,
            http: Cow::Borrowed(&response.http),
            headers: Cow::Borrowed(&response.headers),
            body: Body::of(&response.body),
            events: Events(Cow::Borrowed(&response.events)),
            trailers: Cow::Borrowed(&response.trailers),
            grpc_status: response.grpc_status,
        }
    }

    fn into_recorded(self, rest: &mut Bytes) -> Result<RecordedResponse, String> {
        Ok(RecordedResponse {
            status: self.status,
            http: self.http.into_owned(),
            headers: self.headers.into_owned(),
            body: self.body.into_payload(rest)?,
            events: self.events.0.into_owned(),
            trailers: self.trailers.into_owned(),
            grpc_status: self.grpc_status,
        })
    }
}

impl<'a> Body<'a> {
    fn of(payload: &'a Payload) -> Self {
        Self {
            kept: payload.kept.len() as u64,
            bytes: payload.bytes,
            encoding: Cow::Borrowed(&payload.encoding),
            truncated: payload.truncated,
            sha256: payload.sha256,
            digest_is_keyed: payload.digest_is_keyed,
            gap: payload.gap,
        }
    }

    fn into_payload(self, rest: &mut Bytes) -> Result<Payload, String> {
        let kept = usize::try_from(self.kept).ok().filter(|kept| *kept <= rest.len());
        let kept = kept.ok_or("a body is shorter than it says")?;
        Ok(Payload {
            kept: rest.split_to(kept),
            bytes: self.bytes,
            encoding: self.encoding.into_owned(),
            truncated: self.truncated,
            sha256: self.sha256,
            digest_is_keyed: self.digest_is_keyed,
            gap: self.gap,
        })
    }
}

/// What an outcome is read as whose word this program does not know: never as success.
const fn unknown_outcome() -> Outcome {
    Outcome::Malformed
}

fn known_outcome<'de, D: Deserializer<'de>>(from: D) -> Result<Outcome, D::Error> {
    let word = Cow::<str>::deserialize(from)?;
    let known: Result<Outcome, WordError> = Outcome::deserialize(word.as_ref().into_deserializer());
    Ok(known.unwrap_or(unknown_outcome()))
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Digests as sixty-four hex digits, without an allocation when written.
mod hex {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(octets: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
        let mut text = [0; 64];
        for (octet, pair) in octets.iter().zip(text.as_chunks_mut::<2>().0) {
            *pair = [digit(octet >> 4), digit(octet & 15)];
        }
        to.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 32], D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        let digits = text.as_bytes().as_chunks::<2>();
        let mut octets = [0; 32];
        if digits.0.len() != octets.len() || !digits.1.is_empty() {
            return Err(serde::de::Error::custom("a SHA-256 has 64 hex digits"));
        }
        for ([high, low], octet) in digits.0.iter().zip(&mut octets) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            let (Some(high), Some(low)) = (value(*high), value(*low)) else {
                return Err(serde::de::Error::custom("a SHA-256 has hex digits only"));
            };
            *octet = u8::try_from(high << 4 | low).unwrap_or_default();
        }
        Ok(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::store::sample;

    fn read_back(exchange: &Exchange, octets: Vec<u8>) -> Result<Exchange, String> {
        read((exchange.id, exchange.started, exchange.instance), &Bytes::from(octets))
    }

    #[test]
    fn an_exchange_comes_back_as_it_was() {
        for n in 0..16 {
            let exchange = sample::exchange(n);
            let mut out = Vec::new();
            write(&exchange, &mut out).unwrap();
            let back = read_back(&exchange, out).unwrap();
            assert_eq!(format!("{back:?}"), format!("{exchange:?}"));
        }
    }

    #[test]
    fn a_body_cut_anywhere_is_an_error_and_no_panic() {
        let exchange = sample::exchange(3);
        let mut out = Vec::new();
        write(&exchange, &mut out).unwrap();
        for len in 0..out.len() {
            assert!(read_back(&exchange, out[..len].to_vec()).is_err(), "cut to {len}");
        }
    }

    #[test]
    fn what_a_later_program_adds_is_skipped_and_its_words_are_no_success() {
        let json = r#"{"session":"s","agent":"a","operation":"Teleport","binding":"quic",
            "outcome":"enlightened","mood":{"new":1},"request":{"method":"POST","target":"/","body":
            {"kept":2,"bytes":2,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}}}"#;
        let mut out = u32::try_from(json.len()).unwrap().to_le_bytes().to_vec();
        out.extend_from_slice(json.as_bytes());
        out.extend_from_slice(b"hi");
        let back = read_back(&sample::exchange(0), out).unwrap();
        assert_eq!(back.operation, Operation::Unknown);
        assert_eq!((back.binding, back.outcome), (None, Outcome::Malformed));
        assert_eq!(back.request.body.kept, "hi");
    }
}
