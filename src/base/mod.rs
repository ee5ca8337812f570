//! What every layer may use and no layer owns: names, time, chance, bounds, and the way to stop.

pub mod clock;
pub mod id;
pub mod limits;
pub mod rng;
pub mod shutdown;
pub mod units;

use std::fmt;

/// Which of its two neighbours Meddler means: kept apart because a fault makes the two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The one who called: the orchestrator (for a push delivery, the agent).
    Downstream,
    /// The one who is called: the remote agent (for a push delivery, the webhook).
    Upstream,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Downstream => "downstream",
            Self::Upstream => "upstream",
        })
    }
}

/// The way octets travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the caller to the agent.
    Request,
    /// From the agent to the caller.
    Response,
}
