//! What an assertion looks at: the delegations of the selection, narrowed by `on:`, and the way down from
//! them to the exchanges.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::finding::{Evidence, Finding};
use super::on::{Injected, On, Pick, Quantifier, Sees};
use super::outside::{Outside, Sealed};
use super::quote::plural;
use super::source::Source;
use super::wire;
use crate::base::id::ExchangeId;
use crate::record::delegation::Delegation;
use crate::record::exchange::{Exchange, FaultVerdict, Outcome};
use crate::record::query::Filter;

/// Delegations that one finding names; the rest are counted.
const EVIDENCE_MAX: usize = 5;

/// Delegations that `--explain` names of one assertion; the rest are counted.
const DESCRIBED_MAX: usize = 10;

/// What one assertion looks at.
#[derive(Clone)]
pub struct RunView<'a> {
    /// The delegations, oldest first.
    pub delegations: Vec<Arc<Delegation>>,
    /// Where they come from.
    pub source: &'a dyn Source,
    /// How the selection was narrowed, as far as it narrows exchanges as well.
    pub filter: Filter,
    /// Which exchanges belong to what is looked at.
    pub reach: Reach,
    /// Whether one delegation is enough, when `on:` says so.
    pub quantifier: Option<Quantifier>,
    /// In which form a reply is seen.
    pub sees: Sees,
    /// The values that the test has captured, as JSON.
    pub captured: Arc<BTreeMap<String, String>>,
    /// What may be asked of the world outside.
    pub outside: Arc<dyn Outside>,
    notes: Arc<Mutex<Vec<String>>>,
}

/// Which exchanges belong to what is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All that the selection's agents, session and time cover, also those that belong to no delegation
    /// (cards, lists).
    Selection,
    /// Those of the delegations: something narrows the selection that an exchange alone does not know.
    Delegations,
}

/// What a test of one delegation says.
pub(super) enum Look {
    /// It is as it should be.
    Holds,
    /// It is not; this is what was found.
    Misses(String),
    /// It cannot be judged, and why.
    Cannot(String),
}

impl<'a> RunView<'a> {
    /// The delegations of a source, with nothing narrowed.
    pub fn new(source: &'a dyn Source, filter: Filter, delegations: Vec<Arc<Delegation>>) -> Self {
        Self {
            delegations,
            source,
            filter,
            reach: Reach::Selection,
            quantifier: None,
            sees: Sees::Reply,
            captured: Arc::default(),
            outside: Arc::new(Sealed),
            notes: Arc::default(),
        }
    }

    /// Something worth telling also where the assertion holds: who judged, what was written.
    pub(super) fn note(&self, text: String) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(text);
        }
    }

    /// What was noted since this was last called.
    pub(super) fn take_notes(&self) -> Vec<String> {
        self.notes.lock().map(|mut notes| std::mem::take(&mut *notes)).unwrap_or_default()
    }

    /// What is left of it under `on:`.
    #[must_use]
    pub fn narrow(&self, on: &On) -> Self {
        let mut view = self.clone();
        if !on.agents.is_empty() {
            view.filter.agents.clone_from(&on.agents);
            view.delegations.retain(|delegation| on.agents.contains(&delegation.agent));
        }
        match on.injected {
            Some(Injected::Include) | None => {}
            Some(Injected::Exclude) => view.keep(|view, delegation| !view.is_injected(delegation)),
            Some(Injected::Only) => view.keep(Self::is_injected),
        }
        if let Some(turn) = on.turn {
            view.reach = Reach::Delegations;
            let turns = view.turns();
            let kept: HashSet<ExchangeId> = turns
                .into_iter()
                .filter_map(|turn_list| turn.of(&turn_list).map(|d| d.id))
                .collect();
            view.delegations.retain(|delegation| kept.contains(&delegation.id));
        }
        if let Some(pick) = on.pick {
            view.reach = Reach::Delegations;
            view.delegations = pick.of(&view.delegations).cloned().into_iter().collect();
        }
        view.quantifier = on.quantifier.or(view.quantifier);
        view.sees = on.sees.unwrap_or(view.sees);
        view
    }

    /// The delegations by conversation, each in its order. One whose conversation is not known is a
    /// conversation of its own; context ids are the agents' own, so one id at two agents is two.
    pub fn turns(&self) -> Vec<Vec<Arc<Delegation>>> {
        let mut order: Vec<Vec<Arc<Delegation>>> = Vec::new();
        let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for delegation in &self.delegations {
            let slot = delegation
                .context_id
                .as_deref()
                .map(|context| *known.entry((&delegation.agent, context)).or_insert(order.len()));
            match slot.and_then(|slot| order.get_mut(slot)) {
                Some(turns) => turns.push(Arc::clone(delegation)),
                None => order.push(vec![Arc::clone(delegation)]),
            }
        }
        order
    }

    /// The exchanges of what is looked at, oldest first.
    pub fn exchanges(&self) -> Vec<Arc<Exchange>> {
        let own = self.delegations.iter().flat_map(|delegation| &delegation.exchanges);
        let mut found: BTreeMap<ExchangeId, Arc<Exchange>> = match self.reach {
            Reach::Selection => {
                let exchanges = self.source.exchanges(&self.filter);
                exchanges.into_iter().map(|exchange| (exchange.id, exchange)).collect()
            }
            Reach::Delegations => BTreeMap::new(),
        };
        for id in own {
            if !found.contains_key(id)
                && let Some(exchange) = self.source.exchange(*id)
            {
                found.insert(*id, exchange);
            }
        }
        found.into_values().collect()
    }

    /// The exchanges of one delegation, oldest first.
    pub fn exchanges_of(&self, delegation: &Delegation) -> Vec<Arc<Exchange>> {
        delegation.exchanges.iter().filter_map(|id| self.source.exchange(*id)).collect()
    }

    /// Whether a rule made or changed what the orchestrator was answered. A delay alone does neither.
    pub fn is_injected(&self, delegation: &Delegation) -> bool {
        if delegation.outcome == Outcome::AnsweredByFault {
            return true;
        }
        !delegation.faults.is_empty()
            && self.exchanges_of(delegation).iter().any(|exchange| {
                let fired =
                    exchange.faults.iter().any(|fault| fault.verdict == FaultVerdict::Fired);
                fired && (exchange.response.is_none() || exchange.delivered.is_some())
            })
    }

    /// The document that a path is asked of; `Ok(None)` when the delegation has no reply.
    pub fn document<'d>(
        &self,
        delegation: &'d Delegation,
    ) -> Result<Option<Cow<'d, Value>>, String> {
        match self.sees {
            Sees::Reply => Ok(delegation.reply.as_ref().map(Cow::Borrowed)),
            Sees::Events => Ok(Some(Cow::Owned(Value::Array(delegation.events.clone())))),
            Sees::Wire => {
                wire::document(self.source.exchange(delegation.id)).map(|v| v.map(Cow::Owned))
            }
        }
    }

    /// The text that words are looked for in.
    pub fn text<'d>(&self, delegation: &'d Delegation) -> Result<Cow<'d, str>, String> {
        match self.sees {
            Sees::Reply => Ok(Cow::Borrowed(&delegation.reply_text)),
            Sees::Events => {
                let events: Vec<String> = delegation.events.iter().map(Value::to_string).collect();
                Ok(Cow::Owned(events.join("\n")))
            }
            Sees::Wire => wire::text(self.source.exchange(delegation.id)).map(Cow::Owned),
        }
    }

    /// What a report names of a delegation.
    pub fn evidence(&self, delegation: &Delegation, found: impl Into<String>) -> Evidence {
        Evidence {
            show: self.source.short('d', delegation.id),
            agent: delegation.agent.clone(),
            found: found.into(),
            faults: delegation.faults.clone(),
            exchanges: delegation.exchanges.clone(),
        }
    }

    /// What a report names of an exchange that belongs to no delegation.
    pub fn evidence_of_exchange(&self, exchange: &Exchange, found: impl Into<String>) -> Evidence {
        let fired = exchange.faults.iter().filter(|fault| fault.verdict == FaultVerdict::Fired);
        Evidence {
            show: self.source.short('x', exchange.id),
            agent: exchange.agent.clone(),
            found: found.into(),
            faults: fired.map(|fault| fault.rule.clone()).collect(),
            exchanges: vec![exchange.id],
        }
    }

    /// `d-1234abcd to billing`.
    pub fn name(&self, delegation: &Delegation) -> String {
        format!("{} to {}", self.source.short('d', delegation.id), delegation.agent)
    }

    /// The names that a text like `2 delegations to billing` is made of.
    pub(super) fn counted(&self) -> String {
        let agents: BTreeSet<&str> = self.delegations.iter().map(|d| d.agent.as_str()).collect();
        let agents: Vec<&str> = agents.into_iter().collect();
        let count = plural(self.delegations.len(), "delegation");
        if agents.is_empty() { count } else { format!("{count} to {}", agents.join(", ")) }
    }

    /// What it shows, in words: how many delegations, and the names of the first few.
    pub(super) fn described(&self) -> String {
        let names: Vec<String> = self
            .delegations
            .iter()
            .take(DESCRIBED_MAX)
            .map(|it| self.source.short('d', it.id))
            .collect();
        let more = self.delegations.len().saturating_sub(DESCRIBED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let separator = if names.is_empty() { "" } else { ": " };
        format!("{}{separator}{}{more}", self.counted(), names.join(", "))
    }

    /// Holds `test` against the delegations: one is enough under `any`, all must hold under `every`, and
    /// none at all is nothing to look at.
    pub(super) fn hold(
        &self,
        default: Quantifier,
        expected: &str,
        test: impl Fn(&Delegation) -> Look,
    ) -> Vec<Finding> {
        if self.delegations.is_empty() {
            return vec![Finding::vacuous(
                expected,
                "nothing to look at: no delegation is left here",
            )];
        }
        let mut misses = Vec::new();
        for delegation in &self.delegations {
            let look = self.beyond_what_was_kept(delegation, default, test(delegation));
            match (look, self.quantifier.unwrap_or(default)) {
                (Look::Holds, Quantifier::Any) => return Vec::new(),
                (Look::Holds, Quantifier::Every) => {}
                (Look::Misses(found), Quantifier::Any | Quantifier::Every) => {
                    misses.push((delegation, found));
                }
                (Look::Cannot(why), Quantifier::Any | Quantifier::Every) => {
                    let evidence = self.evidence(delegation, why.clone());
                    return vec![Finding::error(expected, why).proved_by([evidence])];
                }
            }
        }
        let Some((first, found)) = misses.first() else { return Vec::new() };
        let all = self.delegations.len();
        let actual = match misses.len() {
            1 if all == 1 => found.clone(),
            1 => format!("{}: {found}", self.name(first)),
            count if count == all => format!("none of {}", self.counted()),
            count => format!("{count} of {} do not", self.counted()),
        };
        vec![Finding::failed(expected, actual).proved_by(self.proof(&misses))]
    }

    /// What must occur and was not found, or must not occur and was not found, may stand in the part of an
    /// answer that was not kept: then nobody can say.
    fn beyond_what_was_kept(
        &self,
        delegation: &Delegation,
        default: Quantifier,
        look: Look,
    ) -> Look {
        match (&look, default) {
            (Look::Misses(_), Quantifier::Any) | (Look::Holds, Quantifier::Every) => {}
            (Look::Holds, Quantifier::Any)
            | (Look::Misses(_), Quantifier::Every)
            | (Look::Cannot(_), Quantifier::Any | Quantifier::Every) => return look,
        }
        for exchange in self.exchanges_of(delegation) {
            let answers = [&exchange.delivered, &exchange.response].into_iter().flatten();
            if let Some(cut) = answers.map(|answer| &answer.body).find(|body| body.truncated) {
                let (kept, all) = (cut.kept.len(), cut.bytes);
                return Look::Cannot(format!(
                    "only the first {kept} of {all} octets of an answer to {} were kept; raise `store.max_body`",
                    self.name(delegation)
                ));
            }
        }
        look
    }

    /// The first few of what was found.
    pub(super) fn proof(&self, found: &[(&Arc<Delegation>, String)]) -> Vec<Evidence> {
        let shown = found.iter().take(EVIDENCE_MAX);
        shown.map(|(delegation, text)| self.evidence(delegation, text.clone())).collect()
    }

    /// The first few delegations that `wanted` picks, each with the words of its message.
    pub(super) fn messages(&self, wanted: impl Fn(&Delegation) -> bool) -> Vec<Evidence> {
        let found = self.delegations.iter().filter(|delegation| wanted(delegation));
        found
            .take(EVIDENCE_MAX)
            .map(|delegation| self.evidence(delegation, super::quote::quote(&delegation.text)))
            .collect()
    }

    /// Why what is looked at is not whole, if it is not: octets of these exchanges were lost.
    pub(super) fn gap(&self) -> Option<Finding> {
        let lost: HashSet<ExchangeId> =
            self.source.gaps().iter().filter_map(|gap| gap.exchange).collect();
        if lost.is_empty() {
            return None;
        }
        let touched = |delegation: &&Arc<Delegation>| {
            delegation.exchanges.iter().any(|exchange| lost.contains(exchange))
        };
        let torn: Vec<_> = self.delegations.iter().filter(touched).collect();
        let first = torn.first()?;
        let actual = format!(
            "the recording has gaps here: octets of {} were lost while the recorder's queue was full",
            if torn.len() == 1 { self.name(first) } else { plural(torn.len(), "delegation") }
        );
        let evidence =
            torn.iter().take(EVIDENCE_MAX).map(|delegation| self.evidence(delegation, ""));
        Some(Finding::error("a recording without gaps", actual).proved_by(evidence))
    }

    fn keep(&mut self, wanted: impl Fn(&Self, &Delegation) -> bool) {
        self.reach = Reach::Delegations;
        let all = std::mem::take(&mut self.delegations);
        self.delegations = all.into_iter().filter(|delegation| wanted(self, delegation)).collect();
    }
}

impl Pick {
    /// The one of these that is meant.
    fn of(self, delegations: &[Arc<Delegation>]) -> Option<&Arc<Delegation>> {
        match self {
            Self::First => delegations.first(),
            Self::Last => delegations.last(),
            Self::Nth(number) => delegations.get(number.checked_sub(1)?),
        }
    }
}
