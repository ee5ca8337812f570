//! A text with one of its encodings undone, and where each octet of it came from.
//!
//! Encoders differ in what they escape, so looking for each possible spelling of a value is hopeless;
//! looking for the value itself in a decoded text is not.

use std::ops::Range;

use super::json::unescape;

/// A text that has been decoded.
pub(super) struct View {
    pub(super) text: Vec<u8>,
    /// Where runs begin whose octets came one from one: here, and in the original. Sorted.
    runs: Vec<(usize, usize)>,
    /// The length of the original.
    len: usize,
    /// What the original has between two runs.
    between: Between,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// The rest of an escape: it goes with what it stands for.
    Escape,
    /// What the view leaves out: it goes with neither.
    Omission,
}

/// Nobody wraps base64 to shorter lines.
const WRAPPED_MIN: usize = 32;

/// What an escape stands for, and its length.
type Undone = (Vec<u8>, usize);

impl View {
    /// `%41` undone. `None` when there is none.
    pub(super) fn without_percent(text: &[u8]) -> Option<Self> {
        let digit = |octet: u8| char::from(octet).to_digit(16).and_then(|it| u8::try_from(it).ok());
        Self::without(text, b'%', &|escape| match escape {
            [_, high, low, ..] => Some((vec![digit(*high)? << 4 | digit(*low)?], 3)),
            [..] => None,
        })
    }

    /// JSON's escapes undone. `None` when there are none.
    pub(super) fn without_escapes(text: &[u8]) -> Option<Self> {
        Self::without(text, b'\\', &|escape| {
            let len = match escape {
                [_, b'u', b'd' | b'D', _, _, _, b'\\', b'u', ..] => 12,
                [_, b'u', ..] => 6,
                [..] => 2,
            };
            let raw = escape.get(..len)?;
            let plain = unescape(raw);
            (*plain != *raw).then(|| (plain.into_owned(), len))
        })
    }

    /// Base64 whose lines were wrapped, in one line again: line ends, as they are or as JSON escapes them,
    /// that stand after a whole line of digits and before another digit. `None` when there are none.
    pub(super) fn without_wrapping(text: &[u8]) -> Option<Self> {
        let mut view = Self {
            text: Vec::new(),
            runs: vec![(0, 0)],
            len: text.len(),
            between: Between::Omission,
        };
        let mut start = 0;
        for at in memchr::memchr2_iter(b'\n', b'\\', text) {
            let rest = text.get(at..).unwrap_or_default();
            let ends: [&[u8]; 3] = [b"\n", br"\n", br"\r\n"];
            let Some(end) = ends.into_iter().find(|end| rest.starts_with(end)) else { continue };
            let line = text.get(start..at).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let is_full =
                line.last_chunk::<WRAPPED_MIN>().is_some_and(|it| it.iter().copied().all(is_digit));
            if is_full && rest.get(end.len()).copied().is_some_and(is_digit) {
                view.text.extend_from_slice(line);
                start = at + end.len();
                view.runs.push((view.text.len(), start));
            }
        }
        if view.runs.len() == 1 {
            return None;
        }
        view.text.extend_from_slice(text.get(start..).unwrap_or_default());
        Some(view)
    }

    /// The octets of the original that these came from.
    pub(super) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        let end = match (self.between, range.end.checked_sub(1)) {
            (Between::Omission, Some(last)) => self.origin_of(last) + 1,
            (Between::Omission | Between::Escape, _) => self.origin_of(range.end),
        };
        self.origin_of(range.start)..end
    }

    fn without(text: &[u8], mark: u8, undo: &dyn Fn(&[u8]) -> Option<Undone>) -> Option<Self> {
        let mut view = Self {
            text: Vec::new(),
            runs: vec![(0, 0)],
            len: text.len(),
            between: Between::Escape,
        };
        let mut start = 0;
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| memchr::memchr(mark, rest)) {
            let at = from + at;
            let Some((plain, len)) = text.get(at..).and_then(undo) else {
                from = at + 1;
                continue;
            };
            view.text.extend_from_slice(text.get(start..at).unwrap_or_default());
            for octet in plain {
                // All octets of an escape came from its beginning.
                view.runs.push((view.text.len(), at));
                view.text.push(octet);
            }
            start = at + len;
            from = start;
            view.runs.push((view.text.len(), start));
        }
        if view.runs.len() == 1 {
            return None;
        }
        view.text.extend_from_slice(text.get(start..).unwrap_or_default());
        Some(view)
    }

    fn origin_of(&self, at: usize) -> usize {
        let run = self.runs.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        let (start, origin) = self.runs.get(run).copied().unwrap_or_default();
        (origin + (at - start)).min(self.len)
    }
}

const fn is_digit(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'/' | b'-' | b'_' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(view: Option<View>, original: &str, part: &str, expected: &str) {
        let view = view.expect("there is something to undo");
        let text = String::from_utf8(view.text.clone()).unwrap();
        let start = text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        let origin = view.origin(&(start..start + part.len()));
        assert_eq!(original.get(origin), Some(expected));
    }

    #[test]
    fn a_part_of_a_view_is_found_in_the_original() {
        let url = "k=a%20b%2Fc%&x=%zz%41";
        check(View::without_percent(url.as_bytes()), url, "a b/c", "a%20b%2Fc");
        check(View::without_percent(url.as_bytes()), url, "%&x=%zzA", "%&x=%zz%41");
        let json = r#"{"u":"https:\/\/h\u00e9\ud83d\ude00!"}"#;
        check(View::without_escapes(json.as_bytes()), json, "s://h", r"s:\/\/h");
        check(
            View::without_escapes(json.as_bytes()),
            json,
            "\u{e9}\u{1f600}!",
            r"\u00e9\ud83d\ude00!",
        );
    }

    #[test]
    fn wrapped_lines_of_digits_are_one() {
        let line = "QUJD".repeat(8);
        for end in ["\n", "\r\n", r"\n", r"\r\n"] {
            let text = format!("it is {line}{end}xyz= and\nmore");
            let expected = format!("QUJD{end}xyz");
            check(View::without_wrapping(text.as_bytes()), &text, "QUJDxyz", &expected);
            check(View::without_wrapping(text.as_bytes()), &text, &line, &line);
        }
        assert!(View::without_wrapping(b"words\nand more\nwords").is_none());
    }

    #[test]
    fn a_text_without_escapes_has_no_view() {
        assert!(View::without_percent(b"100 % of it").is_none());
        assert!(View::without_escapes(b"plain").is_none());
    }
}
