//! The origins of webhooks: connections of their own, apart from the agents', whose certificates and
//! credentials they must not get.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::limits::Limits;
use crate::base::shutdown::Tasks;
use crate::net::dial::{Connect, Destination, Dialer, OwnAddresses, Port};
use crate::net::pool::{Origin, PoolConfig};
use crate::proxy::agent::Upstream;
use crate::proxy::push::config::PushConfig;

/// Origins that are kept: an orchestrator has a few receivers, a tenant one.
const ORIGINS_MAX: usize = 256;

/// Where deliveries go.
#[derive(Debug)]
pub(in crate::proxy) struct Receivers {
    connect: Arc<dyn Connect>,
    pool: PoolConfig,
    tasks: Tasks,
    origins: Mutex<HashMap<Destination, Upstream>>,
}

impl Receivers {
    /// No connections yet.
    pub(in crate::proxy) fn new(
        config: &PushConfig,
        limits: &Limits,
        pool: PoolConfig,
        own: &Arc<OwnAddresses>,
        tasks: &Tasks,
    ) -> Self {
        let (tls, timeout) = (config.tls.clone(), limits.connect_timeout);
        let dialer = Dialer::new(tls, timeout, Arc::clone(own), Port::OF_WEBHOOKS);
        let may_dial = {
            let config = config.clone();
            move |host: &str, ip| config.may_dial(host, ip)
        };
        let connect = Arc::new(dialer.guarded(may_dial));
        Self { connect, pool, tasks: tasks.clone(), origins: Mutex::default() }
    }

    /// The origin of a webhook. `None`: its host cannot be written in a `Host` field.
    pub(super) fn upstream(&self, to: &Destination) -> Option<Upstream> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(upstream) = origins.get(to) {
            return Some(upstream.clone());
        }
        let authority = to.authority.in_url(to.scheme).parse().ok()?;
        let connect = Arc::clone(&self.connect);
        let origin = Origin::new(to.clone(), connect, self.pool, self.tasks.clone());
        let upstream = Upstream::new(origin, authority);
        if origins.len() >= ORIGINS_MAX {
            origins.clear();
        }
        origins.insert(to.clone(), upstream.clone());
        Some(upstream)
    }

    /// Closes idle connections that are no longer worth keeping.
    pub(in crate::proxy) fn sweep(&self) {
        self.each_origin(Origin::sweep);
    }

    /// Closes idle connections.
    pub(in crate::proxy) fn close(&self) {
        self.each_origin(Origin::close);
    }

    fn each_origin(&self, act: impl Fn(&Origin<crate::proxy::flow::RequestBody>)) {
        let origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        origins.values().for_each(|upstream| act(&upstream.origin));
    }
}
