//! Connections to agents: DNS, TCP and TLS together within one bound, and a word for each failure.

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use tokio::net::TcpStream;

use crate::net::addr::{Authority, Scheme};
use crate::net::race;
use crate::net::stream::{Socket, Stream};
use crate::net::tls::{Alpn, ClientTls, ClientTlsConfig, H2, TlsError};
use crate::net::trouble::{Trouble, Word};

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Destination {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Host and port.
    pub authority: Authority,
}

/// A connection that has been made.
#[derive(Debug)]
pub struct Connected {
    /// The octets.
    pub stream: Stream,
    /// What is spoken on it.
    pub protocol: Protocol,
    /// Held while the connection lives.
    pub guard: Option<SelfGuard>,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// What [`Connect::connect`] gives.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Connected, Trouble>> + Send + 'a>>;

/// Something that connects: the network, or an agent in this process.
pub trait Connect: Send + Sync + fmt::Debug {
    /// Connects. `alpn` says what the caller can speak; in the clear, `Either` is HTTP/1.1.
    fn connect<'a>(&'a self, to: &'a Destination, alpn: Alpn) -> Connecting<'a>;
}

/// The network.
#[derive(Debug)]
pub struct Dialer {
    tls_config: ClientTlsConfig,
    /// Made when it is first needed: reading the system's roots takes longer than all else at start.
    tls: OnceLock<ClientTls>,
    timeout: Duration,
    own: Arc<OwnAddresses>,
    port: Port,
    guard: Option<Guard>,
}

/// Says whether a host may be dialled at an address that it resolves to.
struct Guard(Box<MayDial>);

type MayDial = dyn Fn(&str, IpAddr) -> bool + Send + Sync;

/// The addresses this process listens on, and its connections to itself.
///
/// A request that leaves Meddler for one of its own ports may come round for ever. No header tells
/// (none is added), so the connections themselves are remembered, each as a hop from the port that made
/// it to the port it leads to. One agent may stand behind another; what arrives over a hop whose end
/// leads back to its beginning goes round.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    listening: Mutex<Vec<(Port, SocketAddr)>>,
    hops: Mutex<HashMap<SocketAddr, Hop>>,
}

/// One of our ports, by its number in the order of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub usize);

impl Port {
    /// Stands for all ports that deliveries to webhooks come from: they share their connections.
    pub const OF_WEBHOOKS: Self = Self(usize::MAX);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hop {
    from: Port,
    to: Port,
}

/// Forgets a connection to ourselves when it ends.
#[derive(Debug)]
pub struct SelfGuard {
    own: Arc<OwnAddresses>,
    from: SocketAddr,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority.in_url(self.scheme))
    }
}

impl Dialer {
    /// A dialer for what arrives at a port of ours, with a bound on DNS, TCP and TLS together.
    pub const fn new(
        tls: ClientTlsConfig,
        timeout: Duration,
        own: Arc<OwnAddresses>,
        port: Port,
    ) -> Self {
        Self { tls_config: tls, tls: OnceLock::new(), timeout, own, port, guard: None }
    }

    /// The same, but for addresses that `may_dial` says no to.
    #[must_use]
    pub fn guarded(self, may_dial: impl Fn(&str, IpAddr) -> bool + Send + Sync + 'static) -> Self {
        Self { guard: Some(Guard(Box::new(may_dial))), ..self }
    }

    /// Sets TLS up now, so that a bad file is an error at start.
    pub fn prepare_tls(&self) -> Result<(), TlsError> {
        self.tls().map(|_| ())
    }

    fn tls(&self) -> Result<&ClientTls, TlsError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let made = ClientTls::new(&self.tls_config)?;
        Ok(self.tls.get_or_init(|| made))
    }

    async fn dial(&self, to: &Destination, alpn: Alpn) -> Result<Connected, Trouble> {
        let (socket, guard) = self.tcp(to).await?;
        match to.scheme {
            Scheme::Http => {
                let protocol = match alpn {
                    Alpn::Http2 => Protocol::Http2,
                    Alpn::Http1 | Alpn::Either => Protocol::Http1,
                };
                Ok(Connected { stream: Stream::Plain(socket), protocol, guard })
            }
            Scheme::Https => match self.shake_hands(socket, to, alpn).await {
                Ok((stream, protocol)) => Ok(Connected { stream, protocol, guard }),
                Err(error) if alpn == Alpn::Http1 && wants_http2(&error) => {
                    // The agent speaks HTTP/2 only, and told us so.
                    let (socket, guard) = self.tcp(to).await?;
                    let again = self.shake_hands(socket, to, Alpn::Either).await;
                    let (stream, protocol) = again.map_err(|error| tls_trouble(&error, to))?;
                    Ok(Connected { stream, protocol, guard })
                }
                Err(error) => Err(tls_trouble(&error, to)),
            },
        }
    }

    async fn tcp(&self, to: &Destination) -> Result<(Socket, Option<SelfGuard>), Trouble> {
        let (host, port) = (to.authority.host(), to.authority.port());
        let found = tokio::net::lookup_host((host.as_str(), port)).await;
        let mut addresses: Vec<SocketAddr> = match found {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                let text = format!("the name {host} does not resolve: {}", plain(&error));
                return Err(Trouble::new(Word::Dns, text));
            }
        };
        let mut none = Trouble::new(Word::Dns, format!("the name {host} has no address"));
        if let Some(Guard(may_dial)) = &self.guard {
            addresses.retain(|address| may_dial(&host, address.ip()));
            let text = format!("{host} is at no address that may be called");
            none = Trouble::new(Word::ConnectRefused, text);
        }
        let connect = async |address| {
            TcpStream::connect(address).await.map_err(|error| refused(&error, to, address))
        };
        let tcp = match race::first(addresses, connect).await {
            Some(connected) => connected?,
            None => {
                return Err(none);
            }
        };
        let guard = self.own.note(&tcp, self.port);
        let mut socket = Socket::new(tcp).map_err(|error| Trouble::of_io(&error, to))?;
        socket.read_on();
        Ok((socket, guard))
    }

    async fn shake_hands(
        &self,
        socket: Socket,
        to: &Destination,
        alpn: Alpn,
    ) -> io::Result<(Stream, Protocol)> {
        let tls = self.tls().map_err(io::Error::other)?;
        let stream = tls.connect(socket, &to.authority, alpn).await?;
        let agreed = match &stream {
            Stream::Tls(tls) => tls.get_ref().1.alpn_protocol(),
            Stream::Plain(_) | Stream::Memory(_) => None,
        };
        let protocol = match (agreed, alpn) {
            // A peer without ALPN speaks what was asked for, if only one thing was.
            (Some(H2), _) | (None, Alpn::Http2) => Protocol::Http2,
            (Some(_) | None, Alpn::Http1 | Alpn::Http2 | Alpn::Either) => Protocol::Http1,
        };
        Ok((stream, protocol))
    }
}

impl Connect for Dialer {
    fn connect<'a>(&'a self, to: &'a Destination, alpn: Alpn) -> Connecting<'a> {
        Box::pin(async move {
            let limit = self.timeout;
            let dialing = tokio::time::timeout(limit, self.dial(to, alpn));
            dialing.await.unwrap_or_else(|_| Err(too_late(to, limit)))
        })
    }
}

impl OwnAddresses {
    /// Adds an address that this process listens on.
    pub fn listen(&self, port: Port, address: SocketAddr) {
        lock(&self.listening).push((port, address));
    }

    /// Whether what arrives from `peer` has been where it arrives already, or would be again.
    pub fn comes_round(&self, peer: SocketAddr) -> bool {
        let hops = lock(&self.hops);
        hops.get(&peer).is_some_and(|hop| leads_to(hop.to, hop.from, &hops.values()))
    }

    fn note(self: &Arc<Self>, tcp: &TcpStream, port: Port) -> Option<SelfGuard> {
        let (peer, from) = (tcp.peer_addr().ok()?, tcp.local_addr().ok()?);
        let to = lock(&self.listening).iter().find_map(|(to, address)| {
            let is_it = address.port() == peer.port()
                && (address.ip() == peer.ip()
                    || (address.ip().is_unspecified() && peer.ip() == from.ip()));
            is_it.then_some(*to)
        })?;
        lock(&self.hops).insert(from, Hop { from: port, to });
        Some(SelfGuard { own: Arc::clone(self), from })
    }
}

/// Whether there is a way over these hops.
fn leads_to<'a>(from: Port, to: Port, hops: &(impl Iterator<Item = &'a Hop> + Clone)) -> bool {
    let mut reached = vec![from];
    let mut looked_at = 0;
    while let Some(at) = reached.get(looked_at).copied() {
        if at == to {
            return true;
        }
        for hop in hops.clone().filter(|hop| hop.from == at) {
            if !reached.contains(&hop.to) {
                reached.push(hop.to);
            }
        }
        looked_at += 1;
    }
    false
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for SelfGuard {
    fn drop(&mut self) {
        lock(&self.own.hops).remove(&self.from);
    }
}

fn too_late(to: &Destination, limit: Duration) -> Trouble {
    let text = format!("no connection to {to} within {} ms", limit.as_millis());
    Trouble::new(Word::ConnectTimeout, text)
}

fn refused(error: &io::Error, to: &Destination, address: SocketAddr) -> Trouble {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of I/O errors are open")]
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Trouble::new(
            Word::ConnectRefused,
            format!("nobody listens at {to} ({address}); is the agent running?"),
        ),
        io::ErrorKind::TimedOut => Trouble::new(
            Word::ConnectTimeout,
            format!("{to} ({address}) did not take the connection in time"),
        ),
        _ => Trouble::new(
            Word::ConnectRefused,
            format!("{to} ({address}) cannot be reached: {}", plain(error)),
        ),
    }
}

/// The text of an I/O error without the number the system adds.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

fn tls_trouble(error: &io::Error, to: &Destination) -> Trouble {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of I/O errors are open")]
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "it closed the connection; does it speak TLS at this port?".to_owned()
        }
        _ => plain(error),
    };
    Trouble::new(Word::Tls, format!("the TLS handshake with {to} failed: {why}"))
}

/// Whether the peer refused because none of our protocols is its own.
fn wants_http2(error: &io::Error) -> bool {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let refusal = rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol);
    tls == Some(&refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_no_loop() {
        let hop = |from, to| Hop { from: Port(from), to: Port(to) };
        for (hops, from, to, expected) in [
            (&[hop(0, 1)][..], 1, 0, false),
            (&[hop(0, 0)], 0, 0, true),
            (&[hop(0, 1), hop(1, 2)], 2, 1, false),
            (&[hop(0, 1), hop(1, 2), hop(2, 0)], 1, 0, true),
            (&[hop(0, 1), hop(0, 2), hop(1, 2)], 2, 0, false),
        ] {
            assert_eq!(leads_to(Port(from), Port(to), &hops.iter()), expected, "{hops:?}");
        }
    }
}
