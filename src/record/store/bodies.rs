//! The plain bodies of records, wherever they are: beside their heads, or in a pack.

use std::io;

use bytes::Bytes;

use crate::record::format::entry::{self, Expander};
use crate::record::format::pack::{BYTES_MAX, Place};
use crate::record::format::record::{Flags, Kind, Label};
use crate::record::store::Entry;
use crate::record::store::walk::{Located, Walker};

/// Makes bodies plain. It keeps the last pack, since whoever reads one exchange of it often reads others.
#[derive(Default)]
pub(super) struct Bodies {
    expander: Expander,
    pack: Option<Pack>,
}

struct Pack {
    /// The seed of its segment.
    seed: u32,
    at: u64,
    plain: Bytes,
}

impl Bodies {
    /// The entry of a record; the inner error says what is wrong with the record.
    pub(super) fn entry(
        &mut self,
        walker: &mut Walker<'_>,
        located: &Located,
    ) -> io::Result<Result<Option<Entry>, String>> {
        let header = located.header;
        let label = Label { kind: header.kind, flags: header.flags, id: header.id };
        let Some((head, stored)) = walker.head_and_body(located)? else {
            return Ok(Err("its CRC is another".to_owned()));
        };
        if !header.flags.has(Flags::PACKED) {
            let plain = self.expander.expand(header.flags, stored);
            return Ok(plain.and_then(|plain| entry::read(label, head, plain)));
        }
        let Some(place) = Place::parse(stored) else {
            return Ok(Err("its place in a pack is cut off".to_owned()));
        };
        let head = head.to_vec();
        let plain = self.packed(walker, located.at, place)?;
        Ok(plain.and_then(|plain| entry::read(label, &head, plain)))
    }

    /// Makes a pack plain, for the records behind it; the inner error says what is wrong with it.
    pub(super) fn open(
        &mut self,
        walker: &mut Walker<'_>,
        pack: &Located,
    ) -> io::Result<Result<Bytes, String>> {
        let (seed, at) = (walker.seed(), pack.at);
        let Some((_, stored)) = walker.head_and_body(pack)? else {
            return Ok(Err("the CRC of its pack is another".to_owned()));
        };
        let plain = self.expander.expand_within(pack.header.flags, stored, BYTES_MAX);
        if let Ok(plain) = &plain {
            self.pack = Some(Pack { seed, at, plain: plain.clone() });
        }
        Ok(plain)
    }

    /// The body at a place in a pack, for the record that stands at `at`.
    fn packed(
        &mut self,
        walker: &mut Walker<'_>,
        at: u64,
        place: Place,
    ) -> io::Result<Result<Bytes, String>> {
        let Some(pack_at) = at.checked_sub(place.back.into()) else {
            return Ok(Err("its pack is before the segment".to_owned()));
        };
        let seed = walker.seed();
        let is_known = |pack: &&Pack| (pack.seed, pack.at) == (seed, pack_at);
        let plain = match self.pack.as_ref().filter(is_known) {
            Some(pack) => Ok(pack.plain.clone()),
            None => match walker.probe(pack_at)?.filter(|it| it.header.kind == Kind::Pack) {
                Some(pack) => self.open(walker, &pack)?,
                None => Err("its pack is not where it says".to_owned()),
            },
        };
        let too_short = || "its pack is shorter than it says".to_owned();
        Ok(plain.and_then(|plain| place.of(&plain).ok_or_else(too_short)))
    }
}
