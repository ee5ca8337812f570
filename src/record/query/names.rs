//! Short names: suffixes of ids, because ids drawn one after the other begin alike.

use crate::base::id::ExchangeId;

/// Digits that a name shows at least.
const DIGITS_MIN: usize = 8;

/// The ids of a recording, to be found by their ends.
pub(super) struct Names {
    /// The digits of each id from the last to the first, sorted, with the id's place in the recording.
    reversed: Vec<(String, usize)>,
}

impl Names {
    pub(super) fn of(ids: impl Iterator<Item = ExchangeId>) -> Self {
        let mut reversed: Vec<(String, usize)> =
            ids.enumerate().map(|(index, id)| (reversed(&id.hex()), index)).collect();
        reversed.sort();
        Self { reversed }
    }

    /// The places of the ids that end in this (whole or a suffix; hyphens, case, `x-` and `d-` do not
    /// matter), in the order of the recording.
    pub(super) fn find(&self, name: &str) -> Vec<usize> {
        let name = name.trim().to_ascii_lowercase();
        let digits = name.strip_prefix("x-").or_else(|| name.strip_prefix("d-")).unwrap_or(&name);
        let end = reversed(&digits.replace('-', ""));
        if end.is_empty() {
            return Vec::new();
        }
        let first = self.reversed.partition_point(|(digits, _)| *digits < end);
        let from = self.reversed.get(first..).unwrap_or_default();
        let same = from.iter().take_while(|(digits, _)| digits.starts_with(&end));
        let mut found: Vec<usize> = same.map(|(_, index)| *index).collect();
        found.sort_unstable();
        found
    }

    /// The shortest suffix that is unique among the others.
    pub(super) fn shortest(&self, id: ExchangeId) -> String {
        let whole = reversed(&id.hex());
        let place = self.reversed.partition_point(|(digits, _)| *digits < whole);
        let neighbours = [place.checked_sub(1), Some(place), Some(place + 1)];
        let common = neighbours
            .into_iter()
            .flatten()
            .filter_map(|place| self.reversed.get(place))
            .filter(|(digits, _)| *digits != whole)
            .map(|(digits, _)| {
                digits.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count()
            })
            .max()
            .unwrap_or(0);
        reversed(whole.get(..DIGITS_MIN.max(common + 1)).unwrap_or(&whole))
    }
}

fn reversed(digits: &str) -> String {
    digits.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(end: &str) -> ExchangeId {
        format!("01940000-0000-7000-8000-{end:0>12}").parse().unwrap()
    }

    #[test]
    fn a_name_is_as_short_as_it_can_be() {
        let ids = [id("aa11223344"), id("bb11223344"), id("00000000ff")];
        let names = Names::of(ids.into_iter());
        assert_eq!(names.shortest(ids[0]), "a11223344");
        assert_eq!(names.shortest(ids[1]), "b11223344");
        assert_eq!(names.shortest(ids[2]), "000000ff");
    }

    #[test]
    fn any_ending_finds_what_ends_so() {
        let ids = [id("aa11223344"), id("bb11223344"), id("00000000ff")];
        let names = Names::of(ids.into_iter());
        assert_eq!(names.find("x-11223344"), [0, 1]);
        assert_eq!(names.find("D-BB11223344"), [1]);
        assert_eq!(names.find(&ids[2].to_string()), [2]);
        assert_eq!(names.find("x-"), [0_usize; 0]);
        assert_eq!(names.find("f"), [2]);
    }
}
