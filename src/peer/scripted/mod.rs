//! Remote agents that do not exist: played from a script, on all bindings and both versions.
//!
//! [`script`] is what the configuration says, [`agent`] decides what to answer (no sockets), [`card`]
//! says who the agent is, [`tasks`] remembers what it was asked, [`serve`] speaks HTTP.

pub mod agent;
pub mod card;
pub mod script;
pub mod serve;
pub mod tasks;
