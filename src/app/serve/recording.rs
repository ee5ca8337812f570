//! The recording side of the daemon: the store, and the recorder that writes into it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::config::Config;
use crate::app::failure::{Explain, Failure};
use crate::base::clock::WallClock;
use crate::base::id::InstanceId;
use crate::base::limits::Limits;
use crate::record::recorder::{self, RecorderConfig, RecorderHandle};
use crate::record::store::disk;
use crate::record::store::{Kind, Store, StoreError};
use crate::record::tap::Tap;

/// What records, and what is recorded into.
#[derive(Clone)]
pub(super) struct Recorded {
    /// The store's directory, absolute.
    pub(super) path: PathBuf,
    pub(super) store: Arc<dyn Store>,
    pub(super) recorder: RecorderHandle,
}

impl Recorded {
    /// Opens the store and begins to record. A store that cannot be opened now is a mistake in the
    /// set-up, so it is an error; one that breaks later stops the recording and never the traffic.
    pub(super) fn begin(
        config: &Config,
        limits: &Limits,
        instance: InstanceId,
        clock: &WallClock,
    ) -> Result<(Tap, Self), Failure> {
        let path = absolute(&config.store.path)?;
        let options = disk::Options { durability: config.store.durability, ..Default::default() };
        let kind = Kind::named("disk").ok_or_else(|| Failure::new("there is no store on disk"))?;
        let store = kind.open(&path, options, clock.clone()).map_err(explain)?;
        let (tap, recorder) = recorder::start(
            RecorderConfig {
                limits: limits.clone(),
                when_full: config.record.when_full,
                redact: config.redact.clone(),
                secrets: secrets(config)?,
                instance,
                clock: clock.clone(),
            },
            Arc::clone(&store),
        )?;
        Ok((tap, Self { path, store, recorder }))
    }

    /// Ends the recording: everything that is open is written down as open at the stop.
    pub(super) async fn end(&self) -> Result<(), Failure> {
        self.recorder.stop().await.doing(|| "cannot flush the recording".to_owned())?;
        let store = Arc::clone(&self.store);
        let closed = tokio::task::spawn_blocking(move || store.close()).await?;
        closed.doing(|| "cannot close the store".to_owned())
    }
}

fn explain(error: StoreError) -> Failure {
    Failure::from(error).with_hint("name another directory with --store or `store: { path }`")
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).doing(|| format!("cannot find {}", path.display()))
}

/// What is secret before it is ever seen: the agents' real credentials, and what `redact.env` names.
fn secrets(config: &Config) -> Result<Vec<String>, Failure> {
    let mut secrets = Vec::new();
    for agent in &config.agents {
        for (_, value) in &agent.proxy.headers.0 {
            let value = value.to_str().unwrap_or_default();
            // `Bearer TOKEN`: the token is the secret, with and without the word before it.
            secrets.extend(value.split_once(' ').map(|(_, token)| token.trim().to_owned()));
            secrets.push(value.to_owned());
        }
    }
    for name in &config.redact.env {
        let value = std::env::var(name)
            .doing(|| format!("`redact.env` names {name}, which the environment does not have"))
            .hint(|| format!("set {name}, or leave it out"))?;
        secrets.push(value);
    }
    Ok(secrets)
}
