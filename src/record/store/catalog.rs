//! What one segment holds, in memory: gathered while records are written or walked, and turned into
//! the octets of a sidecar when the segment is sealed.

use crate::record::format::head::Head;
use crate::record::format::index::{IndexHeader, KEY_KINDS, KeyKind, Note, PAIR_LEN, ROW_LEN, Row};
use crate::record::format::record::{Flags, Header, Kind};
use crate::record::format::segment::SegmentHeader;

/// The rows and notes of one segment, in the order in which their records stand.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<Note>,
    /// Times of the earliest and the latest record; crossed while there is none.
    pub(super) earliest_us: i64,
    pub(super) latest_us: i64,
    /// Octets at damaged places.
    pub(super) damaged: u64,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            notes: Vec::new(),
            earliest_us: i64::MAX,
            latest_us: i64::MIN,
            damaged: 0,
        }
    }
}

impl Catalog {
    /// Takes note of a record. What repeats an earlier segment is left out.
    pub(super) fn add(&mut self, at: u64, header: &Header, head: &[u8]) {
        // Segments are far below 4 GiB: `Options` sees to it.
        let (Ok(offset), Ok(len)) = (u32::try_from(at), u32::try_from(header.total())) else {
            return;
        };
        if header.flags.has(Flags::SNAPSHOT) {
            return;
        }
        match header.kind {
            Kind::Exchange => {
                if let Some(head) = Head::parse(header.id, head) {
                    self.rows.push(Row::of(&head, offset, len));
                    self.saw(head.started.as_microsecond());
                }
            }
            Kind::Session | Kind::Event | Kind::Gap => {
                if let Some(head) = Head::parse(header.id, head) {
                    self.notes.push(Note { offset, kind: header.kind });
                    self.saw(head.started.as_microsecond());
                }
            }
            Kind::Commit | Kind::StatePut | Kind::StateDelete | Kind::Pack | Kind::Other(_) => {}
        }
    }

    /// How many rows and notes there are: to go back to with [`Self::rewind`].
    pub(super) fn lens(&self) -> (usize, usize) {
        (self.rows.len(), self.notes.len())
    }

    /// Forgets what was added behind this point.
    pub(super) fn rewind(&mut self, (rows, notes): (usize, usize)) {
        self.rows.truncate(rows);
        self.notes.truncate(notes);
    }

    /// The octets of the sidecar of this segment, which is `len` octets long.
    pub(super) fn to_sidecar(&self, segment: &SegmentHeader, len: u64) -> Vec<u8> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|row| (row.id, row.offset));
        let mut body = Vec::with_capacity(rows.len() * (ROW_LEN + KEY_KINDS.len() * PAIR_LEN));
        for row in &rows {
            row.write(&mut body);
        }
        for kind in KEY_KINDS {
            write_keys(kind, &rows, &mut body);
        }
        for note in &self.notes {
            note.write(&mut body);
        }
        let header = IndexHeader {
            number: segment.number,
            store_id: segment.store_id,
            segment_crc: segment.crc,
            rows: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            segment_len: len,
            earliest_us: self.earliest_us,
            latest_us: self.latest_us,
            notes: u32::try_from(self.notes.len()).unwrap_or(u32::MAX),
            body_crc: crc32fast::hash(&body),
            damaged: self.damaged,
            lowest: rows.first().map_or([0xff; 16], |row| row.id),
            highest: rows.last().map_or([0; 16], |row| row.id),
        };
        let mut out = Vec::new();
        header.write(&mut out);
        out.append(&mut body);
        out
    }

    fn saw(&mut self, time_us: i64) {
        self.earliest_us = self.earliest_us.min(time_us);
        self.latest_us = self.latest_us.max(time_us);
    }
}

fn write_keys(kind: KeyKind, rows: &[Row], out: &mut Vec<u8>) {
    let mut pairs: Vec<(u32, u32)> =
        rows.iter().zip(0..).map(|(row, number)| (kind.of(row.keys), number)).collect();
    pairs.sort_unstable();
    for (key, number) in pairs {
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
    }
}
