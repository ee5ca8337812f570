//! Fixed-width numbers out of octets that may be damaged: every read may say no.

/// What is left to be read.
#[derive(Clone, Copy, Debug)]
pub(in crate::record) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(in crate::record) const fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }

    pub(in crate::record) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    pub(in crate::record) fn octets(&mut self, len: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }

    pub(in crate::record) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[octet]| octet)
    }

    pub(in crate::record) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(in crate::record) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(in crate::record) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(in crate::record) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A length of one octet, and as many octets of text.
    pub(in crate::record) fn text(&mut self) -> Option<&'a str> {
        let len = usize::from(self.u8()?);
        std::str::from_utf8(self.octets(len)?).ok()
    }

    pub(in crate::record) const fn rest(&self) -> &'a [u8] {
        self.0
    }
}
