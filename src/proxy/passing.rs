//! An answer on its way back, watched while it passes: each frame goes on as it came, a clone of its
//! `Bytes` (a reference count) goes to the recorder.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::base::Side;
use crate::net::pool::{Http1, Http2, Origin};
use crate::net::trouble::{Trouble, Word};
use crate::proxy::error::BodyError;
use crate::proxy::flow::RequestBody;
use crate::proxy::wire::Wire;
use crate::record::exchange::UpstreamTrouble;
use crate::record::tap::{End, ExchangeTap, Lane};

/// What carries an answer: kept until its end, dropped with it.
#[derive(Debug)]
pub(super) enum Carrier {
    /// A connection that goes back to its pool afterwards.
    Http1 { connection: Box<Http1<RequestBody>>, origin: Arc<Origin<RequestBody>> },
    /// A share of one: held for what dropping it does, which is to give its place free.
    Http2 { _share: Http2<RequestBody> },
    /// None any more.
    Gone,
}

/// An agent's answer as it passes.
#[derive(Debug)]
pub(super) struct Passing {
    incoming: Incoming,
    version: Version,
    carrier: Carrier,
    /// Frames that were read ahead and go out first; already recorded.
    ahead: VecDeque<Frame<Bytes>>,
    /// Set when the agent broke off: what goes out before the client is cut.
    cutting: Option<Cutting>,
    idle: Option<Idle>,
    tap: Option<ExchangeTap>,
    wire: Arc<Wire>,
    state: State,
}

#[derive(Debug)]
struct Cutting {
    error: Option<BodyError>,
    mark: Option<u64>,
}

#[derive(Debug)]
struct Idle {
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Over,
}

impl Passing {
    pub(super) fn new(
        answer: (Incoming, Version),
        carrier: Carrier,
        idle: Option<Duration>,
        tap: Option<ExchangeTap>,
        wire: Arc<Wire>,
    ) -> Self {
        let (incoming, version) = answer;
        let idle = idle.map(|limit| Idle { limit, timer: Box::pin(tokio::time::sleep(limit)) });
        let (ahead, cutting) = (VecDeque::new(), None);
        let state = State::Open;
        let mut passing =
            Self { incoming, version, carrier, ahead, cutting, idle, tap, wire, state };
        if passing.incoming.is_end_stream() {
            passing.finish();
        } else {
            passing.release_carrier();
        }
        passing
    }

    /// An answer to a question of our own, which no client sees and nobody records.
    pub(super) fn unseen(answer: (Incoming, Version), carrier: Carrier) -> Self {
        Self::new(answer, carrier, None, None, Arc::default())
    }

    /// Whether nothing is to come.
    pub(super) fn is_over(&self) -> bool {
        self.is_end_stream()
    }

    /// Puts frames back that were taken out: they go out again first.
    pub(super) fn put_back(&mut self, frames: impl IntoIterator<Item = Frame<Bytes>>) {
        self.ahead.extend(frames);
    }

    /// Lets the answer break off here once more, after what was put back has gone out.
    pub(super) fn break_off_again(&mut self, error: BodyError) {
        self.cutting = Some(Cutting { error: Some(error), mark: None });
    }

    /// The next frame, what was put back first, without waiting for the client's side when the agent
    /// breaks off: for those who look at the answer before it is passed on.
    pub(super) fn poll_agent(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(frame) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let Some(error) = self.cutting.take().and_then(|cutting| cutting.error) {
            return Poll::Ready(Some(Err(error)));
        }
        if self.state == State::Over {
            return Poll::Ready(None);
        }
        if let Some(tap) = &self.tap {
            ready!(tap.poll_ready(cx));
        }
        if let Carrier::Http1 { connection, .. } = &mut self.carrier {
            connection.drive(cx);
        }
        let frame = match Pin::new(&mut self.incoming).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => return self.poll_idle(cx),
        };
        if let Some(idle) = &mut self.idle {
            idle.timer.as_mut().reset(Instant::now() + idle.limit);
        }
        match frame {
            Some(Ok(frame)) => {
                self.note(&frame);
                if self.incoming.is_end_stream() || frame.is_trailers() {
                    self.finish();
                } else {
                    self.release_carrier();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(source)) => {
                let error = BodyError::Broken { side: Side::Upstream, source };
                Poll::Ready(Some(Err(self.fail(error))))
            }
            // hyper ends an HTTP/2 body without an error when the stream was reset with NO_ERROR.
            None if self.version == Version::HTTP_2 && !self.incoming.is_end_stream() => {
                let error = BodyError::cut(Side::Upstream, "the agent reset its stream");
                Poll::Ready(Some(Err(self.fail(error))))
            }
            None => {
                self.finish();
                Poll::Ready(None)
            }
        }
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(idle) = &mut self.idle else { return Poll::Pending };
        ready!(idle.timer.as_mut().poll(cx));
        let text = format!("the agent was silent for {} ms", idle.limit.as_millis());
        self.end_lane(End::Trouble(recorded(&Trouble::new(Word::IdleTimeout, text.clone()))));
        self.carrier = Carrier::Gone;
        Poll::Ready(Some(Err(BodyError::cut(Side::Upstream, text))))
    }

    fn note(&self, frame: &Frame<Bytes>) {
        let Some(tap) = &self.tap else { return };
        if let Some(data) = frame.data_ref() {
            tap.data(Lane::Response, data);
        } else if let Some(trailers) = frame.trailers_ref() {
            tap.trailers(Lane::Response, trailers);
        }
    }

    fn finish(&mut self) {
        self.end_lane(End::Complete);
        self.release_carrier();
        // What is not reusable by now has its request still under way, or will be closed.
        if let Carrier::Http1 { connection, origin } =
            std::mem::replace(&mut self.carrier, Carrier::Gone)
        {
            origin.finish(connection);
        }
    }

    fn fail(&mut self, error: BodyError) -> BodyError {
        self.end_lane(End::Cut(Side::Upstream));
        self.carrier = Carrier::Gone;
        error
    }

    /// Gives the connection back as soon as it is free, which is often before the answer has gone out.
    fn release_carrier(&mut self) {
        let Carrier::Http1 { connection, .. } = &mut self.carrier else { return };
        if !connection.is_reusable() {
            connection.drive(&mut Context::from_waker(Waker::noop()));
        }
        if !connection.is_reusable() {
            return;
        }
        if let Carrier::Http1 { connection, origin } =
            std::mem::replace(&mut self.carrier, Carrier::Gone)
        {
            origin.give_back(connection);
        }
    }

    fn end_lane(&mut self, end: End) {
        if self.state == State::Open {
            self.state = State::Over;
            if let Some(tap) = &self.tap {
                tap.end(Lane::Response, end);
            }
        }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(frame) = self.ahead.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if self.cutting.is_none() {
            match ready!(self.poll_agent(cx)) {
                Some(Err(error)) => {
                    self.cutting = Some(Cutting { error: Some(error), mark: None });
                }
                frame => return Poll::Ready(frame),
            }
        }
        // What came before the break is delivered before the client is cut as well.
        let wire = Arc::clone(&self.wire);
        let Some(cutting) = &mut self.cutting else { return Poll::Ready(None) };
        let mark = *cutting.mark.get_or_insert_with(|| wire.mark());
        ready!(wire.poll_flushed(mark, cx));
        let error =
            cutting.error.take().unwrap_or_else(|| BodyError::cut(Side::Upstream, "it left"));
        Poll::Ready(Some(Err(error)))
    }

    fn is_end_stream(&self) -> bool {
        self.state == State::Over && self.ahead.is_empty() && self.cutting.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let ahead: usize = self.ahead.iter().filter_map(Frame::data_ref).map(Bytes::len).sum();
        match self.incoming.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(rest + ahead as u64),
            None => SizeHint::default(),
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let end = if self.wire.is_stopped() { End::Stopped } else { End::Cut(Side::Downstream) };
        self.end_lane(end);
    }
}

/// Trouble as it is recorded.
pub(super) fn recorded(trouble: &Trouble) -> UpstreamTrouble {
    UpstreamTrouble { word: trouble.word.as_str().to_owned(), text: trouble.text.clone() }
}
