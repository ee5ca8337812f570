//! The running daemon, as its admin listener sees it.

use std::io::Write;

use tokio::runtime::Handle;

use super::recording::Recorded;
use crate::admin::{AgentInfo, Daemon, DaemonInfo, InterfaceInfo};
use crate::base::clock::WallClock;
use crate::base::shutdown::Tasks;
use crate::proxy::{self, Interface, Rules};
use crate::record::jsonl::{self, Header};
use crate::record::query::{Filter, QueryError, Recording};
use crate::record::store::{Health, SessionRecord};

/// What the admin listener is shown.
pub(super) struct Running {
    /// Everything but the session, which changes.
    pub(super) info: DaemonInfo,
    /// `None`: it does not record.
    pub(super) recorded: Option<Recorded>,
    pub(super) proxies: proxy::Running,
    pub(super) rules: Rules,
    pub(super) tasks: Tasks,
    pub(super) runtime: Handle,
    pub(super) clock: WallClock,
}

const NOT_RECORDING: &str = "this daemon does not record";

impl Daemon for Running {
    fn info(&self) -> DaemonInfo {
        let session = self.recorded.as_ref().map(|recorded| recorded.recorder.session());
        DaemonInfo { session: session.unwrap_or_default(), ..self.info.clone() }
    }

    fn agents(&self) -> Vec<AgentInfo> {
        // Asked on a thread that may wait, as for a flush.
        let interfaces = self.runtime.block_on(self.proxies.interfaces());
        let agents = self.info.agents.iter().zip(interfaces);
        agents
            .map(|(agent, interfaces)| AgentInfo {
                interfaces: interfaces.into_iter().map(shown).collect(),
                ..agent.clone()
            })
            .collect()
    }

    fn flush(&self) -> Result<(), String> {
        let Some(recorded) = &self.recorded else { return Ok(()) };
        // Asked on a thread that may wait, so the runtime is free to do what is waited for.
        self.runtime.block_on(recorded.recorder.flush()).map_err(|error| error.to_string())
    }

    fn recording(&self) -> Result<Option<Recording>, QueryError> {
        self.recorded.as_ref().map(|recorded| Recording::open(&recorded.path)).transpose()
    }

    fn start_session(&self, name: &str) -> Result<SessionRecord, String> {
        let recorded = self.recorded.as_ref().ok_or(NOT_RECORDING)?;
        let session = recorded.recorder.session_start(name).map_err(|error| error.to_string())?;
        self.rules.set_session(session.name.clone());
        Ok(session)
    }

    fn export(&self, to: &mut dyn Write) -> Result<(), String> {
        let recorded = self.recorded.as_ref().ok_or(NOT_RECORDING)?;
        let recording = Recording::open(&recorded.path).map_err(|error| error.to_string())?;
        let instance = self.info.instance.parse().ok();
        let header = Header::new(instance, self.clock.now());
        jsonl::export(&recording, &Filter::default(), &header, to)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    fn trouble(&self) -> Option<String> {
        if self.tasks.is_draining() {
            return Some("stopping".to_owned());
        }
        match self.recorded.as_ref().map(|recorded| recorded.store.health()) {
            Some(Health::Failing { why, waiting }) => {
                Some(format!("recording fails ({waiting} entries wait): {why}"))
            }
            Some(Health::Well) | None => None,
        }
    }
}

fn shown(interface: Interface) -> InterfaceInfo {
    let Interface { at, binding, version, tenant, written, delivered, bypass } = interface;
    let bypass = bypass.map(str::to_owned);
    InterfaceInfo { at, binding, version, tenant, delivered, written, bypass }
}
