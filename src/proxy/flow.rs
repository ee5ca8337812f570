//! A request's body on its way to the agent, watched while it passes.
//!
//! The body belongs to the exchange, not to the connection that carries it: hyper gets a
//! [`RequestBody`], a handle. So a request that provably never reached the agent can be sent again over
//! another connection, as long as what has been read of it is little enough to have been kept.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use memchr::memmem::Finder;

use crate::a2a::call;
use crate::a2a::model::Operation;
use crate::base::Side;
use crate::proxy::error::BodyError;
use crate::proxy::kept::Kept;
use crate::proxy::wire::Wire;
use crate::record::tap::{End, ExchangeTap, Lane};

/// What is kept of a body, so that it could be sent again. A request of A2A is a few KiB.
const REPLAY_BYTES_MAX: usize = 64 * 1024;

/// How far into a JSON-RPC body its method is looked for.
const METHOD_BYTES_MAX: usize = 4 * 1024;

/// How long a client is listened to whose peer cannot be reached.
const HEAR_OUT_WAIT: Duration = Duration::from_millis(250);

/// Waits for the agent's word before the body is asked for (`Expect: 100-continue`).
pub(super) type Gate = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One exchange's request body and what is noted while it passes.
#[derive(Debug)]
pub(super) struct Flow {
    source: Mutex<Source>,
    asks_for_card: AtomicBool,
    was_answered: AtomicBool,
    wire: Arc<Wire>,
}

/// A handle on it: what hyper sends.
#[derive(Debug)]
pub(super) struct RequestBody {
    flow: Option<Arc<Flow>>,
    /// How many of the kept frames this handle has given out.
    given: usize,
}

struct Source {
    incoming: Incoming,
    version: Version,
    gate: Option<Gate>,
    kept: Kept,
    trailers: Option<HeaderMap>,
    method: Method,
    tap: Option<ExchangeTap>,
    state: State,
}

/// Whether the JSON-RPC method is still being looked for.
enum Method {
    Ignored,
    Sought(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
    /// The agent answered instead of asking for it.
    Unwanted,
}

/// Whether a body may be a JSON-RPC call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It may: look for the method as it passes.
    ForMethod,
    /// It cannot.
    Away,
}

impl Flow {
    pub(super) fn new(
        incoming: Incoming,
        version: Version,
        look: Look,
        tap: Option<ExchangeTap>,
        wire: Arc<Wire>,
    ) -> Arc<Self> {
        let mut source = Source {
            version,
            gate: None,
            kept: Kept::default(),
            trailers: None,
            method: match look {
                Look::ForMethod => Method::Sought(Vec::new()),
                Look::Away => Method::Ignored,
            },
            tap,
            state: State::Open,
            incoming,
        };
        if source.incoming.is_end_stream() {
            source.end();
        }
        Arc::new(Self {
            source: Mutex::new(source),
            asks_for_card: AtomicBool::new(false),
            was_answered: AtomicBool::new(false),
            wire,
        })
    }

    /// A handle that gives the body from its beginning.
    pub(super) fn body(self: &Arc<Self>) -> RequestBody {
        RequestBody { flow: Some(Arc::clone(self)), given: 0 }
    }

    /// Puts a gate before what has not been read yet.
    pub(super) fn wait_for(&self, gate: Gate) {
        self.lock().gate = Some(gate);
    }

    /// Whether the body can be sent again from its beginning.
    pub(super) fn can_replay(&self) -> bool {
        self.lock().kept.can_replay()
    }

    /// Notes that the agent has answered: from here on nothing is kept to be sent again. A body that it
    /// has not asked for by then is not wanted, and its client, which waits to be asked, will not send it.
    pub(super) fn answered(&self) {
        self.was_answered.store(true, Ordering::Release);
        let mut source = self.lock();
        source.kept.end_replay();
        let is_unwanted = source.gate.as_mut().is_some_and(|gate| {
            gate.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
        });
        if is_unwanted && source.state == State::Open {
            source.state = State::Unwanted;
        }
        source.gate = None;
    }

    /// Whether the JSON-RPC call that passed asks for the extended card.
    pub(super) fn asks_for_card(&self) -> bool {
        self.asks_for_card.load(Ordering::Acquire)
    }

    /// Whether the body broke off on the client's side.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().state == State::Failed
    }

    /// Reads on, without giving anything out, until `enough` says so, the body has ended or `max`
    /// octets have been read: all of it will be given out again. Gives what has been read.
    pub(super) async fn read_ahead(
        self: &Arc<Self>,
        max: usize,
        mut enough: impl FnMut(&[u8]) -> bool,
    ) -> Result<ReadAhead, BodyError> {
        let mut seen = Seen::default();
        let mut reader = self.body();
        loop {
            // Everything is kept here, whatever its length: it has not been sent yet.
            let frame = std::future::poll_fn(|cx| reader.poll_within(cx, usize::MAX)).await;
            // Looking at it is not sending it.
            self.lock().kept.nothing_sent();
            match frame {
                None => return Ok(ReadAhead { octets: seen.into_octets(), is_whole: true }),
                Some(Err(error)) => return Err(error),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        seen.add(data);
                    }
                }
            }
            let is_whole = self.lock().state == State::Ended;
            let octets = seen.octets();
            if is_whole || octets.len() >= max || enough(octets) {
                return Ok(ReadAhead { octets: seen.into_octets(), is_whole });
            }
        }
    }

    /// Reads what is said to a peer that will not hear it, for the recording. A client that takes its time
    /// gets its answer all the same.
    pub(super) async fn hear_out(self: &Arc<Self>, max: usize) {
        drop(tokio::time::timeout(HEAR_OUT_WAIT, self.read_ahead(max, |_| false)).await);
    }

    /// Sends another body in the place of the one that was read ahead, whole.
    pub(super) fn replace(&self, body: Bytes) {
        let mut source = self.lock();
        debug_assert_eq!(source.state, State::Ended, "only what has been read whole is replaced");
        source.kept = Kept::default();
        source.kept.push(body, usize::MAX);
    }

    fn lock(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_method(&self, source: &mut Source, data: &[u8]) {
        let Method::Sought(seen) = &mut source.method else { return };
        // In one piece it need not be copied, and nearly every request comes in one piece.
        let is_asked = if seen.is_empty() && source.state == State::Ended {
            names_extended_card(data)
        } else {
            let room = METHOD_BYTES_MAX - seen.len();
            seen.extend_from_slice(data.get(..room).unwrap_or(data));
            names_extended_card(seen)
        };
        let is_over = source.state == State::Ended || seen.len() >= METHOD_BYTES_MAX;
        if is_asked {
            self.asks_for_card.store(true, Ordering::Release);
        }
        if is_asked || is_over {
            source.method = Method::Ignored;
        }
    }
}

/// What [`Flow::read_ahead`] has read.
pub(super) struct ReadAhead {
    pub(super) octets: Bytes,
    pub(super) is_whole: bool,
}

/// Octets as they come in. Nearly every request comes in one piece, and that one is not copied.
#[derive(Default)]
struct Seen {
    first: Bytes,
    joined: BytesMut,
}

impl Seen {
    fn add(&mut self, data: &Bytes) {
        if self.first.is_empty() {
            self.first = data.clone();
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(data);
    }

    fn octets(&self) -> &[u8] {
        if self.joined.is_empty() { &self.first } else { &self.joined }
    }

    fn into_octets(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

/// A cheap search first: it costs a tenth of a microsecond, and only a hit is parsed.
fn names_extended_card(octets: &[u8]) -> bool {
    static EXTENDED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"Extended"));
    let octets = octets.get(..METHOD_BYTES_MAX).unwrap_or(octets);
    EXTENDED.find(octets).is_some()
        && call::peek_method(octets)
            .is_some_and(|(operation, _)| operation == Operation::GetExtendedAgentCard)
}

impl Source {
    fn end(&mut self) {
        self.state = State::Ended;
        if let Some(tap) = &self.tap {
            tap.end(Lane::Request, End::Complete);
        }
    }

    fn fail(&mut self, error: BodyError) -> BodyError {
        self.state = State::Failed;
        if let Some(tap) = &self.tap {
            tap.end(Lane::Request, End::Cut(Side::Downstream));
        }
        error
    }

    /// The next frame from the client.
    fn poll_client(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(gate) = &mut self.gate {
            ready!(gate.as_mut().poll(cx));
            self.gate = None;
        }
        if let Some(tap) = &self.tap {
            ready!(tap.poll_ready(cx));
        }
        match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
            Some(Ok(frame)) => {
                if let (Some(tap), Some(data)) = (&self.tap, frame.data_ref()) {
                    tap.data(Lane::Request, data);
                }
                if let Some(trailers) = frame.trailers_ref() {
                    if let Some(tap) = &self.tap {
                        tap.trailers(Lane::Request, trailers);
                    }
                    self.trailers = Some(trailers.clone());
                }
                if self.incoming.is_end_stream() || frame.is_trailers() {
                    self.end();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(source)) => {
                let error = BodyError::Broken { side: Side::Downstream, source };
                Poll::Ready(Some(Err(self.fail(error))))
            }
            // hyper ends an HTTP/2 body without an error when the stream was reset with NO_ERROR.
            None if self.version == Version::HTTP_2 && !self.incoming.is_end_stream() => {
                let error = BodyError::cut(Side::Downstream, "the client reset its stream");
                Poll::Ready(Some(Err(self.fail(error))))
            }
            None => {
                self.end();
                Poll::Ready(None)
            }
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        let was_answered = self.was_answered.load(Ordering::Acquire);
        let source = self.source.get_mut().unwrap_or_else(PoisonError::into_inner);
        match source.state {
            State::Open | State::Unwanted => {}
            State::Ended | State::Failed => return,
        }
        if was_answered {
            self.wire.leave_upload_unread();
        }
        if let Some(tap) = &source.tap {
            let end = if self.wire.is_stopped() {
                End::Stopped
            } else if was_answered {
                // It got its answer early and sent no more.
                End::Cut(Side::Upstream)
            } else {
                End::Cut(Side::Downstream)
            };
            tap.end(Lane::Request, end);
        }
    }
}

impl RequestBody {
    /// A body without octets.
    pub(super) const fn empty() -> Self {
        Self { flow: None, given: 0 }
    }

    fn poll_within(
        &mut self,
        cx: &mut Context<'_>,
        keep_max: usize,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(flow) = &self.flow else { return Poll::Ready(None) };
        let mut source = flow.lock();
        if let Some(data) = source.kept.get(self.given).cloned() {
            self.given += 1;
            source.kept.sent(self.given);
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        match source.state {
            State::Open => {}
            State::Failed => {
                return Poll::Ready(Some(Err(BodyError::cut(Side::Downstream, "it left"))));
            }
            State::Unwanted => {
                let why = "it answered without asking for the body";
                return Poll::Ready(Some(Err(BodyError::cut(Side::Upstream, why))));
            }
            State::Ended if self.given <= source.kept.count() && source.trailers.is_some() => {
                self.given = source.kept.count() + 1;
                return Poll::Ready(
                    source.trailers.clone().map(|fields| Ok(Frame::trailers(fields))),
                );
            }
            State::Ended => return Poll::Ready(None),
        }
        let frame = ready!(source.poll_client(cx));
        if let Some(Ok(frame)) = &frame {
            match frame.data_ref() {
                Some(data) => {
                    flow.note_method(&mut source, data);
                    source.kept.push(data.clone(), keep_max);
                    self.given = source.kept.count();
                    source.kept.sent(self.given);
                }
                None => self.given = source.kept.count() + 1,
            }
        }
        Poll::Ready(frame)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.poll_within(cx, REPLAY_BYTES_MAX)
    }

    fn is_end_stream(&self) -> bool {
        let Some(flow) = &self.flow else { return true };
        let source = flow.lock();
        source.state == State::Ended
            && source.kept.get(self.given).is_none()
            && (source.trailers.is_none() || self.given > source.kept.count())
    }

    fn size_hint(&self) -> SizeHint {
        let Some(flow) = &self.flow else { return SizeHint::with_exact(0) };
        let source = flow.lock();
        let ahead = source.kept.bytes_from(self.given);
        match source.incoming.size_hint().exact() {
            Some(rest) if source.trailers.is_none() => SizeHint::with_exact(rest + ahead as u64),
            Some(_) | None => SizeHint::default(),
        }
    }
}
