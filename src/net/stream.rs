//! One type for every byte stream, and a socket that can be watched while somebody else owns it.
//!
//! hyper owns a connection's I/O and, while an exchange is under way, looks at neither end of it: it
//! would not see a client's reset until the next write. So the socket is shared: hyper reads and
//! writes, and a [`SocketWatch`] beside it notices a reset at once, can tell whether a pooled
//! connection has been closed before anything is written to it, and counts what was written.
//!
//! Towards an agent a write that fails is not the end: an agent that answers an upload early and
//! closes makes our next write fail while its answer still waits to be read. So there a failed write
//! only stops the writing ([`Socket::read_on`]); the end is what the reading side finds.

use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, Interest, ReadBuf};
use tokio::net::TcpStream;

/// TCP probes after so much silence, so that a peer that vanished is noticed under a quiet stream.
const TCP_KEEPALIVE: Duration = Duration::from_mins(1);

/// A byte stream to a peer.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Plain(Socket),
    /// TLS over TCP.
    Tls(Box<tokio_rustls::TlsStream<Socket>>),
    /// A peer in this process.
    Memory(DuplexStream),
}

/// A TCP connection. Octets read ahead can be put back.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<Shared>,
    prefix: Bytes,
    on_failed_write: OnFailedWrite,
}

/// What a failed write does to the connection.
#[derive(Debug)]
enum OnFailedWrite {
    /// It is the end.
    End,
    /// Nothing more is written, and what the peer had sent is read.
    ReadOn,
    /// That has happened, with this error.
    Reading(Option<io::Error>),
}

/// Looks at a socket that somebody else reads and writes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SocketWatch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    tcp: TcpStream,
    written: AtomicU64,
}

impl Socket {
    /// Takes a connected socket: no Nagle (40 ms an answer), TCP keep-alive on.
    pub fn new(tcp: TcpStream) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        SockRef::from(&tcp).set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEPALIVE))?;
        Ok(Self {
            shared: Arc::new(Shared { tcp, written: AtomicU64::new(0) }),
            prefix: Bytes::new(),
            on_failed_write: OnFailedWrite::End,
        })
    }

    /// From now on a failed write leaves what the peer has sent to be read; its error is given at the
    /// end of that.
    pub fn read_on(&mut self) {
        self.on_failed_write = OnFailedWrite::ReadOn;
    }

    /// Puts octets back: the next read gives them first.
    pub fn unread(&mut self, octets: Bytes) {
        self.prefix = octets;
    }

    /// A watch on it.
    pub fn watch(&self) -> SocketWatch {
        SocketWatch(Arc::clone(&self.shared))
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.shared.tcp.peer_addr()
    }

    /// Our address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.tcp.local_addr()
    }
}

impl SocketWatch {
    /// Resolves when the connection has been reset, by the peer or the network. Cancel safe.
    pub async fn reset(&self) {
        // An error here means the runtime is going away, which ends the connection just as well.
        drop(self.0.tcp.ready(Interest::ERROR).await);
    }

    /// Octets written so far.
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Asks the kernel whether the peer still keeps its end open, and has sent nothing.
    pub fn is_quiet_and_open(&self) -> bool {
        let mut octet = [MaybeUninit::uninit()];
        match SockRef::from(&self.0.tcp).peek(&mut octet) {
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }

    /// Ends our direction, then reads what the peer still sends, until it ends too or the bounds are
    /// used up. Without it, closing a socket with unread octets resets it, and the reset can overtake
    /// the answer.
    pub async fn linger(&self, octets_max: usize, wait: Duration) {
        if SockRef::from(&self.0.tcp).shutdown(std::net::Shutdown::Write).is_err() {
            return;
        }
        let drain = async {
            let mut sink = [0_u8; 4096];
            let mut left = octets_max;
            while left > 0 && self.0.tcp.readable().await.is_ok() {
                match self.0.tcp.try_read(&mut sink) {
                    Ok(0) => break,
                    Ok(count) => left = left.saturating_sub(count),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
            }
        };
        drop(tokio::time::timeout(wait, drain).await);
    }
}

impl Stream {
    /// A watch on the socket below, if there is one.
    pub fn watch(&self) -> Option<SocketWatch> {
        match self {
            Self::Plain(socket) => Some(socket.watch()),
            Self::Tls(tls) => Some(tls.get_ref().0.watch()),
            Self::Memory(_) => None,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.prefix.is_empty() {
            let count = self.prefix.len().min(buf.remaining());
            buf.put_slice(&self.prefix.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let tcp = &self.shared.tcp;
        loop {
            ready!(tcp.poll_read_ready(cx))?;
            let room = buf.remaining();
            let done = attempt(tcp, Interest::READABLE, room, || tcp.try_read_buf(buf));
            match done {
                Ok(0) if room > 0 => return Poll::Ready(self.on_failed_write.take()),
                Ok(_) => return Poll::Ready(Ok(())),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write_with(cx, octets.len(), |tcp| tcp.try_write(octets))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = octets.iter().map(|slice| slice.len()).sum();
        self.write_with(cx, len, |tcp| tcp.try_write_vectored(octets))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.shared.tcp).shutdown(std::net::Shutdown::Write))
    }
}

impl Socket {
    fn write_with(
        &mut self,
        cx: &mut Context<'_>,
        len: usize,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if matches!(self.on_failed_write, OnFailedWrite::Reading(_)) {
            return Poll::Pending;
        }
        let tcp = &self.shared.tcp;
        loop {
            ready!(tcp.poll_write_ready(cx))?;
            match attempt(tcp, Interest::WRITABLE, len, || write(tcp)) {
                Ok(count) => {
                    self.shared.written.fetch_add(count as u64, Ordering::Relaxed);
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return self.on_failed_write.failed(error),
            }
        }
    }
}

impl OnFailedWrite {
    /// A write has failed. Pending needs no waker: whoever waits reads as well, and a connection that
    /// cannot be written to is readable at once, to its end.
    fn failed(&mut self, error: io::Error) -> Poll<io::Result<usize>> {
        match self {
            Self::End => Poll::Ready(Err(error)),
            Self::ReadOn | Self::Reading(_) => {
                *self = Self::Reading(Some(error));
                Poll::Pending
            }
        }
    }

    /// The end of what the peer had sent.
    fn take(&mut self) -> io::Result<()> {
        match self {
            Self::End | Self::ReadOn => Ok(()),
            Self::Reading(error) => error.take().map_or(Ok(()), Err),
        }
    }
}

/// Tries an operation of up to `len` octets, as tokio's own `TcpStream` does: when less came or went
/// than could have, the kernel's buffer is empty (or full), so the readiness is cleared at once, which
/// saves the system call that would only say so. The readiness is cleared by the outer `try_io`, which
/// noted its state before the operation, so that an event in between is not lost.
fn attempt(
    tcp: &TcpStream,
    interest: Interest,
    len: usize,
    mut operation: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut part = None;
    let whole = tcp.try_io(interest, || {
        let count = operation()?;
        if 0 < count && count < len {
            part = Some(count);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    });
    part.map_or(whole, Ok)
}

macro_rules! each {
    ($self:expr, $inner:ident => $do:expr) => {
        match $self.get_mut() {
            Stream::Plain($inner) => {
                let $inner = Pin::new($inner);
                $do
            }
            Stream::Tls($inner) => {
                let $inner = Pin::new($inner.as_mut());
                $do
            }
            Stream::Memory($inner) => {
                let $inner = Pin::new($inner);
                $do
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, inner => inner.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => inner.poll_write(cx, octets))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => inner.poll_write_vectored(cx, octets))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(inner) => inner.is_write_vectored(),
            Self::Tls(inner) => inner.is_write_vectored(),
            Self::Memory(inner) => inner.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => inner.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => inner.poll_shutdown(cx))
    }
}

/// Reads once into a small buffer: for sniffing.
pub(super) async fn read_some(socket: &mut Socket, at_most: usize) -> io::Result<Bytes> {
    use tokio::io::AsyncReadExt;

    let mut octets = vec![0; at_most];
    let count = socket.read(&mut octets).await?;
    let mut octets = Bytes::from(octets);
    octets.truncate(count);
    Ok(octets)
}
