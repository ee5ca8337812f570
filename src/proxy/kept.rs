//! What has been read of a request's body and may have to be sent again, or for the first time.
//!
//! Frames are numbered from 0. While the whole body could still be sent again all are kept; from then
//! on only those that have not been sent yet, because rules had them read ahead.

use std::collections::VecDeque;

use bytes::Bytes;

/// Frames of a body.
#[derive(Debug, Default)]
pub(super) struct Kept {
    frames: VecDeque<Bytes>,
    /// How many before them were let go.
    let_go: usize,
    /// How many have been sent.
    sent: usize,
    bytes: usize,
    replay: Replay,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Replay {
    #[default]
    Possible,
    Over,
}

impl Kept {
    /// The frame of this number, if it is kept.
    pub(super) fn get(&self, number: usize) -> Option<&Bytes> {
        self.frames.get(number.checked_sub(self.let_go)?)
    }

    /// How many frames there have been.
    pub(super) fn count(&self) -> usize {
        self.let_go + self.frames.len()
    }

    /// Octets of the kept frames from this number on.
    pub(super) fn bytes_from(&self, number: usize) -> usize {
        let skip = number.saturating_sub(self.let_go);
        self.frames.iter().skip(skip).map(Bytes::len).sum()
    }

    /// Adds a frame. Past `max` octets the body can no longer be sent again.
    pub(super) fn push(&mut self, frame: Bytes, max: usize) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
        if self.bytes > max {
            self.end_replay();
        }
    }

    /// Notes that the frames before this number have been sent.
    pub(super) fn sent(&mut self, number: usize) {
        self.sent = self.sent.max(number);
        self.trim();
    }

    /// Notes that nothing has been sent, whatever was looked at.
    pub(super) fn nothing_sent(&mut self) {
        self.sent = 0;
    }

    /// Whether all of it is here.
    pub(super) fn can_replay(&self) -> bool {
        self.replay == Replay::Possible
    }

    /// Lets go of what has been sent, now and later.
    pub(super) fn end_replay(&mut self) {
        self.replay = Replay::Over;
        self.trim();
    }

    fn trim(&mut self) {
        while self.replay == Replay::Over && self.let_go < self.sent && !self.frames.is_empty() {
            self.frames.pop_front();
            self.let_go += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(max: usize) -> Kept {
        let mut kept = Kept::default();
        for text in ["a", "bb", "ccc"] {
            kept.push(Bytes::from_static(text.as_bytes()), max);
        }
        kept
    }

    #[test]
    fn a_short_body_can_be_sent_again_from_its_beginning() {
        let mut kept = three(100);
        kept.sent(3);
        assert!(kept.can_replay());
        assert_eq!(kept.get(0).unwrap(), "a");
        assert_eq!((kept.count(), kept.bytes_from(1)), (3, 5));
    }

    #[test]
    fn what_was_read_ahead_is_kept_until_it_has_been_sent() {
        let mut kept = three(4);
        assert!(!kept.can_replay());
        kept.sent(1);
        assert_eq!((kept.get(0), kept.get(1).map(Bytes::len)), (None, Some(2)));
        kept.sent(3);
        assert_eq!((kept.get(2), kept.count(), kept.bytes_from(0)), (None, 3, 0));
    }

    #[test]
    fn an_early_answer_lets_go_only_of_what_has_been_sent() {
        let mut kept = three(100);
        kept.sent(2);
        kept.nothing_sent();
        kept.end_replay();
        assert_eq!(kept.get(0).unwrap(), "a", "looking is not sending");
        kept.sent(2);
        assert_eq!((kept.get(1), kept.get(2).map(Bytes::len)), (None, Some(3)));
    }
}
