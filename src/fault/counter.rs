//! A rule's counts, exact under concurrency: one lock a rule, taken only when the rule matched.
//!
//! Counts are kept for each scope (agent, context, ...). The map is bounded by two generations: when
//! the recent one is full it becomes the older one and the former older one is forgotten, so that the
//! last [`SCOPES`] scopes in use are always there, whatever a long run has seen before.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::fault::verdict::Became;

/// Scopes in one generation of one rule; two generations are kept. A scope is a name of some 50
/// octets and two numbers, so a rule holds some 10 MiB at most.
pub(super) const SCOPES: usize = 32_768;

/// What a rule has seen since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Exchanges for which `when` held.
    pub eligible: u64,
    /// ... and of these, those it fired on,
    pub fired: u64,
    /// those that counters or draw let pass,
    pub passed: u64,
    /// those where an earlier rule had the place,
    pub shadowed: u64,
    /// and those its fault could not be applied to. Exchanges whose body could not be read are
    /// counted here and not as eligible.
    pub not_applicable: u64,
    /// Scopes whose counts were forgotten because there were too many; met again they begin anew.
    pub forgotten_scopes: u64,
}

/// The counts of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Eligible exchanges.
    pub(super) n: u64,
    /// Those it fired on.
    pub(super) fired: u64,
}

/// What counters count in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One that has a name.
    Named(String),
    /// One that begins with this exchange: the first message of a conversation names no context.
    New,
}

/// One exchange, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    /// The counts of its scope, this exchange included.
    pub(super) count: Count,
    /// How often the rule has fired in all scopes, this exchange included: names what it invents.
    pub(super) serial: u64,
}

/// The counts of one rule.
#[derive(Debug, Default)]
pub(super) struct Counter(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    totals: Totals,
    recent: HashMap<String, Count>,
    older: HashMap<String, Count>,
}

impl Counter {
    /// Counts one eligible exchange. `decide` is asked under the lock, with `n` including it and
    /// `fired` before it, so that no two exchanges see the same numbers.
    pub(super) fn count(&self, scope: &Scope, decide: impl FnOnce(Count) -> Became) -> Counted {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = match scope {
            Scope::Named(name) => counts.take(name),
            Scope::New => Count::default(),
        };
        count.n += 1;
        counts.totals.eligible += 1;
        match decide(count) {
            Became::Fired => {
                count.fired += 1;
                counts.totals.fired += 1;
            }
            Became::Passed => counts.totals.passed += 1,
            Became::Shadowed => counts.totals.shadowed += 1,
            Became::NotApplicable => counts.totals.not_applicable += 1,
        }
        if let Scope::Named(name) = scope {
            counts.put(name, count);
        }
        Counted { count, serial: counts.totals.fired }
    }

    /// Gives a new scope its name, once it has one.
    pub(super) fn name(&self, name: &str, count: Count) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.put(name, count);
    }

    /// Counts an exchange of which too little was read to ask the rule.
    pub(super) fn skip(&self) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.totals.not_applicable += 1;
    }

    /// What the rule has seen.
    pub(super) fn totals(&self) -> Totals {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).totals
    }
}

impl Counts {
    fn take(&mut self, name: &str) -> Count {
        match self.recent.get(name) {
            Some(count) => *count,
            None => self.older.remove(name).unwrap_or_default(),
        }
    }

    fn put(&mut self, name: &str, count: Count) {
        if let Some(known) = self.recent.get_mut(name) {
            *known = count;
            return;
        }
        if self.recent.len() >= SCOPES {
            self.totals.forgotten_scopes += self.older.len() as u64;
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(name.to_owned(), count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(name: &impl ToString) -> Scope {
        Scope::Named(name.to_string())
    }

    #[test]
    fn scopes_are_counted_apart_and_fired_in_all() {
        let counter = Counter::default();
        let count = |scope: &Scope| counter.count(scope, |_| Became::Fired);
        assert_eq!(count(&named(&"a")), Counted { count: Count { n: 1, fired: 1 }, serial: 1 });
        assert_eq!(count(&named(&"b")), Counted { count: Count { n: 1, fired: 1 }, serial: 2 });
        assert_eq!(count(&named(&"a")), Counted { count: Count { n: 2, fired: 2 }, serial: 3 });
        assert_eq!(count(&Scope::New).count.n, 1);
        assert_eq!(count(&Scope::New).count.n, 1);
    }

    #[test]
    fn a_new_scope_goes_on_under_its_name() {
        let counter = Counter::default();
        let first = counter.count(&Scope::New, |_| Became::Fired);
        counter.name("c", first.count);
        assert_eq!(counter.count(&named(&"c"), |_| Became::Passed).count, Count { n: 2, fired: 1 });
    }

    #[test]
    fn scopes_in_use_outlive_the_bound_and_the_others_are_counted_as_forgotten() {
        let counter = Counter::default();
        for n in 0..4 * SCOPES {
            counter.count(&named(&n), |_| Became::Passed);
            if n % 1000 == 0 {
                counter.count(&named(&"in use"), |_| Became::Passed);
            }
        }
        let in_use = counter.count(&named(&"in use"), |_| Became::Passed).count.n;
        assert_eq!(in_use, 4 * SCOPES as u64 / 1000 + 2);
        assert_eq!(counter.count(&named(&0), |_| Became::Passed).count.n, 1);
        assert!(counter.totals().forgotten_scopes > 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against a model that keeps all it was told.
        #[test]
        fn counts_are_those_of_a_list_of_all_that_happened(
            steps in proptest::collection::vec((0_u8..5, any::<bool>()), 0..200),
        ) {
            let counter = Counter::default();
            let mut seen: Vec<(u8, bool)> = Vec::new();
            for (scope, fires) in steps {
                let became = if fires { Became::Fired } else { Became::Passed };
                let before = seen.iter().filter(|(s, f)| *s == scope && *f).count() as u64;
                seen.push((scope, fires));
                let n = seen.iter().filter(|(s, _)| *s == scope).count() as u64;
                let fired = seen.iter().filter(|(s, f)| *s == scope && *f).count() as u64;
                let serial = seen.iter().filter(|(_, f)| *f).count() as u64;
                let counted = counter.count(&named(&scope), |asked| {
                    assert_eq!(asked, Count { n, fired: before });
                    became
                });
                prop_assert_eq!(counted, Counted { count: Count { n, fired }, serial });
            }
        }
    }
}
