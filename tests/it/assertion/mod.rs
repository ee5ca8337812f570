//! `assert` holds suites against recordings.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a table of cases that cannot be set up has nothing to recover"
)]

mod captured;
mod gaps;
mod golden;
mod graph;
mod kinds;
mod mistakes;
mod replies;
mod sdks;
mod selection;
mod trouble;
mod wire;
mod world;
