//! The sections that are not one module's own: where the recording is kept, and what goes into it.

use std::path::PathBuf;

use serde::Deserialize;

use crate::base::units;
use crate::record::store::disk::Durability;
use crate::record::tap::WhenFull;

/// The section `store:`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// The directory; relative to the configuration's own.
    pub path: PathBuf,
    /// When what is written is on disk.
    pub durability: Durability,
    /// Octets kept of one body; beyond them length, digest and head.
    #[serde(with = "units::as_bytes")]
    pub max_body: u64,
}

/// The section `record:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordConfig {
    /// Whether anything is recorded.
    pub enabled: bool,
    /// What happens when the recorder does not keep up.
    pub when_full: WhenFull,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            path: PathBuf::from("recordings"),
            durability: Durability::default(),
            max_body: 8 * 1024 * 1024,
        }
    }
}

impl Default for RecordConfig {
    fn default() -> Self {
        Self { enabled: true, when_full: WhenFull::default() }
    }
}
