//! What passed, was changed or went wrong is what the recording says.

use std::sync::Arc;
use std::time::Duration;

use meddler::base::clock::WallClock;
use meddler::base::id::IdSource;
use meddler::base::limits::Limits;
use meddler::record::exchange::{Exchange, FaultVerdict, Outcome};
use meddler::record::query::{Filter, Recording};
use meddler::record::recorder::{self, RecorderConfig, RecorderHandle};
use meddler::record::redact::RedactConfig;
use meddler::record::store::Store;
use meddler::record::store::memory::MemoryStore;
use meddler::record::tap::WhenFull;
use tokio::net::TcpListener;

use crate::support::http2::{Http2Client, read};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, within};

/// A proxy before an agent, and a recording of what passes.
pub(super) struct Recorded {
    pub(super) agent: RawAgent,
    pub(super) proxy: TestProxy,
    recorder: RecorderHandle,
    store: Arc<dyn Store>,
}

impl Recorded {
    pub(super) async fn start(more: &str, faults: &'static str) -> Self {
        Self::begin(more, Surroundings { faults, ..Surroundings::default() }).await
    }

    pub(super) async fn within(more: &str, faults: &'static str, limits: Limits) -> Self {
        Self::begin(more, Surroundings { faults, limits, ..Surroundings::default() }).await
    }

    /// With the key that cards are signed with in this file.
    pub(super) async fn start_in(more: &str, signing_key: std::path::PathBuf) -> Self {
        Self::begin(more, Surroundings { signing_key, ..Surroundings::default() }).await
    }

    async fn begin(more: &str, around: Surroundings) -> Self {
        let agent = RawAgent::start().await;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let clock = WallClock::system();
        let config = RecorderConfig {
            limits: around.limits.clone(),
            when_full: WhenFull::Wait,
            redact: RedactConfig::default(),
            secrets: Vec::new(),
            instance: IdSource::system(clock.clone()).instance(),
            clock,
        };
        let (tap, recorder) = recorder::start(config, Arc::clone(&store)).unwrap();
        let forward = format!("forward: \"http://localhost:{}\"", agent.addr.port());
        // A later key of the same name is an error, so an address of its own replaces this one.
        let forward = if more.contains("forward:") { String::new() } else { forward };
        let config = format!("{{ listen: \"127.0.0.1:0\", {forward} {more} }}");
        let around = Surroundings { tap, ..around };
        let proxy = TestProxy::within(&[config], around);
        Self { agent, proxy, recorder, store }
    }

    /// A client's request, and the agent's end of it.
    pub(super) async fn ask(&self, request: &str) -> (RawConn, RawConn) {
        let mut client = RawConn::connect(self.proxy.addr()).await;
        client.write(request).await;
        let mut upstream = self.agent.accept().await;
        upstream.read_head().await;
        (client, upstream)
    }

    /// The one exchange, once it has ended.
    pub(super) async fn exchange(&self) -> Arc<Exchange> {
        let recording = self.recording(1).await;
        Arc::clone(&recording.exchanges(&Filter::default())[0])
    }

    /// Longer than the recorder waits for an exchange whose answer has ended.
    pub(super) async fn settle(&self) {
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            self.recorder.flush().await.unwrap();
        }
    }

    /// The recording, once it has so many exchanges.
    pub(super) async fn recording(&self, exchanges: usize) -> Recording {
        within("recorded exchanges", async {
            loop {
                self.recorder.flush().await.unwrap();
                let recording = Recording::of_store(&*self.store).unwrap();
                if recording.exchanges(&Filter::default()).len() == exchanges {
                    return recording;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

const GET: &str = "GET /tasks/t1 HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\n\r\n";
const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// A message in JSON-RPC 1.0.
pub(super) fn send(text: &str) -> String {
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SendMessage\",\"params\":{{\"message\":{{\"messageId\":\"m\",\
         \"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"{text}\"}}]}}}}}}"
    );
    format!(
        "POST / HTTP/1.1\r\nHost: p\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn an_exchange_is_recorded_as_it_passed() {
    let at = Recorded::start("", "[]").await;
    let request =
        send("hi").replace("Host: p", "Host: p\r\nbaggage: a=1,meddler.session=run%201;x=y");
    let (mut client, mut upstream) = at.ask(&request).await;
    upstream.write("HTTP/1.1 200 OK\r\nContent-Length: 38\r\nX: 1\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}").await;
    client.read_until("null}").await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.agent, "agent0");
    assert_eq!(exchange.orchestrator, "127.0.0.1");
    assert_eq!(exchange.wire_name, "SendMessage");
    assert_eq!(exchange.request.method, "POST");
    assert_eq!(exchange.request.http, "1.1");
    assert!(request.ends_with(std::str::from_utf8(&exchange.request.body.kept).unwrap()));
    let response = exchange.response.as_ref().unwrap();
    assert_eq!((response.status, response.body.kept.len()), (200, 38));
    assert!(exchange.delivered.is_none() && exchange.edits.is_empty());
    let upstream = format!("http://localhost:{}", at.agent.addr.port());
    assert_eq!(exchange.upstream.as_deref(), Some(upstream.as_str()));
}

#[tokio::test]
async fn a_rewritten_card_is_kept_as_it_came_and_as_it_was_delivered() {
    let at = Recorded::start("", "[]").await;
    let ask = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test\r\n\r\n";
    let (mut client, mut upstream) = at.ask(ask).await;
    let card = format!(
        "{{\"name\":\"a\",\"url\":\"http://localhost:{}/\",\"additionalInterfaces\":[{{\"url\":\"http://other.test/\"}}]}}",
        at.agent.addr.port()
    );
    upstream
        .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len()))
        .await;
    client.read_until("]}").await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.response.as_ref().unwrap().body.kept, card);
    let delivered = exchange.delivered.as_ref().unwrap();
    assert!(delivered.body.kept.starts_with(b"{\"name\":\"a\",\"url\":\"http://proxy.test/\""));
    let edits: Vec<_> =
        exchange.edits.iter().map(|edit| (edit.kind.as_str(), edit.at.as_str())).collect();
    assert_eq!(
        edits,
        [("card_bypass", "$.additionalInterfaces[0].url"), ("card_address", "$.url")]
    );
}

/// Lets something happen to an exchange, and checks how it is recorded.
async fn check(
    request: &str,
    answer: &str,
    end: impl FnOnce(RawConn, RawConn) -> Option<RawConn>,
    outcome: Outcome,
) -> Arc<Exchange> {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(request).await;
    if !answer.is_empty() {
        upstream.write(answer).await;
        client.read_until(answer).await;
    }
    let rest = end(client, upstream);
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, outcome, "after {answer:?}");
    drop(rest);
    exchange
}

#[tokio::test]
async fn who_broke_off_is_recorded() {
    let begun = format!("{STREAM}9\r\ndata: 1\n\n\r\n");
    let agent_leaves = |client, _upstream| Some(client);
    check(GET, &begun, agent_leaves, Outcome::CutByAgent).await;
    let client_leaves = |client: RawConn, upstream| {
        client.reset();
        Some(upstream)
    };
    check(GET, "", client_leaves, Outcome::CutByClient).await;
    let client_leaves = |client: RawConn, upstream| {
        client.reset();
        Some(upstream)
    };
    check(GET, &begun, client_leaves, Outcome::CutByClient).await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_reached_is_recorded_with_its_word() {
    let exchange = check(GET, "", |client, _upstream| Some(client), Outcome::UpstreamError).await;
    assert_eq!(exchange.upstream_error.as_ref().unwrap().word, "closed");
    assert!(exchange.response.is_none());
    let delivered = exchange.delivered.as_ref().unwrap();
    assert_eq!(delivered.status, 502);
    assert!(delivered.body.kept.starts_with(b"{\"type\":\"about:blank\""));
}

#[tokio::test]
async fn what_was_open_at_a_stop_is_recorded_as_that() {
    let at = Recorded::start("", "[]").await;
    let (mut client, mut upstream) = at.ask(GET).await;
    upstream.write(STREAM).await;
    client.read_head().await;
    at.proxy.stop(Duration::from_millis(10)).await;
    assert_eq!(at.exchange().await.outcome, Outcome::OpenAtStop);
}

#[tokio::test]
async fn an_answer_of_a_rule_is_recorded_with_the_rule() {
    let at = Recorded::start("", "[{ name: no, inject: { error: {} }, seed: 7 }]").await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(send("x")).await;
    client.read_head().await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::AnsweredByFault);
    assert!(exchange.response.is_none());
    assert!(exchange.delivered.as_ref().unwrap().body.kept.starts_with(b"{"));
    let fault = &exchange.faults[0];
    assert_eq!((fault.rule.as_str(), fault.verdict, fault.n), ("no", FaultVerdict::Fired, 1));
}

#[tokio::test]
async fn a_rule_that_could_not_be_applied_is_recorded_with_the_reason() {
    let at = Recorded::start("", "[{ name: h, inject: { hostile: injection } }]").await;
    let (mut client, mut upstream) = at.ask(&send("x")).await;
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nno JSON";
    upstream.write(answer).await;
    client.read_until(answer).await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.faults[0].verdict, FaultVerdict::NotApplicable);
    assert!(!exchange.faults[0].note.is_empty());
    assert!(exchange.delivered.is_none(), "what was delivered is what came");
}

#[tokio::test]
async fn what_a_hostile_rule_put_in_is_delivered_and_what_came_is_kept() {
    let at = Recorded::start("", "[{ name: h, inject: { hostile: injection } }]").await;
    let (mut client, mut upstream) = at.ask(&send("x")).await;
    let body = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"message\":{\"messageId\":\"a\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"hello\"}]}}}";
    upstream
        .write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
        .await;
    client.read_until("]}}}").await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.response.as_ref().unwrap().body.kept, body);
    let delivered =
        String::from_utf8(exchange.delivered.as_ref().unwrap().body.kept.to_vec()).unwrap();
    let fault = &exchange.faults[0];
    assert_eq!(fault.verdict, FaultVerdict::Fired);
    assert!(delivered.contains(fault.canary.as_ref().unwrap()), "{delivered}");
}

#[tokio::test]
async fn a_field_named_by_connection_is_recorded_as_dropped() {
    let at = Recorded::start("", "[]").await;
    let ask = "GET / HTTP/1.1\r\nHost: p\r\nConnection: A2A-Version\r\nA2A-Version: 1.0\r\n\r\n";
    let (mut client, mut upstream) = at.ask(ask).await;
    upstream.write("HTTP/1.1 204 No Content\r\n\r\n").await;
    client.read_head().await;
    let exchange = at.exchange().await;
    let edit = &exchange.edits[0];
    assert_eq!((edit.kind.as_str(), edit.at.as_str()), ("header", "a2a-version"));
    assert_eq!(edit.from, "1.0");
}

#[tokio::test]
async fn a_request_that_no_connection_takes_is_recorded_as_refused() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let more = format!(", also: [\"127.0.0.1:{}\"]", free.port());
    let at = Recorded::start(&more, "[]").await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    client.write(format!("GET /.meddler/to/http/{free}/x HTTP/1.1\r\nHost: p\r\n\r\n")).await;
    client.read_head().await;
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::UpstreamError);
    assert_eq!(exchange.upstream_error.as_ref().unwrap().word, "connect_refused");
}

#[tokio::test]
async fn a_grpc_stream_of_a_rule_is_recorded_to_its_end() {
    let faults = "[{ name: e, inject: { empty: stream } }]";
    let at = Recorded::start("forward: \"grpc://localhost:9\"", faults).await;
    let mut client = Http2Client::connect(at.proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/SendStreamingMessage", b"").await;
    let mut body = within("an answer", response).await.unwrap().into_body();
    assert_eq!(read(&mut body).await.1.unwrap()["grpc-status"], "0");
    let exchange = at.exchange().await;
    assert_eq!(exchange.outcome, Outcome::AnsweredByFault);
}
