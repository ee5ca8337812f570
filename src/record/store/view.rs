//! What a reader knows of a store's segments: sealed ones by their sidecars, the rest by walking them.
//!
//! No file is kept open between questions, so a store of any size needs no descriptors. A segment that
//! retention removed since is left out; one that was rewritten since is told by its header.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::record::format::index::{IndexHeader, KeyKind, Note, Row};
use crate::record::format::record::{Kind, is_commit_at};
use crate::record::format::segment::{HEADER_LEN, SegmentHeader};
use crate::record::store::catalog::Catalog;
use crate::record::store::layout::Layout;
use crate::record::store::sidecar::Sidecar;
use crate::record::store::walk::{Step, Walker, read_at};
use crate::record::store::{StoreError, io_error};

/// All segments, as they stood at the last refresh.
#[derive(Debug)]
pub(super) struct View {
    layout: Layout,
    segments: BTreeMap<u32, Arc<Segment>>,
    /// Lengths of the segments whose very header cannot be read.
    unreadable: BTreeMap<u32, u64>,
}

/// One segment.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    header: SegmentHeader,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// It has a sidecar.
    Sealed {
        summary: IndexHeader,
        /// What a walk found, when the sidecar turned out to be damaged; `None` when it did not.
        walked: OnceLock<Option<Catalog>>,
    },
    /// It was walked.
    Walked(Walked),
}

/// How far a segment was walked, and what was found.
#[derive(Clone, Debug)]
pub(super) struct Walked {
    pub(super) catalog: Catalog,
    /// The end of the last commit mark.
    pub(super) end: u64,
    /// The length of the file.
    pub(super) len: u64,
}

/// A way to find the records of a segment.
#[derive(Debug)]
pub(super) enum Index<'s> {
    Sidecar(Sidecar),
    Catalog(&'s Catalog),
}

impl View {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, segments: BTreeMap::new(), unreadable: BTreeMap::new() }
    }

    /// Looks again. What is known of sealed segments is kept; the open one is walked from where it ended.
    pub(super) fn refresh(&mut self) -> Result<(), StoreError> {
        let numbers = self.layout.segments().map_err(io_error("read", self.layout.root()))?;
        self.segments.retain(|number, _| numbers.binary_search(number).is_ok());
        self.unreadable.clear();
        let last = numbers.last().copied();
        for number in numbers {
            let is_last = Some(number) == last;
            let known = self.segments.get(&number).map(|segment| &segment.source);
            if !is_last && matches!(known, Some(Source::Sealed { .. })) {
                continue;
            }
            self.look_at(number, is_last).map_err(io_error("read", &self.layout.log(number)))?;
        }
        Ok(())
    }

    /// The segments, oldest first.
    pub(super) fn segments(&self) -> Vec<Arc<Segment>> {
        self.segments.values().cloned().collect()
    }

    /// Octets of segments that cannot be read at all.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable.values().sum()
    }

    fn look_at(&mut self, number: u32, is_last: bool) -> io::Result<()> {
        let (file, header, len) = match open_log(&self.layout.log(number))? {
            Log::Readable(file, header, len) => (file, header, len),
            Log::Unreadable(len) => {
                self.segments.remove(&number);
                self.unreadable.insert(number, len);
                return Ok(());
            }
            Log::Gone => {
                self.segments.remove(&number);
                return Ok(());
            }
        };
        if !is_last
            && let Some(sidecar) = Sidecar::open(&self.layout.sidecar(number), &header, len)?
        {
            let summary = *sidecar.header();
            let source = Source::Sealed { summary, walked: OnceLock::new() };
            self.segments.insert(number, Arc::new(Segment { header, source }));
            return Ok(());
        }
        let segment = self.segments.entry(number).or_insert_with(|| {
            Arc::new(Segment { header, source: Source::Walked(Walked::new(&header)) })
        });
        let segment = Arc::make_mut(segment);
        match &mut segment.source {
            Source::Walked(walked) if segment.header == header => {
                walked.go_on(&file, &header, len)?;
            }
            Source::Walked(_) | Source::Sealed { .. } => {
                let mut walked = Walked::new(&header);
                walked.go_on(&file, &header, len)?;
                *segment = Segment { header, source: Source::Walked(walked) };
            }
        }
        Ok(())
    }
}

impl Walked {
    pub(super) fn new(header: &SegmentHeader) -> Self {
        let begin = header.snapshot_end();
        Self { catalog: Catalog::default(), end: begin, len: begin }
    }

    /// Walks what was committed since. What stands behind the last mark is not looked at again before a
    /// mark stands behind it.
    pub(super) fn go_on(
        &mut self,
        file: &File,
        header: &SegmentHeader,
        len: u64,
    ) -> io::Result<()> {
        if len < self.end {
            // Cut or rewritten below what was known: begin again.
            *self = Self::new(header);
        }
        self.len = len.max(self.end);
        let mut walker = Walker::new(file, header.seed, self.end..self.len);
        let mut committed = self.catalog.lens();
        let mut damaged = 0;
        while let Some(step) = walker.step()? {
            match step {
                Step::Damage(range) => damaged += range.end - range.start,
                Step::Record(record) => {
                    let head = walker.head(&record)?.unwrap_or_default();
                    if record.header.kind == Kind::Commit && is_commit_at(head, record.at) {
                        self.end = record.end();
                        self.catalog.damaged += damaged;
                        damaged = 0;
                        committed = self.catalog.lens();
                    } else {
                        self.catalog.add(record.at, &record.header, head);
                    }
                }
            }
        }
        self.catalog.rewind(committed);
        Ok(())
    }
}

impl Segment {
    pub(super) const fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// The end of what readers may show.
    pub(super) const fn end(&self) -> u64 {
        match &self.source {
            Source::Sealed { summary, .. } => summary.segment_len,
            Source::Walked(walked) => walked.end,
        }
    }

    /// Octets behind that.
    pub(super) const fn unfinished(&self) -> u64 {
        match &self.source {
            Source::Sealed { .. } => 0,
            Source::Walked(walked) => walked.len - walked.end,
        }
    }

    /// Octets at places that are known to be damaged.
    pub(super) const fn damaged(&self) -> u64 {
        match &self.source {
            Source::Sealed { summary, .. } => summary.damaged,
            Source::Walked(walked) => walked.catalog.damaged,
        }
    }

    /// The times of its earliest and its latest record; crossed when it holds none.
    pub(super) const fn times_us(&self) -> (i64, i64) {
        match &self.source {
            Source::Sealed { summary, .. } => (summary.earliest_us, summary.latest_us),
            Source::Walked(walked) => (walked.catalog.earliest_us, walked.catalog.latest_us),
        }
    }

    /// Opens the segment; `None` when it is gone, or is another one by now.
    pub(super) fn open(&self, layout: &Layout) -> io::Result<Option<File>> {
        match open_log(&layout.log(self.header.number))? {
            Log::Readable(file, header, _) if header == self.header => Ok(Some(file)),
            Log::Readable(..) | Log::Unreadable(_) | Log::Gone => Ok(None),
        }
    }

    /// A way to find its records; `None` when it is gone.
    pub(super) fn index(&self, layout: &Layout) -> io::Result<Option<Index<'_>>> {
        let (summary, walked) = match &self.source {
            Source::Walked(walked) => return Ok(Some(Index::Catalog(&walked.catalog))),
            Source::Sealed { summary, walked } => (summary, walked),
        };
        if let Some(Some(catalog)) = walked.get() {
            return Ok(Some(Index::Catalog(catalog)));
        }
        let path = layout.sidecar(self.header.number);
        let sidecar = Sidecar::open(&path, &self.header, summary.segment_len)?;
        match (sidecar, walked.get()) {
            (Some(sidecar), Some(_)) => return Ok(Some(Index::Sidecar(sidecar))),
            (Some(sidecar), None) if sidecar.is_whole()? => {
                walked.get_or_init(|| None);
                return Ok(Some(Index::Sidecar(sidecar)));
            }
            (Some(_) | None, _) => {}
        }
        let Some(file) = self.open(layout)? else {
            return Ok(None);
        };
        let mut found = Walked::new(&self.header);
        found.go_on(&file, &self.header, summary.segment_len)?;
        let found = walked.get_or_init(|| Some(found.catalog));
        Ok(found.as_ref().map(Index::Catalog))
    }
}

impl Index<'_> {
    /// The row of this id; of several the last written.
    pub(super) fn find(&self, id: [u8; 16]) -> io::Result<Option<Row>> {
        match self {
            Self::Sidecar(sidecar) => sidecar.find(id),
            Self::Catalog(catalog) => {
                Ok(catalog.rows.iter().rev().find(|row| row.id == id).copied())
            }
        }
    }

    /// The rows with this key, in no particular order.
    pub(super) fn with_key(&self, kind: KeyKind, key: u32) -> io::Result<Vec<Row>> {
        match self {
            Self::Sidecar(sidecar) => sidecar.with_key(kind, key),
            Self::Catalog(catalog) => {
                Ok(catalog.rows.iter().filter(|row| kind.of(row.keys) == key).copied().collect())
            }
        }
    }

    /// All rows, in no particular order.
    pub(super) fn rows(&self) -> io::Result<Vec<Row>> {
        match self {
            Self::Sidecar(sidecar) => sidecar.rows(),
            Self::Catalog(catalog) => Ok(catalog.rows.clone()),
        }
    }

    /// All notes, in the order of their records.
    pub(super) fn notes(&self) -> io::Result<Vec<Note>> {
        match self {
            Self::Sidecar(sidecar) => sidecar.notes(),
            Self::Catalog(catalog) => Ok(catalog.notes.clone()),
        }
    }
}

/// What is found under the name of a segment.
#[derive(Debug)]
pub(super) enum Log {
    /// A segment and its length.
    Readable(File, SegmentHeader, u64),
    /// So many octets that do not begin as a segment does.
    Unreadable(u64),
    /// Nothing.
    Gone,
}

impl Log {
    pub(super) fn readable(self) -> Option<(File, SegmentHeader, u64)> {
        match self {
            Self::Readable(file, header, len) => Some((file, header, len)),
            Self::Unreadable(_) | Self::Gone => None,
        }
    }
}

/// Opens a segment.
pub(super) fn open_log(path: &Path) -> io::Result<Log> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Log::Gone),
        Err(error) => return Err(error),
    };
    let mut octets = [0; HEADER_LEN];
    read_at(&file, &mut octets, 0)?;
    let len = file.metadata()?.len();
    Ok(match SegmentHeader::parse(&octets) {
        Some(header) => Log::Readable(file, header, len),
        None => Log::Unreadable(len),
    })
}
