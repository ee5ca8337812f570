//! The rules by subject: one file a subject, one row in [`GROUPS`].

mod capabilities;
mod cards;
mod errors;
mod messages;
mod push;
mod reading;
mod streams;
mod tasks;
mod versions;

pub(in crate::assertion) use capabilities::{asks_for_credentials, has_credentials};
pub(in crate::assertion) use cards::{signatures, well_formed};

use super::Rule;

/// All rules, by subject.
pub(super) const GROUPS: &[&[Rule]] = &[
    capabilities::RULES,
    cards::RULES,
    errors::RULES,
    messages::RULES,
    push::RULES,
    reading::RULES,
    streams::RULES,
    tasks::RULES,
    versions::RULES,
];
