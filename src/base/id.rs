//! Names for recorded things.
//!
//! Ids are `UUIDv7` because the store keeps keys in byte order, and byte order of a v7 id is
//! arrival order, across processes as well: a range scan is a time range, with no second index.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::clock::WallClock;
use crate::base::rng::Rng;

/// Names one exchange: a request and everything that answered it. Printed with the prefix `x-`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExchangeId(Uuid);

/// Names one run of one daemon: whoever wrote a recording.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(Uuid);

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// The id with these octets.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// Its octets, in the order that sorts by time.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// Thirty-two lower-case hex digits without hyphens: what suffixes are taken from.
            pub fn hex(&self) -> String {
                self.0.simple().to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

id!(ExchangeId);
id!(InstanceId);

/// Where ids come from, so that a seed reproduces a run.
///
/// Ids of one source are strictly increasing: within a millisecond the 12 bits after the time
/// count up, and when they run out the time is advanced by one millisecond.
#[derive(Debug)]
pub struct IdSource {
    clock: WallClock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last_ms: u64,
    counter: u16,
    chance: Rng,
}

impl IdSource {
    /// Ids by this clock, with chance from the system.
    pub fn system(clock: WallClock) -> Self {
        Self::seeded(clock, Uuid::new_v4().as_u64_pair().0)
    }

    /// Ids by this clock, the same ones whenever clock and seed are the same.
    pub fn seeded(clock: WallClock, seed: u64) -> Self {
        let state = State { last_ms: 0, counter: 0, chance: Rng::new(seed) };
        Self { clock, state: Mutex::new(state) }
    }

    /// A name for a new exchange.
    pub fn exchange(&self) -> ExchangeId {
        ExchangeId(self.draw())
    }

    /// A name for this run of the daemon.
    pub fn instance(&self) -> InstanceId {
        InstanceId(self.draw())
    }

    /// A random id for things that need no order: task, context and message ids of played agents.
    pub fn opaque(&self) -> String {
        self.draw().hyphenated().to_string()
    }

    fn draw(&self) -> Uuid {
        let now_ms = u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if now_ms > state.last_ms {
            state.last_ms = now_ms;
            state.counter = 0;
        } else if state.counter == 0x0fff {
            state.last_ms += 1;
            state.counter = 0;
        } else {
            state.counter += 1;
        }
        let random = state.chance.next_u64();
        let high = (state.last_ms << 16) | 0x7000 | u64::from(state.counter);
        let low = (random >> 2) | (0b10 << 62);
        Uuid::from_u64_pair(high, low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(seed: u64) -> IdSource {
        IdSource::seeded(WallClock::fixed("2026-11-30T12:00:00Z".parse().unwrap()), seed)
    }

    #[test]
    fn ids_increase_even_within_one_millisecond() {
        let source = source(1);
        let ids: Vec<_> = (0..10_000).map(|_| source.exchange()).collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn the_same_seed_and_time_give_the_same_ids() {
        assert_eq!(source(7).exchange(), source(7).exchange());
        assert_ne!(source(7).exchange(), source(8).exchange());
    }

    #[test]
    fn an_id_is_a_version_7_uuid() {
        let uuid = Uuid::from_bytes(*source(1).exchange().as_bytes());
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }
}
