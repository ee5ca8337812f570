//! A scripted agent on a connection: HTTP/1.1 and h2c, told apart by the first octets.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep};

use crate::a2a::call::{self, Head, StreamEnd, WireAnswer};
use crate::a2a::detect;
use crate::a2a::model::Operation;
use crate::peer::scripted::agent::{Played, ScriptedAgent};

/// A request body larger than this is refused with 413: an agent that is played reads it whole.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Speaks HTTP on one connection until it ends.
pub async fn connection<I>(io: I, agent: Arc<ScriptedAgent>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| {
        let agent = Arc::clone(&agent);
        async move { Ok::<_, Infallible>(answer(&agent, request).await) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new());
    server.http2().timer(TokioTimer::new());
    if let Err(error) = server.serve_connection(TokioIo::new(io), service).await {
        tracing::debug!(%error, "a connection to a scripted agent broke off");
    }
}

async fn answer(agent: &ScriptedAgent, request: Request<Incoming>) -> Response<PlayedBody> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large\n");
    };
    let head = Head { method: &head.method, uri: &head.uri, headers: &head.headers };
    let recognized = detect::recognize(head);
    if recognized.operation == Some(Operation::AgentCard) {
        return json(agent.card().to_string());
    }
    if recognized.binding.is_none() {
        return plain(StatusCode::NOT_FOUND, "nothing of A2A is at this path\n");
    }
    let call = call::read_call(head, &recognized, &body.to_bytes());
    match agent.play(&call) {
        Played::Whole { after, answer } => {
            if !after.is_zero() {
                sleep(after).await;
            }
            whole(answer)
        }
        Played::Stream { head: (status, headers), events, end } => {
            respond(status, headers, PlayedBody::stream(events, end))
        }
    }
}

fn whole(answer: WireAnswer) -> Response<PlayedBody> {
    let body = match answer.trailers {
        None => PlayedBody::Whole(Full::new(answer.body)),
        Some(trailers) => {
            let end = StreamEnd { body: Bytes::new(), trailers: Some(trailers), abort: false };
            PlayedBody::stream(vec![(Duration::ZERO, answer.body)], end)
        }
    };
    respond(answer.status, answer.headers, body)
}

fn json(text: String) -> Response<PlayedBody> {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    respond(StatusCode::OK, headers, PlayedBody::Whole(Full::from(text)))
}

fn plain(status: StatusCode, text: &'static str) -> Response<PlayedBody> {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain"));
    respond(status, headers, PlayedBody::Whole(Full::from(text)))
}

fn respond(status: StatusCode, headers: HeaderMap, body: PlayedBody) -> Response<PlayedBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The body of an answer: whole, or events that take their time.
enum PlayedBody {
    Whole(Full<Bytes>),
    Stream(Box<Streaming>),
}

struct Streaming {
    events: std::vec::IntoIter<(Duration, Bytes)>,
    waiting: Option<(Pin<Box<Sleep>>, Bytes)>,
    end: Option<StreamEnd>,
    trailers: Option<HeaderMap>,
    abort: bool,
}

impl PlayedBody {
    fn stream(events: Vec<(Duration, Bytes)>, end: StreamEnd) -> Self {
        Self::Stream(Box::new(Streaming {
            events: events.into_iter(),
            waiting: None,
            end: Some(end),
            trailers: None,
            abort: false,
        }))
    }
}

impl Streaming {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        loop {
            if let Some((timer, octets)) = &mut self.waiting {
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                let octets = std::mem::take(octets);
                self.waiting = None;
                return Poll::Ready(Some(Ok(Frame::data(octets))));
            }
            match self.events.next() {
                Some((Duration::ZERO, octets)) => {
                    return Poll::Ready(Some(Ok(Frame::data(octets))));
                }
                Some((wait, octets)) => self.waiting = Some((Box::pin(sleep(wait)), octets)),
                None => return Poll::Ready(self.finish()),
            }
        }
    }

    /// The last frame, then the trailers, then the end or the break.
    fn finish(&mut self) -> Option<io::Result<Frame<Bytes>>> {
        if let Some(end) = self.end.take() {
            self.trailers = end.trailers;
            self.abort = end.abort;
            if !end.body.is_empty() {
                return Some(Ok(Frame::data(end.body)));
            }
        }
        if let Some(trailers) = self.trailers.take() {
            return Some(Ok(Frame::trailers(trailers)));
        }
        if std::mem::take(&mut self.abort) {
            return Some(Err(io::Error::other("the scripted stream breaks off here")));
        }
        None
    }
}

impl Body for PlayedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Stream(stream) => stream.poll(cx),
        }
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Stream(_) => http_body::SizeHint::default(),
        }
    }
}
