//! Server-sent events, by the HTML standard: CR, LF or CRLF ends a line, an empty line ends an event.
//!
//! A CR that ends the empty line may be half of a CRLF, and whether its LF belongs to this frame must
//! not depend on how the octets were split. So: where the line before ended in CRLF the LF is waited
//! for; where it ended in a lone CR or LF the event ends at the CR at once, and an LF that follows
//! stands at the head of the next frame. A stream that ends its lines with CR alone is not held back.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::{Frame, Leftover, Payload, Splitter};

/// The byte order mark that may begin a stream.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Splits a body of server-sent events. Every empty line ends a frame; one without data is
/// [`Payload::Silent`].
#[derive(Debug)]
pub struct SseSplitter {
    /// The octets of the frame that is being gathered.
    buffer: BytesMut,
    /// Offset of the buffer's first octet in the body.
    start: u64,
    /// How much of the buffer has been looked at.
    scanned: usize,
    /// Where the line being read begins in the buffer.
    line_start: usize,
    /// Whether the line began before the buffer does: its head went off with an oversized piece.
    line_is_cut: bool,
    /// What the next octet may still be part of.
    pending: Pending,
    /// How the last line ended.
    last_end: LineEnd,
    /// Where the data lines' values stand in the buffer.
    data: Vec<Range<usize>>,
    name: String,
    is_oversized: bool,
    frame_bytes: usize,
}

/// What an LF that comes next belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    /// It is a line end of its own.
    Nothing,
    /// The CR that ended the last line, which is still open until this is known.
    LineEnd { is_blank: bool },
    /// The CR that ended the last frame.
    FrameEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Cr,
    Lf,
    CrLf,
}

impl SseSplitter {
    /// A splitter whose frames have at most this many octets.
    pub fn new(frame_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            start: 0,
            scanned: 0,
            line_start: 0,
            line_is_cut: false,
            pending: Pending::Nothing,
            last_end: LineEnd::CrLf,
            data: Vec::new(),
            name: String::new(),
            is_oversized: false,
            frame_bytes: frame_bytes.max(1),
        }
    }

    /// Goes on until a line end is missing.
    fn scan(&mut self, frames: &mut Vec<Frame>) {
        loop {
            if !self.settle(frames) {
                return;
            }
            let rest = self.buffer.get(self.scanned..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'\r', b'\n', rest) else {
                self.scanned = self.buffer.len();
                return;
            };
            let is_cr = rest.get(found) == Some(&b'\r');
            // Cut as if the line end had not come yet: in other portions it would not have.
            self.scanned += found;
            self.cut_oversized(frames);
            let end = self.scanned;
            self.scanned = end + 1;
            let is_blank = self.line(end);
            if !is_cr {
                self.end_line(LineEnd::Lf, is_blank, frames);
            } else if is_blank && self.last_end != LineEnd::CrLf {
                self.end_line(LineEnd::Cr, is_blank, frames);
                self.pending = Pending::FrameEnd;
            } else {
                self.pending = Pending::LineEnd { is_blank };
            }
        }
    }

    /// Settles what an LF after a CR belongs to. False: the octet that tells is not there yet.
    fn settle(&mut self, frames: &mut Vec<Frame>) -> bool {
        if self.pending == Pending::Nothing {
            return true;
        }
        let Some(next) = self.buffer.get(self.scanned) else { return false };
        let is_lf = *next == b'\n';
        if is_lf {
            self.scanned += 1;
        }
        match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => {}
            Pending::LineEnd { is_blank } => {
                let end = if is_lf { LineEnd::CrLf } else { LineEnd::Cr };
                self.end_line(end, is_blank, frames);
            }
            Pending::FrameEnd => self.line_start = self.scanned,
        }
        true
    }

    /// Takes the line that ends before `end`; says whether it is empty.
    fn line(&mut self, end: usize) -> bool {
        if self.line_is_cut || self.is_oversized {
            return !self.line_is_cut && end == self.line_start;
        }
        let mut begin = self.line_start;
        let line = self.buffer.get(begin..end).unwrap_or_default();
        let line = match line.strip_prefix(BOM) {
            Some(rest) if self.start == 0 && begin == 0 => {
                begin = BOM.len();
                rest
            }
            Some(_) | None => line,
        };
        if line.is_empty() {
            return true;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let skip = match value {
            [b':', b' ', ..] => 2,
            [b':', ..] => 1,
            _ => 0,
        };
        match field {
            b"data" => self.data.push(begin + colon + skip..end),
            b"event" => {
                let value = value.get(skip..).unwrap_or_default();
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            _ => {}
        }
        false
    }

    /// The line is over, its end included; an empty one ends the frame.
    fn end_line(&mut self, end: LineEnd, is_blank: bool, frames: &mut Vec<Frame>) {
        self.last_end = end;
        self.line_start = self.scanned;
        self.line_is_cut = false;
        if is_blank {
            self.end_frame(frames);
        }
    }

    fn end_frame(&mut self, frames: &mut Vec<Frame>) {
        self.cut_oversized(frames);
        let raw = self.buffer.split_to(self.scanned).freeze();
        self.scanned = 0;
        self.line_start = 0;
        let ranges = std::mem::take(&mut self.data);
        let name = std::mem::take(&mut self.name);
        let payload = if std::mem::take(&mut self.is_oversized) {
            Payload::Oversized
        } else if ranges.is_empty() {
            Payload::Silent
        } else {
            Payload::Event { data: joined(&raw, &ranges), name }
        };
        frames.push(self.frame(raw, payload));
    }

    /// Lets go of what is longer than a frame may be, in pieces of exactly that length.
    fn cut_oversized(&mut self, frames: &mut Vec<Frame>) {
        while self.scanned > self.frame_bytes {
            self.is_oversized = true;
            self.data.clear();
            let raw = self.buffer.split_to(self.frame_bytes).freeze();
            self.scanned -= self.frame_bytes;
            self.line_is_cut |= self.line_start < self.frame_bytes;
            self.line_start = self.line_start.saturating_sub(self.frame_bytes);
            frames.push(self.frame(raw, Payload::Oversized));
        }
    }

    fn frame(&mut self, raw: Bytes, payload: Payload) -> Frame {
        let start = self.start;
        self.start += raw.len() as u64;
        Frame { start, raw, payload }
    }
}

impl Splitter for SseSplitter {
    fn push(&mut self, octets: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.buffer.extend_from_slice(octets);
        self.scan(&mut frames);
        self.cut_oversized(&mut frames);
        frames
    }

    fn finish(&mut self) -> Option<Leftover> {
        let raw = std::mem::take(&mut self.buffer).freeze();
        (!raw.is_empty()).then_some(Leftover { start: self.start, raw })
    }
}

/// The values of the data lines, joined with LF. One line, the usual case, is not copied.
fn joined(raw: &Bytes, ranges: &[Range<usize>]) -> Bytes {
    if let [only] = ranges {
        return raw.slice(only.clone());
    }
    let lines: Vec<&[u8]> =
        ranges.iter().map(|range| raw.get(range.clone()).unwrap_or_default()).collect();
    Bytes::from(lines.join(&b'\n'))
}
