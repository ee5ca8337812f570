//! Promises of the traffic: what passes is what was sent.
#![expect(clippy::indexing_slicing, reason = "what is not there fails the test, as it should")]

mod bodies;
mod cards;
mod effects;
mod grpc;
mod interfaces;
mod keepalive;
mod passthrough;
mod recorded;
mod rest;
mod rpc;
mod signatures;
mod stopping;
mod streaming;
mod tls;
mod trouble;
mod versions;
