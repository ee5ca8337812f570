//! Which recording a reading command reads, and how it is opened.
//!
//! A store's directory is read directly, without the daemon: but a living daemon is asked to flush
//! first, so that whatever ended before the command began is seen by it.

use std::path::{Path, PathBuf};

use clap::Args;
use url::Url;

use super::{Context, output};
use crate::admin::client::Client;
use crate::app::daemon_file::DaemonFile;
use crate::app::failure::{Explain, Failure};
use crate::record::query::Recording;
use crate::record::redact::DigestKey;
use crate::record::store::{Store as _, disk};

/// The option of every reading command.
#[derive(Clone, Debug, Args)]
pub(super) struct RecordingArgs {
    /// What to read: a store's directory, an .a2a.jsonl[.zst] file, `-`, or a daemon's URL;
    /// repeatable
    #[arg(short = 'R', long = "recording", value_name = "WHERE", env = "MEDDLER_RECORDING")]
    recordings: Vec<String>,
}

/// Where a recording is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A store's directory.
    Store(PathBuf),
    /// A file, or `-`.
    File(PathBuf),
    /// A daemon.
    Daemon(Url),
}

impl Source {
    /// Tells the kinds apart by what is there.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return daemon_url(text).map(Self::Daemon);
        }
        let path = PathBuf::from(text);
        if text == "-" {
            return Ok(Self::File(path));
        }
        let kind = std::fs::metadata(&path)
            .doing(|| format!("cannot read the recording {text}"))
            .hint(|| {
            "give a store's directory, an .a2a.jsonl file, `-`, or a daemon's URL".to_owned()
        })?;
        Ok(if kind.is_dir() { Self::Store(path) } else { Self::File(path) })
    }
}

/// A daemon's URL as people give it.
pub(super) fn daemon_url(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text)
        .doing(|| format!("`{text}` is no URL of a daemon"))
        .hint(|| "write http://127.0.0.1:7071".to_owned())?;
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(url),
        _ => Err(Failure::new(format!("`{text}` is no URL of a daemon"))
            .with_hint("write http://127.0.0.1:7071")),
    }
}

impl RecordingArgs {
    /// Where to read: `-R`, else what the suite names, else the configuration's store, else
    /// `./recordings`.
    pub(super) fn sources(
        &self,
        context: &Context,
        suite: &[Source],
    ) -> Result<Vec<Source>, Failure> {
        if !self.recordings.is_empty() {
            return self.recordings.iter().map(|text| Source::parse(text)).collect();
        }
        if !suite.is_empty() {
            return Ok(suite.to_vec());
        }
        let store = store_path(context)?;
        if !store.is_dir() {
            return Err(Failure::new(format!("there is no recording in {}", store.display()))
                .with_hint("record one with `meddler serve URL`, or name one with -R"));
        }
        Ok(vec![Source::Store(store)])
    }

    /// Opens what [`sources`](Self::sources) says.
    pub(super) fn open(&self, context: &Context) -> Result<Recording, Failure> {
        open(context, &self.sources(context, &[])?)
    }
}

/// The store that commands mean when they are not told.
pub(super) fn store_path(context: &Context) -> Result<PathBuf, Failure> {
    Ok(context.reader_config()?.store.path)
}

/// Opens these recordings as one.
pub(super) fn open(context: &Context, sources: &[Source]) -> Result<Recording, Failure> {
    let mut opened = Vec::new();
    for source in sources {
        opened.push(match source {
            Source::Store(path) => {
                flush(context, path);
                Recording::open(path)?
            }
            Source::File(path) => Recording::open(path)?,
            Source::Daemon(url) => fetch(context, url)?,
        });
    }
    Ok(Recording::merge(opened))
}

/// The keys under which these recordings keep the digests of secrets. Files and daemons give none away.
pub(super) fn digest_keys(sources: &[Source]) -> Vec<DigestKey> {
    let key = |source: &Source| match source {
        Source::Store(path) => disk::open_reader(path).ok()?.digest_key(),
        Source::File(_) | Source::Daemon(_) => None,
    };
    sources.iter().filter_map(key).collect()
}

/// Asks the daemon that writes into this directory, if one does, to make all of it visible.
fn flush(context: &Context, store: &Path) {
    let Some(daemon) = DaemonFile::of_living(store) else { return };
    let asked = daemon_url(&daemon.admin).and_then(|url| {
        let client = Client::new(url, context.token());
        super::block_on(client.flush())?.map_err(Failure::from)
    });
    if let Err(failure) = asked {
        output::complain(&format!(
            "warning: the daemon (process {}) could not be asked to flush, so the newest exchanges may \
             be missing: {failure}",
            daemon.info.pid
        ));
    }
}

fn fetch(context: &Context, url: &Url) -> Result<Recording, Failure> {
    let client = Client::new(url.clone(), context.token());
    let lines = super::block_on(client.export())??;
    Ok(Recording::read(url.as_str(), &mut lines.as_ref())?)
}
