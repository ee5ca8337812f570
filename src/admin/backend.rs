//! What the admin listener asks for: the seam between HTTP and the running daemon.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::record::query::{QueryError, Recording};
use crate::record::store::SessionRecord;

/// A running daemon, as its admin listener sees it. The methods may wait for a disk, so they are
/// called where waiting is allowed.
pub trait Daemon: Send + Sync + 'static {
    /// Who it is and what it serves.
    fn info(&self) -> DaemonInfo;

    /// What it serves, with the addresses that the agents' cards name. A card that has not passed yet is
    /// asked for.
    fn agents(&self) -> Vec<AgentInfo>;

    /// Returns when all that ended before is durable and visible to readers.
    fn flush(&self) -> Result<(), String>;

    /// What is recorded until now. `None`: it does not record.
    fn recording(&self) -> Result<Option<Recording>, QueryError>;

    /// Makes a session the default for exchanges that begin later; an existing name goes on.
    fn start_session(&self, name: &str) -> Result<SessionRecord, String>;

    /// Writes the whole recording as JSON Lines.
    fn export(&self, to: &mut dyn Write) -> Result<(), String>;

    /// Why it should not be given traffic now; `None` when it should.
    fn trouble(&self) -> Option<String>;
}

/// Who a daemon is: `GET /version`, and the head of `daemon.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonInfo {
    /// `meddler`
    pub tool: String,
    /// The program's version.
    pub version: String,
    /// This run of it.
    pub instance: String,
    /// Its process.
    pub pid: u32,
    /// When it started, RFC 3339.
    pub started: String,
    /// The session that new exchanges belong to.
    pub session: String,
    /// Where it records, absolute; absent when it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// The remote agents, in the order of the configuration.
    pub agents: Vec<AgentInfo>,
}

/// One remote agent and where it is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// What the orchestrator calls: `http://127.0.0.1:8095`.
    pub url: String,
    /// What Meddler calls; absent for an agent that Meddler plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<String>,
    /// The addresses of its card, in the card's order; empty as long as none was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceInfo>,
}

/// One address of an agent's card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceInfo {
    /// Where it stands: `$.supportedInterfaces[0].url`.
    pub at: String,
    /// The binding named beside it, as written.
    pub binding: String,
    /// The version named beside it, as written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The tenant named beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// As orchestrators get it.
    pub delivered: String,
    /// As the agent wrote it: where calls to `delivered` end.
    pub written: String,
    /// Why calls to it do not come through Meddler; absent when they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bypass: Option<String>,
}
