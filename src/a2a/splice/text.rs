//! JSON values and where they stand in their text.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::a2a::binding::members;

/// A value in a JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node<'t> {
    raw: &'t str,
    /// Offset of its first octet in the text.
    start: usize,
}

impl<'t> Node<'t> {
    /// The value of a whole text; `None` when it is no JSON.
    pub(crate) fn root(text: &'t str) -> Option<Self> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw: &RawValue = serde_json::from_str(body).ok()?;
        Some(Self { raw: raw.get(), start: 0 }.placed(text, raw))
    }

    /// Where it stands.
    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.start + self.raw.len()
    }

    /// The members of an object with their names, in order; none for other values.
    pub(crate) fn members(self) -> Vec<(String, Self)> {
        let members = members(self.raw).unwrap_or_default();
        members.into_iter().map(|(name, raw)| (name, self.inner(raw))).collect()
    }

    /// The member of this name; the last of several.
    pub(crate) fn get(self, name: &str) -> Option<Self> {
        let members = self.members();
        members.into_iter().rev().find(|member| member.0 == name).map(|member| member.1)
    }

    /// The items of an array; none for other values.
    pub(crate) fn items(self) -> Vec<Self> {
        let items: Vec<&RawValue> = serde_json::from_str(self.raw).unwrap_or_default();
        items.into_iter().map(|raw| self.inner(raw)).collect()
    }

    /// The text of a string.
    pub(crate) fn as_string(self) -> Option<String> {
        serde_json::from_str(self.raw).ok()
    }

    /// Whether it is an object.
    pub(crate) fn is_object(self) -> bool {
        self.raw.starts_with('{')
    }

    /// Where something can be put behind the last member or item, and what must stand before it.
    pub(crate) fn room(self) -> (Range<usize>, &'static str) {
        let end = self.range().end.saturating_sub(1);
        let inner = self.raw.get(1..self.raw.len().saturating_sub(1)).unwrap_or_default();
        let separator = if inner.trim().is_empty() { "" } else { "," };
        let end = end - (inner.len() - inner.trim_end().len());
        (end..end, separator)
    }

    /// The octets to take out so that members of this name are gone, commas included.
    pub(crate) fn without(self, name: &str) -> Vec<Range<usize>> {
        let members = self.members();
        let object_start = self.start + 1;
        let mut ranges = Vec::new();
        let mut kept = None;
        for (index, (member, node)) in members.iter().enumerate() {
            let end = node.range().end;
            if member != name {
                kept = Some(end);
                continue;
            }
            let range = match (kept, members.get(index + 1)) {
                // After a member that stays: the comma before goes.
                (Some(kept), _) => kept.max(previous_end(&ranges))..end,
                // At the head: the comma after goes, with the space up to the next name.
                (None, Some(_)) => self.head(object_start, &ranges)..self.next_name(end),
                (None, None) => self.head(object_start, &ranges)..end,
            };
            ranges.push(range);
        }
        ranges
    }

    /// Where the first member that is still there begins.
    fn head(self, object_start: usize, ranges: &[Range<usize>]) -> usize {
        let from = object_start.max(previous_end(ranges));
        from + space_len(self.after(from))
    }

    /// Where the name after a member begins: behind space, comma and space.
    fn next_name(self, end: usize) -> usize {
        let comma = end + space_len(self.after(end)) + 1;
        comma + space_len(self.after(comma))
    }

    fn after(self, at: usize) -> &'t str {
        self.raw.get(at - self.start..).unwrap_or_default()
    }

    fn inner(self, raw: &'t RawValue) -> Self {
        Self { raw: raw.get(), start: self.start }.placed(self.raw, raw)
    }

    /// Its place, told by where its text lies within the outer one.
    fn placed(self, outer: &'t str, raw: &'t RawValue) -> Self {
        let offset = raw.get().as_ptr().addr().saturating_sub(outer.as_ptr().addr());
        Self { raw: raw.get(), start: self.start + offset }
    }
}

fn previous_end(ranges: &[Range<usize>]) -> usize {
    ranges.last().map_or(0, |range| range.end)
}

fn space_len(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::super::Splice;
    use super::*;

    #[track_caller]
    fn check_without(text: &str, expected: &str) {
        let mut splice = Splice::default();
        for range in Node::root(text).unwrap().without("x") {
            splice.replace(range, "");
        }
        assert_eq!(splice.apply(text), expected, "{text}");
    }

    #[test]
    fn a_member_is_taken_out_with_one_comma() {
        check_without(r#"{"a":1,"x":[2],"b":3}"#, r#"{"a":1,"b":3}"#);
        check_without(r#"{ "x" : 1 , "b":3}"#, r#"{ "b":3}"#);
        check_without(r#"{"a":1, "x":2 }"#, r#"{"a":1 }"#);
        check_without(r#"{"x":2}"#, "{}");
        check_without(r#"{"x":1,"x":2,"a":3,"x":4}"#, r#"{"a":3}"#);
        check_without(r#"{"x":1,"x":2}"#, "{}");
        check_without("{\n  \"a\": 1,\n  \"x\": 2\n}", "{\n  \"a\": 1\n}");
    }

    #[test]
    fn values_are_found_where_they_stand() {
        let text = "\u{feff} {\"a\": [1, {\"b\": \"c\"}]}";
        let node = Node::root(text).unwrap().get("a").unwrap().items()[1].get("b").unwrap();
        assert_eq!(text.get(node.range()), Some("\"c\""));
    }

    #[test]
    fn something_new_goes_behind_the_last() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1,N}"#),
            ("{}", "{N}"),
            ("{\n  \"a\": 1\n}", "{\n  \"a\": 1,N\n}"),
            ("[ ]", "[N ]"),
        ] {
            let (range, separator) = Node::root(text).unwrap().room();
            let mut splice = Splice::default();
            splice.replace(range, format!("{separator}N"));
            assert_eq!(splice.apply(text), expected);
        }
    }
}
