//! What passed is kept: whole, in order, without its secrets, and at no cost to the traffic.
#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a case that is not as it was written has nothing to recover"
)]

mod bodies;
mod delegations;
mod files;
mod load;
mod secrets;
mod traffic;
mod wire;
