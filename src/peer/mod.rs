//! Meddler as an endpoint: plays a remote agent, or drives one.
//!
//! A played agent is an ordinary agent: the proxy stands in front of it as it stands in front of a
//! real one, so that rules, recorder and cards treat both alike. To make one misbehave, put a rule in
//! front of it.

pub mod orchestrator;
pub mod scripted;
