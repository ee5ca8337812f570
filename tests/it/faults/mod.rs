//! Faults: each answer is well formed for its binding and version.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking, and say what they were given"
)]

mod examples;
mod hostile;
mod table;
mod wire;
