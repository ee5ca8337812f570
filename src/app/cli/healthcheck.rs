//! `healthcheck`: for `HEALTHCHECK` in a container, which has no curl.

use clap::Args;
use url::Url;

use super::daemon::DaemonArgs;
use super::recording::daemon_url;
use super::{Context, block_on, output};
use crate::admin::client::Client;
use crate::app::failure::{Exit, Failure};

/// Where a daemon is looked for that left no trace in a store.
const DEFAULT_ADMIN: &str = "http://127.0.0.1:7071";

/// Ask a daemon whether it serves and records: exit 0 if it does, 1 if not
#[derive(Debug, Args)]
pub(super) struct Healthcheck {
    #[command(flatten)]
    daemon: DaemonArgs,
}

impl Healthcheck {
    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let client = match self.daemon.living(context)? {
            Some(client) => client,
            None => Client::new(default_admin()?, context.token()),
        };
        match block_on(client.ready())? {
            Ok(()) => {
                context.style.say("ready");
                Ok(Exit::Ok)
            }
            Err(error) => {
                output::complain(&Failure::from(error).to_string());
                Ok(Exit::Findings)
            }
        }
    }
}

fn default_admin() -> Result<Url, Failure> {
    daemon_url(DEFAULT_ADMIN)
}
