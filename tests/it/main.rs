//! The promises of Meddler, one module each. One binary, so that there is one link.
#![expect(
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test that cannot set up its case has nothing to recover"
)]

mod assertion;
mod cli;
mod demo;
mod dialect;
mod faults;
mod proxy;
mod push;
mod recording;
mod store;
mod support;
mod tidy;
mod wire;
