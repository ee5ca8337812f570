//! The command line, as a person uses it: the real program, run in a directory of its own.

mod admin;
mod agent;
mod agents;
mod asserting;
mod daemon;
mod files;
mod help;
mod holding;
mod poles;
mod program;
mod reading;
mod seeds;
