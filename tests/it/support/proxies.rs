//! A proxy for a test: real ports, nothing recorded unless the test gives a tap.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use meddler::base::clock::WallClock;
use meddler::base::id::IdSource;
use meddler::base::limits::Limits;
use meddler::base::shutdown::{Stopped, Tasks};
use meddler::fault::rule::{RuleConfig, RuleSet};
use meddler::proxy::push::config::PushConfig;
use meddler::proxy::push::webhooks::Webhooks;
use meddler::proxy::{AgentSetup, Proxy, Rules, Shared, StartError};
use meddler::record::tap::Tap;

/// A running proxy and what it was made of.
pub(crate) struct TestProxy {
    /// Where each agent is heard.
    pub(crate) at: Vec<SocketAddr>,
    pub(crate) tasks: Tasks,
}

/// What surrounds a test's agents.
pub(crate) struct Surroundings {
    pub(crate) tap: Tap,
    pub(crate) faults: &'static str,
    pub(crate) limits: Limits,
    pub(crate) ca_directory: std::path::PathBuf,
    pub(crate) signing_key: std::path::PathBuf,
    /// `None`: some of its own, in memory.
    pub(crate) webhooks: Option<Webhooks>,
}

impl Default for Surroundings {
    fn default() -> Self {
        Self {
            tap: Tap::off(),
            faults: "[]",
            limits: Limits::default(),
            ca_directory: std::path::PathBuf::new(),
            signing_key: std::path::PathBuf::new(),
            webhooks: None,
        }
    }
}

impl TestProxy {
    /// Stands for one agent at this address.
    pub(crate) fn before(agent: SocketAddr) -> Self {
        Self::with(&[format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{agent}\" }}")])
    }

    /// Stands for these agents, each an entry of the configuration.
    pub(crate) fn with(agents: &[String]) -> Self {
        Self::within(agents, Surroundings::default())
    }

    pub(crate) fn within(agents: &[String], around: Surroundings) -> Self {
        Self::try_within(agents, around).unwrap()
    }

    pub(crate) fn try_within(agents: &[String], around: Surroundings) -> Result<Self, StartError> {
        let setups = agents.iter().enumerate().map(|(index, yaml)| AgentSetup {
            name: format!("agent{index}"),
            config: serde_saphyr::from_str(yaml).unwrap(),
            connect: None,
        });
        let faults: Vec<RuleConfig> = serde_saphyr::from_str(around.faults).unwrap();
        let rules = Rules::new(RuleSet::new(faults).unwrap(), "test");
        let clock = WallClock::system();
        let tasks = Tasks::new();
        let webhooks = around.webhooks.unwrap_or_else(|| {
            Webhooks::in_memory(PushConfig::default(), &around.limits, clock.clone())
        });
        let shared = Shared {
            webhooks,
            tap: around.tap,
            rules,
            limits: around.limits,
            ids: Arc::new(IdSource::system(clock.clone())),
            clock,
            tasks: tasks.clone(),
            ca_directory: around.ca_directory,
            signing_key: around.signing_key,
        };
        let running = Proxy::start(setups.collect(), shared)?;
        let at = running.addresses.iter().map(|address| address.listen).collect();
        Ok(Self { at, tasks })
    }

    /// Where the first agent is heard.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.at[0]
    }

    pub(crate) async fn stop(&self, grace: Duration) -> Stopped {
        self.tasks.stop(grace, pending()).await
    }
}
