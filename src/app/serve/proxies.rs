//! The proxies: one for each remote agent, in front of a real one or of one that Meddler plays.

use std::sync::Arc;

use super::admin_port::{TAKEN, is_taken};
use super::played::Played;
use super::recording::Recorded;
use crate::app::config::{Agent, Config, PLAYED, rule_options};
use crate::app::failure::{Explain, Failure};
use crate::base::clock::WallClock;
use crate::base::id::InstanceId;
use crate::base::limits::Limits;
use crate::fault::rule::{RuleSet, RuleSetOptions};
use crate::net::dial::Connect;
use crate::peer::scripted::agent::ScriptedAgent;
use crate::proxy::config::AgentConfig;
use crate::proxy::push::webhooks::Webhooks;
use crate::proxy::{AgentSetup, Proxy, Running, Shared, StartError};

/// The rules of a configuration, ready to be asked.
pub(super) fn rules(config: &Config, instance: InstanceId) -> Result<RuleSet, Failure> {
    // The last 62 bits of an instance's id are random: what rules without a seed of their own draw from.
    let (_, random) = uuid::Uuid::from_bytes(*instance.as_bytes()).as_u64_pair();
    let mut options = RuleSetOptions { seed: random, ..rule_options(config) };
    if let Some(base) = canary_base(config) {
        options.canary_base = base;
    }
    RuleSet::with(config.faults.clone(), options).map_err(Failure::new)
}

/// What a canary's address begins with: where Meddler can be reached, so that whoever fetches one is seen.
fn canary_base(config: &Config) -> Option<String> {
    let first = config.agents.first()?;
    let base = match &advertise(config, first).advertise {
        Some(base) => {
            let authority = base.authority.in_url(base.scheme);
            format!("{}://{authority}{}", base.scheme.as_str(), base.path)
        }
        None if first.proxy.listen.0.port() == 0 => return None,
        None => format!("http://{}", first.proxy.listen.0),
    };
    Some(format!("{}/.meddler/canary/", base.trim_end_matches('/')))
}

/// The webhooks that are registered: kept in the store, where there is one.
pub(super) fn webhooks(
    config: &Config,
    recorded: Option<&Recorded>,
    limits: &Limits,
    clock: &WallClock,
) -> Result<Webhooks, Failure> {
    let (push, clock) = (config.push.clone(), clock.clone());
    let Some(Recorded { store, recorder: events, .. }) = recorded else {
        return Ok(Webhooks::in_memory(push, limits, clock));
    };
    let kept = Webhooks::kept_in(Arc::clone(store), events.clone(), push, limits, clock);
    kept.doing(|| "cannot read the registered webhooks".to_owned())
}

/// Serves every agent, or none.
pub(super) fn start(config: &Config, shared: Shared) -> Result<Running, Failure> {
    let setups = config
        .agents
        .iter()
        .map(|agent| AgentSetup {
            name: agent.name.clone(),
            config: advertise(config, agent),
            connect: played(agent, &shared),
        })
        .collect();
    Proxy::start(setups, shared).map_err(|error| {
        let taken = match &error {
            StartError::Listen { source, .. } => is_taken(source),
            StartError::Tls { .. } | StartError::Keys { .. } => false,
        };
        let failure = Failure::from(error);
        if taken { failure.with_hint(TAKEN) } else { failure }
    })
}

/// The way to an agent that Meddler plays; `None` for one that is reached by the network.
fn played(agent: &Agent, shared: &Shared) -> Option<Arc<dyn Connect>> {
    let script = agent.script.clone()?;
    let (ids, clock) = (Arc::clone(&shared.ids), shared.clock.clone());
    let scripted = ScriptedAgent::new(&agent.name, PLAYED, script, ids, clock);
    Some(Arc::new(Played::new(Arc::new(scripted), shared.tasks.clone())))
}

/// The agent's own `advertise`, else the one for all: with the agent's port, when there are several.
fn advertise(config: &Config, agent: &Agent) -> AgentConfig {
    let mut proxy = agent.proxy.clone();
    if proxy.advertise.is_none()
        && let Some(mut base) = config.advertise.clone()
    {
        if config.agents.len() > 1 {
            base.authority = base.authority.with_port(proxy.listen.0.port());
        }
        proxy.advertise = Some(base);
    }
    proxy
}
