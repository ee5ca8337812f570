//! The agent's card, as the agent sent it.

use std::collections::BTreeMap;

use super::super::cards;
use super::super::finding::{Evidence, Finding};
use super::super::lint::{signatures, well_formed};
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};
use crate::a2a::model::AgentCard;
use crate::record::query::Filter;

/// The newest card of every agent that is looked at says this.
#[derive(Debug, Default)]
pub(super) struct Card {
    skills: Vec<String>,
    capabilities: Vec<(&'static str, bool)>,
    input_modes: Vec<String>,
    output_modes: Vec<String>,
    security: Vec<String>,
    signed: Option<Signed>,
}

/// What is said of a card's signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signed {
    Unsigned,
    Invalid,
    Valid,
}

const SIGNED: &[(&str, Signed)] =
    &[("invalid", Signed::Invalid), ("unsigned", Signed::Unsigned), ("valid", Signed::Valid)];

/// Names of suites, and how a card answers.
type Capability = (&'static str, fn(&AgentCard) -> Option<bool>);

const CAPABILITIES: &[Capability] = &[
    ("extended_agent_card", |card| card.capabilities.extended_agent_card),
    ("push_notifications", |card| card.capabilities.push_notifications),
    ("streaming", |card| card.capabilities.streaming),
];

impl Named for Card {
    const NAME: &'static str = "card";
    const SUMMARY: &'static str = "the newest card of every agent that is looked at, as the agent sent it, offers these skills (by id), capabilities, media types and security schemes";
    const EXAMPLES: &'static [&'static str] = &[
        "card: { skills: { contains: [refund] }, capabilities: { streaming: true, push_notifications: false } }",
        "card: { input_modes: { contains: application/pdf }, output_modes: { contains: text/plain } }",
        "card: { security: { contains: bearer }, signed: unsigned, on: { agent: billing } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { skills: { contains: [refund] } }";
        let mut fields = Fields::of(body, form, reader)?;
        let at = fields.at();
        let card = Self::take(&mut fields, reader);
        fields.finish(reader);
        let card = card?;
        let lists = [&card.skills, &card.input_modes, &card.output_modes, &card.security];
        let is_empty = lists.iter().all(|list| list.is_empty());
        if is_empty && card.capabilities.is_empty() && card.signed.is_none() {
            reader.problem(at, "expected one of `skills`, `capabilities`, `input_modes`, `output_modes`, `security`, `signed`");
            return None;
        }
        Some(card)
    }
}

impl Card {
    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut card = Self::default();
        for (name, slot) in [
            ("skills", &mut card.skills),
            ("input_modes", &mut card.input_modes),
            ("output_modes", &mut card.output_modes),
            ("security", &mut card.security),
        ] {
            if let Some(node) = fields.take(name) {
                *slot = contained(node, reader)?;
            }
        }
        if let Some(node) = fields.take("capabilities") {
            let mut inner = Fields::of(node, "a map like { streaming: true }", reader)?;
            for (name, _) in CAPABILITIES {
                if let Some(node) = inner.take(name) {
                    card.capabilities.push((name, reader.truth(node)?));
                }
            }
            inner.finish(reader);
        }
        if let Some(node) = fields.take("signed") {
            card.signed = Some(reader.word(node, SIGNED)?);
        }
        Some(card)
    }

    /// What a card lacks, in words.
    fn misses(&self, card: &AgentCard) -> Vec<String> {
        let mut misses = Vec::new();
        let skills: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        let schemes: Vec<&str> = card.security_schemes.iter().map(String::as_str).collect();
        for (what, wanted, has) in
            [("skill", &self.skills, &skills), ("security scheme", &self.security, &schemes)]
        {
            let missing = wanted.iter().filter(|wanted| !has.contains(&wanted.as_str()));
            misses.extend(
                missing.map(|wanted| format!("no {what} {wanted:?}; it has {}", listed(has))),
            );
        }
        for (what, wanted, has) in [
            ("input mode", &self.input_modes, &card.default_input_modes),
            ("output mode", &self.output_modes, &card.default_output_modes),
        ] {
            let takes = |wanted: &str| has.iter().any(|has| is_same_type(has, wanted));
            for wanted in wanted.iter().filter(|wanted| !takes(wanted)) {
                let has: Vec<&str> = has.iter().map(String::as_str).collect();
                misses.push(format!("no {what} {wanted:?}; it has {}", listed(&has)));
            }
        }
        for (name, wanted) in &self.capabilities {
            let says = CAPABILITIES.iter().find(|(known, _)| known == name);
            // A card that says nothing says no.
            let says = says.and_then(|(_, says)| says(card)).unwrap_or(false);
            if says != *wanted {
                misses.push(format!("`{name}` is {says}"));
            }
        }
        misses
    }

    /// What is wrong with the signatures, if it can be told.
    fn signature(signed: Signed, card: &AgentCard) -> Result<Option<String>, String> {
        let all = signatures(card);
        let broken = all.iter().find_map(|signature| well_formed(signature).err());
        match (signed, all.len(), broken) {
            (Signed::Unsigned, 0, _) | (Signed::Invalid, _, Some(_)) => Ok(None),
            (Signed::Unsigned, many, _) => Ok(Some(format!("it carries {many} signatures"))),
            (Signed::Valid | Signed::Invalid, 0, _) => Ok(Some("it is not signed".to_owned())),
            (Signed::Valid, _, Some(why)) => Ok(Some(why)),
            (Signed::Valid | Signed::Invalid, _, None) => {
                Err("the signature has the form of one, and there is no key to verify it with"
                    .to_owned())
            }
        }
    }

    fn expected(&self) -> String {
        let mut parts = Vec::new();
        for (what, list) in [
            ("skills", &self.skills),
            ("input modes", &self.input_modes),
            ("output modes", &self.output_modes),
            ("security schemes", &self.security),
        ] {
            if !list.is_empty() {
                parts.push(format!("{what} {}", list.join(", ")));
            }
        }
        parts.extend(self.capabilities.iter().map(|(name, wanted)| format!("`{name}` {wanted}")));
        if let Some(signed) = self.signed {
            let word = SIGNED.iter().find(|(_, known)| *known == signed);
            parts.push(format!("signatures {}", word.map_or("", |(word, _)| word)));
        }
        format!("a card with {}", parts.join(" and "))
    }
}

impl Assertion for Card {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = self.expected();
        let cards = newest(view);
        if cards.is_empty() {
            let text = format!("nothing to look at: no card of {} was recorded", agents(view));
            return vec![Finding::vacuous(expected, text)];
        }
        let mut findings = Vec::new();
        for (card, proof) in cards {
            let misses = self.misses(&card);
            if !misses.is_empty() {
                let finding = Finding::failed(expected.clone(), misses.join("; "));
                findings.push(finding.proved_by([proof.clone()]));
            }
            match self.signed.map(|signed| Self::signature(signed, &card)) {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(why))) => {
                    findings.push(Finding::failed(expected.clone(), why).proved_by([proof]));
                }
                Some(Err(why)) => {
                    findings.push(Finding::error(expected.clone(), why).proved_by([proof]));
                }
            }
        }
        findings
    }
}

/// The newest card of each agent that is looked at. An orchestrator may have fetched it long before
/// what is selected, so the selection's session comes first and then the whole recording.
fn newest(view: &RunView<'_>) -> Vec<(AgentCard, Evidence)> {
    let wanted = names(view);
    let mut found: BTreeMap<String, (AgentCard, Evidence)> = BTreeMap::new();
    for session in [None, view.filter.session.clone()] {
        let filter = Filter { agents: wanted.clone(), session, ..Filter::default() };
        for exchange in view.source.exchanges(&filter) {
            if let Some(card) = cards::card_of(&exchange) {
                let proof = view.evidence_of_exchange(&exchange, quote(&card.name));
                found.insert(exchange.agent.clone(), (card, proof));
            }
        }
    }
    found.into_values().collect()
}

fn names(view: &RunView<'_>) -> Vec<String> {
    if !view.filter.agents.is_empty() {
        return view.filter.agents.clone();
    }
    let mut names: Vec<String> = view.delegations.iter().map(|it| it.agent.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn agents(view: &RunView<'_>) -> String {
    names(view).join(", ")
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { quote(&names.join(", ")) }
}

/// `{ contains: x }`, `{ contains: [x, y] }`, or the names alone.
fn contained(node: &Node, reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let Yaml::Map(_) = node.value else { return reader.names(node) };
    let mut fields = Fields::of(node, "a map like { contains: [refund] }", reader)?;
    let names = fields.need("contains", reader).and_then(|node| reader.names(node));
    fields.finish(reader);
    names
}

fn is_same_type(a: &str, b: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_owned();
    essence(a).eq_ignore_ascii_case(&essence(b))
}
