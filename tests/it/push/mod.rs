//! Push notifications through Meddler: webhooks become addresses of its own where they are registered,
//! deliveries pass as they are, and nobody else is ever called.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is not as the test made it fails the test, as it should"
)]

mod deliveries;
mod grpc;
mod guards;
mod registrations;
mod restart;
mod secrets;

use std::sync::Arc;

use meddler::base::clock::WallClock;
use meddler::base::id::IdSource;
use meddler::base::limits::Limits;
use meddler::proxy::push::webhooks::Webhooks;
use meddler::record::exchange::Exchange;
use meddler::record::jsonl::{self, Header};
use meddler::record::query::{Filter, Recording};
use meddler::record::recorder::{self, RecorderConfig, RecorderHandle};
use meddler::record::redact::RedactConfig;
use meddler::record::store::Store;
use meddler::record::store::memory::MemoryStore;
use meddler::record::tap::WhenFull;

use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, within};

/// An agent, a webhook, and Meddler between them, recording.
struct Bench {
    agent: RawAgent,
    webhook: RawAgent,
    proxy: TestProxy,
    recorder: RecorderHandle,
    store: Arc<dyn Store>,
}

/// What stands before Meddler's token in what the agent is given.
const GIVEN: &str = "http://proxy.test:8100/.meddler/push/";

impl Bench {
    async fn new() -> Self {
        Self::with("rewrite", "", "[]").await
    }

    /// With this `push:`, these further keys of the agent, these rules.
    async fn with(push: &str, more: &str, faults: &'static str) -> Self {
        let agent = RawAgent::start().await;
        let forward = format!("http://{}", agent.addr);
        Self::before(agent, &forward, (push, more, faults)).await
    }

    async fn before(
        agent: RawAgent,
        forward: &str,
        (push, more, faults): (&str, &str, &'static str),
    ) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let (clock, limits) = (WallClock::system(), Limits::default());
        let config = RecorderConfig {
            limits: limits.clone(),
            when_full: WhenFull::Wait,
            redact: RedactConfig::default(),
            secrets: Vec::new(),
            instance: IdSource::system(clock.clone()).instance(),
            clock: clock.clone(),
        };
        let (tap, recorder) = recorder::start(config, Arc::clone(&store)).unwrap();
        let push = serde_saphyr::from_str(push).unwrap();
        let kept = (Arc::clone(&store), recorder.clone());
        let webhooks = Webhooks::kept_in(kept.0, kept.1, push, &limits, clock).unwrap();
        let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"{forward}\" {more} }}");
        let around =
            Surroundings { tap, faults, webhooks: Some(webhooks), ..Surroundings::default() };
        let proxy = TestProxy::within(&[config], around);
        let webhook = RawAgent::start().await;
        Self { agent, webhook, proxy, recorder, store }
    }

    /// The address of the webhook, with a secret in it.
    fn url(&self) -> String {
        format!("http://{}/hook?k=s3cret-abc", self.webhook.addr)
    }

    async fn client(&self) -> RawConn {
        RawConn::connect(self.proxy.addr()).await
    }

    /// Registers a webhook with the agent; the path that it was given.
    async fn register(&self, config: &str) -> String {
        let mut client = self.client().await;
        client.write(post("/tasks/t1/pushNotificationConfigs", V1_0, config)).await;
        let mut upstream = self.agent.accept().await;
        let (_, body) = read_message(&mut upstream).await;
        upstream.write(answer("application/json", config)).await;
        read_message(&mut client).await;
        path_in(&body)
    }

    /// Posts a delivery; its connection.
    async fn deliver(&self, path: &str, fields: &str, body: &str) -> RawConn {
        let mut agent = self.client().await;
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: proxy.test:8100\r\nX-First: 1\r\n{fields}");
        agent.write(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())).await;
        agent
    }

    /// The exchanges, once there are so many of them.
    async fn exchanges(&self, count: usize) -> Vec<Arc<Exchange>> {
        within("the recorded exchanges", async {
            loop {
                self.recorder.flush().await.unwrap();
                let found = self.recording().exchanges(&Filter::default());
                if found.len() >= count {
                    assert_eq!(found.len(), count, "{found:#?}");
                    return found;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    fn recording(&self) -> Recording {
        Recording::of_store(&*self.store).unwrap()
    }

    /// Everything that is recorded, and the daemon's state.
    fn everything(&self) -> String {
        let mut exported = Vec::new();
        let header = Header::new(None, WallClock::system().now());
        jsonl::export(&self.recording(), &Filter::default(), &header, &mut exported).unwrap();
        let mut text = String::from_utf8(exported).unwrap();
        self.store
            .state()
            .unwrap()
            .scan("webhooks", &mut |_, value| {
                text.push_str(&String::from_utf8_lossy(value));
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        text
    }

    /// Checks that these stand nowhere in what is kept.
    #[track_caller]
    fn keeps_none_of(&self, secrets: &[&str]) {
        let text = self.everything();
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

const V1_0: &str = "A2A-Version: 1.0\r\nContent-Type: application/json\r\n";
const V0_3: &str = "Content-Type: application/json\r\n";

/// A request as an orchestrator writes it.
fn post(path: &str, fields: &str, body: &str) -> String {
    let head = format!("POST {path} HTTP/1.1\r\nHost: proxy.test:8100\r\n{fields}X-Last: 1\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// An answer as an agent writes it.
fn answer(content_type: &str, body: &str) -> String {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nX-Answer: 1\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Head and body of a message that has a length.
async fn read_message(conn: &mut RawConn) -> (String, String) {
    let head = conn.read_head().await;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length: ")?.trim().parse().ok()
    });
    let body = conn.read_exactly(length.unwrap_or(0)).await;
    (head, String::from_utf8_lossy(&body).into_owned())
}

/// The address that the agent was given, as it stands in what it was sent.
fn given_in(text: &str) -> String {
    let (_, rest) = text.split_once(GIVEN).unwrap_or_else(|| panic!("no address of ours: {text}"));
    let token: String = rest
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter))
        .collect();
    assert_eq!(token.len(), 43, "{text}");
    format!("{GIVEN}{token}")
}

/// Its path.
fn path_in(text: &str) -> String {
    given_in(text).replace("http://proxy.test:8100", "")
}
