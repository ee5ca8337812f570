//! The parts of a sidecar: header, rows, keys.

use crate::record::format::codes;
use crate::record::format::fields::Fields;
use crate::record::format::head::Head;
use crate::record::format::record::Kind;

/// Octets of the header.
pub(in crate::record) const HEADER_LEN: usize = 128;
/// Octets of a row.
pub(in crate::record) const ROW_LEN: usize = 64;
/// Octets of a pair in a key list, and of a note.
pub(in crate::record) const PAIR_LEN: usize = 8;

const MAGIC: &[u8; 8] = b"A2AMDIDX";
/// Of sidecars: they have not changed since the first.
const VERSION: u16 = 1;

/// By what an exchange can be found, in the order of the lists in a sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum KeyKind {
    Session,
    Agent,
    Message,
    Context,
    Task,
}

/// All of them, in order.
pub(in crate::record) const KEY_KINDS: [KeyKind; 5] =
    [KeyKind::Session, KeyKind::Agent, KeyKind::Message, KeyKind::Context, KeyKind::Task];

/// Keys of one exchange, in that order; 0 for what it has not.
pub(in crate::record) type Keys = [u32; 5];

/// One exchange of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Row {
    pub(in crate::record) id: [u8; 16],
    pub(in crate::record) started_us: i64,
    pub(in crate::record) offset: u32,
    pub(in crate::record) len: u32,
    pub(in crate::record) operation: u8,
    pub(in crate::record) outcome: u8,
    pub(in crate::record) binding: u8,
    pub(in crate::record) version: u8,
    pub(in crate::record) status: u16,
    pub(in crate::record) marks: u8,
    pub(in crate::record) faults: u8,
    pub(in crate::record) took_ms: u32,
    pub(in crate::record) keys: Keys,
}

/// Something of a segment that is no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Note {
    pub(in crate::record) offset: u32,
    pub(in crate::record) kind: Kind,
}

/// What a sidecar says of itself and its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct IndexHeader {
    pub(in crate::record) number: u32,
    pub(in crate::record) store_id: [u8; 16],
    pub(in crate::record) segment_crc: u32,
    pub(in crate::record) rows: u32,
    pub(in crate::record) segment_len: u64,
    pub(in crate::record) earliest_us: i64,
    pub(in crate::record) latest_us: i64,
    pub(in crate::record) notes: u32,
    pub(in crate::record) body_crc: u32,
    pub(in crate::record) damaged: u64,
    pub(in crate::record) lowest: [u8; 16],
    pub(in crate::record) highest: [u8; 16],
}

/// The key of a text as it stands in a head.
pub(in crate::record) fn key(text: &str) -> u32 {
    match (text, crc32fast::hash(text.as_bytes())) {
        ("", _) => 0,
        (_, 0) => 1,
        (_, crc) => crc,
    }
}

impl KeyKind {
    /// The key of this kind.
    pub(in crate::record) const fn of(self, keys: Keys) -> u32 {
        let [session, agent, message, context, task] = keys;
        match self {
            Self::Session => session,
            Self::Agent => agent,
            Self::Message => message,
            Self::Context => context,
            Self::Task => task,
        }
    }
}

impl Row {
    /// The row of the exchange with this head, whose record stands at `offset`.
    pub(in crate::record) fn of(head: &Head<'_>, offset: u32, len: u32) -> Self {
        let took = head.took.and_then(|took| u32::try_from(took.as_millis()).ok());
        let optional = |text: &Option<_>| text.as_deref().map_or(0, key);
        Self {
            id: *head.id.as_bytes(),
            started_us: head.started.as_microsecond(),
            offset,
            len,
            operation: codes::of_operation(head.operation),
            outcome: head.outcome.map_or(0, codes::of_outcome),
            binding: codes::of_binding(head.binding),
            version: codes::of_version(head.version),
            status: head.status.unwrap_or(0),
            marks: head.marks.0,
            faults: u8::try_from(head.faults.len()).unwrap_or(u8::MAX),
            took_ms: took.unwrap_or(u32::MAX),
            keys: [
                key(&head.session),
                key(&head.agent),
                optional(&head.message_id),
                optional(&head.context_id),
                optional(&head.task_id),
            ],
        }
    }

    pub(in crate::record) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.started_us.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&[self.operation, self.outcome, self.binding, self.version]);
        out.extend_from_slice(&self.status.to_le_bytes());
        out.extend_from_slice(&[self.marks, self.faults]);
        out.extend_from_slice(&self.took_ms.to_le_bytes());
        for key in self.keys {
            out.extend_from_slice(&key.to_le_bytes());
        }
    }

    pub(in crate::record) fn parse(octets: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(octets);
        Some(Self {
            id: fields.array()?,
            started_us: fields.i64()?,
            offset: fields.u32()?,
            len: fields.u32()?,
            operation: fields.u8()?,
            outcome: fields.u8()?,
            binding: fields.u8()?,
            version: fields.u8()?,
            status: fields.u16()?,
            marks: fields.u8()?,
            faults: fields.u8()?,
            took_ms: fields.u32()?,
            keys: [fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?],
        })
    }
}

impl Note {
    pub(in crate::record) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&[self.kind.code(), 0, 0, 0]);
    }

    pub(in crate::record) fn parse(octets: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(octets);
        Some(Self { offset: fields.u32()?, kind: Kind::of_code(fields.u8()?) })
    }
}

impl IndexHeader {
    pub(in crate::record) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&128_u16.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.store_id);
        out.extend_from_slice(&self.segment_crc.to_le_bytes());
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.segment_len.to_le_bytes());
        out.extend_from_slice(&self.earliest_us.to_le_bytes());
        out.extend_from_slice(&self.latest_us.to_le_bytes());
        out.extend_from_slice(&self.notes.to_le_bytes());
        out.extend_from_slice(&self.body_crc.to_le_bytes());
        out.extend_from_slice(&self.damaged.to_le_bytes());
        out.extend_from_slice(&self.lowest);
        out.extend_from_slice(&self.highest);
        out.extend_from_slice(&[0; 12]);
        let crc = crc32fast::hash(out.get(begin..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Parses and checks. A sidecar of another version is none: it is made anew.
    pub(in crate::record) fn parse(octets: &[u8]) -> Option<Self> {
        let (checked, _) = octets.split_at_checked(HEADER_LEN - 4)?;
        let mut fields = Fields::new(octets);
        if fields.array::<8>()? != *MAGIC || fields.u16()? != VERSION {
            return None;
        }
        let _len = fields.u16()?;
        let header = Self {
            number: fields.u32()?,
            store_id: fields.array()?,
            segment_crc: fields.u32()?,
            rows: fields.u32()?,
            segment_len: fields.u64()?,
            earliest_us: fields.i64()?,
            latest_us: fields.i64()?,
            notes: fields.u32()?,
            body_crc: fields.u32()?,
            damaged: fields.u64()?,
            lowest: fields.array()?,
            highest: fields.array()?,
        };
        let _zero = fields.array::<12>()?;
        (fields.u32()? == crc32fast::hash(checked)).then_some(header)
    }
}
