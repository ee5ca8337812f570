//! One exchange as its observations come in.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, Version};
use jiff::Timestamp;
use tokio::time::Instant;

use super::body::{Arrival, Body, Budget};
use super::pieces::Pieces;
use crate::a2a::problem::Problem;
use crate::base::Side;
use crate::base::id::InstanceId;
use crate::base::limits::Limits;
use crate::record::decode::Ends;
use crate::record::exchange::{
    EditRecord, Exchange, FaultRecord, FaultVerdict, Outcome, RecordedRequest, RecordedResponse,
    Timings, UpstreamTrouble,
};
use crate::record::tap::{End, Lane, Open, Seen, Taken};

/// Whether an answer of Meddler's own may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnAnswer {
    Unlikely,
    Expected,
}

/// What is known of an exchange that has not been written yet.
pub(super) struct Assembly {
    pub(super) open: Arc<Open>,
    request: Body,
    response: Option<Answer>,
    delivered: Option<Answer>,
    faults: Vec<FaultRecord>,
    edits: Vec<EditRecord>,
    /// Where it went, when that was not where it was said to go.
    upstream: Option<Arc<str>>,
    own_answer: OwnAnswer,
    beside: Beside,
    ends: Ends,
    end_us: Option<u64>,
    head_us: Option<u64>,
    request_us: Option<u64>,
    trouble: Option<UpstreamTrouble>,
    is_dropped: bool,
    /// Octets that were kept of an answer that was given up.
    given_up: usize,
    /// When it is over although its tap is still held.
    settles_at: Option<Instant>,
    /// Whether its secrets were learned while it was open.
    pub(super) is_learned: bool,
    /// Whether its ids were read while it was open.
    pub(super) is_peeked: bool,
}

/// What is known of an exchange beside its octets.
#[derive(Clone, Default)]
struct Beside {
    /// The task it belongs to.
    task: Option<String>,
    problems: Vec<Problem>,
}

/// An exchange put together, and what is needed to decode it.
pub(super) struct Assembled {
    pub(super) exchange: Exchange,
    pub(super) ends: Ends,
    /// Of the agent's answer and of the delivered one.
    pub(super) arrivals: [Vec<Arrival>; 2],
}

#[derive(Default)]
struct Answer {
    head: Option<(Version, StatusCode, HeaderMap)>,
    body: Body,
}

impl Assembly {
    pub(super) fn new(open: Arc<Open>) -> Self {
        Self {
            upstream: open.start.upstream.clone(),
            open,
            request: Body::default(),
            response: None,
            delivered: None,
            faults: Vec::new(),
            edits: Vec::new(),
            own_answer: OwnAnswer::Unlikely,
            beside: Beside::default(),
            ends: Ends::default(),
            end_us: None,
            head_us: None,
            request_us: None,
            trouble: None,
            is_dropped: false,
            given_up: 0,
            settles_at: None,
            is_learned: false,
            is_peeked: false,
        }
    }

    /// Takes in what the exchange had gathered.
    pub(super) fn take_in(&mut self, taken: Taken, budget: &mut Budget) {
        let mut copied = Bytes::from(taken.copied);
        for seen in taken.news {
            match seen {
                Seen::Copied { lane, at_us, len } => {
                    let piece = copied.split_to(len.min(copied.len()));
                    self.body(lane).add(&piece, Pieces::own, at_us, budget);
                }
                Seen::Shared { lane, at_us, octets } => {
                    self.body(lane).add(&octets, Pieces::copy, at_us, budget);
                }
                Seen::Gap { lane, bytes } => self.body(lane).lose(bytes),
                Seen::Head { lane, at_us, head } => {
                    self.head(lane, at_us, *head);
                    budget.used = budget.used.saturating_sub(std::mem::take(&mut self.given_up));
                }
                Seen::Trailers(lane, trailers) => self.body(lane).trailers = fields(&trailers),
                Seen::Fault(fault) => self.faults.push(*fault),
                Seen::Edit(edit) => self.edits.push(*edit),
                Seen::MayChange => self.own_answer = OwnAnswer::Expected,
                Seen::Stays => self.own_answer = OwnAnswer::Unlikely,
                Seen::Upstream(url) => self.upstream = Some(url),
                Seen::Task(task) => self.beside.task = Some(task.into()),
                Seen::Problem(problem) => self.beside.problems.push(*problem),
                Seen::End { lane, at_us, end } => self.end(lane, at_us, end),
                Seen::Dropped { at_us } => {
                    self.is_dropped = true;
                    self.end_us.get_or_insert(at_us);
                }
            }
        }
        self.settles_at = None;
    }

    /// Whether nothing more can come, or (clones of the tap live on) nothing more is to be expected.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.is_dropped || self.settles_at.is_some_and(|at| at <= now)
    }

    /// If nothing more comes until then, it is over.
    pub(super) const fn settle(&mut self, at: Instant) {
        self.settles_at = Some(at);
    }

    /// Whether nobody can report any more, or nothing more is to be expected.
    pub(super) fn has_ended(&self) -> bool {
        if self.is_dropped {
            return true;
        }
        let has_broken = |end: &Option<End>| matches!(end, Some(End::Trouble(_) | End::Stopped));
        let Ends { request, response, delivered, .. } = &self.ends;
        if [request, response, delivered].into_iter().any(has_broken) {
            return self.delivered.is_none() || delivered.is_some();
        }
        // A rule that answers, or an edit, brings an answer of Meddler's own, perhaps later.
        let is_changed = self.own_answer == OwnAnswer::Expected
            || !self.edits.is_empty()
            || self.faults.iter().any(|fault| fault.verdict == FaultVerdict::Fired);
        let answer_has_ended = match (&self.response, &self.delivered) {
            (_, Some(_)) => delivered.is_some() && (self.response.is_none() || response.is_some()),
            (Some(_), None) => response.is_some() && !is_changed,
            (None, None) => false,
        };
        request.is_some() && answer_has_ended
    }

    /// Whether the request is whole.
    pub(super) const fn has_request(&self) -> bool {
        self.ends.request.is_some()
    }

    /// Whether octets of an answer are there.
    pub(super) fn has_answer_octets(&self) -> bool {
        let has_octets = |answer: &Option<Answer>| {
            answer.as_ref().is_some_and(|answer| !answer.body.kept.is_empty())
        };
        has_octets(&self.response) || has_octets(&self.delivered)
    }

    pub(super) const fn stop(&mut self) {
        self.ends.is_open_at_stop = true;
    }

    /// The octets it keeps.
    pub(super) fn kept(&self) -> usize {
        let kept =
            |answer: &Option<Answer>| answer.as_ref().map_or(0, |answer| answer.body.kept.len());
        self.request.kept.len() + kept(&self.response) + kept(&self.delivered)
    }

    /// The exchange as it stands, to be looked into while it goes on.
    pub(super) fn so_far(&self, instance: InstanceId, limits: &Limits) -> Assembled {
        let copy = Self {
            open: Arc::clone(&self.open),
            request: self.request.copy(),
            response: self.response.as_ref().map(Answer::copy),
            delivered: self.delivered.as_ref().map(Answer::copy),
            ends: self.ends.clone(),
            beside: self.beside.clone(),
            ..Self::new(Arc::clone(&self.open))
        };
        copy.finish(instance, limits)
    }

    /// Puts the exchange together. Session, operation and outcome are still to be found.
    pub(super) fn finish(self, instance: InstanceId, limits: &Limits) -> Assembled {
        let start = &self.open.start;
        let Beside { task, mut problems, .. } = self.beside;
        let headers = request_fields(start.version, &start.target, &start.headers);
        let trailers = self.request.trailers.clone();
        let (body, _) = self.request.finish(&headers, "request", limits, &mut problems);
        let request = RecordedRequest {
            method: start.method.to_string(),
            target: target(start.version, &start.method, &start.target),
            base: start.base.as_deref().unwrap_or_default().to_owned(),
            http: http_name(start.version).to_owned(),
            headers,
            body,
            trailers,
        };
        let mut finish = |answer: Option<Answer>, name: &str| match answer {
            Some(answer) => {
                let (response, arrivals) = answer.finish(name, limits, &mut problems);
                (Some(response), arrivals)
            }
            None => (None, Vec::new()),
        };
        let (response, response_arrivals) = finish(self.response, "response");
        let (delivered, delivered_arrivals) = finish(self.delivered, "delivered");
        let exchange = Exchange {
            id: start.id,
            session: String::new(),
            instance,
            agent: start.agent.to_string(),
            orchestrator: start.orchestrator.to_string(),
            binding: None,
            version: None,
            declared_version: None,
            operation: crate::a2a::model::Operation::Unknown,
            wire_name: String::new(),
            ids: crate::a2a::call::Ids { task_id: task, ..Default::default() },
            started: to_the_microsecond(start.started),
            timings: Timings {
                request_us: self.request_us,
                head_us: self.head_us,
                first_event_us: None,
                end_us: self.end_us,
            },
            request,
            response,
            delivered,
            upstream: self.upstream.as_ref().or(start.upstream.as_ref()).map(ToString::to_string),
            faults: self.faults,
            edits: self.edits,
            problems,
            redactions: Vec::new(),
            outcome: Outcome::OpenAtStop,
            upstream_error: self.trouble,
        };
        let arrivals = [response_arrivals, delivered_arrivals];
        Assembled { exchange, ends: self.ends, arrivals }
    }

    fn body(&mut self, lane: Lane) -> &mut Body {
        match lane {
            Lane::Request => &mut self.request,
            Lane::Response => &mut self.response.get_or_insert_default().body,
            Lane::Delivered => &mut self.delivered.get_or_insert_default().body,
        }
    }

    fn head(&mut self, lane: Lane, at_us: u64, head: (Version, StatusCode, HeaderMap)) {
        match lane {
            // A request's head came with its start.
            Lane::Request => {}
            Lane::Response => {
                // A second head is that of a second agent's address, tried because the first answer
                // was of no use: this is the answer now.
                if let Some(old) = self.response.take_if(|answer| answer.head.is_some()) {
                    self.given_up += old.body.kept.len();
                    self.ends.response = None;
                }
                self.head_us = Some(at_us);
                self.response.get_or_insert_default().head = Some(head);
            }
            Lane::Delivered => self.delivered.get_or_insert_default().head = Some(head),
        }
    }

    fn end(&mut self, lane: Lane, at_us: u64, end: End) {
        if let End::Trouble(trouble) = &end {
            self.trouble.get_or_insert_with(|| trouble.clone());
        }
        let slot = match lane {
            Lane::Request => {
                self.request_us.get_or_insert(at_us);
                &mut self.ends.request
            }
            Lane::Response => &mut self.ends.response,
            Lane::Delivered => &mut self.ends.delivered,
        };
        // The first word counts, what follows is its echo. But an answer that was given up for
        // another may say so late.
        let was_given_up = matches!(slot, Some(End::Cut(Side::Downstream)));
        if slot.is_none() || (was_given_up && end == End::Complete) {
            *slot = Some(end);
        }
        match lane {
            Lane::Request => {}
            Lane::Response | Lane::Delivered => {
                self.end_us = self.end_us.max(Some(at_us));
            }
        }
    }
}

impl Answer {
    fn copy(&self) -> Self {
        Self { head: self.head.clone(), body: self.body.copy() }
    }

    fn finish(
        self,
        name: &str,
        limits: &Limits,
        problems: &mut Vec<Problem>,
    ) -> (RecordedResponse, Vec<Arrival>) {
        let (status, http, headers) = match &self.head {
            Some((version, status, headers)) => {
                (status.as_u16(), http_name(*version), fields(headers))
            }
            None => (0, "", Vec::new()),
        };
        let trailers = self.body.trailers.clone();
        let (body, arrivals) = self.body.finish(&headers, name, limits, problems);
        let http = http.to_owned();
        let response = RecordedResponse {
            status,
            http,
            headers,
            body,
            events: Vec::new(),
            trailers,
            grpc_status: None,
        };
        (response, arrivals)
    }
}

/// What stores and files keep, so that an exchange is the same wherever it is read.
fn to_the_microsecond(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(time)
}

fn http_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// The target as it stood on the wire: HTTP/2 has the path in a field of its own.
fn target(version: Version, method: &Method, uri: &Uri) -> String {
    match uri.path_and_query() {
        Some(path) if version == Version::HTTP_2 && *method != Method::CONNECT => path.to_string(),
        Some(_) | None => uri.to_string(),
    }
}

fn request_fields(version: Version, uri: &Uri, headers: &HeaderMap) -> Vec<(String, String)> {
    let authority = uri.authority().filter(|_| version == Version::HTTP_2);
    let authority = authority.map(|authority| (":authority".to_owned(), authority.to_string()));
    authority.into_iter().chain(fields(headers)).collect()
}

/// Values that are no UTF-8 are read as Latin-1, as HTTP once said.
fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |octets: &[u8]| match std::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().map(|octet| char::from(*octet)).collect(),
    };
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes()))).collect()
}
