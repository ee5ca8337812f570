//! What a writer does with the log it finds: where to go on, what to cut off, what sessions and state
//! there are, which sidecars are missing.

use std::io;

use crate::record::format::entry::{self, Expander};
use crate::record::format::record::Kind;
use crate::record::format::segment::{HEADER_LEN, SegmentHeader, SnapshotOf};
use crate::record::store::catalog::Catalog;
use crate::record::store::layout::Layout;
use crate::record::store::media::{self, Media};
use crate::record::store::segment::OpenSegment;
use crate::record::store::sessions::Sessions;
use crate::record::store::sidecar::Sidecar;
use crate::record::store::state::Facts;
use crate::record::store::view::{Walked, open_log};
use crate::record::store::walk::{Located, Step, Walker};
use crate::record::store::writer::Context;
use crate::record::store::{SessionRecord, StoreError};

/// The last segment, as far as it is good.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) header: SegmentHeader,
    pub(super) catalog: Catalog,
    /// The end of the last whole record.
    pub(super) end: u64,
    pub(super) ending: Ending,
    /// Octets behind it.
    pub(super) torn: u64,
}

/// What the last whole record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// A commit mark.
    Marked,
    /// Something that no mark covers yet.
    Unmarked,
}

/// What the log says beside exchanges.
#[derive(Default)]
pub(super) struct Told {
    pub(super) sessions: Sessions,
    pub(super) facts: Facts,
    expander: Expander,
}

impl Tail {
    /// Goes on where the log ends.
    pub(super) fn resume(self, context: &Context) -> Result<OpenSegment, StoreError> {
        let path = context.layout.log(self.header.number);
        let mut segment = OpenSegment::resume(&*context.media, &path, self)?;
        // What no mark covers is on the disk now, so readers may have it at once.
        if let Err(error) = segment.commit(context.clock.now().as_microsecond()) {
            tracing::warn!(%error, "the end of the recording is not marked yet");
        }
        Ok(segment)
    }
}

/// Finds the end of the last segment: behind the last commit mark every record that is whole counts, up to
/// the first that is not. `None` when its header cannot be read.
pub(super) fn find_tail(layout: &Layout, number: u32) -> io::Result<Option<Tail>> {
    let Some((file, header, len)) = open_log(&layout.log(number))?.readable() else {
        return Ok(None);
    };
    let mut marked = Walked::new(&header);
    marked.go_on(&file, &header, len)?;
    let Walked { mut catalog, end: last_mark_end, .. } = marked;
    let mut end = last_mark_end;
    let mut walker = Walker::new(&file, header.seed, end..len);
    while let Some(Step::Record(record)) = walker.step()? {
        let Some((head, _)) = walker.head_and_body(&record)? else {
            break;
        };
        catalog.add(record.at, &record.header, head);
        end = record.end();
    }
    let ending = if end == last_mark_end { Ending::Marked } else { Ending::Unmarked };
    Ok(Some(Tail { header, catalog, end, ending, torn: len.saturating_sub(end) }))
}

/// Gathers sessions and state from the last segment that repeats all of both, and from what follows it.
/// Of the last segment only what stands before `end` counts.
pub(super) fn listen(layout: &Layout, numbers: &[u32], end: u64) -> io::Result<Told> {
    let mut first = numbers.len().saturating_sub(1);
    while first > 0 && !numbers.get(first).map_or(Ok(false), |it| repeats_all(layout, *it))? {
        first -= 1;
    }
    let mut told = Told::default();
    let last = numbers.last();
    for number in numbers.get(first..).unwrap_or_default() {
        let Some((file, header, len)) = open_log(&layout.log(*number))?.readable() else {
            continue;
        };
        let end = if Some(number) == last { end } else { len };
        let mut walker = Walker::new(&file, header.seed, HEADER_LEN as u64..end);
        while let Some(step) = walker.step()? {
            match step {
                Step::Record(record) => told.hear(&mut walker, &record)?,
                Step::Damage(_) => {}
            }
        }
    }
    Ok(told)
}

/// Makes sidecars for sealed segments that have none of their own. Returns how many were made.
pub(super) fn restore_sidecars(
    layout: &Layout,
    media: &dyn Media,
    sealed: &[u32],
) -> io::Result<usize> {
    let mut made = 0;
    for number in sealed {
        let Some((file, header, len)) = open_log(&layout.log(*number))?.readable() else {
            continue;
        };
        let path = layout.sidecar(*number);
        if Sidecar::open(&path, &header, len)?.is_some() {
            continue;
        }
        let mut walked = Walked::new(&header);
        walked.go_on(&file, &header, len)?;
        media::write_whole(media, &path, &walked.catalog.to_sidecar(&header, len))?;
        made += 1;
    }
    Ok(made)
}

/// Whether a segment begins with an undamaged snapshot of everything.
fn repeats_all(layout: &Layout, number: u32) -> io::Result<bool> {
    let Some((file, header, len)) = open_log(&layout.log(number))?.readable() else {
        return Ok(false);
    };
    if header.snapshot != SnapshotOf::Everything || header.snapshot_end() > len {
        return Ok(false);
    }
    let mut walker = Walker::new(&file, header.seed, HEADER_LEN as u64..header.snapshot_end());
    while let Some(step) = walker.step()? {
        match step {
            Step::Record(record) if walker.head_and_body(&record)?.is_some() => {}
            Step::Record(_) | Step::Damage(_) => return Ok(false),
        }
    }
    Ok(true)
}

impl Told {
    fn hear(&mut self, walker: &mut Walker<'_>, record: &Located) -> io::Result<()> {
        let kind = record.header.kind;
        match kind {
            Kind::Session | Kind::StatePut | Kind::StateDelete => {}
            Kind::Commit
            | Kind::Exchange
            | Kind::Event
            | Kind::Gap
            | Kind::Pack
            | Kind::Other(_) => {
                return Ok(());
            }
        }
        let Some((_, stored)) = walker.head_and_body(record)? else {
            return Ok(());
        };
        let Ok(plain) = self.expander.expand(record.header.flags, stored) else {
            return Ok(());
        };
        if kind == Kind::Session {
            if let Ok(session) = serde_json::from_slice::<SessionRecord>(&plain) {
                self.sessions.add(session);
            }
            return Ok(());
        }
        let Some(change) = entry::read_state(kind, &plain) else {
            return Ok(());
        };
        let name = (change.space.to_owned(), change.key.to_vec());
        match change.value {
            Some(value) => self.facts.insert(name, value.to_vec()),
            None => self.facts.remove(&name),
        };
        Ok(())
    }
}
