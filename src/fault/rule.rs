//! Rules, and the set of them: ordered, swapped whole.
//!
//! Rules of a session are asked first, then the others, each in the order written. For each agent the
//! rules that can concern it are worked out once, so that traffic without rules pays a look-up and
//! traffic whose rules do not match pays a comparison for each: no allocation, no lock.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;

pub use crate::fault::config::{Per, RuleConfig};
pub use crate::fault::counter::Totals;
use crate::fault::facts::{Facts, Needs};
use crate::fault::invented::InventedTasks;
use crate::fault::matcher::{Operations, is_unnamed};
use crate::fault::one::Rule;
use crate::fault::round::Round;
use crate::fault::verdict::Judgement;

/// Agents whose rules are kept worked out. Configured ones are few; under interception every host is
/// one, and those past the bound are worked out at each request.
const PLANS: usize = 1024;

/// Rules in the order they are asked, with their counters. Swapped whole behind an `Arc`.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<Arc<Rule>>,
    /// As they stand in the list: for people.
    written: Vec<Arc<Rule>>,
    plans: ArcSwap<HashMap<String, Arc<Plan>>>,
    invented: Arc<InventedTasks>,
    options: RuleSetOptions,
}

/// What surrounds the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSetOptions {
    /// What a canary's address begins with; the canary itself is added.
    pub canary_base: String,
    /// Where rules without a seed get theirs from. Whoever loads the rules draws it; it is recorded
    /// with each firing as the rule's own seed.
    pub seed: u64,
    /// The configured remote agents: a rule for one that is not there is an error. Empty: not checked.
    pub agents: Vec<String>,
}

/// One rule and what it has done: for `fault list`.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSummary {
    /// The rule's name.
    pub name: String,
    /// Its agents, as written.
    pub agent: String,
    /// Its fault's family.
    pub kind: &'static str,
    /// Whether it is switched on.
    pub enabled: bool,
    /// How likely it fires; `None`: always.
    pub probability: Option<f64>,
    /// The seed of its draws.
    pub seed: u64,
    /// Its counters since it was loaded.
    pub totals: Totals,
}

/// The rules that can concern one agent.
#[derive(Debug)]
struct Plan {
    needs: Needs,
    operations: Operations,
    rules: Vec<(Operations, Arc<Rule>)>,
}

impl Default for RuleSetOptions {
    fn default() -> Self {
        let canary_base = "http://meddler.invalid/.meddler/canary/".to_owned();
        Self { canary_base, seed: 0, agents: Vec::new() }
    }
}

impl RuleSet {
    /// Checks and compiles rules. The error names the rule and the key, one line for each rule that is
    /// wrong.
    pub fn new(rules: Vec<RuleConfig>) -> Result<Self, String> {
        Self::with(rules, RuleSetOptions::default())
    }

    /// As [`new`](Self::new), with a seed, known agents and an address for canaries.
    pub fn with(rules: Vec<RuleConfig>, options: RuleSetOptions) -> Result<Self, String> {
        let mut written: Vec<Arc<Rule>> = Vec::new();
        let mut wrong = Vec::new();
        let mut names = HashSet::new();
        for (index, config) in rules.into_iter().enumerate() {
            let name = config.name.clone().unwrap_or_else(|| format!("fault-{}", index + 1));
            let at = format!("faults[{index}] \"{name}\"");
            if let Err(error) = check_name(&name) {
                wrong.push(format!("{at}: name: {error}"));
            } else if !names.insert(name.clone()) {
                wrong.push(format!("{at}: name: another rule has this name already"));
            }
            match Rule::new(name, config, &options) {
                Ok(rule) => written.push(Arc::new(rule)),
                Err(error) => wrong.push(format!("{at}: {error}")),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        Ok(Self::of(written, options, Arc::default()))
    }

    /// These rules with the counters that unchanged ones had in `old`, and its invented tasks: what a
    /// reload does.
    #[must_use]
    pub fn inheriting(self, old: &Self) -> Self {
        let Self { written, options, .. } = self;
        let written = written
            .into_iter()
            .map(|rule| {
                old.written
                    .iter()
                    .find(|known| known.name == rule.name && known.config == rule.config)
                    .map_or(rule, Arc::clone)
            })
            .collect();
        Self::of(written, options, Arc::clone(&old.invented))
    }

    /// Whether there is no rule at all, and nothing that an earlier one has left behind.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.invented.is_empty()
    }

    /// What must be read before the rules for this agent can be asked.
    pub fn needs(&self, agent: &str) -> Needs {
        if self.invented.has_any_of(agent) {
            // A request may be about an invented task, which only its body tells.
            return Needs { operation: true, body: true };
        }
        if self.rules.is_empty() {
            return Needs::default();
        }
        self.plan(agent, |plan| plan.needs)
    }

    /// Asks the rules. Advances counters: ask once an exchange, when what [`needs`](Self::needs) names
    /// has been read (or could not be).
    pub fn judge(&self, facts: &Facts<'_>) -> Judgement {
        if self.is_empty() {
            return Judgement::default();
        }
        self.plan(facts.agent, |plan| self.judge_by(plan, facts))
    }

    /// The rules as written, with what they have done.
    pub fn summary(&self) -> Vec<RuleSummary> {
        self.written.iter().map(|rule| rule.summary()).collect()
    }

    fn of(written: Vec<Arc<Rule>>, options: RuleSetOptions, invented: Arc<InventedTasks>) -> Self {
        let mut rules: Vec<Arc<Rule>> =
            written.iter().filter(|rule| rule.config.enabled).map(Arc::clone).collect();
        rules.sort_by_key(|rule| !rule.is_of_session());
        Self { rules, written, plans: ArcSwap::default(), invented, options }
    }

    fn judge_by(&self, plan: &Plan, facts: &Facts<'_>) -> Judgement {
        let has_own = self.invented.has_any_of(facts.agent);
        let own = has_own.then(|| self.invented.answer(facts)).flatten();
        let is_unnamed = is_unnamed(facts);
        let concerns =
            |operations: Operations| is_unnamed || operations.contains(facts.call.operation);
        if own.is_none() && !concerns(plan.operations) {
            return Judgement::default();
        }
        let mut round = Round::new(*facts, &self.options.canary_base, own);
        for (operations, rule) in &plan.rules {
            if concerns(*operations) {
                round.ask(rule);
            }
        }
        let (judgement, invented) = round.finish();
        if let Some(invented) = invented {
            self.invented.remember(invented);
        }
        judgement
    }

    fn plan<R>(&self, agent: &str, ask: impl FnOnce(&Plan) -> R) -> R {
        let plans = self.plans.load();
        if let Some(plan) = plans.get(agent) {
            return ask(plan);
        }
        let plan = Arc::new(Plan::new(&self.rules, agent));
        if plans.len() < PLANS {
            self.plans.rcu(|plans| {
                let mut plans = HashMap::clone(plans);
                plans.insert(agent.to_owned(), Arc::clone(&plan));
                plans
            });
        }
        ask(&plan)
    }
}

impl Plan {
    fn new(rules: &[Arc<Rule>], agent: &str) -> Self {
        let mut plan =
            Self { needs: Needs::default(), operations: Operations::NONE, rules: Vec::new() };
        for rule in rules.iter().filter(|rule| rule.is_for(agent)) {
            plan.needs = plan.needs.and(rule.needs());
            plan.operations = plan.operations.or(rule.operations());
            plan.rules.push((rule.operations(), Arc::clone(rule)));
        }
        plan
    }
}

/// A name goes into a header field and a file: it must fit both.
fn check_name(name: &str) -> Result<(), String> {
    match http::HeaderValue::from_bytes(name.as_bytes()) {
        _ if name.is_empty() => Err("it is empty".to_owned()),
        _ if name.len() > 128 => Err("it is longer than 128 octets".to_owned()),
        Err(_) => Err("it holds a control character".to_owned()),
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
