//! The traffic: takes requests, asks the rules, forwards, watches what passes, and carries out what the
//! rules say. The only code that acts on a verdict.
//!
//! One connection is `serve`d; one request is an `exchange`, whose pipeline is the map of this
//! module: route, judge, forward, return. A request's body is a `flow`, an answer's is `passing`;
//! both hand on what came as it came.

mod agent;
mod answer;
mod body;
mod called;
mod cards;
mod collect;
pub mod config;
mod error;
mod exchange;
mod flow;
mod forward;
mod grpc;
mod headers;
mod interim;
mod judge;
mod kept;
mod learned;
mod lookup;
mod made;
mod passing;
pub mod push;
mod refused;
mod rewrite;
mod route;
mod rules;
mod running;
mod serve;
mod shape;
mod stream_ids;
mod survey;
pub mod target;
mod upgrade;
mod way;
mod wire;

use std::sync::Arc;

pub use rules::Rules;
pub use running::{AgentAddress, AgentSetup, Proxy, Running, Shared, StartError};
pub use survey::Interface;

use crate::base::clock::WallClock;
use crate::base::id::IdSource;
use crate::base::limits::Limits;
use crate::base::shutdown::Tasks;
use crate::net::dial::OwnAddresses;
use crate::net::jws::SigningKey;
use crate::record::tap::Tap;

/// What every exchange shares.
#[derive(Debug)]
struct Core {
    tap: Tap,
    rules: Rules,
    limits: Limits,
    ids: Arc<IdSource>,
    clock: WallClock,
    tasks: Tasks,
    own: Arc<OwnAddresses>,
    agents: Vec<Arc<agent::Agent>>,
    /// What cards are signed with anew; `None`: no agent asks for it.
    signer: Option<SigningKey>,
    webhooks: push::webhooks::Webhooks,
    receivers: push::Receivers,
}
