//! `serve`: the daemon, from a configuration or from one URL alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::Context;
use crate::admin::AdminConfig;
use crate::app::config::{Agent, Config};
use crate::app::failure::{Exit, Failure};
use crate::app::serve::{self, Plan};
use crate::proxy::config::{AgentConfig, ListenAddr};
use crate::proxy::target::Target;

/// Run the daemon: record, and break, what passes
///
/// With a URL no configuration is read: everything to and from that agent is recorded into ./recordings,
/// and nothing is broken. Without one the configuration says what to do.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The one remote agent to stand in front of
    #[arg(value_name = "URL")]
    url: Option<Target>,
    /// Where to listen in the agent's place
    #[arg(short, long, value_name = "ADDR", env = "MEDDLER_LISTEN", requires = "url")]
    #[arg(default_value = "127.0.0.1:8100", hide_default_value = false)]
    listen: ListenAddr,
    /// What to call the agent; otherwise the first label of its host, `agent` for an IP address
    #[arg(long, value_name = "NAME", env = "MEDDLER_NAME", requires = "url")]
    name: Option<String>,
    /// Where to record, whatever the configuration says
    #[arg(long, value_name = "DIR", env = "MEDDLER_STORE")]
    store: Option<PathBuf>,
    /// Where the admin listener listens, whatever the configuration says
    #[arg(long, value_name = "ADDR", env = "MEDDLER_ADMIN")]
    admin: Option<ListenAddr>,
    /// Threads that move the traffic; otherwise as many as there are processors
    #[arg(long, value_name = "COUNT", env = "MEDDLER_WORKERS")]
    workers: Option<NonZeroUsize>,
}

impl Serve {
    /// Whether it is told by a URL what to serve.
    pub(super) const fn has_url(&self) -> bool {
        self.url.is_some()
    }

    pub(super) fn run(self, context: &Context) -> Result<Exit, Failure> {
        let mut config = self.config(context)?;
        if let Some(path) = self.store {
            config.store.path = path;
        }
        if let Some(ListenAddr(listen)) = self.admin {
            let token = config.admin.take().and_then(|admin| admin.token).or(context.token());
            let admin = AdminConfig { listen: Some(listen), token };
            admin.check().map_err(|why| {
                Failure::new(format!("--admin: {why}")).with_hint("set MEDDLER_ADMIN_TOKEN")
            })?;
            config.admin = Some(admin);
        }
        serve::run(Plan {
            config,
            workers: self.workers,
            clock: context.clock.clone(),
            style: context.style,
        })
    }

    fn config(&self, context: &Context) -> Result<Config, Failure> {
        let Some(url) = &self.url else {
            return match context.config()? {
                Some(config) if config.agents.is_empty() => {
                    let path = context.config_path().display();
                    Err(Failure::new(format!(
                        "{path} has no `remote_agents`: there is nothing to serve"
                    ))
                    .with_hint("add one, or run `meddler serve URL`"))
                }
                Some(config) => Ok(config),
                None => {
                    Err(Failure::new("there is nothing to serve: no URL, and no meddler.yaml here")
                        .with_hint("run `meddler serve URL`, or name a configuration with -c FILE"))
                }
            };
        };
        let name = self.name.clone().unwrap_or_else(|| name_of(url));
        let proxy = AgentConfig::new(self.listen.0, url.clone());
        Ok(Config { agents: vec![Agent { name, proxy, script: None }], ..Config::default() })
    }
}

/// The first label of the host; `agent` for an address.
fn name_of(url: &Target) -> String {
    if url.to.authority.ip().is_some() {
        return "agent".to_owned();
    }
    let host = url.to.authority.host();
    host.split('.').next().filter(|label| !label.is_empty()).unwrap_or("agent").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_called_after_its_host() {
        for (url, name) in [
            ("https://billing.internal.example.com/a2a", "billing"),
            ("http://localhost:9000", "localhost"),
            ("http://127.0.0.1:9000", "agent"),
            ("http://[::1]:9000", "agent"),
        ] {
            assert_eq!(name_of(&url.parse().unwrap()), name, "{url}");
        }
    }
}
