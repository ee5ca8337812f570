//! What people see: data on standard output, talk on standard error, colour as an extra.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// How loud, and how coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: Colour,
    talk: Talk,
    width: Option<usize>,
}

/// Whether standard output may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

/// Whether there is talk on standard error beside errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talk {
    On,
    Off,
}

/// What a piece of text is, for those who see colours. Its words say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Good,
    Bad,
    Warn,
    Faint,
    Strong,
    Plain,
}

impl Style {
    /// The style of this process: colours only on a terminal, and only if nobody objects.
    pub(crate) fn detect(no_colour: Option<&str>, talk: Talk, columns: Option<&str>) -> Self {
        let terminal = io::stdout().is_terminal();
        let refused = no_colour.is_some_and(|value| !value.is_empty());
        let colour = if terminal && !refused { Colour::On } else { Colour::Off };
        let width = columns
            .and_then(|columns| columns.parse().ok())
            .or_else(|| terminal.then(terminal_width).flatten());
        Self { colour, talk, width }
    }

    /// Columns of the terminal; `None` when the output goes elsewhere, where nothing is cut.
    pub(crate) const fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether colours are on.
    pub(crate) const fn colour(&self) -> Colour {
        self.colour
    }

    /// The text, tinted if colours are on.
    pub(crate) fn tint(&self, tint: Tint, text: &str) -> String {
        let code = match (self.colour, tint) {
            (Colour::Off, _) | (_, Tint::Plain) => return text.to_owned(),
            (Colour::On, Tint::Good) => "32",
            (Colour::On, Tint::Bad) => "31",
            (Colour::On, Tint::Warn) => "33",
            (Colour::On, Tint::Faint) => "2",
            (Colour::On, Tint::Strong) => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Says something to the person, unless `--quiet`.
    pub(crate) fn say(&self, text: &str) {
        match self.talk {
            Talk::On => complain(text),
            Talk::Off => {}
        }
    }
}

/// Writes to standard error. Nobody there to read it is no trouble of ours.
pub(crate) fn complain(text: &str) {
    let mut stderr = io::stderr().lock();
    let written = writeln!(stderr, "{text}");
    drop(written);
}

/// Standard output, buffered.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Text of a peer, safe to show: what would move the cursor, colour the screen or hide itself is
/// written out. Line feeds and tabs stay when `lines` may break.
pub(crate) fn clean(text: &str, lines: Lines) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, lines) {
            ('\r', Lines::Kept) if rest.peek() == Some(&'\n') => {}
            ('\n' | '\t', Lines::Kept) => out.push(c),
            ('\n' | '\t' | '\r', Lines::Joined) => out.push(' '),
            _ if c.is_control() || is_invisible(c) => {
                out.extend(c.escape_default());
            }
            _ => out.push(c),
        }
    }
    out
}

/// Whether text may go over several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lines {
    Kept,
    Joined,
}

/// Characters that change what is seen without being seen: joiners, direction marks, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// The text, cut to at most `width` characters, with `…` where it was cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// So many of something: `1 test`, `2 tests`.
pub(crate) fn count<N: Copy + Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_says_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[31mred\x07", Lines::Joined), "a\\u{1b}[31mred\\u{7}");
        assert_eq!(clean("a\u{202e}b\u{200b}", Lines::Joined), "a\\u{202e}b\\u{200b}");
        assert_eq!(clean("a\r\nb", Lines::Joined), "a  b");
        assert_eq!(clean("a\r\n\tb\rc", Lines::Kept), "a\n\tb\\rc");
        assert_eq!(clean("größe 😀", Lines::Joined), "größe 😀");
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
