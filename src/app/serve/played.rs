//! Joins a played agent to the proxy in front of it, within this process.
//!
//! To the proxy it is an upstream like any other: only that connecting to it opens a pipe and not a
//! socket.

use std::fmt;
use std::sync::Arc;

use crate::base::shutdown::Tasks;
use crate::net::dial::{Connect, Connected, Connecting, Destination, Protocol};
use crate::net::stream::Stream;
use crate::net::tls::Alpn;
use crate::peer::scripted::agent::ScriptedAgent;
use crate::peer::scripted::serve;

/// Octets that one side of the pipe may be ahead of the other.
const PIPE_BYTES: usize = 64 * 1024;

/// Connects to one played agent, whatever the address.
pub(super) struct Played {
    agent: Arc<ScriptedAgent>,
    tasks: Tasks,
}

impl Played {
    /// The way to this agent. Its connections end with `tasks`.
    pub(super) const fn new(agent: Arc<ScriptedAgent>, tasks: Tasks) -> Self {
        Self { agent, tasks }
    }
}

impl Connect for Played {
    fn connect<'a>(&'a self, _to: &'a Destination, alpn: Alpn) -> Connecting<'a> {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let agent = Arc::clone(&self.agent);
        let tasks = self.tasks.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = serve::connection(theirs, agent) => {}
                () = tasks.cut() => {}
            }
        });
        let protocol = match alpn {
            Alpn::Http2 => Protocol::Http2,
            Alpn::Http1 | Alpn::Either => Protocol::Http1,
        };
        let stream = Stream::Memory(ours);
        Box::pin(std::future::ready(Ok(Connected { stream, protocol, guard: None })))
    }
}

impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played").finish_non_exhaustive()
    }
}
