//! A2A as data: what the octets of a request and its answer mean, in any binding and version.
//!
//! No async, no sockets, no clock: rules, the recorder, assertions, scripted agents and fuzzers share
//! this module. Two axes: a [`binding`] says how a call is carried (where the operation's name stands,
//! how an answer is framed, how an error looks), a [`dialect`] says how one protocol version spells
//! the [`model`]. Both are tables; everything else asks the tables and never compares versions.
//!
//! Decoding never fails. It yields a model and a list of [`problem::Problem`]s: what a peer sends is
//! data, and a malformed message is something to assert on.
//!
//! Reading order: [`model`], [`call`], then [`binding`], [`dialect`], [`frame`].

pub mod address;
pub mod binding;
pub mod call;
pub mod canonical;
pub mod detect;
pub mod dialect;
pub mod edit;
pub mod fold;
pub mod frame;
pub mod model;
pub mod problem;
pub mod signature;
pub(crate) mod splice;
pub mod webhook;
