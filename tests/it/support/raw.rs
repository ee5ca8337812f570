//! Peers that are nothing but a socket: what is written is what is sent, what is read is what came.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than anything a test waits for; reached only when a promise is broken.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what must happen, and says what did not.
#[track_caller]
pub(crate) fn within<T>(
    what: &'static str,
    future: impl Future<Output = T>,
) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        let outcome = tokio::time::timeout(PATIENCE, future).await;
        outcome.unwrap_or_else(|_| panic!("{place}: waited in vain: {what}"))
    }
}

/// Runs a peer beside the test.
#[expect(clippy::disallowed_methods, reason = "a test's runtime ends its tasks with the test")]
pub(crate) fn spawn<T: Send + 'static>(
    peer: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(peer)
}

/// An agent: accepts connections, and leaves the rest to the test.
pub(crate) struct RawAgent {
    listener: TcpListener,
    pub(crate) addr: SocketAddr,
}

/// A connection, from either end.
pub(crate) struct RawConn {
    stream: TcpStream,
    /// Octets that came and were not taken yet.
    ahead: Vec<u8>,
}

impl RawAgent {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        Self { listener, addr }
    }

    pub(crate) async fn accept(&self) -> RawConn {
        let (stream, _) =
            within("a connection to the agent", self.listener.accept()).await.unwrap();
        RawConn::of(stream)
    }

    /// Whether nobody is connecting right now.
    pub(crate) fn is_left_alone(&self) -> bool {
        let waker = std::task::Waker::noop();
        self.listener.poll_accept(&mut std::task::Context::from_waker(waker)).is_pending()
    }
}

impl RawConn {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        Self::of(within("a connection", TcpStream::connect(addr)).await.unwrap())
    }

    /// The socket, for a peer that speaks something else on it.
    pub(crate) fn into_stream(self) -> TcpStream {
        assert!(self.ahead.is_empty(), "octets were read already");
        self.stream
    }

    fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self { stream, ahead: Vec::new() }
    }

    pub(crate) async fn write(&mut self, octets: impl AsRef<[u8]>) {
        within("room to write", self.stream.write_all(octets.as_ref())).await.unwrap();
    }

    /// Everything up to and including `end`.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        loop {
            let found = self.ahead.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                let rest = self.ahead.split_off(at + end.len());
                let taken = std::mem::replace(&mut self.ahead, rest);
                return String::from_utf8(taken).unwrap();
            }
            let came = self.fill().await;
            assert!(came > 0, "the connection ended before {end:?}: {:?}", self.text());
        }
    }

    /// A head, its empty line included.
    pub(crate) async fn read_head(&mut self) -> String {
        self.read_until("\r\n\r\n").await
    }

    pub(crate) async fn read_exactly(&mut self, count: usize) -> Vec<u8> {
        while self.ahead.len() < count {
            let came = self.fill().await;
            assert!(came > 0, "the connection ended after {:?}", self.text());
        }
        let rest = self.ahead.split_off(count);
        std::mem::replace(&mut self.ahead, rest)
    }

    /// What comes until the connection ends, and how it ends.
    pub(crate) async fn read_to_end(&mut self) -> (String, Ending) {
        let ending = loop {
            let mut buffer = [0; 4096];
            match within("the end of the connection", self.stream.read(&mut buffer)).await {
                Ok(0) => break Ending::Closed,
                Ok(count) => self.ahead.extend_from_slice(&buffer[..count]),
                Err(_) => break Ending::Reset,
            }
        };
        let text = self.text();
        self.ahead.clear();
        (text, ending)
    }

    /// Whether nothing has come and the other side is still there.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.stream.try_read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.ahead.extend_from_slice(&buffer[..count]);
                false
            }
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock && self.ahead.is_empty(),
        }
    }

    /// Ends our direction only.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Ends it with a reset.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }

    async fn fill(&mut self) -> usize {
        let mut buffer = vec![0; 65536];
        let count =
            within("octets to read", self.stream.read(&mut buffer)).await.unwrap_or_default();
        self.ahead.extend_from_slice(&buffer[..count]);
        count
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.ahead).into_owned()
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a FIN.
    Closed,
    /// With a RST.
    Reset,
}
