//! Wall-clock time, as a parameter.
//!
//! Durations are measured with `tokio::time::Instant`, which tests can pause; timestamps come from
//! a [`WallClock`], which tests can fix. Nothing else in the crate asks the system for the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// A source of timestamps: the system's, or one that stands still until it is told to move.
#[derive(Clone, Debug, Default)]
pub struct WallClock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Fixed(Arc<AtomicI64>),
}

impl WallClock {
    /// The system's clock.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that always shows `at`, to the microsecond, until [`set`](Self::set) moves it.
    pub fn fixed(at: Timestamp) -> Self {
        Self(Source::Fixed(Arc::new(AtomicI64::new(at.as_microsecond()))))
    }

    /// Moves a fixed clock; the system's clock takes no orders and stays as it is.
    pub fn set(&self, at: Timestamp) {
        match &self.0 {
            Source::System => {}
            Source::Fixed(now) => now.store(at.as_microsecond(), Ordering::SeqCst),
        }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Fixed(now) => {
                Timestamp::from_microsecond(now.load(Ordering::SeqCst)).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_moves_only_when_told() {
        let clock = WallClock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
        let copy = clock.clone();
        assert_eq!(clock.now().to_string(), "2026-11-30T12:00:00Z");
        copy.set("2026-11-30T12:00:01.5Z".parse().unwrap());
        assert_eq!(clock.now().to_string(), "2026-11-30T12:00:01.5Z");
    }
}
