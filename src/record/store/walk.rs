//! Goes through a segment record by record, and finds its way again behind a damaged place.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use memchr::memmem;

use crate::record::format::record::{HEADER_LEN, Header, MARK};

/// What is read at once by one who goes through all records. Longer ones are read whole when their body
/// is asked for.
const CHUNK: u64 = 256 * 1024;
/// What is read at once by one who picks single heads: most fit.
const SMALL_CHUNK: u64 = 1024;

/// A record and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub(super) at: u64,
    pub(super) header: Header,
}

impl Located {
    /// The first octet behind it.
    pub(super) fn end(&self) -> u64 {
        self.at + self.header.total()
    }
}

/// What stands next in a segment.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A record whose header and head are as they were written.
    Record(Located),
    /// Octets that are no record.
    Damage(Range<u64>),
}

/// Goes through a part of a segment.
#[derive(Debug)]
pub(super) struct Walker<'f> {
    file: &'f File,
    seed: u32,
    at: u64,
    end: u64,
    window: Window,
}

/// The octets of a file that were read last.
#[derive(Debug)]
struct Window {
    chunk: u64,
    start: u64,
    octets: Vec<u8>,
}

impl<'f> Walker<'f> {
    /// Over these octets of a segment, whose header has this CRC. Both ends must be ends of records.
    pub(super) fn new(file: &'f File, seed: u32, range: Range<u64>) -> Self {
        let window = Window { chunk: CHUNK, start: 0, octets: Vec::new() };
        Self { file, seed, at: range.start, end: range.end, window }
    }

    /// Over all that stands before `end`, for one who will [`probe`](Self::probe) here and there.
    pub(super) fn picking(file: &'f File, seed: u32, end: u64) -> Self {
        let window = Window { chunk: SMALL_CHUNK, start: 0, octets: Vec::new() };
        Self { file, seed, at: end, end, window }
    }

    /// What the CRCs of the segment begin with.
    pub(super) const fn seed(&self) -> u32 {
        self.seed
    }

    /// The next record or damaged place; `None` at the end.
    pub(super) fn step(&mut self) -> io::Result<Option<Step>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        if let Some(located) = self.probe(at)? {
            self.at = located.end();
            return Ok(Some(Step::Record(located)));
        }
        self.at = self.find_record(at + 1)?;
        Ok(Some(Step::Damage(at..self.at)))
    }

    /// The record at this place, if one is there.
    pub(super) fn probe(&mut self, at: u64) -> io::Result<Option<Located>> {
        let Some(header) = self.octets(at, HEADER_LEN as u64)?.and_then(Header::parse) else {
            return Ok(None);
        };
        let located = Located { at, header };
        if located.end() > self.end {
            return Ok(None);
        }
        let seed = self.seed;
        let head = self.head(&located)?;
        Ok(head.is_some_and(|head| header.vouches_for(head, seed)).then_some(located))
    }

    /// The head of a record.
    pub(super) fn head(&mut self, located: &Located) -> io::Result<Option<&[u8]>> {
        self.octets(located.at + HEADER_LEN as u64, u64::from(located.header.head_len))
    }

    /// Head and stored body of a record; `None` when the body is not what was written.
    pub(super) fn head_and_body(
        &mut self,
        located: &Located,
    ) -> io::Result<Option<(&[u8], &[u8])>> {
        let len = located.header.total() - HEADER_LEN as u64;
        let octets = self.octets(located.at + HEADER_LEN as u64, len)?;
        let parts = octets.and_then(|it| it.split_at_checked(usize::from(located.header.head_len)));
        Ok(parts.filter(|(_, body)| located.header.vouches_for_body(body)))
    }

    /// Where the next record begins, at `from` or behind it; the end when there is none.
    fn find_record(&mut self, from: u64) -> io::Result<u64> {
        let mut at = from;
        while at + (HEADER_LEN as u64) <= self.end {
            let Some(octets) = self.window.from(at, self.file, self.end)? else {
                return Ok(self.end);
            };
            match memmem::find(octets, &MARK) {
                // The last octet may be the first half of a mark.
                None => at += (octets.len() as u64).saturating_sub(1).max(1),
                Some(index) => {
                    at += index as u64;
                    if self.probe(at)?.is_some() {
                        return Ok(at);
                    }
                    at += 1;
                }
            }
        }
        Ok(self.end)
    }

    fn octets(&mut self, at: u64, len: u64) -> io::Result<Option<&[u8]>> {
        self.window.get(at, len, self.file, self.end)
    }
}

impl Window {
    /// These octets; `None` when the file ends before them.
    fn get(&mut self, at: u64, len: u64, file: &File, end: u64) -> io::Result<Option<&[u8]>> {
        if at.checked_add(len).is_none_or(|needed| needed > end) {
            return Ok(None);
        }
        if self.slice(at, len).is_none() {
            self.fill(at, len.max(self.chunk).min(end - at), file)?;
        }
        Ok(self.slice(at, len))
    }

    /// What there is from this place on: at least one record's header.
    fn from(&mut self, at: u64, file: &File, end: u64) -> io::Result<Option<&[u8]>> {
        if self.slice(at, HEADER_LEN as u64).is_none() {
            self.fill(at, self.chunk.min(end - at), file)?;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.octets.get(skip..).filter(|octets| octets.len() >= HEADER_LEN))
    }

    fn slice(&self, at: u64, len: u64) -> Option<&[u8]> {
        let skip = usize::try_from(at.checked_sub(self.start)?).ok()?;
        self.octets.get(skip..)?.get(..usize::try_from(len).ok()?)
    }

    fn fill(&mut self, at: u64, len: u64, file: &File) -> io::Result<()> {
        self.start = at;
        self.octets.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        let read = read_at(file, &mut self.octets, at)?;
        self.octets.truncate(read);
        Ok(())
    }
}

/// Fills the buffer from this place of a file, as far as the file goes.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
