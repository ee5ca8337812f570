//! Meddler sits between an orchestrator and its remote agents, records what they say to each other
//! over A2A, and breaks it on purpose.
//!
//! Ten modules, in reading order. Imports go down only (`ARCHITECTURE.md` has the table, and
//! `tests/it/tidy.rs` checks it): [`base`] · [`a2a`] (meaning) · [`net`] (octets) · [`fault`] (decides) ·
//! [`record`] (remembers) · [`proxy`] (moves) · [`assertion`] (asks) · [`peer`] (plays) · [`admin`]
//! (shows) · [`app`] (composes).

pub mod a2a;
pub mod admin;
pub mod app;
pub mod assertion;
pub mod base;
pub mod fault;
pub mod net;
pub mod peer;
pub mod proxy;
pub mod record;
