//! How long an agent lets a connection idle before it closes it, as far as that has been seen.
//!
//! A request that is written just as the agent closes cannot be sent again: it may have been read. A
//! client that asks every five seconds an agent with five seconds of patience meets that moment time
//! and again. So what was found closed after some idling tells how long the next may idle.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Shorter idling tells nothing: it is an agent that restarts, not its patience.
const LEAST: Duration = Duration::from_secs(1);

/// What is known of it, in microseconds; without an observation without end.
#[derive(Debug)]
pub(super) struct Patience(AtomicU64);

impl Default for Patience {
    fn default() -> Self {
        Self(AtomicU64::new(u64::MAX))
    }
}

impl Patience {
    /// Notes that a connection was found closed after idling for so long.
    pub(super) fn ran_out(&self, after: Duration) {
        if after >= LEAST {
            let us = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
            self.0.fetch_min(us, Ordering::Relaxed);
        }
    }

    /// Whether a connection that has idled for so long may still be used: a tenth less than was seen.
    pub(super) fn allows(&self, idle: Duration) -> bool {
        let us = u64::try_from(idle.as_micros()).unwrap_or(u64::MAX);
        let seen = self.0.load(Ordering::Relaxed);
        us < seen - seen / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_closed_is_not_tried_again() {
        let patience = Patience::default();
        assert!(patience.allows(Duration::from_hours(1)));
        patience.ran_out(Duration::from_millis(20));
        assert!(patience.allows(Duration::from_hours(1)), "a restart says nothing");
        patience.ran_out(Duration::from_secs(5));
        patience.ran_out(Duration::from_secs(7));
        assert!(patience.allows(Duration::from_millis(4_400)));
        assert!(!patience.allows(Duration::from_millis(4_600)));
    }
}
