//! Answers questions from segments and sidecars; the same for the daemon, another process, and a store
//! that nobody writes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::base::id::ExchangeId;
use crate::record::exchange::Exchange;
use crate::record::format::head::Head;
use crate::record::format::index::Row;
use crate::record::format::record::{Flags, Kind};
use crate::record::format::segment::HEADER_LEN;
use crate::record::redact::Redacted;
use crate::record::store::bodies::Bodies;
use crate::record::store::layout::Layout;
use crate::record::store::select::{Order, Select, Wanted};
use crate::record::store::sessions::Sessions;
use crate::record::store::view::Segment;
use crate::record::store::walk::{Located, Step, Walker};
use crate::record::store::{Entry, Scanned, StoreError, VisitHead, io_error};

type VisitEntry<'v> = dyn FnMut(Entry) -> ControlFlow<()> + 'v;

/// Segments as they stood at one moment, oldest first.
pub(super) struct Reading<'r> {
    pub(super) layout: &'r Layout,
    pub(super) segments: Vec<Arc<Segment>>,
    /// Octets of segments that cannot be read at all.
    pub(super) unreadable: u64,
}

/// A scan on its way.
struct Scan<'s> {
    since: Option<Timestamp>,
    has_begun: bool,
    scanned: Scanned,
    /// Sessions that the snapshot of the first segment told: their own records may follow.
    told: Sessions,
    bodies: Bodies,
    visit: &'s mut VisitEntry<'s>,
}

impl Reading<'_> {
    /// See `Store::scan`.
    pub(super) fn scan<'s>(
        &self,
        since: Option<Timestamp>,
        visit: &'s mut VisitEntry<'s>,
    ) -> Result<Scanned, StoreError> {
        let mut scan = Scan::new(since, self.scanned(), visit);
        for (number, segment) in self.segments.iter().enumerate() {
            let (_, latest_us) = segment.times_us();
            let is_before = since.is_some_and(|since| latest_us < since.as_microsecond());
            if is_before && !scan.has_begun && number > 0 {
                continue;
            }
            let path = self.path(segment);
            let Some(file) = segment.open(self.layout).map_err(io_error("open", &path))? else {
                continue;
            };
            // Only the oldest segment's snapshot says what no record before it has said.
            let begin =
                if number == 0 { HEADER_LEN as u64 } else { segment.header().snapshot_end() };
            let mut walker = Walker::new(&file, segment.header().seed, begin..segment.end());
            if scan.go_through(&mut walker, &path)?.is_break() {
                break;
            }
        }
        Ok(scan.scanned)
    }

    /// See `Store::exchange`.
    pub(super) fn exchange(
        &self,
        id: ExchangeId,
    ) -> Result<Option<Redacted<Exchange>>, StoreError> {
        for segment in self.segments.iter().rev() {
            let path = self.path(segment);
            let index = segment.index(self.layout).map_err(io_error("read", &path))?;
            let Some(index) = index else { continue };
            let row = index.find(*id.as_bytes()).map_err(io_error("read", &path))?;
            let Some(row) = row else { continue };
            let file = segment.open(self.layout).map_err(io_error("open", &path))?;
            let Some(file) = file else { continue };
            let bodies = &mut Bodies::default();
            return read_exchange(&file, &path, segment.header().seed, &row, bodies).map(Some);
        }
        Ok(None)
    }

    /// See `Store::heads`.
    pub(super) fn heads(
        &self,
        select: &Select,
        visit: &mut VisitHead<'_>,
    ) -> Result<Scanned, StoreError> {
        let wanted = Wanted::of(select);
        let mut scanned = self.scanned();
        let segments: Vec<&Arc<Segment>> = match wanted.order {
            Order::OldestFirst => self.segments.iter().collect(),
            Order::NewestFirst => self.segments.iter().rev().collect(),
        };
        for segment in segments {
            scanned.damaged_bytes += segment.damaged();
            let (earliest_us, latest_us) = segment.times_us();
            if !wanted.may_be_between(earliest_us, latest_us) {
                continue;
            }
            let rows = self.rows(segment, &wanted)?;
            if rows.is_empty() {
                continue;
            }
            if self.visit_rows(segment, &rows, &wanted, (&mut scanned, visit))?.is_break() {
                break;
            }
        }
        Ok(scanned)
    }

    /// See `Store::ids`.
    pub(super) fn ids(
        &self,
        visit: &mut dyn FnMut(ExchangeId) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for segment in &self.segments {
            let path = self.path(segment);
            let index = segment.index(self.layout).map_err(io_error("read", &path))?;
            let Some(index) = index else { continue };
            for row in index.rows().map_err(io_error("read", &path))? {
                if visit(ExchangeId::from_bytes(row.id)).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// See `Store::notes`.
    pub(super) fn notes<'s>(&self, visit: &'s mut VisitEntry<'s>) -> Result<Scanned, StoreError> {
        let mut scan = Scan::new(None, self.scanned(), visit);
        for (number, segment) in self.segments.iter().enumerate() {
            scan.scanned.damaged_bytes += segment.damaged();
            let path = self.path(segment);
            let index = segment.index(self.layout).map_err(io_error("read", &path))?;
            let Some(index) = index else { continue };
            let notes = index.notes().map_err(io_error("read", &path))?;
            let file = segment.open(self.layout).map_err(io_error("open", &path))?;
            let Some(file) = file else { continue };
            let seed = segment.header().seed;
            if number == 0 {
                let snapshot = HEADER_LEN as u64..segment.header().snapshot_end();
                if scan.go_through(&mut Walker::new(&file, seed, snapshot), &path)?.is_break() {
                    return Ok(scan.scanned);
                }
            }
            let mut walker = Walker::picking(&file, seed, segment.end());
            for note in notes {
                let located = walker.probe(note.offset.into()).map_err(io_error("read", &path))?;
                let Some(located) = located else { continue };
                if scan.meet(&mut walker, &located, &path)?.is_break() {
                    return Ok(scan.scanned);
                }
            }
        }
        Ok(scan.scanned)
    }

    /// The rows that may be wanted, in the order of the visit.
    fn rows(&self, segment: &Segment, wanted: &Wanted) -> Result<Vec<Row>, StoreError> {
        let find = || {
            let Some(index) = segment.index(self.layout)? else {
                return Ok(Vec::new());
            };
            let Some((kind, keys)) = wanted.narrowest() else {
                return index.rows();
            };
            let mut rows = Vec::new();
            for key in keys.collect::<BTreeSet<_>>() {
                rows.append(&mut index.with_key(kind, key)?);
            }
            Ok(rows)
        };
        let mut rows = find().map_err(io_error("read", &self.path(segment)))?;
        rows.retain(|row| wanted.may_be(row));
        rows.sort_unstable_by_key(|row| row.offset);
        match wanted.order {
            Order::OldestFirst => {}
            Order::NewestFirst => rows.reverse(),
        }
        Ok(rows)
    }

    fn visit_rows(
        &self,
        segment: &Segment,
        rows: &[Row],
        wanted: &Wanted,
        (scanned, visit): (&mut Scanned, &mut VisitHead<'_>),
    ) -> Result<ControlFlow<()>, StoreError> {
        let path = self.path(segment);
        let Some(file) = segment.open(self.layout).map_err(io_error("open", &path))? else {
            return Ok(ControlFlow::Continue(()));
        };
        let seed = segment.header().seed;
        let mut walker = Walker::picking(&file, seed, segment.end());
        // Neighbours are in the same pack.
        let bodies = RefCell::new(Bodies::default());
        for row in rows {
            let located = walker.probe(row.offset.into()).map_err(io_error("read", &path))?;
            let Some(located) = located else {
                scanned.damaged_bytes += u64::from(row.len);
                continue;
            };
            let octets = walker.head(&located).map_err(io_error("read", &path))?;
            let head = octets.and_then(|octets| Head::parse(located.header.id, octets));
            let Some(head) = head.filter(|head| wanted.is(head)) else {
                continue;
            };
            scanned.entries += 1;
            let read = || read_exchange(&file, &path, seed, row, &mut bodies.borrow_mut());
            if visit(&head, &read).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn path(&self, segment: &Segment) -> std::path::PathBuf {
        self.layout.log(segment.header().number)
    }

    /// What every visit leaves out.
    fn scanned(&self) -> Scanned {
        Scanned {
            entries: 0,
            damaged_bytes: self.unreadable,
            unfinished_bytes: self.segments.iter().map(|segment| segment.unfinished()).sum(),
        }
    }
}

impl<'s> Scan<'s> {
    fn new(since: Option<Timestamp>, scanned: Scanned, visit: &'s mut VisitEntry<'s>) -> Self {
        let (told, bodies) = (Sessions::default(), Bodies::default());
        Self { since, has_begun: since.is_none(), scanned, told, bodies, visit }
    }

    fn go_through(
        &mut self,
        walker: &mut Walker<'_>,
        path: &Path,
    ) -> Result<ControlFlow<()>, StoreError> {
        while let Some(step) = walker.step().map_err(io_error("read", path))? {
            match step {
                Step::Damage(range) => self.scanned.damaged_bytes += range.end - range.start,
                Step::Record(located) => {
                    if self.meet(walker, &located, path)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn meet(
        &mut self,
        walker: &mut Walker<'_>,
        located: &Located,
        path: &Path,
    ) -> Result<ControlFlow<()>, StoreError> {
        match located.header.kind {
            Kind::Exchange | Kind::Session | Kind::Event | Kind::Gap => {}
            Kind::Pack if self.has_begun => {
                let opened = self.bodies.open(walker, located).map_err(io_error("read", path))?;
                if opened.is_err() {
                    self.scanned.damaged_bytes += located.header.total();
                }
                return Ok(ControlFlow::Continue(()));
            }
            Kind::Pack | Kind::Commit | Kind::StatePut | Kind::StateDelete | Kind::Other(_) => {
                return Ok(ControlFlow::Continue(()));
            }
        }
        if !self.has_begun {
            let head = walker.head(located).map_err(io_error("read", path))?;
            let head = head.and_then(|head| Head::parse(located.header.id, head));
            let is_late =
                head.is_some_and(|head| self.since.is_none_or(|since| head.started >= since));
            if !is_late {
                return Ok(ControlFlow::Continue(()));
            }
            self.has_begun = true;
        }
        let entry = self.bodies.entry(walker, located);
        let entry = match entry.map_err(io_error("read", path))? {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(ControlFlow::Continue(())),
            Err(_) => {
                self.scanned.damaged_bytes += located.header.total();
                return Ok(ControlFlow::Continue(()));
            }
        };
        if let Entry::Session(session) = &entry {
            if located.header.flags.has(Flags::SNAPSHOT) {
                self.told.add(session.clone());
            } else if self.told.contains(session) {
                return Ok(ControlFlow::Continue(()));
            }
        }
        self.scanned.entries += 1;
        Ok((self.visit)(entry))
    }
}

fn read_exchange(
    file: &File,
    path: &Path,
    seed: u32,
    row: &Row,
    bodies: &mut Bodies,
) -> Result<Redacted<Exchange>, StoreError> {
    let at = u64::from(row.offset);
    let damaged = |why: String| StoreError::Damaged { path: path.display().to_string(), at, why };
    let mut walker = Walker::new(file, seed, at..at + u64::from(row.len));
    let located = walker.probe(at).map_err(io_error("read", path))?;
    let located = located.ok_or_else(|| damaged("there is no record".to_owned()))?;
    let entry = bodies.entry(&mut walker, &located);
    match entry.map_err(io_error("read", path))? {
        Ok(Some(Entry::Exchange(exchange))) => Ok(*exchange),
        Ok(Some(Entry::Session(_) | Entry::Event(_) | Entry::Gap(_)) | None) => {
            Err(damaged("it is no exchange".to_owned()))
        }
        Err(why) => Err(damaged(why)),
    }
}
