//! HTTP/2 peers over the `h2` crate: they see headers, DATA and resets, not messages.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{self, ResponseFuture};
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::support::raw::{spawn, within};

/// A request that has reached an [`Http2Agent`].
pub(crate) struct Arrived {
    pub(crate) head: http::request::Parts,
    pub(crate) body: RecvStream,
    pub(crate) respond: SendResponse<Bytes>,
    /// Which of the agent's connections it came on, counted from 0.
    pub(crate) connection: usize,
}

/// An agent that speaks HTTP/2 in the clear.
pub(crate) struct Http2Agent {
    pub(crate) addr: SocketAddr,
    arrived: mpsc::Receiver<Arrived>,
    /// Aborting one closes its connection.
    task: JoinHandle<()>,
}

impl Http2Agent {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (send, arrived) = mpsc::channel(64);
        let task = spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            for connection in 0.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                stream.set_nodelay(true).unwrap();
                connections.spawn(serve(stream, connection, send.clone()));
            }
        });
        Self { addr, arrived, task }
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Arrived {
        within("a request to the agent", self.arrived.recv()).await.unwrap()
    }

    /// Whether nothing has arrived.
    pub(crate) fn is_left_alone(&mut self) -> bool {
        self.arrived.try_recv().is_err()
    }
}

impl Drop for Http2Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, connection: usize, to: mpsc::Sender<Arrived>) {
    let Ok(mut accepting) = server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = accepting.accept().await {
        let (head, body) = request.into_parts();
        if to.send(Arrived { head, body, respond, connection }).await.is_err() {
            return;
        }
    }
}

impl Arrived {
    /// Everything sent with it, and its trailers.
    pub(crate) async fn read(&mut self) -> (Vec<u8>, Option<HeaderMap>) {
        read(&mut self.body).await
    }

    /// Begins an answer.
    pub(crate) fn answer(&mut self, fields: &[(&str, &str)]) -> SendStream<Bytes> {
        self.respond.send_response(response(fields), false).unwrap()
    }

    /// An answer of one HEADERS frame.
    pub(crate) fn answer_only(&mut self, fields: &[(&str, &str)]) {
        self.respond.send_response(response(fields), true).unwrap();
    }
}

fn response(fields: &[(&str, &str)]) -> Response<()> {
    let mut response = Response::builder().status(200);
    for (name, value) in fields {
        response = response.header(*name, *value);
    }
    response.body(()).unwrap()
}

/// A client with one HTTP/2 connection.
pub(crate) struct Http2Client {
    send: client::SendRequest<Bytes>,
    task: JoinHandle<()>,
    addr: SocketAddr,
}

impl Http2Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::over(stream, addr).await
    }

    pub(crate) async fn over<T>(stream: T, addr: SocketAddr) -> Self
    where
        T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let (send, connection) = within("HTTP/2", client::handshake(stream)).await.unwrap();
        let task = spawn(async move { drop(connection.await) });
        Self { send, task, addr }
    }

    /// Begins a request.
    pub(crate) async fn request(
        &mut self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
        end: bool,
    ) -> (ResponseFuture, SendStream<Bytes>) {
        let uri = format!("http://{}{path}", self.addr);
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let mut send = self.send.clone().ready().await.unwrap();
        send.send_request(request.body(()).unwrap(), end).unwrap()
    }

    /// A gRPC call with one whole request message.
    pub(crate) async fn call(&mut self, path: &str, message: &[u8]) -> ResponseFuture {
        let fields = [("content-type", "application/grpc"), ("te", "trailers")];
        let (response, mut body) = self.request("POST", path, &fields, false).await;
        body.send_data(framed(message), true).unwrap();
        response
    }
}

impl Drop for Http2Client {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A gRPC message with its prefix.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend_from_slice(message);
    framed.into()
}

/// What comes on a stream until its end.
pub(crate) async fn read(body: &mut RecvStream) -> (Vec<u8>, Option<HeaderMap>) {
    let mut octets = Vec::new();
    while let Some(data) = within("DATA", body.data()).await {
        let data = data.unwrap();
        octets.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    (octets, within("trailers", body.trailers()).await.unwrap())
}

/// The next DATA frame.
pub(crate) async fn next_data(body: &mut RecvStream) -> Bytes {
    let data = within("DATA", body.data()).await.unwrap().unwrap();
    body.flow_control().release_capacity(data.len()).unwrap();
    data
}

/// The code of the reset that ends a stream.
pub(crate) async fn reset_of(body: &mut RecvStream) -> Option<Reason> {
    loop {
        match within("a reset", body.data()).await {
            None => return None,
            Some(Ok(data)) => body.flow_control().release_capacity(data.len()).unwrap(),
            Some(Err(error)) => return error.reason(),
        }
    }
}
