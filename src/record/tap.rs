//! The hot path's end of the recorder: bounded in octets, and waits within a bound or not at all.
//!
//! An exchange owns one [`ExchangeTap`]; its two bodies share it. What passes is gathered in the
//! exchange's own buffer and taken by the recorder at `Limits::handover_bytes`, after
//! `Limits::handover_age`, or at the end: a channel send per frame costs twice the whole proxy, and a
//! timer per exchange is not needed when one thread comes by. What waits is bounded in octets, because
//! a `Bytes` clone pins the read buffer it came from; small pieces are copied for the same reason.

mod queue;
mod seen;

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::a2a::problem::Problem;
use crate::base::Side;
use crate::base::id::ExchangeId;
use crate::base::limits::Limits;
use crate::record::exchange::{EditRecord, FaultRecord, UpstreamTrouble};

pub(super) use queue::{Intake, Lost, Open, Taken};
pub(super) use seen::Seen;

/// Where exchanges are reported. Cheap to clone; one that records nothing costs nothing.
#[derive(Clone)]
pub struct Tap(Option<Arc<queue::Queue>>);

/// What an exchange does when the recorder's queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// It waits for at most `Limits::queue_wait` in all, then goes on with a gap.
    #[default]
    Wait,
    /// It goes on with a gap at once.
    Drop,
}

/// What is known when the head of a request has arrived.
#[derive(Clone, Debug)]
pub struct Start {
    /// The exchange's name.
    pub id: ExchangeId,
    /// Wall-clock time.
    pub started: Timestamp,
    /// The same moment on the clock that durations are measured with.
    pub at: Instant,
    /// The remote agent's name in the configuration.
    pub agent: Arc<str>,
    /// The session, when the request's baggage names one.
    pub session: Option<String>,
    /// Who called.
    pub orchestrator: Arc<str>,
    /// Where it is sent; absent when Meddler answers itself, or when it is told later.
    pub upstream: Option<Arc<str>>,
    /// The HTTP method.
    pub method: http::Method,
    /// The request target, as written.
    pub target: http::Uri,
    /// The path in front of it that is an interface's address; see `RecordedRequest::base`.
    pub base: Option<Arc<str>>,
    /// The HTTP version.
    pub version: Version,
    /// The header fields. Names as written, when hyper's `HeaderCaseMap` tells them.
    pub headers: HeaderMap,
}

/// Which of the octets of an exchange are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// The request as it came from the orchestrator.
    Request,
    /// The answer as it came from the agent.
    Response,
    /// The answer as it was delivered; reported only where it differs from the agent's.
    Delivered,
}

/// How a lane ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As its framing says.
    Complete,
    /// This side broke off.
    Cut(Side),
    /// The agent could not be reached, or what it sent was no HTTP.
    Trouble(UpstreamTrouble),
    /// Meddler was told to stop while it was open.
    Stopped,
}

/// One exchange's connection to the recorder. Cheap to clone. When the last clone is dropped without an
/// `end`, the exchange is recorded with what it has, as cut by the client.
///
/// An exchange is over when its last clone is dropped; where clones live on, it is over a moment after
/// its request and every answer that was begun have ended.
pub struct ExchangeTap(Option<Arc<Open>>);

impl Tap {
    /// A tap and the recorder's end of it.
    pub(super) fn new(limits: &Limits, when_full: WhenFull) -> (Self, Intake) {
        let queue = Arc::new(queue::Queue::new(limits, when_full));
        (Self(Some(Arc::clone(&queue))), Intake::new(queue))
    }

    /// A tap that records nothing.
    pub const fn off() -> Self {
        Self(None)
    }

    /// Whether anything is recorded.
    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A new exchange. Never waits.
    pub fn begin(&self, start: Start) -> ExchangeTap {
        ExchangeTap(self.0.as_ref().and_then(|queue| queue.begin(start)))
    }
}

impl ExchangeTap {
    /// Octets of a body, as they passed.
    pub fn data(&self, lane: Lane, octets: &Bytes) {
        if let Some(open) = &self.0 {
            open.data(lane, octets);
        }
    }

    /// Resolves when the queue has room, or this exchange has used up its bound of waiting
    /// (`Limits::queue_wait` in all), or the recorder drops when full. Asked before `data` where octets
    /// come in numbers; after the bound octets are counted as a gap.
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        match &self.0 {
            Some(open) => open.poll_ready(cx),
            None => Poll::Ready(()),
        }
    }

    /// Where the request is sent, when that was not known at its start.
    pub fn upstream(&self, url: &Arc<str>) {
        if let Some(open) = &self.0 {
            open.note(Seen::Upstream(Arc::clone(url)));
        }
    }

    /// The head of an answer (`Lane::Response` or `Lane::Delivered`).
    pub fn head(&self, lane: Lane, version: Version, status: StatusCode, headers: &HeaderMap) {
        if let Some(open) = &self.0 {
            open.head(lane, version, status, headers);
        }
    }

    /// Trailer fields.
    pub fn trailers(&self, lane: Lane, trailers: &HeaderMap) {
        if let Some(open) = &self.0 {
            open.note(Seen::Trailers(lane, Box::new(trailers.clone())));
        }
    }

    /// What a rule did.
    pub fn fault(&self, fault: FaultRecord) {
        if let Some(open) = &self.0 {
            open.note(Seen::Fault(Box::new(fault)));
        }
    }

    /// A sanctioned change.
    pub fn edit(&self, edit: EditRecord) {
        if let Some(open) = &self.0 {
            open.note(Seen::Edit(Box::new(edit)));
        }
    }

    /// An answer of Meddler's own may follow the agent's, however long it takes to make: the exchange is
    /// not over with the agent's answer, but when nobody reports any more.
    pub fn may_change(&self) {
        if let Some(open) = &self.0 {
            open.note(Seen::MayChange);
        }
    }

    /// None follows after all.
    pub fn stays(&self) {
        if let Some(open) = &self.0 {
            open.note(Seen::Stays);
        }
    }

    /// The task that it belongs to, which is known otherwise than by its octets.
    pub fn task(&self, task: &str) {
        if let Some(open) = &self.0 {
            open.note(Seen::Task(task.into()));
        }
    }

    /// What is wrong with it, beside what its octets tell.
    pub fn problem(&self, problem: Problem) {
        if let Some(open) = &self.0 {
            open.note(Seen::Problem(Box::new(problem)));
        }
    }

    /// The end of a lane. The exchange is over when its request and its answer have ended; an end of
    /// `Trouble` or `Stopped` on any lane ends it all.
    pub fn end(&self, lane: Lane, end: End) {
        if let Some(open) = &self.0 {
            open.end(lane, end);
        }
    }
}

impl Clone for ExchangeTap {
    fn clone(&self) -> Self {
        if let Some(open) = &self.0 {
            open.add_handle();
        }
        Self(self.0.clone())
    }
}

impl Drop for ExchangeTap {
    fn drop(&mut self) {
        if let Some(open) = &self.0 {
            open.drop_handle();
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_on() { "Tap(on)" } else { "Tap(off)" })
    }
}

impl fmt::Debug for ExchangeTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(open) => write!(f, "ExchangeTap({})", open.start.id),
            None => f.write_str("ExchangeTap(off)"),
        }
    }
}

#[cfg(test)]
mod tests;
