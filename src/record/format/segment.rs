//! The header of a segment.

use crate::record::format::fields::Fields;

/// Octets of the header.
pub(in crate::record) const HEADER_LEN: usize = 64;

const MAGIC: &[u8; 8] = b"A2AMDSEG";
/// Octets of the header that seed the CRCs of records.
const SEEDING: usize = 40;
const STATE_IS_WHOLE: u32 = 1;

/// What a segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct SegmentHeader {
    pub(in crate::record) version: u16,
    pub(in crate::record) number: u32,
    pub(in crate::record) store_id: [u8; 16],
    pub(in crate::record) created_us: i64,
    pub(in crate::record) snapshot_len: u32,
    pub(in crate::record) snapshot: SnapshotOf,
    pub(in crate::record) rewrites: u32,
    /// Of all other fields: tells this segment from what it becomes when it is rewritten.
    pub(in crate::record) crc: u32,
    /// What the CRCs of its records' heads begin with: of what never changes.
    pub(in crate::record) seed: u32,
}

/// How much a segment's snapshot repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) enum SnapshotOf {
    /// Sessions and the whole state: an earlier segment is not needed.
    Everything,
    /// Sessions alone: the state could not be read when the segment was begun.
    Sessions,
}

impl SegmentHeader {
    /// Parses and checks; `None` for what is no whole header.
    pub(in crate::record) fn parse(octets: &[u8]) -> Option<Self> {
        let (checked, _) = octets.split_at_checked(HEADER_LEN - 4)?;
        let seed = crc32fast::hash(checked.get(..SEEDING)?);
        let mut fields = Fields::new(octets);
        if fields.array::<8>()? != *MAGIC {
            return None;
        }
        let version = fields.u16()?;
        let _len = fields.u16()?;
        let number = fields.u32()?;
        let store_id = fields.array()?;
        let created_us = fields.i64()?;
        let snapshot_len = fields.u32()?;
        let snapshot = match fields.u32()? & STATE_IS_WHOLE {
            0 => SnapshotOf::Sessions,
            _ => SnapshotOf::Everything,
        };
        let rewrites = fields.u32()?;
        let _zero = fields.u64()?;
        let crc = fields.u32()?;
        let whole = crc == crc32fast::hash(checked);
        whole.then_some(Self {
            version,
            number,
            store_id,
            created_us,
            snapshot_len,
            snapshot,
            rewrites,
            crc,
            seed,
        })
    }

    /// The octets, and the header with `crc` and `seed` set.
    pub(in crate::record) fn seal(mut self) -> (Self, Vec<u8>) {
        let bits = match self.snapshot {
            SnapshotOf::Everything => STATE_IS_WHOLE,
            SnapshotOf::Sessions => 0,
        };
        let mut out = Vec::with_capacity(HEADER_LEN);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&64_u16.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.store_id);
        out.extend_from_slice(&self.created_us.to_le_bytes());
        out.extend_from_slice(&self.snapshot_len.to_le_bytes());
        out.extend_from_slice(&bits.to_le_bytes());
        out.extend_from_slice(&self.rewrites.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        self.crc = crc32fast::hash(&out);
        self.seed = crc32fast::hash(out.get(..SEEDING).unwrap_or_default());
        out.extend_from_slice(&self.crc.to_le_bytes());
        (self, out)
    }

    /// The first octet behind the snapshot.
    pub(in crate::record) fn snapshot_end(&self) -> u64 {
        HEADER_LEN as u64 + u64::from(self.snapshot_len)
    }
}
