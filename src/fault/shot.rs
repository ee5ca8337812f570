//! What a fault is given when it fires: the call, its chance, and names for what it invents.
//!
//! Chance comes from (seed, rule, n), so a repeated run draws the same. Invented ids and canaries come
//! from (seed, rule, how often it has fired), because `n` repeats in every scope and a canary must not.

use uuid::Builder;

use crate::a2a::call::Call;
use crate::a2a::model::Task;
use crate::base::rng::Rng;
use crate::fault::verdict::{Effect, Made, Start};

/// One firing of one rule.
#[derive(Debug)]
pub(super) struct Shot<'a> {
    /// The request.
    pub(super) call: &'a Call,
    /// From where on the answer is Meddler's.
    pub(super) from: Start,
    /// Whether the answer carries the rule's name.
    pub(super) mark: bool,
    /// Index of the rule's note.
    pub(super) note: usize,
    /// Chance, after the draw that let it fire.
    pub(super) chance: Rng,
    /// What it does, in words: for the note.
    pub(super) text: String,
    /// The task that was invented, as it stands at the end of the answer.
    pub(super) task: Option<Task>,
    /// The canary, once one was drawn.
    pub(super) canary: Option<String>,
    canary_base: &'a str,
    ids: Rng,
    task_id: Option<String>,
    context_id: Option<String>,
}

/// Where a [`Shot`] gets its chance from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) seed: u64,
    pub(super) rule: &'a str,
    /// The count in its scope.
    pub(super) n: u64,
    /// How often the rule has fired.
    pub(super) serial: u64,
    pub(super) canary_base: &'a str,
}

impl<'a> Shot<'a> {
    pub(super) fn new(call: &'a Call, from: Start, source: Source<'a>) -> Self {
        let mut chance = Rng::for_draw(source.seed, source.rule, source.n);
        // The first number is the draw that decides whether the rule fires.
        chance.next_u64();
        let ids = Rng::for_draw(source.seed, &format!("{}\0ids", source.rule), source.serial);
        Self {
            call,
            from,
            mark: true,
            note: 0,
            chance,
            text: String::new(),
            task: None,
            canary: None,
            canary_base: source.canary_base,
            ids,
            task_id: None,
            context_id: None,
        }
    }

    /// The task that the answer speaks of: the request's own, else an invented one.
    pub(super) fn task_id(&mut self) -> String {
        match (&self.call.ids.task_id, &self.task_id) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => {
                let id = self.uuid();
                self.task_id = Some(id.clone());
                id
            }
        }
    }

    /// The conversation that the answer belongs to: the request's own, else an invented one.
    pub(super) fn context_id(&mut self) -> String {
        match (&self.call.ids.context_id, &self.context_id) {
            (Some(id), _) | (None, Some(id)) => id.clone(),
            (None, None) => {
                let id = self.uuid();
                self.context_id = Some(id.clone());
                id
            }
        }
    }

    /// The invented task and conversation, where the request named none.
    pub(super) fn invented(&self) -> (Option<&str>, Option<&str>) {
        (self.task_id.as_deref(), self.context_id.as_deref())
    }

    /// A new id, in the form of a random UUID.
    pub(super) fn uuid(&mut self) -> String {
        let halves = [self.ids.next_u64().to_be_bytes(), self.ids.next_u64().to_be_bytes()];
        let mut octets = [0; 16];
        for (octet, drawn) in octets.iter_mut().zip(halves.as_flattened()) {
            *octet = *drawn;
        }
        Builder::from_random_bytes(octets).into_uuid().hyphenated().to_string()
    }

    /// The canary of this firing, and the address that tells when somebody follows it.
    pub(super) fn canary(&mut self) -> (String, String) {
        let canary = match &self.canary {
            Some(canary) => canary.clone(),
            None => format!("mdl-{:016x}", self.ids.next_u64()),
        };
        self.canary = Some(canary.clone());
        let url = format!("{}{canary}", self.canary_base);
        (canary, url)
    }

    /// The effect that answers in the agent's place.
    pub(super) const fn answer(&self, with: Made) -> Effect {
        Effect::Answer { note: self.note, with, from: self.from, mark: self.mark }
    }

    /// Whether events of the agent go before: their ids are known to `proxy`, not here.
    pub(super) const fn is_late(&self) -> bool {
        matches!(self.from, Start::Event(2..))
    }
}
