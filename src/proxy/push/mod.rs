//! Push notifications: a webhook that an orchestrator registers becomes an address of this port, so that
//! what the agent sends there is seen, recorded and open to rules, and goes on to the true webhook.
//!
//! A request is read ahead only where it may register one, and only the address in it changes
//! (`register`). What shows the address again shows the orchestrator its own (`read_back`). A delivery
//! is an exchange like any other, in the other direction (`deliver`). What is known of an address is in
//! [`webhooks`]: nothing but its token leads there, and nothing that was not registered is ever called.

pub mod config;
mod deliver;
mod read_back;
mod receivers;
mod register;
mod target;
mod token;
pub mod webhooks;

pub(super) use deliver::deliver;
pub(super) use read_back::show;
pub(super) use receivers::Receivers;
pub(super) use register::register;
