//! The frame around every record of a segment.

use crate::record::format::BODY_MAX;
use crate::record::format::fields::Fields;

/// What a record begins with.
pub(in crate::record) const MARK: [u8; 2] = [0xA2, 0x5E];
/// Octets before the head.
pub(in crate::record) const HEADER_LEN: usize = 36;
/// Octets of a whole commit mark.
pub(in crate::record) const COMMIT_LEN: usize = HEADER_LEN + 16;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum Kind {
    Commit,
    Exchange,
    Session,
    Event,
    Gap,
    StatePut,
    StateDelete,
    /// The bodies of the exchanges behind it.
    Pack,
    /// Of a later program.
    Other(u8),
}

/// How a record is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::record) struct Flags(u8);

/// What a record is called in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Label {
    pub(in crate::record) kind: Kind,
    pub(in crate::record) flags: Flags,
    /// The exchange's id; zero for other kinds.
    pub(in crate::record) id: [u8; 16],
}

/// A record's frame, parsed and (with its head) trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Header {
    pub(in crate::record) kind: Kind,
    pub(in crate::record) flags: Flags,
    pub(in crate::record) head_len: u16,
    pub(in crate::record) body_len: u32,
    pub(in crate::record) body_crc: u32,
    pub(in crate::record) head_crc: u32,
    pub(in crate::record) id: [u8; 16],
}

impl Kind {
    pub(in crate::record) const fn code(self) -> u8 {
        match self {
            Self::Commit => 0,
            Self::Exchange => 1,
            Self::Session => 2,
            Self::Event => 3,
            Self::Gap => 4,
            Self::StatePut => 5,
            Self::StateDelete => 6,
            Self::Pack => 7,
            Self::Other(code) => code,
        }
    }

    pub(in crate::record) const fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Commit,
            1 => Self::Exchange,
            2 => Self::Session,
            3 => Self::Event,
            4 => Self::Gap,
            5 => Self::StatePut,
            6 => Self::StateDelete,
            7 => Self::Pack,
            other => Self::Other(other),
        }
    }
}

impl Flags {
    /// Nothing special.
    pub(in crate::record) const NONE: Self = Self(0);
    /// The body is compressed.
    pub(in crate::record) const COMPRESSED: Self = Self(1);
    /// An earlier segment says the same.
    pub(in crate::record) const SNAPSHOT: Self = Self(2);
    /// The body tells where in a pack the true one is.
    pub(in crate::record) const PACKED: Self = Self(4);

    pub(in crate::record) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::record) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Header {
    /// The header of the octets at the start of a record; `None` where no record can begin. Not yet
    /// trusted: [`Self::vouches_for`] does that.
    pub(in crate::record) fn parse(octets: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(octets);
        if fields.array::<2>()? != MARK {
            return None;
        }
        let kind = Kind::of_code(fields.u8()?);
        let flags = Flags(fields.u8()?);
        let head_len = fields.u16()?;
        let zero = fields.u16()?;
        let body_len = fields.u32()?;
        let body_crc = fields.u32()?;
        let head_crc = fields.u32()?;
        let id = fields.array()?;
        let plausible = zero == 0 && usize::try_from(body_len).is_ok_and(|len| len <= BODY_MAX);
        plausible.then_some(Self { kind, flags, head_len, body_len, body_crc, head_crc, id })
    }

    /// Octets of the whole record.
    pub(in crate::record) fn total(&self) -> u64 {
        HEADER_LEN as u64 + u64::from(self.head_len) + u64::from(self.body_len)
    }

    /// Whether header and head are what was written into the segment with this seed.
    pub(in crate::record) fn vouches_for(&self, head: &[u8], seed: u32) -> bool {
        self.crc(head, seed) == self.head_crc
    }

    /// Whether the body is what was written.
    pub(in crate::record) fn vouches_for_body(&self, body: &[u8]) -> bool {
        crc32fast::hash(body) == self.body_crc
    }

    fn crc(&self, head: &[u8], seed: u32) -> u32 {
        let mut crc = crc32fast::Hasher::new_with_initial(seed);
        crc.update(&self.first_part());
        crc.update(&self.id);
        crc.update(head);
        crc.finalize()
    }

    fn first_part(&self) -> [u8; 16] {
        let [a, b] = MARK;
        let [h0, h1] = self.head_len.to_le_bytes();
        let [l0, l1, l2, l3] = self.body_len.to_le_bytes();
        let [c0, c1, c2, c3] = self.body_crc.to_le_bytes();
        [a, b, self.kind.code(), self.flags.0, h0, h1, 0, 0, l0, l1, l2, l3, c0, c1, c2, c3]
    }
}

/// Appends a record. `None` when head or body is too long; then nothing is appended.
pub(in crate::record) fn write(
    out: &mut Vec<u8>,
    seed: u32,
    label: Label,
    head: &[u8],
    body: &[u8],
) -> Option<Header> {
    let head_len = u16::try_from(head.len()).ok()?;
    let body_len = u32::try_from(body.len()).ok().filter(|_| body.len() <= BODY_MAX)?;
    let body_crc = crc32fast::hash(body);
    let Label { kind, flags, id } = label;
    let mut header = Header { kind, flags, head_len, body_len, body_crc, head_crc: 0, id };
    header.head_crc = header.crc(head, seed);
    out.extend_from_slice(&header.first_part());
    out.extend_from_slice(&header.head_crc.to_le_bytes());
    out.extend_from_slice(&id);
    out.extend_from_slice(head);
    out.extend_from_slice(body);
    Some(header)
}

/// A commit mark that stands at `offset`.
pub(in crate::record) fn write_commit(out: &mut Vec<u8>, seed: u32, offset: u64, time_us: i64) {
    let mut head = [0; 16];
    let (first, second) = head.split_at_mut(8);
    first.copy_from_slice(&offset.to_le_bytes());
    second.copy_from_slice(&time_us.to_le_bytes());
    let label = Label { kind: Kind::Commit, flags: Flags::NONE, id: [0; 16] };
    write(out, seed, label, &head, &[]);
}

/// Whether the head of a commit mark says that it stands at `offset`.
pub(in crate::record) fn is_commit_at(head: &[u8], offset: u64) -> bool {
    Fields::new(head).u64() == Some(offset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event() -> Vec<u8> {
        let mut out = Vec::new();
        let label = Label { kind: Kind::Event, flags: Flags::SNAPSHOT, id: [3; 16] };
        write(&mut out, 7, label, b"head", b"body").unwrap();
        out
    }

    #[test]
    fn a_record_vouches_for_itself_in_its_own_segment_only() {
        let out = event();
        let header = Header::parse(&out).unwrap();
        assert_eq!(header.total(), out.len() as u64);
        assert!(header.vouches_for(b"head", 7));
        assert!(!header.vouches_for(b"head", 8), "copied from another segment");
        assert!(!header.vouches_for(b"heat", 7));
        assert!(header.vouches_for_body(b"body") && !header.vouches_for_body(b"bodi"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_flipped_bit_is_noticed(octet in 0_usize..44, bit in 0_u8..8) {
            let mut out = event();
            out[octet] ^= 1 << bit;
            let noticed = Header::parse(&out).is_none_or(|header| {
                header.total() != 44
                    || !header.vouches_for(&out[36..40], 7)
                    || !header.vouches_for_body(&out[40..])
            });
            prop_assert!(noticed);
        }

        #[test]
        fn no_octets_make_the_parser_panic(octets in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Header::parse(&octets);
        }
    }
}
