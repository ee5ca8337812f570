//! gRPC's length-prefixed messages: a flag octet, four octets of length, the message.

use bytes::{Buf, Bytes, BytesMut};

use super::{Frame, Leftover, Payload, Splitter};

/// Octets before each message.
const PREFIX: usize = 5;

/// Splits a gRPC body into its messages.
#[derive(Debug)]
pub struct GrpcSplitter {
    /// Octets that no frame has taken yet.
    buffer: BytesMut,
    /// Offset of the buffer's first octet in the body.
    start: u64,
    /// Octets of an oversized message that are still to come.
    oversized: u64,
    frame_bytes: usize,
}

impl GrpcSplitter {
    /// A splitter whose frames have at most this many octets.
    pub fn new(frame_bytes: usize) -> Self {
        Self { buffer: BytesMut::new(), start: 0, oversized: 0, frame_bytes: frame_bytes.max(1) }
    }

    /// The next frame, if all its octets are there.
    fn next(&mut self) -> Option<Frame> {
        if self.oversized > 0 {
            return self.piece();
        }
        let mut prefix = self.buffer.get(..PREFIX)?;
        let flag = prefix.get_u8();
        let whole = u64::from(prefix.get_u32()) + PREFIX as u64;
        let Some(whole) = usize::try_from(whole).ok().filter(|whole| *whole <= self.frame_bytes)
        else {
            self.oversized = whole;
            return self.piece();
        };
        if self.buffer.len() < whole {
            return None;
        }
        let raw = self.buffer.split_to(whole).freeze();
        let data = raw.slice(PREFIX..);
        Some(self.frame(raw, Payload::Message { data, is_compressed: flag & 1 == 1 }))
    }

    /// The next piece of an oversized message: as long as a frame may be, the last one shorter.
    fn piece(&mut self) -> Option<Frame> {
        let len = usize::try_from(self.oversized)
            .map_or(self.frame_bytes, |left| left.min(self.frame_bytes));
        if self.buffer.len() < len {
            return None;
        }
        self.oversized -= len as u64;
        let raw = self.buffer.split_to(len).freeze();
        Some(self.frame(raw, Payload::Oversized))
    }

    fn frame(&mut self, raw: Bytes, payload: Payload) -> Frame {
        let start = self.start;
        self.start += raw.len() as u64;
        Frame { start, raw, payload }
    }
}

impl Splitter for GrpcSplitter {
    fn push(&mut self, octets: &[u8]) -> Vec<Frame> {
        self.buffer.extend_from_slice(octets);
        std::iter::from_fn(|| self.next()).collect()
    }

    fn finish(&mut self) -> Option<Leftover> {
        let raw = std::mem::take(&mut self.buffer).freeze();
        (!raw.is_empty()).then_some(Leftover { start: self.start, raw })
    }
}
