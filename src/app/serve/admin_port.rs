//! The admin listener's port, bound before anything else: an address that is named and taken is an error,
//! and never a daemon that cannot be asked.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::admin::AdminConfig;
use crate::app::failure::Failure;
use crate::net::listen::{ListenError, Listener};

/// The port unless the configuration names another.
const PORT: u16 = 7071;

/// Connections at once: a person, a test run and some probes.
const CONNECTIONS: usize = 256;

/// Binds what the configuration names; otherwise the usual port of loopback, or a free one.
pub(super) fn bind(config: Option<&AdminConfig>) -> Result<Listener, Failure> {
    let bind = |at| Listener::bind(at, Arc::new(Semaphore::new(CONNECTIONS)));
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = match config.and_then(|admin| admin.listen) {
        Some(at) => bind(at),
        None => match bind(loopback(PORT)) {
            Err(error) if is_taken(&error) => bind(loopback(0)),
            bound => bound,
        },
    };
    bound.map_err(|error| {
        let taken = is_taken(&error);
        let failure = Failure::from(error).while_doing("admin");
        if taken { failure.with_hint(TAKEN) } else { failure }
    })
}

/// What to try when a port is taken.
pub(super) const TAKEN: &str = "another process has this port; choose another, or port 0 for any";

/// Whether the port is another's.
pub(super) fn is_taken(error: &ListenError) -> bool {
    error.source.kind() == io::ErrorKind::AddrInUse
}
