//! `import`: exported files back into a store.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::Args;

use super::recording::store_path;
use super::{Context, output};
use crate::app::failure::{Exit, Explain, Failure};
use crate::base::limits::Limits;
use crate::record::jsonl::{self, Imported, Lines};
use crate::record::redact::Redactor;
use crate::record::store::{Kind, disk};

/// Read exported files into a store
///
/// What the store has already is left as it is, so importing twice changes nothing. Secrets are masked
/// again, by the rules of this configuration.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// .a2a.jsonl or .a2a.jsonl.zst files, or `-`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The store's directory; otherwise that of the configuration, else ./recordings
    #[arg(long, value_name = "DIR", env = "MEDDLER_STORE")]
    store: Option<PathBuf>,
}

impl Import {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let path = match self.store {
            Some(path) => path,
            None => store_path(context)?,
        };
        let redact = context.reader_config()?.redact;
        // Every file is opened before the store is touched.
        let mut inputs: Vec<(String, Box<dyn Read>)> = Vec::new();
        for file in &self.files {
            let name = file.display().to_string();
            let input: Box<dyn Read> = if name == "-" {
                Box::new(io::stdin().lock())
            } else {
                Box::new(File::open(file).doing(|| format!("cannot read {name}"))?)
            };
            inputs.push((name, input));
        }
        let kind = Kind::named("disk").ok_or_else(|| Failure::new("there is no store on disk"))?;
        let store = kind
            .open(&path, disk::Options::default(), context.clock.clone())
            .hint(|| "name another directory with --store".to_owned())?;
        let key = store
            .digest_key()
            .ok_or_else(|| Failure::new("the store keeps no key for the digests of secrets"))?;
        let mut redactor = Redactor::new(&redact, key, Limits::default().learned_secrets)?;
        for (name, input) in inputs {
            let lines = Lines::open(&name, input)?;
            let imported = jsonl::import(lines, &mut redactor, store.as_ref())?;
            context.style.say(&summary(&name, &imported));
        }
        store.close()?;
        Ok(Exit::Ok)
    }
}

fn summary(name: &str, imported: &Imported) -> String {
    let new = output::count(imported.exchanges, "exchange");
    match imported.known {
        0 => format!("{name}: {new}"),
        known => format!("{name}: {new}, {known} more that were known already"),
    }
}
