//! The rules in force and the session they are asked in: swapped whole while traffic runs.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use crate::fault::rule::RuleSet;

/// The rules in force. Cheap to clone; all clones see a swap.
#[derive(Clone, Debug)]
pub struct Rules(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    set: ArcSwap<RuleSet>,
    session: ArcSwap<String>,
}

impl Rules {
    /// These rules, asked in this session.
    pub fn new(set: RuleSet, session: impl Into<String>) -> Self {
        let session = ArcSwap::from_pointee(session.into());
        Self(Arc::new(Inner { set: ArcSwap::from_pointee(set), session }))
    }

    /// Puts other rules in force. An exchange keeps the set it started with.
    pub fn swap(&self, set: Arc<RuleSet>) {
        self.0.set.store(set);
    }

    /// The rules in force.
    pub fn set(&self) -> Arc<RuleSet> {
        self.0.set.load_full()
    }

    /// Names the session that exchanges belong to which name none themselves.
    pub fn set_session(&self, session: impl Into<String>) {
        self.0.session.store(Arc::new(session.into()));
    }

    /// The session.
    pub(super) fn session(&self) -> Arc<String> {
        self.0.session.load_full()
    }

    /// The rules, if there is anything to ask them.
    pub(super) fn current(&self) -> Option<Guard<Arc<RuleSet>>> {
        let set = self.0.set.load();
        (!set.is_empty()).then_some(set)
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(RuleSet::default(), "")
    }
}
