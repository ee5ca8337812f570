//! The agent cards that were recorded, as far as assertions ask about them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::a2a::model::{AgentCard, Operation, Reply};
use crate::record::decode::understand;
use crate::record::exchange::{Exchange, RecordedResponse};

/// The card that an exchange brought, whatever its binding, if it brought one.
pub(super) fn card_of(exchange: &Exchange) -> Option<AgentCard> {
    if !is_fetch(exchange.operation) || !is_ok(exchange) {
        return None;
    }
    match understand(exchange).answer?.reply? {
        Reply::Card(card) => Some(*card),
        Reply::Task(_)
        | Reply::Message(_)
        | Reply::Tasks(_)
        | Reply::PushConfig(_)
        | Reply::PushConfigs { .. }
        | Reply::Empty
        | Reply::Error(_) => None,
    }
}

/// Whether the agent answered with a 2xx.
pub(super) fn is_ok(exchange: &Exchange) -> bool {
    let status = |response: &RecordedResponse| (200..300).contains(&response.status);
    exchange.response.as_ref().is_some_and(status)
}

/// The newest card of each agent.
pub(super) fn newest(exchanges: &[Arc<Exchange>]) -> BTreeMap<&str, AgentCard> {
    let cards = exchanges
        .iter()
        .filter_map(|exchange| card_of(exchange).map(|card| (exchange.agent.as_str(), card)));
    cards.collect()
}

fn is_fetch(operation: Operation) -> bool {
    matches!(operation, Operation::AgentCard | Operation::GetExtendedAgentCard)
}
