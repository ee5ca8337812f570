//! Recorded things in full, as JSON: what one route and `show --format json` print.

use serde_json::Value;

use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;
use crate::record::jsonl;

/// A delegation with what its listing leaves out: message, reply and events.
pub fn delegation(delegation: &Delegation) -> Result<Value, serde_json::Error> {
    let mut whole = serde_json::to_value(delegation)?;
    if let Some(members) = whole.as_object_mut() {
        let more = [
            ("message", delegation.message.clone().unwrap_or_default()),
            ("reply", delegation.reply.clone().unwrap_or_default()),
            ("reply_text", delegation.reply_text.clone().into()),
            ("events", delegation.events.clone().into()),
        ];
        members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(whole)
}

/// An exchange, as a line of an export has it.
pub fn exchange(exchange: &Exchange) -> Value {
    jsonl::exchange(exchange)
}
