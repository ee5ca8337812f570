//! Promises of the traffic: what passes is what was sent.
#![expect(clippy::indexing_slicing, reason = "what is not there fails the test, as it should")]

mod bodies;
mod cancellation;
mod cards;
mod coding;
mod early;
mod effects;
mod grpc;
mod interfaces;
mod interim;
mod keepalive;
mod messages;
mod passthrough;
mod recorded;
mod refused;
mod rest;
mod rpc;
mod sharing;
mod signatures;
mod sse;
mod stopping;
mod streaming;
mod timeouts;
mod tls;
mod trouble;
mod upgrade;
mod versions;
