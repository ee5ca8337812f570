//! `assert` holds suites against recordings.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a table of cases that cannot be set up has nothing to recover"
)]

mod captured;
mod every;
mod gaps;
mod golden;
mod graph;
mod hostile;
mod kinds;
mod lint;
mod mistakes;
mod outside;
mod packs;
mod reference;
mod replies;
mod sdks;
mod selection;
mod traffic;
mod trouble;
mod wire;
mod world;
