//! Octets that come in pieces.

use std::mem;

use bytes::Bytes;

/// What was kept of a body. Most come in one piece, and that one is not copied.
#[derive(Clone, Default)]
pub(super) struct Pieces {
    only: Bytes,
    /// All of them, once there are two.
    all: Vec<u8>,
}

impl Pieces {
    pub(super) fn len(&self) -> usize {
        self.only.len() + self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a piece of a buffer that the recorder owns.
    pub(super) fn own(&mut self, piece: Bytes) {
        if self.is_empty() {
            self.only = piece;
        } else {
            self.copy(piece);
        }
    }

    /// Adds a piece of a buffer that may be many times as long.
    #[expect(clippy::needless_pass_by_value, reason = "it lets go of the piece, as `own` does")]
    pub(super) fn copy(&mut self, piece: Bytes) {
        if self.all.is_empty() {
            self.all.reserve(self.only.len() + piece.len());
            self.all.extend_from_slice(&mem::take(&mut self.only));
        }
        self.all.extend_from_slice(&piece);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.only } else { self.all.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_kept_in_their_order_however_they_come() {
        let octets = |text: &'static str| Bytes::from_static(text.as_bytes());
        for copied in 0..8 {
            let mut pieces = Pieces::default();
            for (index, text) in ["ab", "c", "def"].into_iter().enumerate() {
                let add = if copied >> index & 1 == 1 { Pieces::copy } else { Pieces::own };
                add(&mut pieces, octets(text));
            }
            assert_eq!((pieces.len(), pieces.clone().into_bytes()), (6, octets("abcdef")));
        }
    }

    #[test]
    fn a_lone_piece_is_not_copied() {
        let piece = Bytes::from(vec![1, 2, 3]);
        let mut pieces = Pieces::default();
        pieces.own(piece.clone());
        assert_eq!(pieces.into_bytes().as_ptr(), piece.as_ptr());
    }
}
