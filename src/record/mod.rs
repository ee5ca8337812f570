//! The copy: what passed, kept so that it can be asked about later.
//!
//! [`tap`] is the only part the traffic touches. Behind it the [`recorder`] puts the observations of
//! an exchange together, decodes and redacts them, and gives them to a [`store`]; [`query`] reads
//! them back, from a store or a file, while the daemon runs or years later.
//!
//! This module knows no proxy, no network and no HTTP library: a recording can be made from a file.

pub mod decode;
pub mod delegation;
pub mod exchange;
pub mod format;
pub mod jsonl;
pub mod query;
pub mod recorder;
pub mod redact;
pub mod store;
pub mod tap;
