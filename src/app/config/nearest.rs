//! The known word that a misspelt one was meant to be.

/// The nearest of `known`, if one is near enough to be worth naming: a third of its letters may
/// differ, a swap of two neighbours counts once.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = word.to_lowercase().replace('-', "_");
    known
        .iter()
        .map(|candidate| {
            (distance(&plain, &candidate.to_lowercase().replace('-', "_")), *candidate)
        })
        .filter(|(distance, candidate)| *distance <= (candidate.chars().count() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (i, x) in a.chars().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at =
                |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let substituted = at(&last, j) + usize::from(x != *y);
            let mut best = substituted.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = j > 0 && previous == Some(*y) && b.get(j - 1) == Some(&x);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
        previous = Some(x);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let known = ["probability", "name", "agent", "when", "remote_agents", "SendMessage"];
        assert_eq!(nearest(word, &known), expected, "{word}");
    }

    #[test]
    fn a_slip_leads_to_what_was_meant() {
        check("probabilty", Some("probability"));
        check("nmae", Some("name"));
        check("agents", Some("agent"));
        check("remote-agents", Some("remote_agents"));
        check("SendMesage", Some("SendMessage"));
    }

    #[test]
    fn another_word_is_not_guessed() {
        check("colour", None);
        check("x", None);
    }
}
