//! Where things stand in octets, so that one of them can be replaced and all others stay as they came.
//!
//! Reading a message into a model and writing it anew loses what the model does not know: the order of
//! members, the spelling of numbers, unknown fields. An edit must not.

pub(crate) mod fields;
pub(crate) mod text;

use std::ops::Range;

/// What is to be replaced, by its place in the octets.
#[derive(Debug, Default)]
pub(crate) struct Splice {
    cuts: Vec<(Range<usize>, String)>,
}

impl Splice {
    /// Puts a text where this range is. Ranges do not overlap; the later of two that do is passed over.
    pub(crate) fn replace(&mut self, range: Range<usize>, with: impl Into<String>) {
        self.cuts.push((range, with.into()));
    }

    /// Whether nothing is to be replaced.
    pub(crate) fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }

    /// The text with everything replaced.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.cuts.sort_by_key(|(range, _)| range.start);
        let mut changed = String::with_capacity(text.len());
        let mut done = 0;
        for (range, with) in &self.cuts {
            let Some(kept) = text.get(done..range.start) else { continue };
            changed.push_str(kept);
            changed.push_str(with);
            done = range.end;
        }
        changed.push_str(text.get(done..).unwrap_or_default());
        changed
    }
}
