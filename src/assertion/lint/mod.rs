//! The conformance lint: rules over what passed, each with the section of the specification it is from.
//!
//! Judged is what the peers themselves sent: the orchestrator's requests and the agent's own answers,
//! never what a fault rule put in their place. A rule looks at one exchange and at what was known before
//! it (`memory`), so a recording is linted in one pass. Where the specification contradicts itself,
//! both readings pass.

mod accepted;
mod memory;
pub mod report;
mod rules;
mod seen;

use std::sync::Arc;

pub use accepted::Accepted;
use memory::Memory;
pub(in crate::assertion) use rules::{
    asks_for_credentials, has_credentials, signatures, well_formed,
};
use seen::Seen;
use serde::Serialize;

use super::nearest::suggestion;
use crate::a2a::binding::ProtocolVersion;
use crate::base::id::ExchangeId;
use crate::record::decode::understand;
use crate::record::exchange::{Exchange, Outcome};

/// Problems that are no mistake of a peer whose message was broken off.
const OF_A_CUT: &[&str] =
    &["empty_body", "invalid_json", "missing_message", "missing_trailers", "unterminated"];

/// How binding a rule is, in the specification's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It is good manners, or what the official SDKs do.
    Should,
    /// Whoever breaks it does not speak the protocol.
    Must,
}

/// One rule.
pub struct Rule {
    /// Its name: stable, for `except:` and reports.
    pub id: &'static str,
    /// How binding it is.
    pub level: Level,
    /// What must be.
    pub summary: &'static str,
    /// Where A2A 1.0 says so; empty when 1.0 has no such rule.
    pub section_v1_0: &'static str,
    /// Where A2A 0.3 says so; empty when 0.3 has no such rule.
    pub section_v0_3: &'static str,
    check: Check,
}

/// How a rule finds what breaks it.
enum Check {
    /// A reader met one of these problems (`a2a::problem::NAMES`).
    Reading(&'static [&'static str]),
    /// A question about one exchange.
    Exchange(fn(&Seen<'_>, &mut Flaws)),
}

/// Places and what is wrong there.
type Flaws = Vec<(String, String)>;

/// One place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// The rule.
    pub rule: &'static str,
    /// How binding it is.
    pub level: Level,
    /// The version and section that say so: `1.0 §3.1.2`.
    pub section: String,
    /// The remote agent.
    pub agent: String,
    /// The exchange.
    pub exchange: ExchangeId,
    /// Where in it: a path into the message, a header, a frame.
    pub at: String,
    /// What is wrong, in words.
    pub text: String,
}

impl Level {
    /// As suites and reports write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Should => "should",
            Self::Must => "must",
        }
    }
}

/// A rule from what readers find.
const fn reading(
    id: &'static str,
    level: Level,
    sections: (&'static str, &'static str),
    summary: &'static str,
    problems: &'static [&'static str],
) -> Rule {
    let (section_v1_0, section_v0_3) = sections;
    Rule { id, level, summary, section_v1_0, section_v0_3, check: Check::Reading(problems) }
}

/// A rule of its own.
const fn rule(
    id: &'static str,
    level: Level,
    sections: (&'static str, &'static str),
    summary: &'static str,
    check: fn(&Seen<'_>, &mut Flaws),
) -> Rule {
    let (section_v1_0, section_v0_3) = sections;
    Rule { id, level, summary, section_v1_0, section_v0_3, check: Check::Exchange(check) }
}

/// All rules, by subject.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    rules::GROUPS.iter().copied().flatten()
}

/// The rule of this name.
pub fn named(id: &str) -> Result<&'static Rule, String> {
    all().find(|rule| rule.id == id).ok_or_else(|| {
        let known: Vec<&str> = all().map(|rule| rule.id).collect();
        format!("unknown rule `{id}`{}", suggestion(id, &known))
    })
}

/// What is wrong with these exchanges, oldest first.
pub fn lint<'e>(exchanges: impl IntoIterator<Item = &'e Arc<Exchange>>) -> Vec<Flaw> {
    let mut memory = Memory::default();
    let mut flaws = Vec::new();
    for exchange in exchanges {
        let understood = understand(exchange);
        let seen = Seen {
            exchange,
            call: &understood.call,
            answer: understood.answer.as_ref(),
            memory: &memory,
        };
        for rule in all() {
            if let Some(section) = rule.section_for(exchange) {
                let found = rule.find(&seen);
                flaws.extend(found.into_iter().map(|found| rule.flaw(&section, exchange, found)));
            }
        }
        memory.learn(exchange, understood.answer.as_ref(), &understood.call);
    }
    flaws
}

impl Rule {
    /// Where the version of an exchange says so; `None`: it does not.
    fn section_for(&self, exchange: &Exchange) -> Option<String> {
        let (version, section) = match exchange.version {
            Some(ProtocolVersion::V0_3) => ("0.3", self.section_v0_3),
            // What is spoken by no version (a card's fetch) is measured by the newest that knows it.
            None if self.section_v1_0.is_empty() => ("0.3", self.section_v0_3),
            Some(ProtocolVersion::V1_0) | None => ("1.0", self.section_v1_0),
        };
        (!section.is_empty()).then(|| format!("{version} §{section}"))
    }

    fn find(&self, seen: &Seen<'_>) -> Flaws {
        let mut flaws = Vec::new();
        match &self.check {
            Check::Reading(names) => {
                let is_cut = is_cut(seen.exchange);
                let of_answer = seen.answer.map(|answer| answer.problems.as_slice());
                let sides =
                    [("request", Some(seen.call.problems.as_slice())), ("answer", of_answer)];
                for (side, problems) in sides {
                    for problem in problems.into_iter().flatten() {
                        let is_excused = is_cut && OF_A_CUT.contains(&problem.name.as_str());
                        if names.contains(&problem.name.as_str()) && !is_excused {
                            flaws.push((format!("{side} {}", problem.at), problem.text.clone()));
                        }
                    }
                }
            }
            Check::Exchange(check) => check(seen, &mut flaws),
        }
        flaws
    }

    fn flaw(&self, section: &str, exchange: &Exchange, (at, text): (String, String)) -> Flaw {
        Flaw {
            rule: self.id,
            level: self.level,
            section: section.to_owned(),
            agent: exchange.agent.clone(),
            exchange: exchange.id,
            at,
            text,
        }
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rule").field(&self.id).finish()
    }
}

/// Whether an exchange was broken off, so that what is missing is nobody's mistake.
fn is_cut(exchange: &Exchange) -> bool {
    matches!(
        exchange.outcome,
        Outcome::CutByAgent | Outcome::CutByClient | Outcome::UpstreamError | Outcome::OpenAtStop
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::a2a::problem;

    #[test]
    fn ids_are_unique_and_every_rule_names_a_section() {
        let mut ids = BTreeSet::new();
        for rule in all() {
            assert!(ids.insert(rule.id), "`{}` twice", rule.id);
            assert!(!rule.section_v1_0.is_empty() || !rule.section_v0_3.is_empty(), "{}", rule.id);
            assert!(
                rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                rule.id
            );
        }
        assert!(ids.len() >= 60, "{}", ids.len());
    }

    #[test]
    fn every_problem_of_a_reader_breaks_exactly_one_rule() {
        for (name, _) in problem::NAMES {
            let rules: Vec<&str> = all()
                .filter(|rule| matches!(&rule.check, Check::Reading(names) if names.contains(name)))
                .map(|rule| rule.id)
                .collect();
            // That the list is full is no mistake of its own.
            let expected = usize::from(*name != "too_many_problems");
            assert_eq!(rules.len(), expected, "{name}: {rules:?}");
        }
    }
}
