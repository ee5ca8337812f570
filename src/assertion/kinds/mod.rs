//! The kinds of assertion: one file a kind, one row in [`KINDS`].
//!
//! To add one: a file here with a type that implements `Named`, `mod x;`, and a row. The tests of
//! this module check the rest: that every file has its row, that rows are sorted, and that every
//! example is read.

use std::fmt;

use super::check::Check;
use super::finding::Finding;
use super::reader::Reader;
use super::view::RunView;
use super::yaml::{Node, Yaml};

mod all;
mod any;
mod canary;
mod card;
mod command;
mod conforms;
mod contains;
mod data;
mod delegated_to;
mod event;
mod fan_out;
mod files;
mod golden;
mod grounded;
mod http;
mod ids_kept;
mod json_path;
mod judge;
mod latency;
mod max_depth;
mod max_first_event_seconds;
mod max_seconds;
mod metric;
mod no_cycles;
mod no_duplicate_delegation;
mod no_event;
mod no_false_success;
mod not;
mod not_delegated_to;
mod pack;
mod regex;
mod retries;
mod secret_stays;
mod settled;
mod similar_to;
mod state;
mod states;
mod text;
mod tool_called;
mod tool_not_called;
mod tool_sequence;
mod trace_continued;
mod turns;
mod where_seen;

/// A question about a recording. It finds nothing when it holds.
pub trait Assertion: fmt::Debug + Send + Sync {
    /// What does not hold.
    fn check(&self, view: &RunView<'_>) -> Vec<Finding>;

    /// The agents it names: one that is neither recorded nor configured is a mistake in the suite.
    fn agents(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The ends (states or outcomes) it expects: those do not fail the test by themselves.
    fn expected_ends(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether it stays true once it is, whatever comes later: what must not occur does not.
    fn settles(&self) -> bool {
        false
    }

    /// The assertions it is made of, when each is a result of its own.
    fn parts(&self) -> &[Check] {
        &[]
    }
}

/// What a kind says of itself and how it is read.
trait Named: Assertion + Sized + 'static {
    /// The key in a suite.
    const NAME: &'static str;
    /// When it holds, in one line.
    const SUMMARY: &'static str;
    /// One entry of an `assert:` list for each form it takes.
    const EXAMPLES: &'static [&'static str];
    /// What its value is made of.
    const NESTING: Nesting = Nesting::Settings;

    /// Reads what stands under the key; notes every mistake.
    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self>;
}

/// What the value of a kind is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// Settings of its own; `on:` and `injected:` may stand among them.
    Settings,
    /// Other assertions, each with its own `on:`.
    Assertions,
}

/// One row of [`KINDS`].
#[derive(Clone, Copy)]
pub struct Kind {
    /// The key in a suite.
    pub name: &'static str,
    /// When it holds, in one line.
    pub summary: &'static str,
    /// One entry of an `assert:` list for each form it takes.
    pub examples: &'static [&'static str],
    pub(super) nesting: Nesting,
    pub(super) parse: fn(&Node, &mut Reader<'_>) -> Option<Box<dyn Assertion>>,
}

impl Kind {
    const fn of<K: Named>() -> Self {
        Self {
            name: K::NAME,
            summary: K::SUMMARY,
            examples: K::EXAMPLES,
            nesting: K::NESTING,
            parse: |body, reader| {
                K::parse(body, reader).map(|kind| Box::new(kind) as Box<dyn Assertion>)
            },
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.name).finish()
    }
}

/// All kinds, by name.
pub const KINDS: &[Kind] = &[
    Kind::of::<all::All>(),
    Kind::of::<any::Any>(),
    Kind::of::<canary::Canary>(),
    Kind::of::<card::Card>(),
    Kind::of::<command::Command>(),
    Kind::of::<conforms::Conforms>(),
    Kind::of::<contains::Contains>(),
    Kind::of::<data::Data>(),
    Kind::of::<delegated_to::DelegatedTo>(),
    Kind::of::<event::Event>(),
    Kind::of::<fan_out::FanOut>(),
    Kind::of::<files::Files>(),
    Kind::of::<golden::Golden>(),
    Kind::of::<grounded::Grounded>(),
    Kind::of::<http::Http>(),
    Kind::of::<ids_kept::IdsKept>(),
    Kind::of::<json_path::JsonPathIs>(),
    Kind::of::<judge::Judge>(),
    Kind::of::<latency::Latency>(),
    Kind::of::<max_depth::MaxDepth>(),
    Kind::of::<max_first_event_seconds::MaxFirstEventSeconds>(),
    Kind::of::<max_seconds::MaxSeconds>(),
    Kind::of::<metric::MetricIs>(),
    Kind::of::<no_cycles::NoCycles>(),
    Kind::of::<no_duplicate_delegation::NoDuplicateDelegation>(),
    Kind::of::<no_event::NoEvent>(),
    Kind::of::<no_false_success::NoFalseSuccess>(),
    Kind::of::<not::Not>(),
    Kind::of::<not_delegated_to::NotDelegatedTo>(),
    Kind::of::<pack::Pack>(),
    Kind::of::<regex::Matches>(),
    Kind::of::<retries::Retries>(),
    Kind::of::<secret_stays::SecretStays>(),
    Kind::of::<settled::Settled>(),
    Kind::of::<similar_to::SimilarTo>(),
    Kind::of::<state::State>(),
    Kind::of::<states::States>(),
    Kind::of::<text::Text>(),
    Kind::of::<tool_called::ToolCalled>(),
    Kind::of::<tool_not_called::ToolNotCalled>(),
    Kind::of::<tool_sequence::ToolSequence>(),
    Kind::of::<trace_continued::TraceContinued>(),
    Kind::of::<turns::Turns>(),
    Kind::of::<where_seen::WhereSeen>(),
];

/// `NAME: true`: the form of kinds that have no settings.
fn only_true(body: &Node, name: &str, reader: &mut Reader<'_>) -> Option<()> {
    match body.value {
        Yaml::Null | Yaml::Bool(true) => Some(()),
        Yaml::Bool(false) | Yaml::Number(_) | Yaml::Text(_) | Yaml::List(_) | Yaml::Map(_) => {
            reader.problem(body.at, format!("expected `{name}: true`"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_here_has_its_row_and_rows_are_sorted() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assertion/kinds");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "mod")
            .collect();
        files.sort();
        let rows: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(rows, files);
    }

    #[test]
    fn every_example_is_read_and_is_of_its_kind() {
        for kind in KINDS {
            assert!(!kind.examples.is_empty() && !kind.summary.is_empty(), "{}", kind.name);
            for example in kind.examples {
                let mut reader = Reader::new(example, &|_| Some("a long value".to_owned()));
                let node = Node::parse(example).unwrap();
                let check = Check::parse(&node, &mut reader);
                assert_eq!(reader.finish(), [], "{}: {example}", kind.name);
                assert_eq!(check.unwrap().kind, kind.name, "{example}");
            }
        }
    }
}
