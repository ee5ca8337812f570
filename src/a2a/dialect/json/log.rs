//! Where a reader stands in a message, and what it found wrong on its way.

use std::cell::RefCell;
use std::fmt;

use crate::a2a::problem::Problem;

/// Problems noted for one message. A hostile message must not make a report longer than itself.
const PROBLEMS_MAX: usize = 64;

/// A place in a message, as a chain from the leaf to the root: a path costs nothing until something
/// is wrong there.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// The message itself.
    Root,
    /// A member of an object.
    Member(&'a Self, &'a str),
    /// An item of an array.
    Item(&'a Self, usize),
}

/// How members are named, and whether the default value is the same as nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// A JSON schema: names are exact, an empty text is a text.
    Schema,
    /// ProtoJSON: `messageId` or `message_id`; an empty text is no text.
    Proto,
}

/// Collects problems while a message is read.
pub(crate) struct Log {
    spelling: Spelling,
    problems: RefCell<Vec<Problem>>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl Log {
    pub(crate) fn new(spelling: Spelling) -> Self {
        Self { spelling, problems: RefCell::new(Vec::new()) }
    }

    pub(crate) fn spelling(&self) -> Spelling {
        self.spelling
    }

    /// Notes a problem; beyond [`PROBLEMS_MAX`] only that there are more.
    pub(crate) fn note(&self, name: &str, at: Place<'_>, text: impl Into<String>) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(Problem::new(name, at.to_string(), text));
        } else if problems.len() == PROBLEMS_MAX {
            let text = format!("more than {PROBLEMS_MAX} problems; the rest is not listed");
            problems.push(Problem::new("too_many_problems", "$", text));
        }
    }

    /// Hands over what was noted.
    pub(crate) fn into_problems(self, problems: &mut Vec<Problem>) {
        problems.append(&mut self.problems.into_inner());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_as_a_json_path() {
        let parts = Place::Member(&Place::Root, "parts");
        let second = Place::Item(&parts, 1);
        assert_eq!(Place::Member(&second, "text").to_string(), "$.parts[1].text");
    }

    #[test]
    fn a_flood_of_problems_is_cut_off_and_says_so() {
        let log = Log::new(Spelling::Proto);
        for _ in 0..1000 {
            log.note("wrong_type", Place::Root, "again");
        }
        let mut problems = Vec::new();
        log.into_problems(&mut problems);
        assert_eq!(problems.len(), PROBLEMS_MAX + 1);
        assert_eq!(problems[PROBLEMS_MAX].name, "too_many_problems");
    }
}
