//! What is wrong with a file, in the form people know from compilers: place, line, hint.

use std::fmt;

use super::nearest::nearest;

/// A line and a column, both from 1; zero when the place is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column, counted in characters.
    pub column: u64,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: Place,
    pub(super) text: String,
    pub(super) hint: Option<String>,
}

impl Fault {
    pub(super) fn new(at: Place, text: impl Into<String>) -> Self {
        Self { at, text: text.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A word that is none of those known; the hint names the nearest one, or lists them.
    pub(super) fn unknown(at: Place, what: &str, word: &str, known: &[&str]) -> Self {
        let fault = Self::new(at, format!("unknown {what} `{word}`"));
        match nearest(word, known) {
            Some(near) => fault.with_hint(format!("did you mean `{near}`?")),
            None if known.is_empty() => fault,
            None => fault.with_hint(format!("known: {}", known.join(", "))),
        }
    }
}

/// Everything that is wrong with one file.
#[derive(Clone, Debug)]
pub struct FileErrors {
    file: String,
    lines: Vec<String>,
    faults: Vec<Fault>,
}

impl FileErrors {
    /// The faults of a file with this text, in the order of their places.
    pub(super) fn new(file: &str, source: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.at);
        Self {
            file: file.to_owned(),
            lines: source.lines().map(ToOwned::to_owned).collect(),
            faults,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.faults.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    fn write_fault(&self, f: &mut fmt::Formatter<'_>, fault: &Fault) -> fmt::Result {
        let Place { line, column } = fault.at;
        if line == 0 {
            write!(f, "{}: {}", self.file, fault.text)?;
        } else {
            write!(f, "{}:{line}:{column}: {}", self.file, fault.text)?;
            self.write_snippet(f, fault.at)?;
        }
        match &fault.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }

    fn write_snippet(&self, f: &mut fmt::Formatter<'_>, at: Place) -> fmt::Result {
        let index = usize::try_from(at.line).ok().and_then(|line| line.checked_sub(1));
        let Some(text) = index.and_then(|index| self.lines.get(index)) else {
            return Ok(());
        };
        // A tab is one column to the parser, so it is shown as one.
        let text = text.replace('\t', " ");
        let number = at.line.to_string();
        let before = usize::try_from(at.column.saturating_sub(1)).unwrap_or(0);
        let word = width_of_word(text.chars().skip(before));
        let gutter = " ".repeat(number.len());
        write!(f, "\n{gutter} |\n{number} | {text}\n{gutter} | ")?;
        write!(f, "{}{}", " ".repeat(before), "^".repeat(word.max(1)))
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            self.write_fault(f, fault)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileErrors {}

/// How many characters the word has that begins here: up to its closing quote if it has one.
fn width_of_word(mut text: impl Iterator<Item = char> + Clone) -> usize {
    let whole = text.clone();
    if let Some(quote @ ('"' | '\'')) = text.next()
        && let Some(inside) = text.position(|c| c == quote)
    {
        return inside + 2;
    }
    whole.take_while(|c| !c.is_whitespace() && !matches!(c, ':' | ',' | ']' | '}')).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_shows_file_line_and_hint() {
        let fault = Fault::unknown(
            Place { line: 2, column: 3 },
            "key",
            "probabilty",
            &["name", "probability"],
        );
        let errors = FileErrors::new("meddler.yaml", "faults:\n  probabilty: 0.5\n", vec![fault]);
        assert_eq!(
            errors.to_string(),
            "meddler.yaml:2:3: unknown key `probabilty`\n  |\n2 |   probabilty: 0.5\n  |   ^^^^^^^^^^\n\
             hint: did you mean `probability`?"
        );
    }

    #[test]
    fn what_is_quoted_is_marked_whole() {
        for (text, width) in
            [("\"Bearer ${TOKEN}\" }", 17), ("'a b', c", 5), ("\"open, b", 5), ("a: b", 1)]
        {
            assert_eq!(width_of_word(text.chars()), width, "{text}");
        }
    }

    #[test]
    fn faults_stand_in_the_order_of_the_file() {
        let late = Fault::new(Place { line: 2, column: 1 }, "late");
        let early = Fault::new(Place { line: 1, column: 1 }, "early");
        let text = FileErrors::new("f", "", vec![late, early]).to_string();
        assert_eq!(text, "f:1:1: early\n\nf:2:1: late");
    }
}
