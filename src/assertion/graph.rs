//! The graph of who made whom ask whom: delegations and their parents.
//!
//! A delegation without a known parent begins a chain only if its sender is no remote agent itself; else
//! the chain's beginning is not known, and a question about it cannot be answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::id::ExchangeId;
use crate::record::delegation::Delegation;
use crate::record::query::Filter;

use super::finding::Finding;
use super::view::RunView;

/// The delegations by id, and what they caused.
pub(super) struct Graph {
    by_id: BTreeMap<ExchangeId, Arc<Delegation>>,
}

impl Graph {
    /// The graph over the whole session: chains lead out of a selection. `Err`: nothing links the
    /// delegations, or a chain's beginning is not known.
    pub(super) fn of(view: &RunView<'_>, expected: &str) -> Result<Self, Finding> {
        let filter = Filter { session: view.filter.session.clone(), ..Filter::default() };
        let all = view.source.delegations(&filter);
        let agents: BTreeSet<&str> =
            all.iter().map(|delegation| delegation.agent.as_str()).collect();
        let lost = all.iter().find(|delegation| {
            delegation.parent.is_none() && agents.contains(delegation.orchestrator.as_str())
        });
        if let Some(lost) = lost {
            let text =
                format!("it is not known what made {} ask {}", lost.orchestrator, lost.agent);
            return Err(Finding::skipped(expected, text).proved_by([view.evidence(lost, "")]));
        }
        if all.iter().all(|delegation| delegation.parent.is_none()) {
            let text = "no delegation's cause is known: nothing carries `traceparent` or `baggage`, and no \
                        remote agent has a `match`";
            return Err(Finding::skipped(expected, text));
        }
        let by_id = all.into_iter().map(|delegation| (delegation.id, delegation)).collect();
        Ok(Self { by_id })
    }

    /// From a delegation up to the one that began it all, itself first. Ends at a parent that is not
    /// recorded, or that comes up twice.
    pub(super) fn chain(&self, from: &Arc<Delegation>) -> Vec<Arc<Delegation>> {
        let mut chain = vec![Arc::clone(from)];
        let mut seen = BTreeSet::from([from.id]);
        let mut at = from.parent;
        while let Some(parent) = at.and_then(|id| self.by_id.get(&id)) {
            if !seen.insert(parent.id) {
                break;
            }
            chain.push(Arc::clone(parent));
            at = parent.parent;
        }
        chain
    }

    /// What a delegation caused directly.
    pub(super) fn children(&self, of: &Delegation) -> Vec<Arc<Delegation>> {
        let caused = self.by_id.values().filter(|delegation| delegation.parent == Some(of.id));
        caused.cloned().collect()
    }
}

/// `planner → billing → ledger`, from the beginning of a chain.
pub(super) fn shown(chain: &[Arc<Delegation>]) -> String {
    let mut names = Vec::new();
    if let Some(first) = chain.last() {
        names.push(first.orchestrator.as_str());
    }
    names.extend(chain.iter().rev().map(|delegation| delegation.agent.as_str()));
    names.join(" → ")
}
