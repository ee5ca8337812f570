//! Starts the agents' ports and stops them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use http::HeaderMap;
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;
use tracing::{Instrument, info, warn};

use crate::base::clock::WallClock;
use crate::base::id::IdSource;
use crate::base::limits::Limits;
use crate::base::shutdown::Tasks;
use crate::net::addr::Scheme;
use crate::net::dial::{Connect, Dialer, OwnAddresses, Port};
use crate::net::jws::{KeyError, SigningKey};
use crate::net::listen::{ListenError, Listener};
use crate::net::pool::PoolConfig;
use crate::net::tls::{CertificateAuthority, ListenTlsConfig, ServerTls, TlsError};
use crate::proxy::agent::Agent;
use crate::proxy::config::{AgentConfig, Signatures, listen_scheme};
use crate::proxy::exchange::session_in;
use crate::proxy::push::Receivers;
use crate::proxy::push::webhooks::Webhooks;
use crate::proxy::serve::serve;
use crate::proxy::survey::{self, Interface};
use crate::proxy::wire::Wire;
use crate::proxy::{Core, Rules};
use crate::record::tap::Tap;

/// How often idle connections to agents are looked over.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// One remote agent to stand for.
#[derive(Clone, Debug)]
pub struct AgentSetup {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is heard and where it is.
    pub config: AgentConfig,
    /// How it is connected to; `None`: by the network. For an agent in this process.
    pub connect: Option<Arc<dyn Connect>>,
}

/// What the proxy shares with the rest of the process.
#[derive(Clone, Debug)]
pub struct Shared {
    /// Where exchanges are reported.
    pub tap: Tap,
    /// The rules in force.
    pub rules: Rules,
    /// The bounds.
    pub limits: Limits,
    /// Where ids come from.
    pub ids: Arc<IdSource>,
    /// Wall-clock time.
    pub clock: WallClock,
    /// Where tasks run, and how they are told to stop.
    pub tasks: Tasks,
    /// Where the certificate authority of `listen_tls: auto` is kept.
    pub ca_directory: PathBuf,
    /// Where the key is kept that cards are signed with anew; made there when it is needed first.
    pub signing_key: PathBuf,
    /// The webhooks that are registered.
    pub webhooks: Webhooks,
}

/// Entry to the module.
#[derive(Debug)]
pub struct Proxy;

/// A proxy that runs. It stops with the [`Tasks`] it was given.
#[derive(Debug)]
pub struct Running {
    /// Where each agent is heard, in the order given.
    pub addresses: Vec<AgentAddress>,
    core: Arc<Core>,
}

impl Running {
    /// What leads where, by the agents' cards: for each agent, in the order given, the addresses of its
    /// card. A card that has not passed yet is asked for, all at once, so this may take seconds.
    pub async fn interfaces(&self) -> Vec<Vec<Interface>> {
        let asking = self.core.agents.iter().map(|agent| {
            let (core, agent) = (Arc::clone(&self.core), Arc::clone(agent));
            self.core.tasks.spawn(async move { survey::interfaces(&core, &agent).await })
        });
        let asking: Vec<_> = asking.collect();
        let mut all = Vec::with_capacity(asking.len());
        for one in asking {
            all.push(one.await.unwrap_or_default());
        }
        all
    }
}

/// Where an agent is heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAddress {
    /// Its name.
    pub name: String,
    /// The bound address.
    pub listen: SocketAddr,
    /// Whether it is heard over TLS.
    pub scheme: Scheme,
    /// Where it forwards to.
    pub forward: String,
}

/// The proxy could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port could not be had.
    #[error("agent `{agent}`: cannot start")]
    Listen {
        /// Whose.
        agent: String,
        /// Why not.
        #[source]
        source: ListenError,
    },
    /// TLS could not be set up.
    #[error("agent `{agent}`: cannot set up TLS")]
    Tls {
        /// Whose.
        agent: String,
        /// Why not.
        #[source]
        source: TlsError,
    },
    /// Cards can be neither verified nor signed.
    #[error("agent `{agent}`: cannot do what it says of signed cards")]
    Keys {
        /// Whose.
        agent: String,
        /// Why not.
        #[source]
        source: KeyError,
    },
}

impl Proxy {
    /// Binds every port, then serves them all. When one cannot be had, none is served.
    pub fn start(agents: Vec<AgentSetup>, shared: Shared) -> Result<Running, StartError> {
        let own = Arc::new(OwnAddresses::default());
        let permits = Arc::new(Semaphore::new(shared.limits.connections));
        let mut authority = None;
        let mut signer = None;
        let mut ports = Vec::with_capacity(agents.len());
        for setup in agents {
            let AgentSetup { name, mut config, connect } = setup;
            let port = Port(ports.len());
            card_keys(&mut config, &shared, &mut signer)
                .map_err(|source| StartError::Keys { agent: name.clone(), source })?;
            let tls_wrong = |source| StartError::Tls { agent: name.clone(), source };
            let tls = server_tls(&config, &shared, &mut authority).map_err(tls_wrong)?;
            let connect = match connect {
                Some(connect) => connect,
                None => network(&config, &shared.limits, &own, port).map_err(tls_wrong)?,
            };
            let listener = Listener::bind(config.listen.0, Arc::clone(&permits))
                .map_err(|source| StartError::Listen { agent: name.clone(), source })?;
            own.listen(port, listener.addr());
            let agent = Agent::new(&name, config, connect, pool(&shared.limits), &shared.tasks);
            agent.listen.get_or_init(|| listener.addr());
            ports.push((Arc::new(agent), listener, tls));
        }
        let addresses = ports.iter().map(|(agent, listener, _)| address(agent, listener)).collect();
        let (webhooks, pool) = (shared.webhooks, pool(&shared.limits));
        let receivers =
            Receivers::new(webhooks.config(), &shared.limits, pool, &own, &shared.tasks);
        let core = Arc::new(Core {
            webhooks,
            receivers,
            tap: shared.tap,
            rules: shared.rules,
            limits: shared.limits,
            ids: shared.ids,
            clock: shared.clock,
            tasks: shared.tasks,
            own,
            signer,
            agents: ports.iter().map(|(agent, ..)| Arc::clone(agent)).collect(),
        });
        for (agent, listener, tls) in ports {
            info!(agent = %agent.name, listen = %listener.addr(), forward = %agent.config.forward, "listening");
            let span = tracing::info_span!("agent", name = %agent.name);
            let accepting = accept(Arc::clone(&core), agent, listener, tls);
            drop(core.tasks.spawn(accepting.instrument(span)));
        }
        drop(core.tasks.spawn(sweep(Arc::clone(&core))));
        Ok(Running { addresses, core })
    }
}

impl Core {
    /// The session a request belongs to: the one it names, else the one that is open.
    pub(super) fn session_of(&self, headers: &HeaderMap) -> String {
        match session_in(headers) {
            Some(named) => named.into_owned(),
            None => self.rules.session().as_ref().clone(),
        }
    }
}

fn address(agent: &Agent, listener: &Listener) -> AgentAddress {
    AgentAddress {
        name: agent.name.to_string(),
        listen: listener.addr(),
        scheme: listen_scheme(&agent.config),
        forward: agent.config.forward.to_string(),
    }
}

fn pool(limits: &Limits) -> PoolConfig {
    PoolConfig {
        idle_max: limits.idle_connections,
        idle_timeout: limits.idle_timeout,
        age_max: limits.connection_age,
        header_bytes_max: limits.header_bytes.saturating_mul(2),
    }
}

fn network(
    config: &AgentConfig,
    limits: &Limits,
    own: &Arc<OwnAddresses>,
    port: Port,
) -> Result<Arc<dyn Connect>, TlsError> {
    let timeout = config.timeout.connect.unwrap_or(limits.connect_timeout);
    let dialer = Dialer::new(config.tls.clone(), timeout, Arc::clone(own), port);
    if config.tls.insecure {
        warn!(forward = %config.forward, "the agent's certificate is not verified: `tls.insecure`");
    }
    match config.forward.to.scheme {
        Scheme::Http => {}
        Scheme::Https => dialer.prepare_tls()?,
    }
    Ok(Arc::new(dialer))
}

/// Reads the keys that an agent's cards are verified by, and ours where it wants them signed anew.
fn card_keys(
    config: &mut AgentConfig,
    shared: &Shared,
    signer: &mut Option<SigningKey>,
) -> Result<(), KeyError> {
    if let Some(keys) = &mut config.card_keys {
        keys.read()?;
    }
    match config.signatures {
        Signatures::Resign if signer.is_none() => {
            *signer = Some(SigningKey::open(&shared.signing_key)?);
        }
        Signatures::Resign | Signatures::Strip | Signatures::Keep => {}
    }
    Ok(())
}

fn server_tls(
    config: &AgentConfig,
    shared: &Shared,
    authority: &mut Option<Arc<CertificateAuthority>>,
) -> Result<Option<ServerTls>, TlsError> {
    match &config.listen_tls {
        None => Ok(None),
        Some(ListenTlsConfig::Files(files)) => ServerTls::files(files).map(Some),
        Some(ListenTlsConfig::Auto(_)) => {
            let authority = if let Some(authority) = authority {
                Arc::clone(authority)
            } else {
                let now = shared.clock.now();
                let opened = CertificateAuthority::open(&shared.ca_directory, now)?;
                Arc::clone(authority.insert(Arc::new(opened)))
            };
            ServerTls::auto(authority, shared.clock.clone()).map(Some)
        }
    }
}

/// The open connections of one port, so that they can be told to end.
#[derive(Debug, Default)]
struct Open(Mutex<Vec<Weak<Wire>>>);

impl Open {
    fn add(&self, wire: &Arc<Wire>) {
        let mut wires = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Ended ones are dropped when the list would grow, which keeps this cheap on average.
        if wires.len() == wires.capacity() {
            wires.retain(|wire| wire.strong_count() > 0);
        }
        wires.push(Arc::downgrade(wire));
    }

    fn each(&self, act: impl Fn(&Wire)) {
        let wires = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for wire in wires.iter().filter_map(Weak::upgrade) {
            act(&wire);
        }
    }
}

/// Takes connections until the process drains, then sees to it that the open ones end.
async fn accept(core: Arc<Core>, agent: Arc<Agent>, listener: Listener, tls: Option<ServerTls>) {
    let open = Open::default();
    loop {
        // Both arms are cancel safe.
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = core.tasks.draining() => None,
        };
        let Some(accepted) = accepted else { break };
        let wire = Arc::new(Wire::default());
        open.add(&wire);
        let served = serve(Arc::clone(&core), Arc::clone(&agent), tls.clone(), accepted, wire);
        drop(core.tasks.spawn(served.in_current_span()));
    }
    drop(listener);
    open.each(Wire::drain);
    agent.close();
    core.receivers.close();
    // Ends with the last connection, or when time is up.
    tokio::select! {
        () = all_ended(&open) => {}
        () = core.tasks.cut() => open.each(Wire::stop),
    }
}

async fn all_ended(open: &Open) {
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    loop {
        let is_over = {
            let wires = open.0.lock().unwrap_or_else(PoisonError::into_inner);
            wires.iter().all(|wire| wire.strong_count() == 0)
        };
        if is_over {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Closes idle connections to agents in time: theirs is a shorter patience than ours, often.
async fn sweep(core: Arc<Core>) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // Both arms are cancel safe.
        tokio::select! {
            _ = ticks.tick() => {}
            () = core.tasks.draining() => return,
        }
        for agent in &core.agents {
            agent.sweep();
        }
        core.receivers.sweep();
    }
}
