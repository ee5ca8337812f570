//! Words of peers in reports: short, on one line, and unable to speak to a terminal.

use serde_json::Value;

/// Characters of a peer's text that a report shows.
const CHARS_MAX: usize = 160;

/// A peer's text in quotes: control characters, terminal escapes and hidden Unicode are written as
/// escapes, and what is too long is cut.
pub(super) fn quote(text: &str) -> String {
    let head: String = text.chars().take(CHARS_MAX).collect();
    match text.chars().count().saturating_sub(CHARS_MAX) {
        0 => format!("{head:?}"),
        left => format!("{head:?}... ({left} more characters)"),
    }
}

/// A JSON value, cut when it is long. JSON escapes control characters itself; what it leaves (hidden and
/// right-to-left Unicode) is escaped here.
pub(super) fn json(value: &Value) -> String {
    if let Value::String(text) = value {
        return quote(text);
    }
    escaped(&value.to_string())
}

/// Words that a peer may have chosen, within a sentence: paths with its member names, states it made up.
pub(super) fn plain(text: &str) -> String {
    escaped(text)
}

/// `1 delegation`, `2 delegations`, `2 matches`.
pub(super) fn plural(count: usize, what: &str) -> String {
    let ending = if what.ends_with("ch") { "es" } else { "s" };
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}{ending}") }
}

/// What JSON leaves as it is and a terminal would not is escaped; what is too long is cut.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for c in text.chars().take(CHARS_MAX) {
        match c {
            '"' | '\\' | '\'' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    if text.chars().count() > CHARS_MAX {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_reply_cannot_reach_the_terminal() {
        let text = "a\u{1b}[2J\u{202e}b\u{200b}\n";
        assert_eq!(quote(text), r#""a\u{1b}[2J\u{202e}b\u{200b}\n""#);
        let value = serde_json::json!({ "x": text });
        assert_eq!(json(&value), r#"{"x":"a\u001b[2J\u{202e}b\u{200b}\n"}"#);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let shown = quote(&"ä".repeat(200));
        assert!(shown.ends_with("\"... (40 more characters)"), "{shown}");
    }
}
