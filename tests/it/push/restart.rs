//! A webhook outlives the process that registered it.

use std::sync::Arc;
use std::time::Duration;

use meddler::base::clock::WallClock;
use meddler::base::id::IdSource;
use meddler::base::limits::Limits;
use meddler::proxy::push::config::PushConfig;
use meddler::proxy::push::webhooks::Webhooks;
use meddler::record::recorder::{self, RecorderConfig};
use meddler::record::redact::RedactConfig;
use meddler::record::store::{Kind, Store, disk};
use meddler::record::tap::WhenFull;

use super::{V1_0, answer, post, read_message};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn};

const TASK: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// Starts what a daemon starts, over this directory.
fn start(
    path: &std::path::Path,
    agent: &RawAgent,
    more: &str,
    limits: Limits,
) -> (TestProxy, Arc<dyn Store>) {
    let clock = WallClock::system();
    let kind = Kind::named("disk").unwrap();
    let store = kind.open(path, disk::Options::default(), clock.clone()).unwrap();
    let config = RecorderConfig {
        limits: limits.clone(),
        when_full: WhenFull::Wait,
        redact: RedactConfig::default(),
        secrets: Vec::new(),
        instance: IdSource::system(clock.clone()).instance(),
        clock: clock.clone(),
    };
    let (tap, recorder) = recorder::start(config, Arc::clone(&store)).unwrap();
    let push = PushConfig::default();
    let webhooks = Webhooks::kept_in(Arc::clone(&store), recorder, push, &limits, clock).unwrap();
    let config =
        format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}\" {more} }}", agent.addr);
    let around = Surroundings { tap, limits, webhooks: Some(webhooks), ..Surroundings::default() };
    (TestProxy::within(&[config], around), store)
}

/// Registers a webhook; the path behind the base that the agent was given.
async fn register(proxy: &TestProxy, agent: &RawAgent, url: &str, base: &str) -> String {
    let mut client = RawConn::connect(proxy.addr()).await;
    let config = format!(r#"{{"url":"{url}"}}"#);
    client.write(post("/tasks/t1/pushNotificationConfigs", V1_0, &config)).await;
    let mut upstream = agent.accept().await;
    let (_, body) = read_message(&mut upstream).await;
    let given = body.strip_prefix("{\"url\":\"").unwrap().strip_suffix("\"}").unwrap().to_owned();
    upstream.write(answer("application/json", &body)).await;
    read_message(&mut client).await;
    given.strip_prefix(base).unwrap_or_else(|| panic!("{given} below {base}")).to_owned()
}

async fn deliver(proxy: &TestProxy, path: &str) -> RawConn {
    let mut agent = RawConn::connect(proxy.addr()).await;
    agent.write(post(path, V1_0, TASK)).await;
    agent
}

fn copied(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// PUSH-06
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_known_after_a_crash_and_at_another_address() {
    let (agent, webhook) = (RawAgent::start().await, RawAgent::start().await);
    let dir = tempfile::tempdir().unwrap();
    let (before, after) = (dir.path().join("before"), dir.path().join("after"));
    let (proxy, _store) =
        start(&before, &agent, ", advertise: \"http://one.test/in\"", Limits::default());
    let url = format!("http://{}/hook?k=s3cret-abc", webhook.addr);
    let path = register(&proxy, &agent, &url, "http://one.test/in").await;
    // What the disk has at this moment is what a crash would leave: nothing was closed or flushed.
    copied(&before, &after);

    let more = ", advertise: \"http://two.test\"";
    let (proxy, store) = start(&after, &agent, more, Limits::default());
    let mut delivering = deliver(&proxy, &path).await;
    let mut received = webhook.accept().await;
    let (head, body) = read_message(&mut received).await;
    assert!(head.starts_with("POST /hook?k=s3cret-abc HTTP/1.1\r\n"), "{head}");
    assert_eq!(body, TASK);
    received.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert!(read_message(&mut delivering).await.0.starts_with("HTTP/1.1 200 "));
    // What the agent was told before is read back as the orchestrator's own.
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET /tasks/t1/pushNotificationConfigs/c1 HTTP/1.1\r\nHost: p\r\nA2A-Version: 1.0\r\n\r\n").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream
        .write(answer("application/json", &format!(r#"{{"url":"http://one.test/in{path}"}}"#)))
        .await;
    assert_eq!(read_message(&mut client).await.1, format!(r#"{{"url":"{url}"}}"#));
    drop((delivering, client));

    proxy.stop(Duration::from_secs(5)).await;
    store.flush().unwrap();
    for folder in [&before, &after] {
        let text = octets_below(folder);
        for secret in ["s3cret-abc", path.rsplit('/').next().unwrap()] {
            assert!(!text.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
        }
    }
}

fn octets_below(folder: &std::path::Path) -> Vec<u8> {
    let mut octets = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            octets.extend(octets_below(&path));
        } else {
            octets.extend(std::fs::read(&path).unwrap());
        }
    }
    octets
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_the_longest_unused_is_forgotten() {
    let (agent, webhook) = (RawAgent::start().await, RawAgent::start().await);
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits { webhooks: 2, ..Limits::default() };
    let url = format!("http://{}/hook", webhook.addr);
    let mut paths = Vec::new();
    {
        let (proxy, store) =
            start(dir.path(), &agent, ", advertise: \"http://one.test\"", limits.clone());
        for _ in 0..3 {
            paths.push(register(&proxy, &agent, &url, "http://one.test").await);
        }
        let mut gone = deliver(&proxy, &paths[0]).await;
        assert!(read_message(&mut gone).await.0.starts_with("HTTP/1.1 404 "));
        proxy.stop(Duration::from_secs(5)).await;
        store.close().unwrap();
    }
    let (proxy, _store) = start(dir.path(), &agent, "", limits);
    for path in &paths[1..] {
        let _delivering = deliver(&proxy, path).await;
        read_message(&mut webhook.accept().await).await;
    }
    let mut gone = deliver(&proxy, &paths[0]).await;
    assert!(
        read_message(&mut gone).await.0.starts_with("HTTP/1.1 404 "),
        "the store forgot it too"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_the_store_does_not_take_passes_unrewritten() {
    let (agent, webhook) = (RawAgent::start().await, RawAgent::start().await);
    let dir = tempfile::tempdir().unwrap();
    let (proxy, store) = start(dir.path(), &agent, "", Limits::default());
    store.close().unwrap();
    let config = format!(r#"{{"url":"http://{}/hook"}}"#, webhook.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(post("/tasks/t1/pushNotificationConfigs", V1_0, &config)).await;
    let mut upstream = agent.accept().await;
    assert_eq!(read_message(&mut upstream).await.1, config);
}
