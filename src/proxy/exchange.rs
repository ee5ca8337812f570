//! One exchange, from the head of its request to the head of its answer: the pipeline in order.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tracing::warn;

use crate::fault::verdict::Start as From;
use crate::net::addr::Scheme;
use crate::net::tls::Alpn;
use crate::net::trouble::{Trouble, Word};
use crate::proxy::Core;
use crate::proxy::agent::{Agent, Upstream};
use crate::proxy::answer::{self, Clothes};
use crate::proxy::body::ResponseBody;
use crate::proxy::called::{self, Called};
use crate::proxy::cards::{self, Ask};
use crate::proxy::flow::{Flow, Look};
use crate::proxy::forward::{self, Outbound};
use crate::proxy::headers;
use crate::proxy::judge::{self, Plan};
use crate::proxy::made;
use crate::proxy::passing::{Passing, recorded};
use crate::proxy::push;
use crate::proxy::refused;
use crate::proxy::rewrite::card::{self, Delivery};
use crate::proxy::shape;
use crate::proxy::target::Base;
use crate::proxy::upgrade::{self, Wish};
use crate::proxy::way::{self, Goes, Own, Way};
use crate::proxy::wire::Wire;
use crate::record::exchange::EditRecord;
use crate::record::tap::{End, ExchangeTap, Lane, Start};

const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// One downstream connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) core: Arc<Core>,
    pub(super) agent: Arc<Agent>,
    pub(super) wire: Arc<Wire>,
    pub(super) peer: SocketAddr,
    /// How this client reached the port, which may serve TLS and clear text.
    pub(super) scheme: Scheme,
    /// Who calls: the peer's address.
    pub(super) orchestrator: Arc<str>,
    /// Its place among the open connections.
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    pub(super) fn new(
        core: Arc<Core>,
        agent: Arc<Agent>,
        (wire, permit): (Arc<Wire>, OwnedSemaphorePermit),
        (peer, scheme): (SocketAddr, Scheme),
        orchestrator: Arc<str>,
    ) -> Self {
        Self { core, agent, wire, peer, scheme, orchestrator, _permit: permit }
    }

    /// Where cards of the agent are delivered to who reaches it by this address.
    pub(super) fn delivery(&self, base: Base) -> Delivery<'_> {
        let core = &self.core;
        let (agent, agents) = (&self.agent, &core.agents);
        Delivery { agent, agents, base, signer: core.signer.as_ref() }
    }
}

/// Answers one request.
pub(super) async fn exchange(
    conn: Arc<Connection>,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let came = Came::now(&conn);
    let (mut parts, incoming) = request.into_parts();
    let clothes = Clothes::of(&parts.headers);
    let Way { upstream, path, goes } = match way::find(&conn, &parts, clothes).await {
        Ok(way) => way,
        Err(Own::Answer(answer)) => return *answer,
        Err(Own::Delivery) => return Box::pin(push::deliver(conn, parts, incoming, came)).await,
        Err(Own::Refusal(status, why)) => {
            let tap = begin(&conn, &parts, (None, None), &came);
            let request = (incoming, parts.version);
            return refused::refuse(&conn, request, tap, clothes, (status, why));
        }
    };
    let base = conn.agent.learned.base_of(parts.uri.path());
    let told = goes.is_settled().then_some(&upstream);
    let tap = begin(&conn, &parts, (told, base.as_ref()), &came);
    if let Some(base) = &base {
        // What follows names the operation; where it goes is settled.
        parts.uri = way::below(&parts.uri, base);
    }
    let look = look(&parts, clothes);
    let (wire, version) = (Arc::clone(&conn.wire), parts.version);
    let wish = Wish::of(&mut parts);
    let flow = Flow::new(incoming, version, look, tap.clone(), Arc::clone(&wire));
    let mut waiting = Waiting { tap: tap.clone(), wire };
    let asked = path.clone();
    let exchange = Exchange { conn: &conn, flow, tap, clothes, upstream, path: asked, version };
    let answer = exchange.run(parts, path, (wish, goes)).await;
    waiting.tap = None;
    answer
}

/// When the head of a request had arrived.
pub(super) struct Came {
    started: Option<jiff::Timestamp>,
    at: Instant,
}

impl Came {
    fn now(conn: &Connection) -> Self {
        let started = conn.core.tap.is_on().then(|| conn.core.clock.now());
        Self { started, at: Instant::now() }
    }
}

/// Records that the client left, should the exchange be dropped while it is awaited.
pub(super) struct Waiting {
    pub(super) tap: Option<ExchangeTap>,
    pub(super) wire: Arc<Wire>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(tap) = &self.tap {
            let left = End::Cut(crate::base::Side::Downstream);
            tap.end(Lane::Response, if self.wire.is_stopped() { End::Stopped } else { left });
        }
    }
}

/// One exchange while it is under way.
pub(super) struct Exchange<'a> {
    pub(super) conn: &'a Arc<Connection>,
    pub(super) flow: Arc<Flow>,
    pub(super) tap: Option<ExchangeTap>,
    pub(super) upstream: Upstream,
    /// The path that the upstream is asked for.
    pub(super) path: PathAndQuery,
    /// The HTTP version the client speaks.
    pub(super) version: Version,
    pub(super) clothes: Clothes,
}

impl Exchange<'_> {
    async fn run(
        mut self,
        mut parts: Parts,
        path: PathAndQuery,
        (wish, goes): (Option<Wish>, Goes),
    ) -> Response<ResponseBody> {
        let conn = Arc::clone(self.conn);
        if conn.core.own.comes_round(conn.peer) {
            let text = format!("{} leads back to Meddler itself", self.upstream.url);
            return self.trouble(&Trouble::new(Word::Loop, text));
        }
        let waits_for_continue = parts.headers.contains_key(EXPECT);
        // Judge: without rules this is one look at an empty set.
        let mut plan = None;
        if let Some(rules) = conn.core.rules.current() {
            let judging = judge::judge(&conn, &rules, &parts, &self.flow, self.tap.as_ref());
            match Box::pin(judging).await {
                Ok(found) => plan = found,
                Err(_) => return self.client_left(),
            }
        }
        if let Some(plan) = &mut plan {
            if let Some(answer) = Box::pin(self.before(plan)).await {
                return answer;
            }
            if plan.needs_plain_answer() {
                self.ask_for_plain(&mut parts.headers);
            }
        }
        // Forward.
        if !goes.is_settled() {
            self.look_into_card(&parts).await;
        }
        let mut ask = Ask::of(&conn.agent, (&parts, &path), self.clothes);
        if ask.is_some() {
            cards::drop_conditions(&mut parts.headers, self.tap.as_ref(), &mut ask);
        }
        let called = Called::by(&parts);
        let pushed = push::register(&self, &called, &mut parts).await;
        let method = parts.method.clone();
        self.address(&mut parts);
        let again = ask.as_ref().map(|_| parts.clone());
        let mut outbound = self.outbound(parts, path.clone());
        if let Some(wish) = &wish {
            wish.say(&mut outbound.parts.headers);
            outbound.may_upgrade = true;
        }
        let forwarded = forward::forward(&self.upstream, outbound, &self.flow).await;
        let (response, carrier) = match forwarded {
            Ok(answer) => answer,
            Err(_) if self.flow.has_failed() => return self.client_left(),
            Err(trouble) => {
                if is_unheard(trouble.word) && !waits_for_continue {
                    Box::pin(self.hear_out()).await;
                }
                return self.trouble(&trouble);
            }
        };
        if let Some(wish) = wish
            && response.status() == StatusCode::SWITCHING_PROTOCOLS
        {
            self.flow.answered();
            return upgrade::pass(&conn, wish, response, carrier, self.tap);
        }
        let (head, passing) = self.answered(response, carrier);
        // Return.
        let ask = ask.or_else(|| Ask::of_passed(&self.flow));
        if let Some(ask) = ask {
            let about = cards::About { method, parts: again, path, ask };
            return Box::pin(cards::answer(&self, &called, about, (head, passing), plan)).await;
        }
        if pushed.may_be_shown(&self, &head, &passing) {
            return Box::pin(push::show(&self, &called, pushed, (head, passing), plan)).await;
        }
        self.give(head, passing, &called, plan).await
    }

    /// Finds the gRPC interface that the card names, and says so to the recording.
    async fn look_into_card(&mut self, parts: &Parts) {
        self.upstream = Box::pin(way::by_card(self.conn, parts, &self.flow)).await;
        if let Some(tap) = &self.tap {
            tap.upstream(&self.upstream.url);
        }
    }

    /// What a plan does before the agent is asked; an answer if it is not asked at all.
    pub(super) async fn before(&self, plan: &mut Plan) -> Option<Response<ResponseBody>> {
        if !plan.before_request.is_zero() {
            tokio::time::sleep(plan.before_request).await;
        }
        let answer = plan.answer.take_if(|answer| match answer.from {
            From::Beginning => true,
            From::Event(_) => false,
        })?;
        tokio::time::sleep(plan.before_head).await;
        self.flow.answered();
        let (conn, tap) = (self.conn, self.tap.as_ref());
        let made = made::answer(&plan.call, answer, self.version, tap, &conn.wire);
        Some(shape::slowed(conn, plan, made))
    }

    /// The head of the agent's answer has arrived: from here on it passes.
    pub(super) fn answered(
        &self,
        response: Response<Incoming>,
        carrier: crate::proxy::passing::Carrier,
    ) -> (http::response::Parts, Passing) {
        self.flow.answered();
        let (mut head, incoming) = response.into_parts();
        if let Some(tap) = &self.tap {
            tap.head(Lane::Response, head.version, head.status, &head.headers);
        }
        let answer = (incoming, head.version);
        let wire = Arc::clone(&self.conn.wire);
        let idle = self.conn.agent.config.timeout.idle;
        let passing = Passing::new(answer, carrier, idle, self.tap.clone(), wire);
        let came = (head.status == StatusCode::UPGRADE_REQUIRED).then(|| head.headers.clone());
        for (name, value) in headers::strip(&mut head.headers, self.version) {
            self.edit("header", name.as_str(), &String::from_utf8_lossy(value.as_bytes()), "");
        }
        if let Some(came) = came
            && self.version == Version::HTTP_11
        {
            upgrade::keep_demand(&came, &mut head.headers);
        }
        (head, passing)
    }

    /// Passes the answer on, worked on if a plan says so.
    pub(super) async fn give(
        &self,
        mut head: http::response::Parts,
        passing: Passing,
        called: &Called,
        plan: Option<Plan>,
    ) -> Response<ResponseBody> {
        self.relocate(&mut head.headers, called);
        self.hand_on(head, passing, plan).await
    }

    /// Passes the answer on as it is, but for what a plan says.
    pub(super) async fn hand_on(
        &self,
        head: http::response::Parts,
        passing: Passing,
        plan: Option<Plan>,
    ) -> Response<ResponseBody> {
        let Some(plan) = plan else {
            let body = if passing.is_over() && headers::keeps_length(&head, self.version) {
                ResponseBody::nothing_of_unknown_length()
            } else {
                ResponseBody::Passing(passing)
            };
            return Response::from_parts(head, body);
        };
        if !plan.before_head.is_zero() {
            tokio::time::sleep(plan.before_head).await;
        }
        if !plan.touches_body() {
            return Response::from_parts(head, ResponseBody::Passing(passing));
        }
        Box::pin(shape::shape(self.conn, plan, head, passing, self.tap.clone())).await
    }

    /// Where a card or a redirect is delivered to.
    pub(super) fn delivery(&self, called: &Called) -> Delivery<'_> {
        self.conn.delivery(called.base(self.conn))
    }

    fn relocate(&self, headers: &mut HeaderMap, called: &Called) {
        let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok()) else {
            return;
        };
        let asked = (self.upstream.destination(), &self.path);
        if let Some(new) = card::location(&self.delivery(called), asked, location)
            && let Ok(value) = HeaderValue::try_from(&new)
        {
            self.edit("location", "location", location, &new);
            headers.insert(LOCATION, value);
        }
    }

    pub(super) fn outbound(&self, parts: Parts, path: PathAndQuery) -> Outbound {
        let alpn = match (self.clothes, self.version) {
            (Clothes::Grpc, _) => Alpn::Http2,
            (Clothes::Http, Version::HTTP_2) => Alpn::Either,
            (Clothes::Http, _) => Alpn::Http1,
        };
        let first_byte = self.conn.agent.config.timeout.first_byte;
        let wire = Arc::clone(&self.conn.wire);
        Outbound { parts, path, alpn, first_byte, may_upgrade: false, wire }
    }

    /// The head's fields as the agent gets them.
    fn address(&self, parts: &mut Parts) {
        let agent = &self.conn.agent;
        called::add_forwarded(self.conn, parts);
        // The version is that of the hop to come; gRPC alone is HTTP/2 for sure, and what else may
        // become HTTP/2 must not carry fields of HTTP/1.
        let to = match (self.clothes, self.upstream.destination().scheme) {
            (Clothes::Grpc, _) | (Clothes::Http, Scheme::Https) => Version::HTTP_2,
            (Clothes::Http, Scheme::Http) => Version::HTTP_11,
        };
        for (name, value) in headers::strip(&mut parts.headers, to) {
            self.edit("header", name.as_str(), &String::from_utf8_lossy(value.as_bytes()), "");
        }
        if agent.is_trusted(self.upstream.destination()) {
            for (name, value) in &agent.config.headers.0 {
                parts.headers.insert(name, value.clone());
            }
        }
    }

    fn ask_for_plain(&self, headers: &mut HeaderMap) {
        for name in [ACCEPT_ENCODING, GRPC_ACCEPT_ENCODING] {
            if let Some(old) = headers.get(&name) {
                self.edit(
                    "header",
                    name.as_str(),
                    &String::from_utf8_lossy(old.as_bytes()),
                    "identity",
                );
                headers.insert(name, HeaderValue::from_static("identity"));
            }
        }
    }

    pub(super) fn trouble(&mut self, trouble: &Trouble) -> Response<ResponseBody> {
        warn!(agent = %self.conn.agent.name, word = %trouble.word, "{trouble}");
        let answer = answer::trouble(self.clothes, trouble);
        self.flow.answered();
        if let Some(tap) = &self.tap {
            answer::record(&answer, self.version, tap);
            tap.end(Lane::Response, End::Trouble(recorded(trouble)));
        }
        answer
    }

    /// Reads what is said to an agent that cannot be reached: without it the recording would not know
    /// that there was a message, let alone which.
    async fn hear_out(&self) {
        if self.tap.is_some() {
            self.flow.hear_out(self.conn.core.limits.peek_bytes).await;
        }
    }

    /// Nobody is there to read it.
    pub(super) fn client_left(&self) -> Response<ResponseBody> {
        if let Some(tap) = &self.tap {
            tap.end(Lane::Response, End::Cut(crate::base::Side::Downstream));
        }
        let why = "the request broke off before its end";
        answer::refusal(self.clothes, StatusCode::BAD_REQUEST, why)
    }

    fn edit(&self, kind: &str, at: &str, from: &str, to: &str) {
        self.record_edit(card::edit(kind, at, from, to));
    }

    /// Records a change that no rule asked for.
    pub(super) fn record_edit(&self, edit: EditRecord) {
        if let Some(tap) = &self.tap {
            tap.edit(edit);
        }
    }
}

/// Whether it happened before the agent could be told anything.
const fn is_unheard(word: Word) -> bool {
    match word {
        Word::Dns | Word::ConnectRefused | Word::ConnectTimeout | Word::Tls | Word::Loop => true,
        Word::Reset
        | Word::Closed
        | Word::FirstByteTimeout
        | Word::IdleTimeout
        | Word::Protocol => false,
    }
}

/// Tells the recorder of an exchange; `upstream` is where it goes, if anywhere.
pub(super) fn begin(
    conn: &Connection,
    parts: &Parts,
    (upstream, base): (Option<&Upstream>, Option<&Arc<str>>),
    came: &Came,
) -> Option<ExchangeTap> {
    let core = &conn.core;
    let started = came.started?;
    Some(core.tap.begin(Start {
        id: core.ids.exchange(),
        started,
        at: came.at,
        agent: Arc::clone(&conn.agent.name),
        session: session_in(&parts.headers).map(Cow::into_owned),
        orchestrator: Arc::clone(&conn.orchestrator),
        upstream: upstream.map(|upstream| Arc::clone(&upstream.url)),
        method: parts.method.clone(),
        target: parts.uri.clone(),
        base: base.cloned(),
        version: parts.version,
        headers: parts.headers.clone(),
    }))
}

/// The session that `baggage: meddler.session=NAME` names.
pub(super) fn session_in(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    headers.get_all("baggage").iter().find_map(|value| {
        value.to_str().ok()?.split(',').find_map(|member| {
            let (key, value) = member.split(';').next()?.split_once('=')?;
            let name = percent_decode_str(value.trim()).decode_utf8().ok()?;
            (key.trim() == "meddler.session" && !name.is_empty()).then_some(name)
        })
    })
}

/// Whether a request may be a JSON-RPC call whose method is worth a look.
fn look(parts: &Parts, clothes: Clothes) -> Look {
    let is_json = || {
        let kind = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        kind.is_empty() || kind.windows(4).any(|part| part.eq_ignore_ascii_case(b"json"))
    };
    match clothes {
        Clothes::Http if parts.method == Method::POST && is_json() => Look::ForMethod,
        Clothes::Http | Clothes::Grpc => Look::Away,
    }
}
