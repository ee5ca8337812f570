//! Where in a pack the body of an exchange is.

use bytes::Bytes;

use crate::record::format::fields::Fields;

/// A pack that holds so many octets takes no more. Reading one exchange makes all of it plain, which takes
/// a tenth of a millisecond; with more the bodies become hardly smaller.
pub(in crate::record) const FULL_BYTES: usize = 128 * 1024;
/// The most octets a pack can hold.
pub(in crate::record) const BYTES_MAX: usize = 1024 * 1024;

/// The stored body of a record whose true body is in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Place {
    /// Octets from the beginning of the pack's record to the beginning of this one.
    pub(in crate::record) back: u32,
    /// Where the true body begins in the plain body of the pack.
    pub(in crate::record) begin: u32,
    /// Its length.
    pub(in crate::record) len: u32,
}

impl Place {
    /// Reads it from a stored body; `None` when that is too short.
    pub(in crate::record) fn parse(stored: &[u8]) -> Option<Self> {
        let mut fields = Fields::new(stored);
        Some(Self { back: fields.u32()?, begin: fields.u32()?, len: fields.u32()? })
    }

    /// The stored body.
    pub(in crate::record) fn octets(self) -> [u8; 12] {
        let mut octets = [0; 12];
        let numbers = [self.back, self.begin, self.len];
        for (number, place) in numbers.iter().zip(octets.as_chunks_mut::<4>().0) {
            *place = number.to_le_bytes();
        }
        octets
    }

    /// The true body, of the plain body of the pack; `None` when the pack is shorter.
    pub(in crate::record) fn of(self, pack: &Bytes) -> Option<Bytes> {
        let begin = usize::try_from(self.begin).ok()?;
        let end = begin.checked_add(usize::try_from(self.len).ok()?)?;
        (end <= pack.len()).then(|| pack.slice(begin..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_as_it_was_and_is_within_its_pack() {
        let place = Place { back: 7, begin: 3, len: 2 };
        assert_eq!(Place::parse(&place.octets()), Some(place));
        assert_eq!(Place::parse(&place.octets()[..11]), None);
        assert_eq!(place.of(&Bytes::from_static(b"abcde")), Some(Bytes::from_static(b"de")));
        assert_eq!(place.of(&Bytes::from_static(b"abcd")), None);
        let far = Place { begin: u32::MAX, len: u32::MAX, ..place };
        assert_eq!(far.of(&Bytes::from_static(b"abcd")), None);
    }
}
