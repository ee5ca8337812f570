//! Every bound in the process, each with its reason.
//!
//! One struct, so that the bounds can be read in one place and a test can shrink one. A queue,
//! cache, buffer, retry or wait that has no row here has no bound, and is a bug.

use std::time::Duration;

/// The bounds. All sizes are octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections open at once on all listeners; further ones wait in the kernel's backlog.
    pub connections: usize,
    /// Header section of a request; a larger one is answered with 431. Twice as much is read, so that
    /// the refusal can be recorded, and is taken from agents.
    pub header_bytes: usize,
    /// How long a new connection may take to show what protocol it speaks.
    pub sniff_timeout: Duration,
    /// How much of a body is read ahead for a rule that must see it; past it the rule is skipped.
    pub peek_bytes: usize,
    /// A card larger than this passes unrewritten, with a warning: real ones are a few KiB.
    pub card_bytes: usize,
    /// Octets waiting between the traffic and the recorder, in all exchanges together.
    pub queue_bytes: usize,
    /// How long one exchange waits, in all, for room in that queue before it goes on with a gap.
    pub queue_wait: Duration,
    /// What one exchange gathers before it hands over to the recorder.
    pub handover_bytes: usize,
    /// ... and how old the oldest gathered octet may become.
    pub handover_age: Duration,
    /// Captured octets per body; beyond it length, digest and head are kept.
    pub body_bytes: usize,
    /// Captured octets of all exchanges that are still open; beyond it bodies are kept as heads.
    pub open_bytes: usize,
    /// One SSE event or gRPC message in the splitters; a longer one is a problem, not a crash.
    pub frame_bytes: usize,
    /// Nesting of JSON and protobuf that a reader follows.
    pub depth: usize,
    /// What a compressed body may inflate to on the recorded copy.
    pub inflated_bytes: usize,
    /// Connecting to an agent: DNS, TCP and TLS together. Answers have no limit of ours.
    pub connect_timeout: Duration,
    /// Idle upstream connections kept for one authority.
    pub idle_connections: usize,
    /// How long an idle upstream connection is kept.
    pub idle_timeout: Duration,
    /// Age past which an upstream connection takes no further request, so that an agent that has moved
    /// to another address is followed. What is under way on it may end.
    pub connection_age: Duration,
    /// How long a stop waits for open exchanges.
    pub stop_grace: Duration,
    /// Values learned as secrets, the last ones seen.
    pub learned_secrets: usize,
    /// Webhooks that are known at once, some hundred octets each; beyond it the longest unused goes.
    pub webhooks: usize,
    /// How long one is known that is not used: tasks rarely take a month.
    pub webhook_age: Duration,
    /// How long a registration waits until its webhook is on the disk, before it passes unrewritten.
    pub webhook_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            header_bytes: 128 * 1024,
            sniff_timeout: Duration::from_secs(30),
            peek_bytes: 1024 * 1024,
            card_bytes: 4 * 1024 * 1024,
            queue_bytes: 32 * 1024 * 1024,
            queue_wait: Duration::from_millis(250),
            handover_bytes: 128 * 1024,
            handover_age: Duration::from_millis(10),
            body_bytes: 8 * 1024 * 1024,
            open_bytes: 256 * 1024 * 1024,
            frame_bytes: 16 * 1024 * 1024,
            depth: 100,
            inflated_bytes: 64 * 1024 * 1024,
            connect_timeout: Duration::from_secs(10),
            idle_connections: 256,
            idle_timeout: Duration::from_mins(1),
            connection_age: Duration::from_mins(5),
            stop_grace: Duration::from_secs(10),
            learned_secrets: 10_000,
            webhooks: 50_000,
            webhook_age: Duration::from_hours(30 * 24),
            webhook_wait: Duration::from_secs(1),
        }
    }
}
