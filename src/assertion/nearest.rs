//! The word that was probably meant.

use std::cmp::Reverse;

/// The known word nearest to `word`, if any is near enough to be worth saying.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= far)
        .min_by_key(|(distance, candidate)| (*distance, Reverse(shared(word, candidate))))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean ...?`, or the known words when none is near.
pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(candidate) => format!("; did you mean `{candidate}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// Characters at both ends that two words share: of two that are equally far, the one that begins and
/// ends alike was meant.
fn shared(a: &str, b: &str) -> usize {
    let same = |(a, b): &(char, char)| a == b;
    let front = a.chars().zip(b.chars()).take_while(same).count();
    front + a.chars().rev().zip(b.chars().rev()).take_while(same).count()
}

/// Edits (insert, delete, replace, swap of neighbours) between two words, case aside.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, right) in b.iter().enumerate() {
            let at =
                |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let replaced = at(&above, j) + usize::from(left != right);
            let mut best = replaced.min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped =
                i > 0 && j > 0 && a.get(i - 1) == Some(right) && b.get(j - 1) == Some(left);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_is_seen_through() {
        let known = ["contains", "not_contains", "equals", "matches"];
        for (word, meant) in [
            ("contians", Some("contains")),
            ("Contains", Some("contains")),
            ("equal", Some("equals")),
            ("not_contain", Some("not_contains")),
            ("regex", None),
        ] {
            assert_eq!(nearest(word, known), meant, "{word}");
        }
    }

    #[test]
    fn without_a_near_one_all_are_listed() {
        assert_eq!(suggestion("zzz", &["a", "b"]), "; known: a, b");
        assert_eq!(suggestion("q", &[]), "");
    }
}
