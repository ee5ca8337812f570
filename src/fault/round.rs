//! One exchange being judged: what earlier rules took, and what came of each.

use crate::fault::config::Per;
use crate::fault::counter::{Count, Scope};
use crate::fault::facts::Facts;
use crate::fault::invented::{Context, Invented};
use crate::fault::made::Place;
use crate::fault::one::{Decision, Held, Obstacle, Rule, scope_of_id};
use crate::fault::shot::{Shot, Source};
use crate::fault::verdict::{Became, Effect, Judgement, Made, Note, Start};

/// A judgement in the making.
pub(super) struct Round<'a> {
    facts: Facts<'a>,
    canary_base: &'a str,
    judgement: Judgement,
    /// What is taken, and by which rule.
    taken: Vec<(Place, &'a str)>,
    /// Set when the request is about a task that Meddler invented.
    own: Option<(Invented, Made)>,
    /// Rules that counted the exchange in a scope that has no name yet.
    unnamed: Vec<(&'a Rule, Count)>,
    /// The ids that were invented for the answer.
    task_id: Option<String>,
    context_id: Option<String>,
    /// The task that was invented, to be remembered.
    remember: Option<Invented>,
}

impl<'a> Round<'a> {
    pub(super) fn new(
        facts: Facts<'a>,
        canary_base: &'a str,
        own: Option<(Invented, Made)>,
    ) -> Self {
        Self {
            facts,
            canary_base,
            judgement: Judgement::default(),
            taken: Vec::new(),
            own,
            unnamed: Vec::new(),
            task_id: None,
            context_id: None,
            remember: None,
        }
    }

    /// Asks one rule.
    pub(super) fn ask(&mut self, rule: &'a Rule) {
        match rule.holds(&self.facts) {
            Held::No => {}
            Held::NotKnownYet(key) => self.skip(rule, key),
            Held::Yes => self.count(rule),
        }
    }

    /// The judgement, and what is to be remembered of it.
    pub(super) fn finish(mut self) -> (Judgement, Option<Invented>) {
        let agent = self.facts.agent;
        for (rule, count) in &self.unnamed {
            let id = match rule.config.per {
                Per::Context => self.context_id.as_deref(),
                Per::Task => self.task_id.as_deref(),
                Per::Agent | Per::Session | Per::Orchestrator | Per::Rule => None,
            };
            if let Some(id) = id {
                rule.counter.name(&scope_of_id(agent, id), *count);
            }
        }
        if let Some((invented, made)) = self.own.take()
            && self.taken.is_empty()
        {
            self.answer_own(invented, made);
        }
        (self.judgement, self.remember)
    }

    fn skip(&mut self, rule: &'a Rule, key: &str) {
        rule.counter.skip();
        let text = format!("too much to read ahead: `{key}` could not be asked");
        let decision = Decision { became: Became::NotApplicable, draw: None, text };
        self.judgement.notes.push(rule.note(0, decision));
    }

    fn count(&mut self, rule: &'a Rule) {
        let Some(scope) = rule.scope(&self.facts) else { return };
        let places = rule.places(&self.facts);
        let obstacle = self.obstacle(&places);
        let mut decision = Decision { became: Became::Passed, draw: None, text: String::new() };
        let counted = rule.counter.count(&scope, |count| {
            decision = rule.decide(count, obstacle.as_ref());
            decision.became
        });
        if scope == Scope::New {
            self.unnamed.push((rule, counted.count));
        }
        let became = decision.became;
        self.judgement.notes.push(rule.note(counted.count.n, decision));
        match became {
            Became::Fired => self.fire(rule, counted.count.n, counted.serial),
            Became::Passed | Became::Shadowed | Became::NotApplicable => return,
        }
        let places = places.unwrap_or_default();
        self.taken.extend(places.into_iter().map(|place| (place, rule.name.as_str())));
    }

    /// What would keep the rule from firing, if its counts and its draw let it.
    fn obstacle(&self, places: &Result<Vec<Place>, Obstacle>) -> Option<Obstacle> {
        let places = match places {
            Ok(places) => places,
            Err(obstacle) => return Some(obstacle.clone()),
        };
        let mut earlier = self.taken.iter();
        if let Some((_, rule)) =
            earlier.find(|(taken, _)| places.iter().any(|place| place.excludes(*taken)))
        {
            return Some((Became::Shadowed, format!("rule `{rule}` has the answer")));
        }
        if self.own.is_some() && places.iter().any(|place| *place != Place::Whole) {
            let why = "the task was invented by a rule: there is no answer of the agent's to edit";
            return Some((Became::NotApplicable, why.to_owned()));
        }
        None
    }

    fn fire(&mut self, rule: &'a Rule, n: u64, serial: u64) {
        let Some(note) = self.judgement.notes.len().checked_sub(1) else { return };
        let canary_base = self.canary_base;
        let source = Source { seed: rule.seed, rule: &rule.name, n, serial, canary_base };
        let mut shot = Shot::new(self.facts.call, rule.from, source);
        shot.note = note;
        shot.mark = rule.mark;
        let mut texts = Vec::new();
        for (_, fault) in &rule.faults {
            self.judgement.effects.extend(fault.effects(&mut shot));
            texts.push(std::mem::take(&mut shot.text));
        }
        self.keep_ids(rule, &shot);
        if let Some(note) = self.judgement.notes.last_mut() {
            note.text = texts.join("; ");
            note.canary = shot.canary;
        }
    }

    fn keep_ids(&mut self, rule: &Rule, shot: &Shot<'_>) {
        let (task_id, context_id) = shot.invented();
        self.task_id = self.task_id.take().or(task_id.map(str::to_owned));
        self.context_id = self.context_id.take().or(context_id.map(str::to_owned));
        let (Some(task), Some(_)) = (&shot.task, task_id) else { return };
        self.remember = Some(Invented {
            agent: self.facts.agent.to_owned(),
            rule: rule.name.clone(),
            kind: rule.kind,
            seed: rule.seed,
            mark: rule.mark,
            context: if context_id.is_some() { Context::Invented } else { Context::Known },
            task: task.clone(),
        });
    }

    /// Answers for an invented task, on behalf of the rule that invented it.
    fn answer_own(&mut self, invented: Invented, made: Made) {
        self.judgement.effects.push(Effect::Answer {
            note: self.judgement.notes.len(),
            with: made,
            from: Start::Beginning,
            mark: invented.mark,
        });
        self.judgement.notes.push(Note {
            rule: invented.rule,
            kind: invented.kind,
            became: Became::Fired,
            n: 0,
            seed: invented.seed,
            draw: None,
            canary: None,
            text: format!("answers for task {}, which it invented", invented.task.id),
        });
    }
}
