//! Finds exchanges of a sealed segment without reading the segment: by id or key, in a file of sorted
//! rows that is read in place. Nothing of it is kept in memory.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::record::format::fields::Fields;
use crate::record::format::index::{
    HEADER_LEN, IndexHeader, KEY_KINDS, KeyKind, Note, PAIR_LEN, ROW_LEN, Row,
};
use crate::record::format::segment::SegmentHeader;
use crate::record::store::walk::read_at;

/// Pairs read at once while a run of equal keys is followed.
const RUN: u64 = 512;

/// A sidecar that belongs to its segment as that stands now.
#[derive(Debug)]
pub(super) struct Sidecar {
    file: File,
    header: IndexHeader,
}

impl Sidecar {
    /// Opens the sidecar at this path; `None` when there is none or it belongs to something else.
    pub(super) fn open(
        path: &Path,
        segment: &SegmentHeader,
        segment_len: u64,
    ) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut octets = [0; HEADER_LEN];
        read_at(&file, &mut octets, 0)?;
        let Some(header) = IndexHeader::parse(&octets) else {
            return Ok(None);
        };
        let belongs = header.number == segment.number
            && header.store_id == segment.store_id
            && header.segment_crc == segment.crc
            && header.segment_len == segment_len;
        Ok(belongs.then_some(Self { file, header }))
    }

    pub(super) const fn header(&self) -> &IndexHeader {
        &self.header
    }

    /// Whether all of it is as it was written. Reads it once from end to end.
    pub(super) fn is_whole(&self) -> io::Result<bool> {
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; 64 * 1024];
        let mut at = HEADER_LEN as u64;
        loop {
            let read = read_at(&self.file, &mut buffer, at)?;
            crc.update(buffer.get(..read).unwrap_or_default());
            at += read as u64;
            if read < buffer.len() {
                break;
            }
        }
        Ok(at == self.end() && crc.finalize() == self.header.body_crc)
    }

    /// The row of this id; of several the last written.
    pub(super) fn find(&self, id: [u8; 16]) -> io::Result<Option<Row>> {
        if id < self.header.lowest || id > self.header.highest {
            return Ok(None);
        }
        let behind = partition_point(self.header.rows.into(), |number| {
            Ok(self.row(number)?.is_some_and(|row| row.id <= id))
        })?;
        match behind.checked_sub(1) {
            Some(number) => Ok(self.row(number)?.filter(|row| row.id == id)),
            None => Ok(None),
        }
    }

    /// The rows with this key, in no particular order.
    pub(super) fn with_key(&self, kind: KeyKind, key: u32) -> io::Result<Vec<Row>> {
        let list = self.list_at(kind);
        let count = u64::from(self.header.rows);
        let mut next = partition_point(count, |number| {
            Ok(self.pair(list + number * PAIR_LEN as u64)?.is_some_and(|(at, _)| at < key))
        })?;
        let mut rows = Vec::new();
        while next < count {
            let run = RUN.min(count - next);
            let octets = self.octets(list + next * PAIR_LEN as u64, run * PAIR_LEN as u64)?;
            for (found, number) in octets.chunks_exact(PAIR_LEN).filter_map(parse_pair) {
                if found != key {
                    return Ok(rows);
                }
                rows.extend(self.row(number.into())?);
            }
            next += run;
        }
        Ok(rows)
    }

    /// All rows, by id.
    pub(super) fn rows(&self) -> io::Result<Vec<Row>> {
        let octets = self.octets(HEADER_LEN as u64, self.rows_len())?;
        Ok(octets.chunks_exact(ROW_LEN).filter_map(Row::parse).collect())
    }

    /// All notes, in the order of their records.
    pub(super) fn notes(&self) -> io::Result<Vec<Note>> {
        let len = u64::from(self.header.notes) * PAIR_LEN as u64;
        let octets = self.octets(self.end() - len, len)?;
        Ok(octets.chunks_exact(PAIR_LEN).filter_map(Note::parse).collect())
    }

    fn row(&self, number: u64) -> io::Result<Option<Row>> {
        let mut octets = [0; ROW_LEN];
        let read = read_at(&self.file, &mut octets, HEADER_LEN as u64 + number * ROW_LEN as u64)?;
        Ok(octets.get(..read).and_then(Row::parse))
    }

    fn pair(&self, at: u64) -> io::Result<Option<(u32, u32)>> {
        let mut octets = [0; PAIR_LEN];
        let read = read_at(&self.file, &mut octets, at)?;
        Ok(octets.get(..read).and_then(parse_pair))
    }

    fn octets(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let mut octets = vec![0; usize::try_from(len).unwrap_or(0)];
        let read = read_at(&self.file, &mut octets, at)?;
        octets.truncate(read);
        Ok(octets)
    }

    fn rows_len(&self) -> u64 {
        u64::from(self.header.rows) * ROW_LEN as u64
    }

    fn list_at(&self, kind: KeyKind) -> u64 {
        let before = KEY_KINDS.iter().take_while(|other| **other != kind).count() as u64;
        let list_len = u64::from(self.header.rows) * PAIR_LEN as u64;
        HEADER_LEN as u64 + self.rows_len() + before * list_len
    }

    fn end(&self) -> u64 {
        let lists = KEY_KINDS.len() as u64 * u64::from(self.header.rows) * PAIR_LEN as u64;
        let notes = u64::from(self.header.notes) * PAIR_LEN as u64;
        HEADER_LEN as u64 + self.rows_len() + lists + notes
    }
}

/// The first number of `0..count` for which `is_before` says no, when it says yes only before it.
fn partition_point(count: u64, is_before: impl Fn(u64) -> io::Result<bool>) -> io::Result<u64> {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = u64::midpoint(low, high);
        if is_before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn parse_pair(octets: &[u8]) -> Option<(u32, u32)> {
    let mut fields = Fields::new(octets);
    Some((fields.u32()?, fields.u32()?))
}
