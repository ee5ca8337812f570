//! One rule, read and checked: what it looks at, what it does, and its counts.
//!
//! The questions are asked in this order: `when`, the count, `nth every first after`, the draw, `times`,
//! whether an earlier rule has the place, whether the fault can be applied. From the count on they are
//! asked under the counter's lock, so that counts are exact when exchanges run side by side.

use std::sync::Arc;

use crate::base::rng::{Rng, draw};
use crate::fault::config::{Per, RuleConfig};
use crate::fault::counter::{Count, Counter, Scope};
use crate::fault::facts::{Facts, Needs};
use crate::fault::kinds::{self, Faults, Role};
use crate::fault::made::Place;
use crate::fault::matcher::{self, Condition, Match, Operations};
use crate::fault::names::Names;
use crate::fault::rule::{RuleSetOptions, RuleSummary};
use crate::fault::settings;
use crate::fault::verdict::{Became, Note, Start};
use crate::fault::window::Window;

/// One rule, ready to be asked.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) seed: u64,
    pub(super) mark: bool,
    pub(super) from: Start,
    pub(super) faults: Faults,
    /// The family that it is recorded under.
    pub(super) kind: &'static str,
    pub(super) counter: Arc<Counter>,
    pub(super) config: RuleConfig,
    agents: Names,
    matchers: Vec<Condition>,
    operations: Operations,
    needs: Needs,
    window: Window,
}

/// What the conditions say.
pub(super) enum Held {
    Yes,
    No,
    /// This key looks at what has not been read.
    NotKnownYet(&'static str),
}

/// What the rule decided.
pub(super) struct Decision {
    pub(super) became: Became,
    pub(super) draw: Option<f64>,
    /// Why it does not fire.
    pub(super) text: String,
}

/// What stands in the way of a rule that would fire.
pub(super) type Obstacle = (Became, String);

impl Rule {
    /// Reads a rule. The error begins with the key.
    pub(super) fn new(
        name: String,
        config: RuleConfig,
        options: &RuleSetOptions,
    ) -> Result<Self, String> {
        let agents =
            agents_of(&config, &options.agents).map_err(|error| format!("agent: {error}"))?;
        if let Some(p) = config.probability
            && !(0.0..=1.0).contains(&p)
        {
            return Err(format!("probability: {p} is not between 0 and 1"));
        }
        let window = Window::new(&config)?;
        let mut faults = kinds::parse(&config.inject)?;
        let matchers = conditions(&config, &faults)?;
        let event = matchers.iter().find_map(|(_, matcher)| matcher.event());
        if let Some(event) = event {
            for (kind, fault) in &mut faults {
                fault.begins_at(event).map_err(|error| format!("inject.{}: {error}", kind.name))?;
            }
        }
        let operations =
            matchers.iter().fold(Operations::ALL, |all, (_, one)| all.and(one.operations()));
        if operations.is_empty() {
            return Err("when: no operation meets all conditions".to_owned());
        }
        let kind = recorded_kind(&faults);
        let seed = config.seed.unwrap_or_else(|| seed_of(options.seed, &name));
        let from = event.map_or(Start::Beginning, Start::Event);
        let needs = faults
            .iter()
            .map(|(_, fault)| fault.needs(from))
            .fold(needs_of(&matchers, config.per), Needs::and);
        let counter = Arc::default();
        let mark = config.mark;
        Ok(Self {
            name,
            seed,
            mark,
            from,
            faults,
            kind,
            counter,
            config,
            agents,
            matchers,
            operations,
            needs,
            window,
        })
    }

    pub(super) fn is_for(&self, agent: &str) -> bool {
        self.config.enabled && self.agents.is_match(agent)
    }

    pub(super) const fn operations(&self) -> Operations {
        self.operations
    }

    pub(super) const fn needs(&self) -> Needs {
        self.needs
    }

    pub(super) fn is_of_session(&self) -> bool {
        self.matchers.iter().any(|(_, matcher)| matcher.is_of_session())
    }

    /// Whether all conditions hold. One that does not is enough, whatever else is unknown.
    pub(super) fn holds(&self, facts: &Facts<'_>) -> Held {
        let mut unknown = None;
        for (key, matcher) in &self.matchers {
            match matcher.matches(facts) {
                Match::Yes => {}
                Match::No => return Held::No,
                Match::NotKnownYet => unknown = unknown.or(Some(*key)),
            }
        }
        match unknown {
            Some(key) => Held::NotKnownYet(key),
            None if self.scope(facts).is_none() => Held::NotKnownYet("per"),
            None => Held::Yes,
        }
    }

    /// What its counters count this exchange in; `None`: its id has not been read.
    pub(super) fn scope(&self, facts: &Facts<'_>) -> Option<Scope> {
        let ids = &facts.call.ids;
        let of_peer = |id: &Option<String>| match id {
            Some(id) => Some(Scope::Named(scope_of_id(facts.agent, id))),
            None if facts.body_is_read => Some(Scope::New),
            None => None,
        };
        match self.config.per {
            Per::Agent => Some(Scope::Named(facts.agent.to_owned())),
            Per::Context => of_peer(&ids.context_id),
            Per::Task => of_peer(&ids.task_id),
            Per::Session => Some(Scope::Named(facts.session.to_owned())),
            Per::Orchestrator => Some(Scope::Named(facts.orchestrator.to_owned())),
            Per::Rule => Some(Scope::Named(String::new())),
        }
    }

    /// What each of its faults takes hold of; the error is why one of them cannot be applied.
    pub(super) fn places(&self, facts: &Facts<'_>) -> Result<Vec<Place>, Obstacle> {
        let mut places = Vec::new();
        for (kind, fault) in &self.faults {
            match fault.place(facts.call, self.from) {
                Ok(place) => places.extend(place),
                Err(why) => return Err((Became::NotApplicable, format!("{}: {why}", kind.name))),
            }
        }
        Ok(places)
    }

    /// Whether it fires, by its counts and its draw, and then by what stands in its way.
    pub(super) fn decide(&self, count: Count, obstacle: Option<&Obstacle>) -> Decision {
        let drawn = self.config.probability.map(|p| (p, draw(self.seed, &self.name, count.n)));
        let decision = |became, text| Decision { became, draw: None, text };
        if let Err(why) = self.window.admits(count.n) {
            return decision(Became::Passed, why);
        }
        let draw = drawn.map(|(_, number)| number);
        let decision = |became, text| Decision { became, draw, text };
        if let Some((probability, number)) = drawn
            && number >= probability
        {
            return decision(
                Became::Passed,
                format!("drew {number:.4}, fires below {probability}"),
            );
        }
        if let Err(why) = self.window.has_left(count.fired) {
            return decision(Became::Passed, why);
        }
        match obstacle {
            Some((became, why)) => decision(*became, why.clone()),
            None => decision(Became::Fired, String::new()),
        }
    }

    /// What becomes of it, for the recording.
    pub(super) fn note(&self, n: u64, decision: Decision) -> Note {
        Note {
            rule: self.name.clone(),
            kind: self.kind,
            became: decision.became,
            n,
            seed: self.seed,
            draw: decision.draw,
            canary: None,
            text: decision.text,
        }
    }

    pub(super) fn summary(&self) -> RuleSummary {
        RuleSummary {
            name: self.name.clone(),
            agent: self.agents.text.clone(),
            kind: self.kind,
            enabled: self.config.enabled,
            probability: self.config.probability,
            seed: self.seed,
            totals: self.counter.totals(),
        }
    }
}

/// The name of a context's or task's scope: ids are the agent's own, two agents may use the same.
pub(super) fn scope_of_id(agent: &str, id: &str) -> String {
    format!("{agent}\0{id}")
}

/// The agents it is for; `known` are the configured ones, if they are to be checked.
fn agents_of(config: &RuleConfig, known: &[String]) -> Result<Names, String> {
    if config.agent.is_null() {
        return Ok(Names::any());
    }
    let agents = Names::parse(&config.agent)?;
    let unmet = agents.matching_none(known).next();
    match unmet {
        Some(unmet) if !known.is_empty() => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(settings::unknown("remote agent", unmet, &known))
        }
        Some(_) | None => Ok(agents),
    }
}

fn conditions(config: &RuleConfig, faults: &Faults) -> Result<Vec<Condition>, String> {
    let mut matchers = Vec::new();
    if !config.when.contains_key("operation") {
        matchers.push(matcher::only(default_scope(faults)?));
    }
    for (key, value) in &config.when {
        matchers.push(matcher::parse(key, value)?);
    }
    // What the head tells is asked before what needs a regular expression over a body.
    matchers.sort_by_key(|(_, matcher)| (matcher.needs().body, matcher.needs().operation));
    Ok(matchers)
}

/// The operations that the faults are for when the rule names none.
fn default_scope(faults: &Faults) -> Result<Operations, String> {
    let answering = |(kind, _): &&(&'static kinds::Kind, _)| kind.role == Role::Answers;
    faults
        .iter()
        .find(answering)
        .or(faults.first())
        .map(|(_, fault)| fault.scope())
        .ok_or_else(|| "inject: no fault".to_owned())
}

fn needs_of(matchers: &[Condition], per: Per) -> Needs {
    let body = match per {
        Per::Context | Per::Task => true,
        Per::Agent | Per::Session | Per::Orchestrator | Per::Rule => false,
    };
    matchers
        .iter()
        .fold(Needs { operation: body, body }, |all, (_, matcher)| all.and(matcher.needs()))
}

/// The answering family, since that is what is seen; a rule that only takes time, its first.
fn recorded_kind(faults: &Faults) -> &'static str {
    let answers = faults.iter().find(|(kind, _)| kind.role == Role::Answers);
    answers.or(faults.first()).map_or("", |(kind, _)| kind.name)
}

fn seed_of(seed: u64, rule: &str) -> u64 {
    Rng::for_draw(seed, rule, 0).next_u64()
}
