//! Carries out what a plan asks for on the body of the agent's answer: waits, slows, edits, replaces.
//!
//! Only exchanges that a rule has picked come here. Frames are split but not decoded; an event that no
//! rule means goes on octet for octet.

use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HeaderMap, HeaderValue, TRANSFER_ENCODING,
};
use http::{Response, response};
use http_body::{Body, Frame as BodyFrame};
use tokio::time::Instant;

use crate::a2a::call::{self, Call, WireView};
use crate::a2a::edit;
use crate::a2a::frame::{Frame, Payload, Splitter};
use crate::fault::verdict::Start;
use crate::proxy::answer::{MEDDLER_FAULT, fault_mark};
use crate::proxy::body::{MadeBody, Outlet, ResponseBody, WorkedBody};
use crate::proxy::collect::{Collected, collect, next};
use crate::proxy::error::BodyError;
use crate::proxy::exchange::Connection;
use crate::proxy::headers;
use crate::proxy::judge::{self, Answer, Insert, Mark, Plan};
use crate::proxy::made::{self, Delivering};
use crate::proxy::passing::Passing;
use crate::proxy::rewrite::coding;
use crate::proxy::stream_ids::StreamIds;
use crate::record::tap::{ExchangeTap, Lane};

/// How finely a throttled body is portioned.
const PORTIONS_A_SECOND: u64 = 20;

/// Applies a plan to an answer that has begun.
pub(super) async fn shape(
    conn: &Connection,
    mut plan: Plan,
    parts: response::Parts,
    passing: Passing,
    tap: Option<ExchangeTap>,
) -> Response<ResponseBody> {
    let is_coded = parts.headers.contains_key(CONTENT_ENCODING);
    let splitter = call::stream_splitter(&plan.call, &parts.headers);
    match splitter {
        Some(splitter) if !is_coded => stream(conn, plan, parts, passing, (splitter, tap)),
        Some(_) => {
            refuse_edits(&mut plan, "the stream is compressed", tap.as_ref());
            pace(conn, &plan, parts, passing)
        }
        None => {
            if let Some(answer) = plan.answer.take() {
                let why = "the agent gave a plain answer, not a stream";
                judge::record_not_applicable(&answer.note, why, tap.as_ref());
            }
            let insertions = std::mem::take(&mut plan.insertions);
            if insertions.is_empty() {
                return pace(conn, &plan, parts, passing);
            }
            edited(conn, plan, insertions, (parts, passing), tap).await
        }
    }
}

/// Drops what a plan would put into an answer, or count in it, and records why.
pub(super) fn refuse_edits(plan: &mut Plan, why: &str, tap: Option<&ExchangeTap>) {
    if let Some(answer) = plan.answer.take() {
        judge::record_not_applicable(&answer.note, why, tap);
    }
    for insert in plan.insertions.drain(..) {
        judge::record_not_applicable(&insert.note, why, tap);
    }
    plan.before_events.clear();
}

/// Only slows: what is delivered is what the agent sent.
fn pace(
    conn: &Connection,
    plan: &Plan,
    parts: response::Parts,
    passing: Passing,
) -> Response<ResponseBody> {
    if plan.rate.is_none() && plan.before_end.is_zero() {
        return Response::from_parts(parts, ResponseBody::Passing(passing));
    }
    let (pace, before_end, wire) = (Pace::new(plan.rate), plan.before_end, conn.wire.clone());
    let work = move |out: Outlet| async move {
        let (mut passing, mut pace) = (passing, pace);
        let to = Delivering { out, tap: None, wire };
        loop {
            match next(&mut passing).await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        // hyper drops a body that has reached its length, so this is the end.
                        if passing.is_end_stream() {
                            wait(before_end).await;
                            pace.give(&to, data).await;
                            return Ok(());
                        }
                        pace.give(&to, data).await;
                    }
                    Err(frame) => {
                        wait(before_end).await;
                        to.out.give(frame).await;
                        return Ok(());
                    }
                },
                Some(Err(error)) => {
                    to.flushed().await;
                    return Err(error);
                }
                None => {
                    wait(before_end).await;
                    return Ok(());
                }
            }
        }
    };
    Response::from_parts(parts, ResponseBody::Worked(WorkedBody::new(work)))
}

/// Puts something into a plain answer.
async fn edited(
    conn: &Connection,
    plan: Plan,
    insertions: Vec<Insert>,
    (mut parts, passing): (response::Parts, Passing),
    tap: Option<ExchangeTap>,
) -> Response<ResponseBody> {
    let limits = &conn.core.limits;
    let pass = |passing, why| {
        for insert in &insertions {
            judge::record_not_applicable(&insert.note, why, tap.as_ref());
        }
        passing
    };
    let (body, trailers, mut passing) = match collect(passing, limits.frame_bytes).await {
        Collected::Whole { body, trailers, passing } => (body, trailers, passing),
        Collected::TooLong(passing) => {
            let passing = pass(passing, "the answer is too long to be edited");
            return pace(conn, &plan, parts, passing);
        }
        Collected::Broken(passing) => {
            let passing = pass(passing, "the agent broke off before the answer's end");
            return pace(conn, &plan, parts, passing);
        }
    };
    let Some(mut current) = coding::undo(&parts.headers, &body, limits.inflated_bytes) else {
        passing.put_back(frames(body, trailers));
        let passing = pass(passing, "the answer's content coding cannot be undone");
        return pace(conn, &plan, parts, passing);
    };
    let mut is_changed = false;
    let mut mark = None;
    for insert in &insertions {
        let view = WireView {
            status: parts.status,
            headers: &parts.headers,
            body: &current,
            trailers: trailers.as_ref(),
        };
        match edit::insert_into_reply(&plan.call, view, &insert.insertion) {
            Ok(new) => {
                current = new.to_vec();
                is_changed = true;
                mark = mark_of(insert).or(mark);
                judge::record(&insert.note, tap.as_ref());
            }
            Err(why) => judge::record_not_applicable(&insert.note, &why, tap.as_ref()),
        }
    }
    if !is_changed {
        passing.put_back(frames(body, trailers));
        return pace(conn, &plan, parts, passing);
    }
    drop(passing);
    let new = Bytes::from(current);
    reframe(&mut parts.headers, trailers.is_none().then_some(new.len()));
    parts.headers.extend(mark.map(|mark| (MEDDLER_FAULT, mark)));
    let made = MadeBody::new(new.clone(), trailers);
    let answer = Response::from_parts(parts, ResponseBody::Made(made));
    let version = answer.version();
    let answer = made::deliver(answer, &new, version, tap.as_ref());
    slowed(conn, &plan, answer)
}

/// A made answer, slowed as the plan says.
pub(super) fn slowed(
    conn: &Connection,
    plan: &Plan,
    answer: Response<ResponseBody>,
) -> Response<ResponseBody> {
    if plan.rate.is_none() && plan.before_end.is_zero() {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    let ResponseBody::Made(made) = body else { return Response::from_parts(parts, body) };
    let (pace, before_end, wire) = (Pace::new(plan.rate), plan.before_end, conn.wire.clone());
    let work = move |out: Outlet| async move {
        let mut pace = pace;
        let to = Delivering { out, tap: None, wire };
        let mut frames = made.into_frames();
        let last = frames.pop_back();
        for frame in frames.into_iter().filter_map(|frame| frame.into_data().ok()) {
            pace.give(&to, frame).await;
        }
        wait(before_end).await;
        match last.map(BodyFrame::into_data) {
            Some(Ok(data)) => pace.give(&to, data).await,
            Some(Err(trailers)) => to.out.give(trailers).await,
            None => {}
        }
        Ok(())
    };
    Response::from_parts(parts, ResponseBody::Worked(WorkedBody::new(work)))
}

/// Works on a stream, event by event.
fn stream(
    conn: &Connection,
    mut plan: Plan,
    mut parts: response::Parts,
    passing: Passing,
    (splitter, tap): (Box<dyn Splitter>, Option<ExchangeTap>),
) -> Response<ResponseBody> {
    let answer = plan.answer.take();
    let insertions = std::mem::take(&mut plan.insertions);
    let is_edited = answer.is_some() || !insertions.is_empty();
    if is_edited {
        headers::remove(&mut parts.headers, &[CONTENT_LENGTH]);
        let mark = answer.as_ref().and_then(|answer| match answer.mark {
            Mark::Shown => Some(fault_mark(&answer.note.rule)),
            Mark::Hidden => None,
        });
        let mark = mark.or_else(|| insertions.iter().find_map(mark_of));
        parts.headers.extend(mark.map(|mark| (MEDDLER_FAULT, mark)));
        if let Some(tap) = &tap {
            tap.head(Lane::Delivered, parts.version, parts.status, &parts.headers);
        }
    }
    let (wire, headers) = (conn.wire.clone(), parts.headers.clone());
    let work = move |out: Outlet| async move {
        let to = Delivering { out, tap: tap.clone().filter(|_| is_edited), wire };
        let Plan { call, before_events, before_end, rate, .. } = plan;
        let pace = Pace::new(rate);
        let mut shaping = Shaping {
            ids: StreamIds::of(&call),
            call,
            headers,
            before_events,
            before_end,
            pace,
            answer,
            insertions,
            tap,
            to,
            seen: 0,
        };
        shaping.run(passing, splitter).await
    };
    Response::from_parts(parts, ResponseBody::Worked(WorkedBody::new(work)))
}

/// A stream that is being worked on.
struct Shaping {
    call: Call,
    headers: HeaderMap,
    before_events: Vec<(Option<u64>, Duration)>,
    before_end: Duration,
    pace: Pace,
    answer: Option<Answer>,
    /// Noted while an answer of ours is to come.
    ids: StreamIds,
    insertions: Vec<Insert>,
    tap: Option<ExchangeTap>,
    to: Delivering,
    /// Events so far, comments not counted.
    seen: u64,
}

/// Whether a stream goes on after a frame.
enum Next {
    Agent,
    Ours,
}

impl Shaping {
    async fn run(
        &mut self,
        mut passing: Passing,
        mut splitter: Box<dyn Splitter>,
    ) -> Result<(), BodyError> {
        loop {
            match next(&mut passing).await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        for frame in splitter.push(&data) {
                            match self.frame(frame).await {
                                Next::Agent => {}
                                Next::Ours => {
                                    // From here on the answer is ours: the agent is told to stop.
                                    drop(passing);
                                    return self.end_with_ours().await;
                                }
                            }
                        }
                    }
                    Err(frame) => return self.end(splitter, frame.into_trailers().ok()).await,
                },
                Some(Err(error)) => {
                    self.leftover(&mut splitter).await;
                    self.to.flushed().await;
                    return Err(error);
                }
                None => return self.end(splitter, None).await,
            }
        }
    }

    async fn frame(&mut self, frame: Frame) -> Next {
        if !is_event(&frame.payload) {
            self.pace.give(&self.to, frame.raw).await;
            return Next::Agent;
        }
        self.seen += 1;
        let starts_here = self.answer.as_ref().is_some_and(|answer| match answer.from {
            Start::Beginning => true,
            Start::Event(number) => number <= self.seen,
        });
        if starts_here {
            return Next::Ours;
        }
        if self.answer.is_some() {
            self.ids.note(&self.call, &frame);
        }
        for (number, delay) in &self.before_events {
            if number.is_none_or(|number| number == self.seen) {
                wait(*delay).await;
            }
        }
        let octets = self.inserted(&frame);
        self.pace.give(&self.to, octets).await;
        Next::Agent
    }

    /// The frame with what rules put into it.
    fn inserted(&mut self, frame: &Frame) -> Bytes {
        let mut current = frame.clone();
        let mut left = Vec::new();
        for insert in std::mem::take(&mut self.insertions) {
            let is_here = insert.event.is_none_or(|number| number == self.seen);
            let done =
                is_here.then(|| edit::insert_into_event(&self.call, &current, &insert.insertion));
            match done {
                Some(Ok(octets)) => {
                    judge::record(&insert.note, self.tap.as_ref());
                    let again = resplit(&octets, &self.headers, current.start);
                    current = again.unwrap_or(Frame { raw: octets, ..current });
                }
                Some(Err(why)) if insert.event.is_some() => {
                    judge::record_not_applicable(&insert.note, &why, self.tap.as_ref());
                }
                // Without a number it waits for the first event that has a place for it.
                Some(Err(_)) | None => left.push(insert),
            }
        }
        self.insertions = left;
        current.raw
    }

    async fn end_with_ours(&mut self) -> Result<(), BodyError> {
        let Some(answer) = self.answer.take() else { return Ok(()) };
        judge::record(&answer.note, self.tap.as_ref());
        let (frames, end) = made::rest_of_stream(&self.call, self.ids.fill(answer.with));
        for octets in frames {
            self.pace.give(&self.to, octets).await;
        }
        wait(self.before_end).await;
        self.to.end(end).await
    }

    async fn end(
        &mut self,
        mut splitter: Box<dyn Splitter>,
        trailers: Option<HeaderMap>,
    ) -> Result<(), BodyError> {
        self.leftover(&mut splitter).await;
        wait(self.before_end).await;
        let count = self.seen;
        if let Some(answer) = self.answer.take() {
            let why = format!("the stream ended after {count} events");
            judge::record_not_applicable(&answer.note, &why, self.tap.as_ref());
        }
        for insert in self.insertions.drain(..) {
            let why = format!("none of the stream's {count} events had the place");
            judge::record_not_applicable(&insert.note, &why, self.tap.as_ref());
        }
        self.to.finish(trailers).await;
        Ok(())
    }

    async fn leftover(&mut self, splitter: &mut Box<dyn Splitter>) {
        if let Some(leftover) = splitter.finish() {
            self.pace.give(&self.to, leftover.raw).await;
        }
    }
}

/// An edited frame as a frame again, so that a second edit can be made to it.
fn resplit(octets: &Bytes, headers: &HeaderMap, start: u64) -> Option<Frame> {
    let mut splitter = call::splitter(headers)?;
    splitter.push(octets).into_iter().next().map(|frame| Frame { start, ..frame })
}

fn is_event(payload: &Payload) -> bool {
    match payload {
        Payload::Event { .. } | Payload::Message { .. } => true,
        Payload::Silent | Payload::Oversized => false,
    }
}

/// Head fields for a body that has become another one; without a length when trailers follow it.
pub(super) fn reframe(headers: &mut HeaderMap, len: Option<usize>) {
    headers::remove(headers, &[CONTENT_ENCODING, ETAG, TRANSFER_ENCODING]);
    match len {
        Some(len) => drop(headers.insert(CONTENT_LENGTH, HeaderValue::from(len))),
        None => headers::remove(headers, &[CONTENT_LENGTH]),
    }
}

/// A whole body as frames again.
pub(super) fn frames(body: Bytes, trailers: Option<HeaderMap>) -> Vec<BodyFrame<Bytes>> {
    let mut frames = Vec::new();
    if !body.is_empty() {
        frames.push(BodyFrame::data(body));
    }
    frames.extend(trailers.map(BodyFrame::trailers));
    frames
}

fn mark_of(insert: &Insert) -> Option<HeaderValue> {
    match insert.mark {
        Mark::Shown => Some(fault_mark(&insert.note.rule)),
        Mark::Hidden => None,
    }
}

pub(super) async fn wait(duration: Duration) {
    if !duration.is_zero() {
        tokio::time::sleep(duration).await;
    }
}

/// Lets octets through at a rate, or as they come.
struct Pace {
    rate: Option<u64>,
    next: Option<Instant>,
}

impl Pace {
    const fn new(rate: Option<u64>) -> Self {
        Self { rate, next: None }
    }

    async fn give(&mut self, to: &Delivering, mut octets: Bytes) {
        let Some(rate) = self.rate else { return to.data(octets).await };
        let portion = usize::try_from((rate / PORTIONS_A_SECOND).max(1)).unwrap_or(usize::MAX);
        while !octets.is_empty() {
            let part = octets.split_to(portion.min(octets.len()));
            let start = self.next.unwrap_or_else(Instant::now).max(Instant::now());
            tokio::time::sleep_until(start).await;
            let micros = (part.len() as u64).saturating_mul(1_000_000) / rate;
            self.next = Some(start + Duration::from_micros(micros));
            to.data(part).await;
        }
    }
}
