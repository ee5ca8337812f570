//! The configuration: one YAML file, typed, with every error at its line.
//!
//! Each module defines what it wants to be told; this one puts the sections together and is the only
//! code that knows that a file exists.

mod agent;
mod error;
mod expand;
mod file;
mod later;
mod nearest;
mod schema;
mod sections;
mod tree;
mod typed;

use std::path::Path;

pub use agent::Agent;
pub(in crate::app) use agent::PLAYED;
pub use error::{FileErrors, Place};
pub use file::{Config, Tests};
pub(in crate::app) use file::{ReaderConfig, rule_options};
pub(in crate::app) use schema::schema;
pub use sections::{RecordConfig, StoreConfig};

use crate::app::failure::{Explain, Failure};

impl Config {
    /// Reads a file, with `${NAME}` from the environment.
    pub(in crate::app) fn load(path: &Path) -> Result<Self, Failure> {
        let (name, source) = open(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&name, base, &source, &|variable| std::env::var(variable).ok())?)
    }
}

impl ReaderConfig {
    /// Reads what a reading command needs of a file.
    pub(in crate::app) fn load(path: &Path) -> Result<Self, Failure> {
        let (name, source) = open(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&name, base, &source, &|variable| std::env::var(variable).ok())?)
    }
}

fn open(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let source = std::fs::read_to_string(path)
        .doing(|| format!("cannot read the configuration {name}"))
        .hint(|| "name another with -c, or do without one: `meddler serve URL`".to_owned())?;
    Ok((name, source))
}
