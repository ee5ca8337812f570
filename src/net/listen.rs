//! Listeners: bound at once so that a port in use is an error at start, accepting later.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::warn;

use crate::net::stream::Socket;

/// Connections the kernel keeps for us while we are busy.
const BACKLOG: i32 = 4096;

/// Header fields in one message: hyper's own default of 100 is less than agents behind gateways send. Each
/// message costs hyper 64 octets of memory per field that it might have.
pub const HEADER_FIELDS_MAX: usize = 128;

/// How long accepting pauses when the process has run out of descriptors.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    addr: SocketAddr,
    permits: Arc<Semaphore>,
}

/// A new connection. It counts against the limit until the permit is dropped.
#[derive(Debug)]
pub struct Accepted {
    /// The connection.
    pub socket: Socket,
    /// The peer's address.
    pub peer: SocketAddr,
    /// Its place among the open connections.
    pub permit: OwnedSemaphorePermit,
}

/// A listener could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {addr}")]
pub struct ListenError {
    /// Where.
    pub addr: SocketAddr,
    /// Why not.
    #[source]
    pub source: io::Error,
}

impl Listener {
    /// Binds. Port 0 takes a free one: [`addr`](Self::addr) says which.
    pub fn bind(addr: SocketAddr, permits: Arc<Semaphore>) -> Result<Self, ListenError> {
        let bind = || {
            // Made by hand for the backlog: the standard library's is 128 (or 4096, by version).
            let raw = RawSocket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
            raw.set_reuse_address(true)?;
            raw.set_nonblocking(true)?;
            raw.bind(&addr.into())?;
            raw.listen(BACKLOG)?;
            let tcp = TcpListener::from_std(raw.into())?;
            let addr = tcp.local_addr()?;
            Ok(Self { tcp, addr, permits })
        };
        bind().map_err(|source| ListenError { addr, source })
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next connection, once one of the permits is free. Cancel safe.
    pub async fn accept(&self) -> Option<Accepted> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        loop {
            match self.tcp.accept().await {
                Ok((tcp, peer)) => {
                    // An error here: the peer has gone again already.
                    if let Ok(socket) = Socket::new(tcp) {
                        return Some(Accepted { socket, peer, permit });
                    }
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    warn!(addr = %self.addr, %error, "cannot accept; trying again");
                    tokio::time::sleep(EXHAUSTED_PAUSE).await;
                }
            }
        }
    }
}

/// Errors of `accept` that belong to the connection that was to be accepted.
fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
