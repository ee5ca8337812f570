//! Answers that a rule gives in the agent's place, in the binding and version of the call.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version};
use http_body::Frame;

use crate::a2a::call::{self, Call, StreamEnd, WireAnswer};
use crate::a2a::fold::Folded;
use crate::a2a::model::{A2aError, Reply, StreamResponse};
use crate::fault::verdict::Made;
use crate::proxy::answer::{MEDDLER_FAULT, fault_mark, whole};
use crate::proxy::body::{Outlet, ResponseBody, WorkedBody};
use crate::proxy::error::BodyError;
use crate::proxy::headers;
use crate::proxy::judge::{self, Answer, Mark};
use crate::proxy::wire::Wire;
use crate::record::tap::{End, ExchangeTap, Lane};

/// A whole answer, from its beginning, and the record of it.
pub(super) fn answer(
    call: &Call,
    answer: Answer,
    version: Version,
    tap: Option<&ExchangeTap>,
    wire: &Arc<Wire>,
) -> Response<ResponseBody> {
    let Answer { note, with, from: _, mark } = answer;
    judge::record(&note, tap);
    let mark = match mark {
        Mark::Shown => Some(fault_mark(&note.rule)),
        Mark::Hidden => None,
    };
    match with {
        Made::Reply(reply) if call.operation.is_streaming() => match events_of(&reply) {
            Some(events) => stream(call, events, None, mark, (version, tap, wire)),
            None => plain(call::write_reply(call, &reply), mark, version, tap),
        },
        Made::Reply(reply) => plain(call::write_reply(call, &reply), mark, version, tap),
        Made::Stream { events, error } if call.operation.is_streaming() => {
            stream(call, events, error, mark, (version, tap, wire))
        }
        Made::Stream { events, error } => {
            let reply = error.map_or_else(|| folded(&events), Reply::Error);
            plain(call::write_reply(call, &reply), mark, version, tap)
        }
        Made::Error { error, headers } => {
            let mut wire_answer = call::write_reply(call, &Reply::Error(error));
            add(&mut wire_answer.headers, &headers);
            plain(wire_answer, mark, version, tap)
        }
        Made::EmptyBody => plain(empty(call), mark, version, tap),
        Made::Nothing => plain(call::write_nothing(call), mark, version, tap),
        Made::Raw { status, headers: given, body } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            let mut fields = HeaderMap::new();
            add(&mut fields, &given);
            // How a body is framed is the connection's affair, and hyper refuses to be told otherwise.
            headers::strip(&mut fields, Version::HTTP_2);
            plain(WireAnswer { status, headers: fields, body, trailers: None }, mark, version, tap)
        }
    }
}

/// The frames that go out from some event on, then the end: for a stream whose beginning is the agent's.
pub(super) fn rest_of_stream(call: &Call, with: Made) -> (Vec<Bytes>, StreamEnd) {
    let (events, error) = match with {
        Made::Reply(Reply::Error(error)) | Made::Error { error, .. } => (Vec::new(), Some(error)),
        Made::Reply(reply) => (events_of(&reply).unwrap_or_default(), None),
        Made::Stream { events, error } => (events, error),
        Made::EmptyBody | Made::Nothing => (Vec::new(), None),
        Made::Raw { body, .. } => return (vec![body], StreamEnd::default()),
    };
    let frames = events.iter().map(|event| call::write_event(call, event)).collect();
    (frames, call::write_stream_end(call, error.as_ref()))
}

/// What a plain answer is as events.
fn events_of(reply: &Reply) -> Option<Vec<StreamResponse>> {
    match reply {
        Reply::Task(task) => Some(vec![StreamResponse::Task(task.clone())]),
        Reply::Message(message) => Some(vec![StreamResponse::Message(message.clone())]),
        Reply::Empty => Some(Vec::new()),
        Reply::Tasks(_)
        | Reply::PushConfig(_)
        | Reply::PushConfigs { .. }
        | Reply::Card(_)
        | Reply::Error(_) => None,
    }
}

/// What events are as a plain answer.
fn folded(events: &[StreamResponse]) -> Reply {
    let mut folded = Folded::default();
    for event in events {
        folded.event(event);
    }
    folded.reply.unwrap_or(Reply::Empty)
}

fn empty(call: &Call) -> WireAnswer {
    let (status, headers) = call::write_stream_head(call);
    let StreamEnd { trailers, .. } = call::write_stream_end(call, None);
    // Of a stream's parts only gRPC's status is kept: on HTTP an empty body is just that.
    let headers = if trailers.is_some() { headers } else { HeaderMap::new() };
    WireAnswer { status, headers, body: Bytes::new(), trailers }
}

fn plain(
    wire_answer: WireAnswer,
    mark: Option<HeaderValue>,
    version: Version,
    tap: Option<&ExchangeTap>,
) -> Response<ResponseBody> {
    let WireAnswer { status, mut headers, body, trailers } = wire_answer;
    headers.extend(mark.map(|mark| (MEDDLER_FAULT, mark)));
    deliver(whole(status, headers, body.clone(), trailers.clone()), &body, version, tap)
}

/// Records a whole answer of ours as what was delivered.
pub(super) fn deliver(
    answer: Response<ResponseBody>,
    body: &Bytes,
    version: Version,
    tap: Option<&ExchangeTap>,
) -> Response<ResponseBody> {
    if let Some(tap) = tap {
        tap.head(Lane::Delivered, version, answer.status(), answer.headers());
        if !body.is_empty() {
            tap.data(Lane::Delivered, body);
        }
        if let ResponseBody::Made(made) = answer.body()
            && let Some(trailers) = made.trailers()
        {
            tap.trailers(Lane::Delivered, trailers);
        }
        tap.end(Lane::Delivered, End::Complete);
    }
    answer
}

fn stream(
    call: &Call,
    events: Vec<StreamResponse>,
    error: Option<A2aError>,
    mark: Option<HeaderValue>,
    (version, tap, wire): (Version, Option<&ExchangeTap>, &Arc<Wire>),
) -> Response<ResponseBody> {
    let (status, mut headers) = call::write_stream_head(call);
    headers.extend(mark.map(|mark| (MEDDLER_FAULT, mark)));
    let (frames, end) = rest_of_stream(call, Made::Stream { events, error });
    if let Some(tap) = tap {
        tap.head(Lane::Delivered, version, status, &headers);
    }
    let (tap, wire) = (tap.cloned(), Arc::clone(wire));
    let work = |out: Outlet| async move {
        let delivered = Delivering { out, tap, wire };
        for frame in frames {
            delivered.data(frame).await;
        }
        delivered.end(end).await
    };
    let mut answer = Response::new(ResponseBody::Worked(WorkedBody::new(work)));
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// Gives out frames and records them as delivered.
pub(super) struct Delivering {
    pub(super) out: Outlet,
    /// `None` also where what is delivered is what the agent sent.
    pub(super) tap: Option<ExchangeTap>,
    pub(super) wire: Arc<Wire>,
}

impl Delivering {
    pub(super) async fn data(&self, octets: Bytes) {
        if octets.is_empty() {
            return;
        }
        if let Some(tap) = &self.tap {
            tap.data(Lane::Delivered, &octets);
        }
        self.out.give(Frame::data(octets)).await;
    }

    pub(super) async fn end(&self, end: StreamEnd) -> Result<(), BodyError> {
        self.data(end.body).await;
        self.finish(end.trailers).await;
        if end.abort {
            self.flushed().await;
            return Err(BodyError::OnPurpose);
        }
        Ok(())
    }

    /// The last thing given out. Nothing may be left to do after it: hyper drops a body once it has its
    /// trailers.
    pub(super) async fn finish(&self, trailers: Option<HeaderMap>) {
        if let Some(tap) = &self.tap {
            if let Some(trailers) = &trailers {
                tap.trailers(Lane::Delivered, trailers);
            }
            tap.end(Lane::Delivered, End::Complete);
        }
        if let Some(trailers) = trailers {
            self.out.give(Frame::trailers(trailers)).await;
        }
    }

    /// Waits until all that was given out has left for the client: before the answer is broken off.
    pub(super) async fn flushed(&self) {
        let mark = self.wire.mark();
        std::future::poll_fn(|cx| self.wire.poll_flushed(mark, cx)).await;
    }
}

fn add(headers: &mut HeaderMap, fields: &[(String, String)]) {
    for (name, value) in fields {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.append(name, value);
        }
    }
}
