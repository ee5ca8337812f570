//! What an exchange says, read from its kept octets.
//!
//! Derived, never kept: the recorder fills in what listings and filters need, readers decode anew. So a
//! better decoder understands old recordings, and what is masked never reaches a decoded text.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};

use crate::a2a::call::{self, Answer, Call, Head, Ids, Recognized, WireView};
use crate::a2a::detect;
use crate::a2a::fold::Folded;
use crate::a2a::frame::Payload as FramePayload;
use crate::a2a::model::{GrpcCode, Reply, Request, TaskState};
use crate::a2a::problem::Problem;
use crate::a2a::webhook;
use crate::base::Side;
use crate::record::exchange::{
    EventMark, Exchange, FaultVerdict, Outcome, Payload, RecordedRequest, RecordedResponse,
};
use crate::record::tap::End;

/// Where Meddler receives deliveries.
const PUSH_PATH: &str = webhook::PATH;
/// What carries the token of a delivery.
const PUSH_HEADER: &str = "x-a2a-notification-token";

/// Problems that are no mistake of an agent whose answer nobody waited for.
const OF_A_CUT: &[&str] = &["empty_body", "invalid_json", "missing_trailers", "unterminated"];

/// An exchange as understood.
#[derive(Clone, Debug, Default)]
pub struct Understood {
    /// What was asked.
    pub call: Call,
    /// What the agent answered.
    pub answer: Option<Answer>,
    /// What the orchestrator was told, where that differs.
    pub delivered: Option<Answer>,
}

/// How the lanes of an exchange ended. `None`: not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub(super) request: Option<End>,
    pub(super) response: Option<End>,
    pub(super) delivered: Option<End>,
    /// Whether Meddler stopped while it was open.
    pub(super) is_open_at_stop: bool,
}

impl Understood {
    /// The answer that the orchestrator saw.
    pub fn seen(&self) -> Option<&Answer> {
        self.delivered.as_ref().or(self.answer.as_ref())
    }
}

/// Reads an exchange. Never fails: what cannot be read is absent, and the problems say why.
pub fn understand(exchange: &Exchange) -> Understood {
    let call = read_call(&exchange.request);
    let read = |response: &RecordedResponse| read_answer(&call, response);
    let answer = exchange.response.as_ref().map(read);
    let delivered = exchange.delivered.as_ref().map(read);
    Understood { call, answer, delivered }
}

/// One call of a JSON-RPC batch.
#[derive(Clone, Debug)]
pub struct Member {
    /// What was asked.
    pub call: Call,
    /// What the orchestrator was told: `answered`, `error`, or `unanswered`.
    pub outcome: &'static str,
}

/// The calls of an exchange that is a batch, in the order they were asked; none of any other.
pub fn members(exchange: &Exchange) -> Vec<Member> {
    // The name of every batch begins so, and reading bodies costs.
    if !exchange.wire_name.starts_with('[') {
        return Vec::new();
    }
    let understood = understand(exchange);
    let answers = understood.seen().map(|answer| answer.batch.as_slice()).unwrap_or_default();
    let outcome = |place: usize| match answers.iter().find(|(of, _)| *of == place) {
        Some((_, answer)) if answer.error.is_some() => "error",
        Some(_) => "answered",
        None => "unanswered",
    };
    let calls = understood.call.batch.iter().enumerate();
    calls.map(|(place, call)| Member { call: call.clone(), outcome: outcome(place) }).collect()
}

/// The URIs of the extensions that header fields and trailers name.
pub fn extensions(fields: &[(String, String)], trailers: &[(String, String)]) -> Vec<String> {
    let all = fields.iter().chain(trailers);
    call::extensions(all.map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The answer put together: its one reply, or the sum of its events.
pub fn folded(answer: &Answer) -> Folded {
    let mut folded = Folded::default();
    if let Some(reply) = &answer.reply {
        folded.reply(reply);
    }
    for event in answer.events.iter().filter_map(|event| event.event.as_ref()) {
        folded.event(event);
    }
    if let Some(error) = answer.error.as_ref().filter(|_| folded.reply.is_none()) {
        folded.reply(&Reply::Error(error.clone()));
    }
    folded
}

/// What the head of the request tells.
pub(super) fn recognize(request: &RecordedRequest) -> Recognized {
    let (method, uri, headers) = head(request);
    recognize_head(Head { method: &method, uri: &uri, headers: &headers })
}

/// A delivery to a webhook can go to any address: it is known by the receiver of Meddler's own, and by
/// the header field that agents of both versions send, which no call has.
fn recognize_head(head: Head<'_>) -> Recognized {
    let is_delivery = *head.method == Method::POST
        && (head.uri.path().starts_with(PUSH_PATH) || head.headers.contains_key(PUSH_HEADER));
    if is_delivery { detect::push_delivery(head) } else { detect::recognize(head) }
}

/// The ids that an exchange names, request and answer together.
pub(super) fn ids(exchange: &Exchange) -> Ids {
    let understood = understand(exchange);
    let mut ids = understood.call.ids.clone();
    if let Some(answer) = understood.answer.as_ref().or(understood.delivered.as_ref()) {
        merge_ids(&mut ids, &answer.ids);
    }
    ids
}

/// Writes down what the octets say: operation, ids, problems, events, outcome. `arrived_us` tells when
/// the octet before an offset of the answer had arrived (agent's answer, delivered answer).
pub(super) fn fill(exchange: &mut Exchange, ends: &Ends, arrived_us: [&dyn Fn(u64) -> u64; 2]) {
    let understood = understand(exchange);
    let Understood { call, answer, delivered } = &understood;
    exchange.binding = call.binding;
    exchange.version = call.version;
    exchange.declared_version.clone_from(&call.declared);
    exchange.operation = call.operation;
    exchange.wire_name.clone_from(&call.wire_name);
    let told = exchange.ids.task_id.take();
    exchange.ids = call.ids.clone();
    if told.is_some() {
        exchange.ids.task_id = told;
    }
    exchange.problems.extend(call.problems.iter().cloned());
    if let Some(seen) = answer.as_ref().or(delivered.as_ref()) {
        merge_ids(&mut exchange.ids, &seen.ids);
    }
    if let Some(answer) = answer {
        let was_left = !matches!(ends.response, Some(End::Complete | End::Cut(Side::Upstream)));
        let is_excused = |problem: &&Problem| was_left && OF_A_CUT.contains(&problem.name.as_str());
        let problems = answer.problems.iter().filter(|problem| !is_excused(problem));
        exchange.problems.extend(problems.cloned());
    }
    let lanes = [(&mut exchange.response, answer), (&mut exchange.delivered, delivered)];
    for ((response, answer), arrived_us) in lanes.into_iter().zip(arrived_us) {
        if let (Some(response), Some(answer)) = (response.as_mut(), answer.as_ref()) {
            response.grpc_status = answer.grpc_status.map(GrpcCode::number);
            response.events = marks(response, answer, arrived_us);
        }
    }
    let first = |response: &Option<RecordedResponse>| {
        response.as_ref().and_then(|response| response.events.first()).map(|mark| mark.at_us)
    };
    exchange.timings.first_event_us = first(&exchange.response).or(first(&exchange.delivered));
    exchange.outcome = outcome(exchange, ends, &understood);
}

fn read_call(request: &RecordedRequest) -> Call {
    let (method, uri, headers) = head(request);
    let head = Head { method: &method, uri: &uri, headers: &headers };
    let recognized = recognize_head(head);
    let mut call = call::read_call(head, &recognized, &request.body.kept);
    if is_part(&request.body) {
        // What the limit cut is not the peer's mistake.
        call.problems.clear();
        if call.wire_name.is_empty()
            && let Some((operation, version)) = call::peek_method(&request.body.kept)
        {
            call.operation = operation;
            call.version = call.version.or(version);
        }
    }
    call
}

fn read_answer(call: &Call, response: &RecordedResponse) -> Answer {
    let headers = header_map(&response.headers);
    let trailers = header_map(&response.trailers);
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::OK);
    let trailers = (!trailers.is_empty()).then_some(&trailers);
    let body = &response.body.kept;
    let mut answer =
        call::read_answer(call, WireView { status, headers: &headers, body, trailers });
    if is_part(&response.body) {
        answer.problems.clear();
    }
    answer
}

const fn is_part(body: &Payload) -> bool {
    body.truncated || body.gap > 0
}

fn head(request: &RecordedRequest) -> (Method, Uri, HeaderMap) {
    let method = Method::from_bytes(request.method.as_bytes()).unwrap_or_default();
    let below = request.target.strip_prefix(request.base.as_str());
    let target = below.filter(|below| below.starts_with('/')).unwrap_or(&request.target);
    let uri = target.parse().unwrap_or_default();
    (method, uri, header_map(&request.headers))
}

/// The fields that are fields: names such as `:authority` are left out.
pub(super) fn header_map(fields: &[(String, String)]) -> HeaderMap {
    let field = |(name, value): &(String, String)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    let mut map = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields.iter().filter_map(field) {
        map.append(name, value);
    }
    map
}

fn merge_ids(into: &mut Ids, from: &Ids) {
    let fields = [
        (&mut into.message_id, &from.message_id),
        (&mut into.context_id, &from.context_id),
        (&mut into.task_id, &from.task_id),
        (&mut into.config_id, &from.config_id),
        (&mut into.tenant, &from.tenant),
    ];
    for (known, new) in fields {
        if known.is_none() {
            known.clone_from(new);
        }
    }
}

/// Where the frames of a stream stand. Of a stream that is no A2A the events are marked as well.
fn marks(
    response: &RecordedResponse,
    answer: &Answer,
    arrived_us: &dyn Fn(u64) -> u64,
) -> Vec<EventMark> {
    let mark = |start: u64, len: u64| EventMark { at_us: arrived_us(start + len), start, len };
    if answer.is_stream {
        return answer.events.iter().map(|event| mark(event.start, event.len)).collect();
    }
    let is_event_stream = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("content-type")
            && value.to_ascii_lowercase().starts_with("text/event-stream")
    };
    if !response.headers.iter().any(is_event_stream) {
        return Vec::new();
    }
    let Some(mut splitter) = call::splitter(&header_map(&response.headers)) else {
        return Vec::new();
    };
    let frames = splitter.push(&response.body.kept);
    let is_event = |payload: &FramePayload| match payload {
        FramePayload::Event { .. } | FramePayload::Message { .. } | FramePayload::Oversized => true,
        FramePayload::Silent => false,
    };
    let frames = frames.iter().filter(|frame| is_event(&frame.payload));
    frames.map(|frame| mark(frame.start, frame.raw.len() as u64)).collect()
}

fn outcome(exchange: &Exchange, ends: &Ends, understood: &Understood) -> Outcome {
    let all = [&ends.request, &ends.response, &ends.delivered];
    if exchange.upstream_error.is_some()
        || all.iter().any(|end| matches!(end, Some(End::Trouble(_))))
    {
        return Outcome::UpstreamError;
    }
    if ends.is_open_at_stop || all.iter().any(|end| matches!(end, Some(End::Stopped))) {
        return Outcome::OpenAtStop;
    }
    let has_fired = exchange.faults.iter().any(|fault| fault.verdict == FaultVerdict::Fired);
    let is_ours = ends.delivered == Some(End::Complete) && ends.response != Some(End::Complete);
    if has_fired && is_ours {
        return Outcome::AnsweredByFault;
    }
    let end = match exchange.delivered {
        Some(_) => &ends.delivered,
        None => &ends.response,
    };
    // A request that was answered before its end is not malformed: the answer tells how it went.
    let is_refused = ends.request == Some(End::Cut(Side::Upstream))
        && understood.call.request.is_none()
        && exchange.response.as_ref().is_some_and(|response| response.status >= 400);
    match end {
        Some(End::Complete) if is_refused => Outcome::Error,
        Some(End::Complete) => outcome_of_content(exchange, understood),
        Some(End::Cut(Side::Upstream)) => Outcome::CutByAgent,
        Some(End::Cut(Side::Downstream)) | None => match outcome_of_content(exchange, understood) {
            // Whoever has heard the end of the story may leave.
            settled @ (Outcome::Completed
            | Outcome::Failed
            | Outcome::Rejected
            | Outcome::Canceled
            | Outcome::InputRequired
            | Outcome::AuthRequired
            | Outcome::Message)
                if understood.seen().is_some_and(|answer| answer.is_stream) =>
            {
                settled
            }
            Outcome::Completed
            | Outcome::Failed
            | Outcome::Rejected
            | Outcome::Canceled
            | Outcome::InputRequired
            | Outcome::AuthRequired
            | Outcome::Message
            | Outcome::Working
            | Outcome::Error
            | Outcome::Incomplete
            | Outcome::CutByAgent
            | Outcome::CutByClient
            | Outcome::UpstreamError
            | Outcome::AnsweredByFault
            | Outcome::Malformed
            | Outcome::OpenAtStop => Outcome::CutByClient,
        },
        Some(End::Trouble(_)) => Outcome::UpstreamError,
        Some(End::Stopped) => Outcome::OpenAtStop,
    }
}

fn outcome_of_content(exchange: &Exchange, understood: &Understood) -> Outcome {
    let call = &understood.call;
    let names_nothing = call.operation.is_send() || call.wire_name.is_empty();
    let is_a2a = call.binding.is_some();
    if is_a2a && call.request.is_none() && names_nothing && has_problem(&call.problems) {
        return Outcome::Malformed;
    }
    let (Some(answer), Some(response)) =
        (understood.seen(), exchange.delivered.as_ref().or(exchange.response.as_ref()))
    else {
        return Outcome::CutByClient;
    };
    let is_error = answer.error.is_some()
        || matches!(answer.reply, Some(Reply::Error(_)))
        || response.status >= 400
        || response.grpc_status.is_some_and(|status| status != 0);
    if is_error {
        return Outcome::Error;
    }
    // A single answer stands as it is; putting it together would copy all of it.
    let stands = match &answer.reply {
        Some(reply) if answer.events.is_empty() => Cow::Borrowed(reply),
        Some(_) | None => match folded(answer).reply {
            Some(reply) => Cow::Owned(reply),
            None => return outcome_of_nothing(answer, is_a2a),
        },
    };
    match &*stands {
        Reply::Task(task) => {
            let running = if answer.is_stream { Outcome::Incomplete } else { Outcome::Working };
            outcome_of_state(&task.status.state).unwrap_or(running)
        }
        Reply::Message(_) => Outcome::Message,
        Reply::Error(_) => Outcome::Error,
        Reply::Tasks(_)
        | Reply::PushConfig(_)
        | Reply::PushConfigs { .. }
        | Reply::Empty
        | Reply::Card(_) => Outcome::Completed,
    }
}

/// The outcome of an answer that says nothing of a task or anything else.
const fn outcome_of_nothing(answer: &Answer, is_a2a: bool) -> Outcome {
    if is_a2a && !answer.problems.is_empty() {
        Outcome::Malformed
    } else if answer.is_stream {
        Outcome::Incomplete
    } else {
        Outcome::Completed
    }
}

fn has_problem(problems: &[Problem]) -> bool {
    !problems.is_empty()
}

/// How a task in this state has ended, or what it waits for; `None` while it goes on.
pub(super) const fn outcome_of_state(state: &TaskState) -> Option<Outcome> {
    match state {
        TaskState::Completed => Some(Outcome::Completed),
        TaskState::Failed => Some(Outcome::Failed),
        TaskState::Rejected => Some(Outcome::Rejected),
        TaskState::Canceled => Some(Outcome::Canceled),
        TaskState::InputRequired => Some(Outcome::InputRequired),
        TaskState::AuthRequired => Some(Outcome::AuthRequired),
        TaskState::Submitted | TaskState::Working | TaskState::Unspecified(_) => None,
    }
}

/// The message of a send, if that is what was asked.
pub(super) fn sent_message(call: &Call) -> Option<&crate::a2a::model::SendMessage> {
    match &call.request {
        Some(Request::SendMessage(send)) => Some(send),
        Some(
            Request::GetTask { .. }
            | Request::ListTasks(_)
            | Request::CancelTask { .. }
            | Request::SubscribeToTask { .. }
            | Request::CreatePushConfig(_)
            | Request::GetPushConfig { .. }
            | Request::ListPushConfigs { .. }
            | Request::DeletePushConfig { .. }
            | Request::Card
            | Request::PushNotification(_),
        )
        | None => None,
    }
}
