//! How much two texts have in common, by their words: no model.

use std::collections::BTreeMap;

/// Twice the words in common over the words of both (Dice's coefficient of the two bags of words).
#[expect(clippy::cast_precision_loss, reason = "texts have far fewer than 2^52 words")]
pub(super) fn overlap(a: &str, b: &str) -> f64 {
    let (a, b) = (words(a), words(b));
    let all = a.values().sum::<usize>() + b.values().sum::<usize>();
    let common: usize = a.iter().map(|(word, count)| *count.min(b.get(word).unwrap_or(&0))).sum();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}

/// The words of a text, case aside, and how often each occurs.
pub(super) fn words(text: &str) -> BTreeMap<String, usize> {
    let mut bag = BTreeMap::new();
    let found = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in found {
        *bag.entry(word.to_lowercase()).or_default() += 1;
    }
    bag
}
