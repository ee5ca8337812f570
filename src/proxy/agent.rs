//! One remote agent while the proxy runs: its origins, and what has been learned of it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use http::{HeaderValue, uri};

use crate::a2a::address::Place;
use crate::base::shutdown::Tasks;
use crate::net::addr::{Authority, Scheme};
use crate::net::dial::{Connect, Destination};
use crate::net::pool::{Origin, PoolConfig};
use crate::proxy::config::{AgentConfig, listen_scheme};
use crate::proxy::flow::RequestBody;
use crate::proxy::learned::{GrpcInterface, Learned};
use crate::proxy::lookup::{Asked, Keys};
use crate::proxy::rewrite::address;
use crate::proxy::target::Base;

/// Other origins of one agent that are kept; a card names a handful.
const ORIGINS_MAX: usize = 64;

/// A remote agent.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) name: Arc<str>,
    pub(super) config: AgentConfig,
    /// Where Meddler listens in its place; known once the port is.
    pub(super) listen: OnceLock<SocketAddr>,
    /// Where it is.
    pub(super) forward: Upstream,
    /// What its cards have told.
    pub(super) learned: Learned,
    /// When Meddler itself asked for its card.
    pub(super) card_asked: tokio::sync::Mutex<Asked>,
    /// The keys that its cards are signed by.
    pub(super) keys: tokio::sync::Mutex<Keys>,
    connect: Arc<dyn Connect>,
    pool: PoolConfig,
    tasks: Tasks,
    elsewhere: Mutex<HashMap<Destination, Upstream>>,
}

/// An origin and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    pub(super) origin: Arc<Origin<RequestBody>>,
    /// For `:authority`.
    pub(super) authority: uri::Authority,
    /// The same for `Host`.
    pub(super) host: HeaderValue,
    /// Where, for people and the recording.
    pub(super) url: Arc<str>,
}

impl Upstream {
    pub(super) fn new(origin: Origin<RequestBody>, authority: uri::Authority) -> Self {
        let url = format!("{}://{authority}", origin.destination().scheme.as_str());
        // An authority holds nothing that a header could not.
        let host = HeaderValue::from_str(authority.as_str());
        let host = host.unwrap_or_else(|_| HeaderValue::from_static(""));
        Self { origin: Arc::new(origin), authority, host, url: Arc::from(url) }
    }

    pub(super) fn destination(&self) -> &Destination {
        self.origin.destination()
    }
}

impl Agent {
    pub(super) fn new(
        name: &str,
        config: AgentConfig,
        connect: Arc<dyn Connect>,
        pool: PoolConfig,
        tasks: &Tasks,
    ) -> Self {
        let to = config.forward.to.clone();
        let origin = Origin::new(to, Arc::clone(&connect), pool, tasks.clone());
        let forward = Upstream::new(origin, config.forward.authority.clone());
        Self {
            name: Arc::from(name),
            config,
            listen: OnceLock::new(),
            forward,
            learned: Learned::default(),
            card_asked: tokio::sync::Mutex::default(),
            keys: tokio::sync::Mutex::default(),
            connect,
            pool,
            tasks: tasks.clone(),
            elsewhere: Mutex::default(),
        }
    }

    /// The scheme its listener is reached by.
    pub(super) const fn listen_scheme(&self) -> Scheme {
        listen_scheme(&self.config)
    }

    /// What it is reached by, where no request tells.
    pub(super) fn own_base(&self) -> Base {
        self.config.advertise.clone().unwrap_or_else(|| {
            let at = self.listen.get().copied().unwrap_or(self.config.listen.0);
            Base {
                scheme: self.listen_scheme(),
                authority: Authority::of_ip(at.ip(), at.port()),
                path: String::new(),
            }
        })
    }

    /// Whether an address of its card may be one of its own: its own host, or a host of `also:`. Nothing
    /// else, whatever a card says: Meddler is no open relay.
    pub(super) fn may_reach(&self, authority: &Authority) -> bool {
        let own = &self.config.forward.to.authority;
        own.is_same_host(authority)
            || (own.is_local() && authority.is_local())
            || self.is_listed(authority)
    }

    /// Whether requests may be sent to this destination on the agent's behalf: to where it is, to hosts
    /// of `also:`, and to what its card has named on its own host. Other ports of that host are nobody's
    /// business who calls the agent.
    pub(super) fn leads_to(&self, to: &Destination) -> bool {
        *to == self.config.forward.to
            || self.is_listed(&to.authority)
            || (self.may_reach(&to.authority) && self.learned.has_named(to))
    }

    fn is_listed(&self, authority: &Authority) -> bool {
        self.config.also.iter().any(|host| host.covers(authority))
    }

    /// Remembers what a card of its says.
    pub(super) fn learn(
        &self,
        places: &[Place],
        elsewhere: Vec<Destination>,
        bases: Vec<String>,
        grpc: Vec<GrpcInterface>,
    ) {
        self.learned.note(places, elsewhere, bases, grpc);
    }

    /// Whether the credentials of `headers:` go there: to the agent's own origin and to listed hosts,
    /// not to another port or scheme that its card names.
    pub(super) fn is_trusted(&self, to: &Destination) -> bool {
        to == self.forward.destination() || self.is_listed(&to.authority)
    }

    /// Another origin of the agent.
    pub(super) fn elsewhere(&self, to: &Destination) -> Upstream {
        if to == self.forward.destination() {
            return self.forward.clone();
        }
        let mut elsewhere = lock(&self.elsewhere);
        if let Some(upstream) = elsewhere.get(to) {
            return upstream.clone();
        }
        let origin =
            Origin::new(to.clone(), Arc::clone(&self.connect), self.pool, self.tasks.clone());
        let upstream = Upstream::new(origin, address::authority_of(to, &self.config.forward));
        if elsewhere.len() >= ORIGINS_MAX {
            elsewhere.clear();
        }
        elsewhere.insert(to.clone(), upstream.clone());
        upstream
    }

    /// Closes idle connections that are no longer worth keeping.
    pub(super) fn sweep(&self) {
        self.each_origin(Origin::sweep);
    }

    /// Closes idle connections.
    pub(super) fn close(&self) {
        self.each_origin(Origin::close);
    }

    fn each_origin(&self, act: impl Fn(&Origin<RequestBody>)) {
        act(&self.forward.origin);
        for upstream in lock(&self.elsewhere).values() {
            act(&upstream.origin);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
