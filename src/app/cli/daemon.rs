//! Which daemon a command talks to.

use clap::Args;
use url::Url;

use super::Context;
use super::recording::{daemon_url, store_path};
use crate::admin::client::Client;
use crate::app::daemon_file::DaemonFile;
use crate::app::failure::Failure;

/// The option of every command that talks to a daemon.
#[derive(Clone, Debug, Args)]
pub(super) struct DaemonArgs {
    /// The daemon's admin URL; without it the one that writes into the configured store
    #[arg(long, value_name = "URL", env = "MEDDLER_DAEMON")]
    daemon: Option<String>,
}

impl DaemonArgs {
    /// The daemon that is named, or that runs on the configured store; `None` when none is named and
    /// none runs.
    pub(super) fn living(&self, context: &Context) -> Result<Option<Client>, Failure> {
        Ok(self.url(context)?.map(|url| Client::new(url, context.token())))
    }

    /// The same, where there must be one.
    pub(super) fn required(&self, context: &Context) -> Result<Client, Failure> {
        if let Some(client) = self.living(context)? {
            return Ok(client);
        }
        let store = store_path(context)?;
        Err(Failure::new(format!("no daemon runs on {}", store.display()))
            .with_hint("start one with `meddler serve`, or name one with --daemon URL"))
    }

    fn url(&self, context: &Context) -> Result<Option<Url>, Failure> {
        match &self.daemon {
            Some(text) => daemon_url(text).map(Some),
            None => match DaemonFile::of_living(&store_path(context)?) {
                Some(daemon) => daemon_url(&daemon.admin).map(Some),
                None => Ok(None),
            },
        }
    }
}
