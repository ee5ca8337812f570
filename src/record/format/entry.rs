//! One entry of a recording as the head and body of a record, and back.

use std::ops::Range;

use bytes::Bytes;

use crate::base::id::ExchangeId;
use crate::record::format::body;
use crate::record::format::fields::Fields;
use crate::record::format::head::Head;
use crate::record::format::record::{Flags, Kind, Label};
use crate::record::redact::Redacted;
use crate::record::store::{Entry, EventRecord, GapRecord, SessionRecord};

/// Bodies shorter than this are not worth a compressor's frame.
const COMPRESS_MIN: usize = 128;

/// A record that stands in a buffer, uncompressed and unframed: its head, then its body.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Plain {
    pub(in crate::record) label: Label,
    pub(in crate::record) begin: usize,
    pub(in crate::record) head_len: usize,
    pub(in crate::record) body_len: usize,
}

impl Plain {
    pub(in crate::record) const fn head(&self) -> Range<usize> {
        self.begin..self.begin + self.head_len
    }

    pub(in crate::record) const fn body(&self) -> Range<usize> {
        self.begin + self.head_len..self.begin + self.head_len + self.body_len
    }
}

/// A change of the daemon's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct StateChange<'a> {
    pub(in crate::record) space: &'a str,
    pub(in crate::record) key: &'a [u8],
    /// `None`: it is deleted.
    pub(in crate::record) value: Option<&'a [u8]>,
}

/// Appends head and body of an entry to a buffer.
pub(in crate::record) fn write(entry: &Entry, out: &mut Vec<u8>) -> Result<Plain, String> {
    match entry {
        Entry::Exchange(exchange) => {
            let exchange = exchange.get();
            let label =
                Label { kind: Kind::Exchange, flags: Flags::NONE, id: *exchange.id.as_bytes() };
            plain(out, label, &Head::of(exchange), |out| body::write(exchange, out))
        }
        Entry::Session(session) => {
            let mut head = Head::of_note(session.started, &session.name, "");
            head.instance = session.instance;
            plain(out, note(Kind::Session), &head, |out| json(session, out))
        }
        Entry::Event(event) => {
            let head = Head::of_note(event.at, &event.session, &event.agent);
            plain(out, note(Kind::Event), &head, |out| json(event, out))
        }
        Entry::Gap(gap) => {
            let mut head = Head::of_note(gap.at, "", "");
            head.instance = gap.instance;
            plain(out, note(Kind::Gap), &head, |out| json(gap, out))
        }
    }
}

/// Appends head and body of a change of state.
pub(in crate::record) fn write_state(
    change: StateChange<'_>,
    time: jiff::Timestamp,
    out: &mut Vec<u8>,
) -> Result<Plain, String> {
    let kind = match change.value {
        Some(_) => Kind::StatePut,
        None => Kind::StateDelete,
    };
    plain(out, note(kind), &Head::of_note(time, "", ""), |out| {
        let space_len = u8::try_from(change.space.len());
        let key_len = u32::try_from(change.key.len());
        let (Ok(space_len), Ok(key_len)) = (space_len, key_len) else {
            return Err("the name of the space is longer than 255 octets".to_owned());
        };
        out.push(space_len);
        out.extend_from_slice(change.space.as_bytes());
        out.extend_from_slice(&key_len.to_le_bytes());
        out.extend_from_slice(change.key);
        out.extend_from_slice(change.value.unwrap_or_default());
        Ok(())
    })
}

/// The entry of a record whose body is plain; `None` for kinds that are no entries.
pub(in crate::record) fn read(
    label: Label,
    head: &[u8],
    plain: Bytes,
) -> Result<Option<Entry>, String> {
    match label.kind {
        Kind::Exchange => {
            let head = Head::parse(label.id, head).ok_or("its head is too short")?;
            let named = (ExchangeId::from_bytes(label.id), head.started, head.instance);
            let exchange = Redacted::from_storage(body::read(named, &plain)?);
            Ok(Some(Entry::Exchange(Box::new(exchange))))
        }
        Kind::Session => from_json::<SessionRecord>(&plain).map(|it| Some(Entry::Session(it))),
        Kind::Event => from_json::<EventRecord>(&plain).map(|it| Some(Entry::Event(it))),
        Kind::Gap => from_json::<GapRecord>(&plain).map(|it| Some(Entry::Gap(it))),
        Kind::Commit | Kind::StatePut | Kind::StateDelete | Kind::Pack | Kind::Other(_) => {
            drop(plain);
            Ok(None)
        }
    }
}

/// The change of state in a record's plain body.
pub(in crate::record) fn read_state(kind: Kind, plain: &[u8]) -> Option<StateChange<'_>> {
    let mut fields = Fields::new(plain);
    let space = fields.text()?;
    let key_len = usize::try_from(fields.u32()?).ok()?;
    let key = fields.octets(key_len)?;
    let value = (kind == Kind::StatePut).then(|| fields.rest());
    Some(StateChange { space, key, value })
}

/// Makes bodies smaller, with one context and one buffer for all of them.
pub(in crate::record) struct Compressor {
    context: Option<zstd::bulk::Compressor<'static>>,
    out: Vec<u8>,
}

impl Compressor {
    /// Of this zstd level; `None` leaves all bodies as they are.
    pub(in crate::record) fn new(level: Option<i32>) -> std::io::Result<Self> {
        let context = level.map(zstd::bulk::Compressor::new).transpose()?;
        Ok(Self { context, out: Vec::new() })
    }

    /// Whether it leaves bodies as they are.
    pub(in crate::record) const fn is_off(&self) -> bool {
        self.context.is_none()
    }

    /// The body as it is to be stored. What does not become smaller stays as it is.
    pub(in crate::record) fn shrink<'a>(&'a mut self, plain: &'a [u8]) -> (Flags, &'a [u8]) {
        let unchanged = (Flags::NONE, plain);
        let (Some(context), Ok(len)) = (&mut self.context, u32::try_from(plain.len())) else {
            return unchanged;
        };
        if plain.len() < COMPRESS_MIN {
            return unchanged;
        }
        self.out.clear();
        // The length stands in front, and zstd writes to the start of its buffer: so the frame goes
        // behind four octets of a slice that is as long as it can become.
        self.out.resize(4 + zstd::zstd_safe::compress_bound(plain.len()), 0);
        let Some((place, frame)) = self.out.split_first_chunk_mut::<4>() else {
            return unchanged;
        };
        *place = len.to_le_bytes();
        match context.compress_to_buffer(plain, frame) {
            Ok(written) if 4 + written < plain.len() => {
                (Flags::COMPRESSED, self.out.get(..4 + written).unwrap_or_default())
            }
            Ok(_) | Err(_) => unchanged,
        }
    }
}

/// Makes bodies plain again, with one context for all of them.
#[derive(Default)]
pub(in crate::record) struct Expander(Option<zstd::bulk::Decompressor<'static>>);

impl Expander {
    /// The plain body of a stored one.
    pub(in crate::record) fn expand(
        &mut self,
        flags: Flags,
        stored: &[u8],
    ) -> Result<Bytes, String> {
        self.expand_within(flags, stored, super::BODY_MAX)
    }

    /// The same, of a body that cannot be longer than this.
    pub(in crate::record) fn expand_within(
        &mut self,
        flags: Flags,
        stored: &[u8],
        bytes_max: usize,
    ) -> Result<Bytes, String> {
        if !flags.has(Flags::COMPRESSED) {
            return Ok(Bytes::copy_from_slice(stored));
        }
        let mut fields = Fields::new(stored);
        let len = fields.u32().and_then(|len| usize::try_from(len).ok());
        let len = len.filter(|len| *len <= bytes_max).ok_or("its length is no length")?;
        let text = |error: std::io::Error| error.to_string();
        let context = match &mut self.0 {
            Some(context) => context,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(text)?),
        };
        context.decompress(fields.rest(), len).map(Bytes::from).map_err(text)
    }
}

const fn note(kind: Kind) -> Label {
    Label { kind, flags: Flags::NONE, id: [0; 16] }
}

fn plain(
    out: &mut Vec<u8>,
    label: Label,
    head: &Head<'_>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
) -> Result<Plain, String> {
    let begin = out.len();
    head.write(out);
    let head_len = out.len() - begin;
    let written = body(out);
    let body_len = out.len() - begin - head_len;
    match written {
        Ok(()) if body_len <= super::BODY_MAX => Ok(Plain { label, begin, head_len, body_len }),
        Ok(()) => {
            out.truncate(begin);
            Err(format!("{body_len} octets are more than the {} of a record", super::BODY_MAX))
        }
        Err(why) => {
            out.truncate(begin);
            Err(why)
        }
    }
}

fn json<T: serde::Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), String> {
    serde_json::to_writer(out, value).map_err(|error| error.to_string())
}

fn from_json<T: serde::de::DeserializeOwned>(octets: &[u8]) -> Result<T, String> {
    serde_json::from_slice(octets).map_err(|error| error.to_string())
}
