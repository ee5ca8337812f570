//! What goes wrong on purpose. Pure: no I/O, no clock, no global chance.
//!
//! Rules look at [`facts::Facts`] and give a [`verdict::Judgement`]: a closed list of effects that
//! `proxy`, and only `proxy`, carries out. A judgement is a function of facts, rules, counters and
//! seed, so that a run can be repeated from what the recording says.
//!
//! Two open sets, each one file and one row: [`matcher`] holds what a rule can look at, [`kinds`] what
//! it can do. In between, [`rule`] asks the rules in order and keeps their counters.

pub mod config;
mod counter;
pub mod facts;
mod invented;
pub mod kinds;
mod made;
pub mod matcher;
mod names;
mod one;
mod payload;
mod round;
pub mod rule;
mod settings;
mod shot;
#[cfg(test)]
mod testing;
pub mod verdict;
mod window;
