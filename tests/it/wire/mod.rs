//! What is on the wire is read as what it is, and written as the official SDKs write it.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "in a test, what is not as expected is a failure"
)]

mod addresses;
mod corrupted;
mod errors;
pub(crate) mod fixture;

mod heads;
mod insertions;
mod peek;
mod recorded;
mod round_trip;
pub(crate) mod samples;
mod splitting;
