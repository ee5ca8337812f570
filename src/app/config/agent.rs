//! The section `remote_agents`: what the proxy is told of each, and the script of those that Meddler
//! plays itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::error::Fault;
use super::file::below;
use super::tree::{Key, Node, Scalar, Value};
use super::{later, typed};
use crate::admin::AgentInfo;
use crate::net::tls::{ClientTlsConfig, ListenTlsConfig};
use crate::peer::scripted::script::Script;
use crate::proxy::config::{AgentConfig, CardKeys};

/// One remote agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// The way to it. For an agent that Meddler plays, `forward` is an address of no host.
    pub proxy: AgentConfig,
    /// What it says, when Meddler plays it.
    pub script: Option<Script>,
}

/// Where the proxy of a played agent forwards to: a name that no resolver answers for, so that it can
/// only be reached by the connection that is made for it in this process.
pub(in crate::app) const PLAYED: &str = "http://played.invalid";

/// Keys that are read as another: `addr` as `listen`.
pub(super) const ALIASES: &[&str] = &["addr"];

impl Agent {
    /// What is told of it, when it listens `at`.
    pub(crate) fn info(&self, at: SocketAddr) -> AgentInfo {
        let scheme = if self.proxy.listen_tls.is_some() { "https" } else { "http" };
        AgentInfo {
            name: self.name.clone(),
            url: format!("{scheme}://{at}"),
            forward: self.script.is_none().then(|| self.proxy.forward.to_string()),
            interfaces: Vec::new(),
        }
    }
}

/// Reads all of them. Faults are added to those known.
pub(super) fn read_all(section: Option<&Node>, base: &Path, faults: &mut Vec<Fault>) -> Vec<Agent> {
    let Some(section) = section.filter(|node| !node.is_null()) else { return Vec::new() };
    if !matches!(section.value, Value::Map(_)) {
        let text = format!("`remote_agents`: expected a map of agents, not {}", section.kind());
        faults.push(Fault::new(section.at, text).with_hint("write `NAME: { listen, forward }`"));
    }
    let mut agents: Vec<Agent> = Vec::new();
    let mut ports: BTreeMap<SocketAddr, String> = BTreeMap::new();
    for (key, node) in section.members() {
        let Some(agent) = read(key, node, base, faults) else { continue };
        let listen = agent.proxy.listen.0;
        if listen.port() != 0
            && let Some(other) = ports.insert(listen, key.name.clone())
        {
            let at = node.member("listen").or(node.member("addr")).map_or(key.at, |node| node.at);
            let text = format!("`{other}` listens on {listen} already");
            faults.push(Fault::new(at, text).with_hint("every remote agent has a port of its own"));
        }
        agents.push(agent);
    }
    for agent in &agents {
        let Some(owner) = agents.iter().find(|owner| leads_to(agent, owner)) else { continue };
        let node = section.member(&agent.name).and_then(|node| node.member("forward"));
        let at = node.map(|node| node.at).unwrap_or_default();
        let text = format!("`{}` forwards to the port of `{}`", agent.name, owner.name);
        faults.push(Fault::new(at, text).with_hint("give the address of the agent itself"));
    }
    agents
}

/// Whether what is forwarded for `agent` would come back to where this daemon listens for `owner`: it
/// would be refused as a loop, one message at a time. Names other than `localhost` are not resolved.
fn leads_to(agent: &Agent, owner: &Agent) -> bool {
    let (to, listen) = (&agent.proxy.forward.to.authority, owner.proxy.listen.0);
    let is_here = to.is_local() && (listen.ip().is_loopback() || listen.ip().is_unspecified());
    listen.port() != 0 && to.port() == listen.port() && (is_here || to.ip() == Some(listen.ip()))
}

fn read(key: &Key, node: &Node, base: &Path, faults: &mut Vec<Fault>) -> Option<Agent> {
    let path = format!("remote_agents.{}", key.name);
    let before = faults.len();
    let script_keys = typed::keys::<Script>();
    let proxy_keys = typed::keys::<AgentConfig>();
    let known: Vec<&str> = proxy_keys.iter().chain(script_keys).copied().collect();
    faults.extend(later::refused("remote_agents.*", node));
    let is_later = |key: &Key, faults: &[Fault]| faults.iter().any(|fault| fault.at == key.at);
    for (key, _) in node.members() {
        if is_later(key, faults) {
            continue;
        }
        if !known.contains(&key.name.as_str()) && !ALIASES.contains(&key.name.as_str()) {
            let mut fault = Fault::unknown(key.at, "key", &key.name, &known);
            fault.text.push_str(" in `");
            fault.text.push_str(&path);
            fault.text.push('`');
            faults.push(fault);
        }
    }
    if node.member("listen").or(node.member("addr")).is_none() {
        let text = format!("`listen` is missing in `{path}`");
        let hint =
            "where orchestrators reach this agent: `listen: 127.0.0.1:8095`, or port 0 for any";
        faults.push(Fault::new(key.at, text).with_hint(hint));
    }
    if faults.len() > before {
        return None;
    }
    let is_script = |(key, _): &&(Key, Node)| script_keys.contains(&key.name.as_str());
    let (said, mut rest): (Vec<_>, Vec<_>) = node.members().iter().partition(is_script);
    let forward = node.member("forward");
    let forward_here = (
        Key { name: "forward".to_owned(), at: key.at },
        Node { value: Value::Scalar(Scalar::Text, PLAYED.to_owned()), at: key.at },
    );
    match (said.first(), forward) {
        (Some((said, _)), Some(_)) => {
            let text = format!("`{}` is for agents without `forward` in `{path}`", said.name);
            let hint = "leave out `forward` to have Meddler play the agent";
            faults.push(Fault::new(said.at, text).with_hint(hint));
        }
        (None, None) => faults.push(
            Fault::new(key.at, format!("`forward` is missing in `{path}`"))
                .with_hint("give the agent's URL, or `reply: ...` to have Meddler play it"),
        ),
        (Some(_), None) => rest.push(&forward_here),
        (None, Some(_)) => {}
    }
    if faults.len() > before {
        return None;
    }
    let part = |members: Vec<&(Key, Node)>| Node {
        at: node.at,
        value: Value::Map(members.into_iter().cloned().collect()),
    };
    let played = !said.is_empty();
    let script = typed::read::<Script>(&part(said), &path);
    let proxy = typed::read::<AgentConfig>(&part(rest), &path);
    match (proxy, script) {
        (Ok(mut proxy), Ok(script)) => {
            rebase(&mut proxy, base);
            Some(Agent { name: key.name.clone(), proxy, script: played.then_some(script) })
        }
        (proxy, script) => {
            faults.extend([proxy.err(), script.err()].into_iter().flatten());
            None
        }
    }
}

/// Takes the paths of certificates from the file's directory.
fn rebase(proxy: &mut AgentConfig, base: &Path) {
    let rebase = |path: &mut PathBuf| *path = below(base, path);
    rebase_client(&mut proxy.tls, base);
    match &mut proxy.card_keys {
        Some(CardKeys::File { path, .. }) => rebase(path),
        Some(CardKeys::Url(_)) | None => {}
    }
    match &mut proxy.listen_tls {
        Some(ListenTlsConfig::Files(files)) => {
            rebase(&mut files.cert);
            rebase(&mut files.key);
            files.client_ca.iter_mut().for_each(rebase);
        }
        Some(ListenTlsConfig::Auto(_)) | None => {}
    }
}

/// The same for TLS towards others.
pub(super) fn rebase_client(tls: &mut ClientTlsConfig, base: &Path) {
    for path in [&mut tls.ca, &mut tls.cert, &mut tls.key].into_iter().flatten() {
        *path = below(base, path);
    }
}
