//! The daemon's own HTTP interface: shows what is recorded, and takes the few orders there are.
//!
//! It has a listener of its own, on loopback unless told otherwise, so that nothing of it can be
//! reached over an agent's port. What it shows it asks a [`Daemon`]; it owns no state.

mod backend;
pub mod client;
mod config;
mod filter;
mod guard;
mod problem;
mod routes;
mod serve;
pub mod whole;

pub use backend::{AgentInfo, Daemon, DaemonInfo, InterfaceInfo};
pub use config::{AdminConfig, Token};
pub use filter::{FilterError, PARAMETERS, from_query, moment, outcome, to_query, word};
pub use routes::{ROUTES, Route, router};
pub use serve::serve;
