//! The segment that is being written: records go to its end, a commit mark behind each sync.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::format::record;
use crate::record::format::segment::SegmentHeader;
use crate::record::store::catalog::Catalog;
use crate::record::store::media::{self, Media, MediaFile};
use crate::record::store::queue::KEEP_BYTES;
use crate::record::store::recovery::{Ending, Tail};
use crate::record::store::{StoreError, io_error};

/// An open segment. What is in `out` is not written yet, and stays there until it is.
#[derive(Debug)]
pub(super) struct OpenSegment {
    file: Box<dyn MediaFile>,
    path: PathBuf,
    header: SegmentHeader,
    /// The first octet behind everything that is durable, mark included.
    end: u64,
    mark: Mark,
    /// Framed records that are to be written next.
    pub(super) out: Vec<u8>,
    /// What the segment holds, `out` included.
    pub(super) catalog: Catalog,
}

/// How it stands with the last commit mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// It is on the disk.
    Durable,
    /// It is written: readers see it, a power cut may take it.
    Written,
    /// It could not be written.
    Due,
}

impl OpenSegment {
    /// Begins a segment with these snapshot records. It has its name only when all that is on the disk.
    pub(super) fn create(
        media: &dyn Media,
        path: &Path,
        header: SegmentHeader,
        snapshot: impl Fn(u32, &mut Vec<u8>),
        now_us: i64,
    ) -> Result<Self, StoreError> {
        // Framing has the same length whatever the seed is, and the seed is known with the header.
        let mut records = Vec::new();
        snapshot(0, &mut records);
        let snapshot_len = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let (header, mut octets) = SegmentHeader { snapshot_len, ..header }.seal();
        snapshot(header.seed, &mut octets);
        let mark_at = octets.len() as u64;
        record::write_commit(&mut octets, header.seed, mark_at, now_us);

        let draft = media::draft(path);
        let write = || {
            let mut file = media.create(&draft)?;
            file.write_at(&octets, 0)?;
            file.sync()?;
            media.publish(&draft, path)?;
            Ok(file)
        };
        let file = write().map_err(io_error("create", path))?;
        let end = octets.len() as u64;
        Ok(Self::new(file, path, header, end, Catalog::default()))
    }

    /// Goes on with a segment at its end; what is behind is cut off.
    pub(super) fn resume(media: &dyn Media, path: &Path, tail: Tail) -> Result<Self, StoreError> {
        let Tail { header, catalog, end, ending, .. } = tail;
        let open = || {
            let mut file = media.open(path)?;
            file.cut(end)?;
            file.sync()?;
            Ok(file)
        };
        let file = open().map_err(io_error("open", path))?;
        let mut segment = Self::new(file, path, header, end, catalog);
        segment.mark = match ending {
            Ending::Marked => Mark::Durable,
            Ending::Unmarked => Mark::Due,
        };
        Ok(segment)
    }

    fn new(
        file: Box<dyn MediaFile>,
        path: &Path,
        header: SegmentHeader,
        end: u64,
        catalog: Catalog,
    ) -> Self {
        let path = path.to_owned();
        Self { file, path, header, end, mark: Mark::Durable, out: Vec::new(), catalog }
    }

    pub(super) const fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Its length, with what is not written yet.
    pub(super) fn len(&self) -> u64 {
        self.end + self.out.len() as u64
    }

    /// Whether it holds nothing but its snapshot.
    pub(super) fn is_fresh(&self) -> bool {
        self.len() <= self.header.snapshot_end() + record::COMMIT_LEN as u64
    }

    /// Whether a power cut could take the last commit mark.
    pub(super) fn is_unsettled(&self) -> bool {
        self.mark == Mark::Written
    }

    /// Writes what is in `out`, and returns when it is on the disk and marked. On an error the file is cut
    /// back to what was good and `out` is as before, so that this can be tried again.
    pub(super) fn commit(&mut self, now_us: i64) -> Result<(), StoreError> {
        if !self.out.is_empty() {
            let written = self.file.write_at(&self.out, self.end).and_then(|()| self.file.sync());
            self.or_cut(written)?;
            self.end += self.out.len() as u64;
            self.out.clear();
            self.out.shrink_to(KEEP_BYTES);
            self.mark = Mark::Due;
        }
        if self.mark == Mark::Due {
            let mut octets = Vec::with_capacity(record::COMMIT_LEN);
            record::write_commit(&mut octets, self.header.seed, self.end, now_us);
            let written = self.file.write_at(&octets, self.end);
            self.or_cut(written)?;
            self.end += octets.len() as u64;
            self.mark = Mark::Written;
        }
        Ok(())
    }

    /// Returns when the last mark is on the disk as well.
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        if self.mark == Mark::Written {
            self.file.sync().map_err(io_error("sync", &self.path))?;
            self.mark = Mark::Durable;
        }
        Ok(())
    }

    /// Without the cut a half-written record would stand before what is written later, and on a full disk
    /// it would take the room that the next attempt needs.
    fn or_cut(&mut self, written: io::Result<()>) -> Result<(), StoreError> {
        let Err(error) = written else {
            return Ok(());
        };
        if let Err(cut) = self.file.cut(self.end) {
            // The next attempt writes over it, and opening the store cuts it off.
            tracing::debug!(path = %self.path.display(), error = %cut, "cannot cut a segment back");
        }
        Err(io_error("write", &self.path)(error))
    }
}
