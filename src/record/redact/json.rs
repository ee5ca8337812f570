//! Strings and numbers of a JSON text with the octets they stand at.
//!
//! A reader of its own because masking must change nothing but the secret's octets, and because what a
//! peer broke or the limit cut must be masked like anything else: whatever stands there is read as far
//! as it goes, and never refused.

use std::borrow::Cow;
use std::ops::Range;

/// Containers below this depth are read as one.
const DEPTH_MAX: usize = 256;

/// One step of the way from the root to a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// A member of an object. Empty until the first key was read.
    Member(String),
    /// An element of an array.
    Element(usize),
}

/// A scalar value.
#[derive(Debug)]
pub(super) struct Scalar<'a> {
    /// The way to it from the root.
    pub(super) path: &'a [Step],
    /// Where it stands; of a string without its quotes.
    pub(super) range: Range<usize>,
    /// As written; of a string without its quotes.
    pub(super) raw: &'a [u8],
    /// What it is.
    pub(super) kind: ScalarKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarKind {
    String,
    /// A number, `true`, `false`, `null`, or what nobody knows.
    Word,
}

impl Scalar<'_> {
    /// What a string says, escapes undone.
    pub(super) fn text(&self) -> Cow<'_, [u8]> {
        unescape(self.raw)
    }
}

/// Visits every scalar that is no key.
pub(super) fn scalars(text: &[u8], visit: &mut dyn FnMut(&Scalar<'_>)) {
    let mut reader =
        Reader { text, at: 0, path: Vec::with_capacity(16), too_deep: 0, spare: Vec::new() };
    while let Some(octet) = reader.peek() {
        match octet {
            b'{' => {
                let key = reader.spare.pop().unwrap_or_default();
                reader.open(Step::Member(key));
            }
            b'[' => reader.open(Step::Element(0)),
            b'}' | b']' => reader.close(),
            b',' => reader.next_element(),
            b'"' => reader.string(visit),
            b':' | b' ' | b'\t' | b'\r' | b'\n' => reader.at += 1,
            _ => reader.word(visit),
        }
    }
}

/// Undoes the escapes of a string. What is no escape stays as it is.
pub(super) fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    match serde_json::from_slice::<String>(&quoted) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// Undoes the escapes of a string and tells for each octet, and for the end, where it came from.
pub(super) fn unescape_with_origins(raw: &[u8]) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(raw.len());
    let mut origins = Vec::with_capacity(raw.len() + 1);
    let mut at = 0;
    while let Some(rest) = raw.get(at..).filter(|rest| !rest.is_empty()) {
        let len = piece_len(rest);
        let piece = rest.get(..len).unwrap_or(rest);
        let before = text.len();
        text.push_str(&String::from_utf8_lossy(&unescape(piece)));
        origins.resize(origins.len() + text.len() - before, at);
        at += piece.len();
    }
    origins.push(raw.len());
    (text, origins)
}

/// The length of the first escape (a surrogate pair is one), or of the octets before the next one.
fn piece_len(raw: &[u8]) -> usize {
    match (raw.first(), raw.get(1)) {
        (Some(b'\\'), Some(b'u')) => match (raw.get(2), raw.get(6..8)) {
            (Some(b'd' | b'D'), Some(b"\\u")) => 12,
            (_, _) => 6,
        },
        (Some(b'\\'), _) => 2,
        (_, _) => {
            // One character at a time, so that each octet's origin is exact.
            let continues = |octet: &&u8| **octet & 0xc0 == 0x80;
            1 + raw.iter().skip(1).take_while(continues).count()
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    path: Vec<Step>,
    /// How many containers are open that the path has no room for.
    too_deep: usize,
    /// Keys of objects that were closed: their memory is used again.
    spare: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn open(&mut self, step: Step) {
        self.at += 1;
        if self.path.len() < DEPTH_MAX {
            self.path.push(step);
        } else {
            self.too_deep += 1;
        }
    }

    fn close(&mut self) {
        self.at += 1;
        match self.too_deep.checked_sub(1) {
            Some(left) => self.too_deep = left,
            None => {
                if let Some(Step::Member(mut key)) = self.path.pop() {
                    key.clear();
                    self.spare.push(key);
                }
            }
        }
    }

    fn next_element(&mut self) {
        self.at += 1;
        if self.too_deep == 0
            && let Some(Step::Element(n)) = self.path.last_mut()
        {
            *n += 1;
        }
    }

    fn string(&mut self, visit: &mut dyn FnMut(&Scalar<'_>)) {
        let start = self.at + 1;
        let mut end = start;
        while let Some(rest) = self.text.get(end..) {
            end += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            if self.text.get(end) != Some(&b'\\') {
                break;
            }
            end += 2;
        }
        let end = end.min(self.text.len());
        self.at = (end + 1).min(self.text.len());
        let raw = self.text.get(start..end).unwrap_or_default();
        if self.is_key() {
            if let Some(Step::Member(key)) = self.path.last_mut() {
                key.clear();
                key.push_str(&String::from_utf8_lossy(&unescape(raw)));
            }
            return;
        }
        visit(&Scalar { path: &self.path, range: start..end, raw, kind: ScalarKind::String });
    }

    /// Whether a colon follows.
    fn is_key(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.iter().find(|octet| !octet.is_ascii_whitespace()) == Some(&b':')
    }

    fn word(&mut self, visit: &mut dyn FnMut(&Scalar<'_>)) {
        let start = self.at;
        let ends_word = |octet: &u8| b"{}[],:\" \t\r\n".contains(octet);
        let rest = self.text.get(start..).unwrap_or_default();
        let len = rest.iter().position(ends_word).unwrap_or(rest.len()).max(1);
        self.at = start + len;
        let raw = rest.get(..len).unwrap_or_default();
        let range = start..self.at;
        visit(&Scalar { path: &self.path, range, raw, kind: ScalarKind::Word });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn listed(text: &str) -> String {
        let mut lines = Vec::new();
        scalars(text.as_bytes(), &mut |scalar| {
            let path: Vec<String> = scalar
                .path
                .iter()
                .map(|step| match step {
                    Step::Member(key) => key.clone(),
                    Step::Element(n) => n.to_string(),
                })
                .collect();
            let value = String::from_utf8_lossy(&text.as_bytes()[scalar.range.clone()]);
            lines.push(format!("{}={value}", path.join(".")));
        });
        lines.join(" ")
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(listed(text), expected, "{text}");
    }

    #[test]
    fn every_scalar_is_visited_with_its_path() {
        check(r#"{"a": {"b": "x", "c": [1, "y"]}, "d" : null}"#, "a.b=x a.c.0=1 a.c.1=y d=null");
        check(r#"[{"k\u0065y": "v\"w"}]"#, r#"0.key=v\"w"#);
        check(r#""alone""#, "=alone");
    }

    #[test]
    fn a_text_that_was_cut_is_read_as_far_as_it_goes() {
        check(r#"{"a": "x", "token": "fake-pu"#, "a=x token=fake-pu");
        check(r#"{"token": "fake\"#, r"token=fake\");
        check(r#"{"a": "x"]]}} "b": tru"#, "a=x =tru");
    }

    #[test]
    fn depth_costs_no_more_than_length() {
        let deep = format!(r#"{}"x"{},"y""#, "[".repeat(100_000), "]".repeat(100_000));
        let mut paths = Vec::new();
        scalars(deep.as_bytes(), &mut |scalar| paths.push(scalar.path.len()));
        assert_eq!(paths, [DEPTH_MAX, 0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}:,\"\\\\ a1\u{e9}]{0,60}") {
            listed(&text);
        }
    }
}
