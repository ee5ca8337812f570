//! Values that are known to be secret, found wherever they occur again.
//!
//! Up to ten thousand values, each in several spellings, come and go while traffic passes, so an
//! automaton that must be built anew is out. This is the search of Wu and Manber over the last eight
//! octets of each pattern: adding one is a few table writes, and with few values known most of a text is
//! skipped. The tail is the anchor because many tokens begin alike (`eyJhbGciOi...`) and end differently.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::view::View;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// A value shorter than this would hide ordinary words.
pub(super) const LEARNED_BYTES_MIN: usize = 8;
/// A longer value is masked where it stands and not looked for elsewhere.
const LEARNED_BYTES_MAX: usize = 64 * 1024;
/// Octets of all patterns together; past it the oldest values are forgotten.
const PATTERN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Octets of a pattern's tail that are searched for.
const ANCHOR: usize = 8;
/// Patterns with one anchor that are compared one by one. Where more crowd together (somebody does it
/// on purpose), the whole word around the anchor is masked: too much rather than too little, and fast.
const CROWD: usize = 64;
const SHIFTS: usize = 1 << 16;
const FILTER_BITS: usize = 1 << 20;

/// The values, and the tables to find them.
pub(super) struct Learned {
    values_max: usize,
    known: HashMap<Vec<u8>, u64>,
    values: HashMap<u64, Value>,
    /// Values by age, with the stamp they had when they were put in; a refreshed one stands in it twice.
    ages: VecDeque<(u64, u64)>,
    buckets: HashMap<u64, Vec<Pattern>>,
    shift: Vec<u8>,
    filter: Vec<u64>,
    pattern_bytes: usize,
    longest: usize,
    next_id: u64,
    stamp: u64,
    forgotten: usize,
}

struct Value {
    plain: Vec<u8>,
    stamp: u64,
}

struct Pattern {
    octets: Vec<u8>,
    value: u64,
}

/// Where a learned value stands, in whatever spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) range: Range<usize>,
    value: u64,
}

impl Learned {
    pub(super) fn new(values_max: usize) -> Self {
        Self {
            values_max,
            known: HashMap::new(),
            values: HashMap::new(),
            ages: VecDeque::new(),
            buckets: HashMap::new(),
            shift: Vec::new(),
            filter: Vec::new(),
            pattern_bytes: 0,
            longest: 0,
            next_id: 0,
            stamp: 0,
            forgotten: 0,
        }
    }

    /// Remembers a value. Short ones, and what is masked already, are not remembered.
    pub(super) fn learn(&mut self, value: &[u8]) {
        let is_masked = value.iter().all(|octet| *octet == b'*');
        if value.len() < LEARNED_BYTES_MIN || value.len() > LEARNED_BYTES_MAX || is_masked {
            return;
        }
        self.stamp += 1;
        if let Some(id) = self.known.get(value) {
            self.refresh(*id);
            return;
        }
        if self.shift.is_empty() {
            self.clear_tables();
        }
        let id = self.next_id;
        self.next_id += 1;
        for octets in spellings(value) {
            self.add_pattern(octets, id);
        }
        self.known.insert(value.to_vec(), id);
        self.values.insert(id, Value { plain: value.to_vec(), stamp: self.stamp });
        self.ages.push_back((id, self.stamp));
        self.forget_oldest();
    }

    /// The value itself, whatever the spelling it was found in.
    pub(super) fn plain(&self, found: &Found) -> &[u8] {
        self.values.get(&found.value).map_or(&[], |value| &value.plain)
    }

    /// Every place where a learned value stands: in order, not overlapping. Looked for as it is, with
    /// percent-encoding undone, with JSON's escapes undone, and with wrapped base64 put together.
    pub(super) fn find(&self, text: &[u8]) -> Vec<Found> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let mut found = self.scan(text);
        let views = [View::without_percent, View::without_escapes, View::without_wrapping];
        for view in views.into_iter().filter_map(|view| view(text)) {
            let hits = self.scan(&view.text).into_iter();
            found.extend(hits.map(|hit| Found { range: view.origin(&hit.range), ..hit }));
        }
        found.sort_by_key(|hit| hit.range.start);
        found.dedup_by(|next, before| {
            let overlaps = next.range.start < before.range.end;
            if overlaps {
                before.range.end = before.range.end.max(next.range.end);
            }
            overlaps
        });
        found
    }

    fn scan(&self, text: &[u8]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut end = ANCHOR;
        while let Some(window) = end.checked_sub(ANCHOR).and_then(|start| text.get(start..end)) {
            let step = usize::from(self.shift.get(block(window, ANCHOR)).copied().unwrap_or(0));
            if step > 0 {
                end += step;
                continue;
            }
            if self.may_be_anchor(window)
                && let Some(hit) = self.hit_at(text, end)
            {
                end = end.max(hit.range.end);
                found.push(hit);
            }
            end += 1;
        }
        found
    }

    /// Where the text ends in the beginning of a learned value: what a cut body may leave behind.
    pub(super) fn beginning_at_end(&self, text: &[u8]) -> Option<Found> {
        let longest_first = |(pattern, len): &(&Pattern, usize)| (*len, pattern.value);
        self.buckets
            .values()
            .flatten()
            .filter_map(|pattern| Some((pattern, overlap(text, &pattern.octets)?)))
            .max_by_key(longest_first)
            .map(|(pattern, len)| Found {
                range: text.len() - len..text.len(),
                value: pattern.value,
            })
    }

    fn hit_at(&self, text: &[u8], end: usize) -> Option<Found> {
        let bucket = self.buckets.get(&anchor_of(text.get(..end)?)?)?;
        if bucket.len() > CROWD {
            let value = bucket.first()?.value;
            return Some(Found { range: word_around(text, end, self.longest), value });
        }
        let head = text.get(..end)?;
        bucket
            .iter()
            .filter(|pattern| head.ends_with(&pattern.octets))
            .max_by_key(|pattern| pattern.octets.len())
            .map(|pattern| Found { range: end - pattern.octets.len()..end, value: pattern.value })
    }

    fn add_pattern(&mut self, octets: Vec<u8>, value: u64) {
        let Some(anchor) = anchor_of(&octets) else { return };
        self.enter(anchor);
        self.pattern_bytes += octets.len();
        self.longest = self.longest.max(octets.len());
        self.buckets.entry(anchor).or_default().push(Pattern { octets, value });
    }

    fn enter(&mut self, anchor: u64) {
        let octets = anchor.to_be_bytes();
        for end in 3..=ANCHOR {
            let step = u8::try_from(ANCHOR - end).unwrap_or(0);
            if let Some(shift) = self.shift.get_mut(block(&octets, end)) {
                *shift = (*shift).min(step);
            }
        }
        let bit = filter_bit(anchor);
        if let Some(word) = self.filter.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    fn may_be_anchor(&self, window: &[u8]) -> bool {
        let Some(anchor) = anchor_of(window) else { return false };
        let bit = filter_bit(anchor);
        self.filter.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    fn clear_tables(&mut self) {
        // Three octets make a block, so eight octets allow a step of at most six.
        self.shift = vec![6; SHIFTS];
        self.filter = vec![0; FILTER_BITS / 64];
    }

    fn refresh(&mut self, id: u64) {
        let stamp = self.stamp;
        // A value that is seen all the time must not fill the list of ages.
        let is_old = |value: &&mut Value| stamp - value.stamp > self.values_max as u64 / 2;
        if let Some(value) = self.values.get_mut(&id).filter(is_old) {
            value.stamp = stamp;
            self.ages.push_back((id, stamp));
        }
    }

    fn forget_oldest(&mut self) {
        while self.values.len() > self.values_max || self.pattern_bytes > PATTERN_BYTES_MAX {
            let Some((id, stamp)) = self.ages.pop_front() else { return };
            if self.values.get(&id).is_some_and(|value| value.stamp == stamp) {
                self.forget(id);
            }
        }
        // The tables only ever gain entries; from time to time they are made anew.
        if self.forgotten > self.values_max / 2 {
            self.forgotten = 0;
            self.clear_tables();
            let anchors: Vec<u64> = self.buckets.keys().copied().collect();
            for anchor in anchors {
                self.enter(anchor);
            }
        }
    }

    fn forget(&mut self, id: u64) {
        let Some(value) = self.values.remove(&id) else { return };
        self.known.remove(&value.plain);
        self.forgotten += 1;
        for octets in spellings(&value.plain) {
            let Some(anchor) = anchor_of(&octets) else { continue };
            let Some(bucket) = self.buckets.get_mut(&anchor) else { continue };
            bucket.retain(|pattern| pattern.value != id);
            self.pattern_bytes = self.pattern_bytes.saturating_sub(octets.len());
            if bucket.is_empty() {
                self.buckets.remove(&anchor);
            }
        }
    }
}

/// The value as it may stand in a text: plain, and as the part of a base64 text that depends on nothing
/// else, at each of the three places it can begin.
fn spellings(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![value.to_vec()];
    let mut add = |octets: Vec<u8>| {
        if octets.len() >= ANCHOR && !all.contains(&octets) {
            all.push(octets);
        }
    };
    if value.contains(&b' ') {
        // As forms write it.
        add(value.iter().map(|octet| if *octet == b' ' { b'+' } else { *octet }).collect());
    }
    for before in 0..3 {
        let core = base64_core(value, before);
        let url_safe = core.iter().map(|octet| match octet {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        add(url_safe.collect());
        add(core);
    }
    all
}

/// The base64 digits that are made of the value's bits alone, when `before` octets stand before it.
fn base64_core(value: &[u8], before: usize) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    let digits = STANDARD_NO_PAD.encode(&padded).into_bytes();
    let first = (before * 8).div_ceil(6);
    let end = padded.len() * 8 / 6;
    digits.get(first..end).unwrap_or_default().to_vec()
}

/// The last eight octets as a number.
fn anchor_of(octets: &[u8]) -> Option<u64> {
    octets.last_chunk::<ANCHOR>().map(|tail| u64::from_be_bytes(*tail))
}

/// A number for the three octets that end at `end`.
fn block(window: &[u8], end: usize) -> usize {
    let three = end.checked_sub(3).and_then(|start| window.get(start..end));
    let Some([a, b, c]) = three.and_then(|three| three.first_chunk::<3>()) else { return 0 };
    let number = u32::from_be_bytes([0, *a, *b, *c]);
    (number.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

fn filter_bit(anchor: u64) -> usize {
    usize::try_from(anchor.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44).unwrap_or(0)
}

fn word_around(text: &[u8], end: usize, longest: usize) -> Range<usize> {
    let is_word = |octet: &&u8| octet.is_ascii_graphic() && !br#""'&,;<>"#.contains(octet);
    let (before, after) = text.split_at_checked(end).unwrap_or((text, &[]));
    let left = before.iter().rev().take(longest).take_while(is_word).count().max(ANCHOR);
    let right = after.iter().take(longest).take_while(is_word).count();
    end.saturating_sub(left)..end + right
}

/// How much of the pattern's beginning the text ends in: at least three octets, and not all of it.
fn overlap(text: &[u8], pattern: &[u8]) -> Option<usize> {
    (3..pattern.len())
        .rev()
        .find(|len| pattern.get(..*len).is_some_and(|beginning| text.ends_with(beginning)))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(secret: &str, text: &[u8], expected: &str) {
        let mut learned = Learned::new(100);
        learned.learn(secret.as_bytes());
        let mut masked = text.to_vec();
        for found in learned.find(text) {
            assert_eq!(learned.plain(&found), secret.as_bytes());
            masked[found.range].fill(b'*');
        }
        assert_eq!(String::from_utf8_lossy(&masked), expected);
    }

    #[test]
    fn a_learned_value_is_found_in_every_spelling() {
        check("tk-aaaa1111", b"see tk-aaaa1111!", "see ***********!");
        check("a b/c\"d+e=f", br#"{"x":"a b/c\"d+e=f"}"#, r#"{"x":"************"}"#);
        check("a b/c+d=e_f", b"?k=a%20b%2Fc%2Bd%3De_f&x", "?k=*******************&x");
        check("a b/c+d=e_f", b"?k=a+b%2Fc%2Bd%3De_f&x", "?k=*****************&x");
        check("a b/c+d=e_f", b"?k=a%20b%2fc%2bd%3de_f&x", "?k=*******************&x");
        check("a b/c+d=e_f", b"?k=a%20b/c%2Bd%3D%65%5ff&x", "?k=*********************&x");
        check("a b/c\u{e9}d=e_f", br#"{"x":"a b\/c\u00e9d=e_f"}"#, r#"{"x":"*****************"}"#);
    }

    #[test]
    fn a_learned_value_is_found_in_base64_wherever_it_begins() {
        for before in 0..7 {
            let plain = format!("{}tk-aaaa1111~~?? and more", "x".repeat(before));
            let text = STANDARD.encode(plain);
            let mut learned = Learned::new(100);
            learned.learn(b"tk-aaaa1111~~??");
            let found = learned.find(text.as_bytes());
            assert_eq!(found.len(), 1, "{before} octets before it");
            let clear: String = text
                .char_indices()
                .filter(|(at, _)| !found[0].range.contains(at))
                .map(|(_, letter)| letter)
                .collect();
            assert!(text.len() - clear.len() >= 18, "{before} before: {clear} is left of {text}");
        }
    }

    #[test]
    fn short_values_are_not_looked_for() {
        check("seven77", b"seven77", "seven77");
        check("********", b"********", "********");
    }

    #[test]
    fn the_oldest_values_are_forgotten_first() {
        let mut learned = Learned::new(4);
        let value = |n: u32| format!("secret-number-{n:04}");
        learned.learn(value(0).as_bytes());
        for n in 1..40 {
            learned.learn(value(n).as_bytes());
            learned.learn(value(0).as_bytes());
        }
        let finds = |n: u32| !learned.find(value(n).as_bytes()).is_empty();
        assert!(finds(0), "what is seen all the time stays");
        assert!(finds(39) && finds(38) && !finds(20) && !finds(1));
        assert!(learned.ages.len() < 40, "{}", learned.ages.len());
    }

    #[test]
    fn a_value_that_was_cut_at_the_end_is_found_as_well() {
        let mut learned = Learned::new(4);
        learned.learn(b"tk-aaaa1111");
        assert_eq!(learned.beginning_at_end(b"it was tk-aaa").unwrap().range, 7..13);
        assert!(learned.beginning_at_end(b"it was tk").is_none());
    }

    #[test]
    fn many_values_with_one_ending_cost_no_more_than_one() {
        let mut learned = Learned::new(10_000);
        for n in 0..10_000 {
            learned.learn(format!("{n:05}-the-same-ending").as_bytes());
        }
        let text = "99999-the-same-ending ".repeat(20_000);
        let found = learned.find(text.as_bytes());
        assert_eq!(found.len(), 20_000);
        assert_eq!(found[0].range, 0..21);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_search_finds_what_a_plain_search_finds(
            values in proptest::collection::vec("[ab]{8,12}", 0..6),
            text in "[ab]{0,120}",
        ) {
            let mut learned = Learned::new(100);
            for value in &values {
                learned.learn(value.as_bytes());
            }
            let mut masked = vec![false; text.len()];
            for found in learned.find(text.as_bytes()) {
                masked[found.range].fill(true);
            }
            for value in &values {
                for (at, _) in text.match_indices(value.as_str()) {
                    prop_assert!(
                        masked[at..at + value.len()].iter().all(|m| *m),
                        "{value} at {at} of {text}"
                    );
                }
            }
        }
    }
}
