//! The same over gRPC, in both versions: the octets around an address stay, the lengths around it follow.

use meddler::a2a::model::Operation;

use super::{Bench, GIVEN};
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::raw::{RawAgent, within};

/// A field that holds octets.
fn field(number: u8, octets: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut len = octets.len();
    while len > 0x7f {
        field.push(u8::try_from(len & 0x7f).unwrap() | 0x80);
        len >>= 7;
    }
    field.push(u8::try_from(len).unwrap());
    field.extend_from_slice(octets);
    field
}

/// Fields around what is inside, and one that no schema knows, written as no encoder of ours writes it.
fn message(inner: &[u8]) -> Vec<u8> {
    let odd = [0xf8, 0x7f, 0x81, 0x80, 0x00];
    [&odd[..], inner, &odd].concat()
}

/// A config of a version.
type Config = fn(&str) -> Vec<u8>;

fn v0_3(url: &str) -> Vec<u8> {
    message(&[field(1, b"c1"), field(2, url.as_bytes()), field(3, b"tok-7f3a-99")].concat())
}

fn v1_0(url: &str) -> Vec<u8> {
    message(&[field(2, b"c1"), field(3, b"t1"), field(4, url.as_bytes())].concat())
}

async fn check(path: &str, request: impl Fn(&str) -> Vec<u8>, reply: impl Fn(&str) -> Vec<u8>) {
    let mut agent = Http2Agent::start().await;
    let forward = format!("grpc://{}", agent.addr);
    let bench = Bench::before(
        RawAgent::start().await,
        &forward,
        ("rewrite", ", advertise: \"http://proxy.test:8100\"", "[]"),
    )
    .await;
    let mut client = Http2Client::connect(bench.proxy.addr()).await;
    let response = client.call(path, &request(&bench.url())).await;
    let mut arrived = agent.next().await;
    let (octets, _) = arrived.read().await;
    let text = String::from_utf8_lossy(&octets).into_owned();
    let at = text.find(GIVEN).unwrap_or_else(|| panic!("no address of ours: {text}"));
    let given: String = text[at..].chars().take(GIVEN.len() + 43).collect();
    assert_eq!(octets, framed(&request(&given)), "{path}");

    let mut body = arrived.answer(&[("content-type", "application/grpc")]);
    body.send_data(framed(&reply(&given)), false).unwrap();
    body.send_trailers(
        [("grpc-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect(),
    )
    .unwrap();
    let mut response = within("an answer", response).await.unwrap();
    let (octets, trailers) = read(response.body_mut()).await;
    assert_eq!(octets, framed(&reply(&bench.url())), "{path}");
    assert_eq!(trailers.unwrap()["grpc-status"], "0");
    let exchange = bench.exchanges(1).await.remove(0);
    assert_eq!(exchange.edits[0].kind, "webhook", "{path}");
    assert_ne!(exchange.operation, Operation::Unknown);
    bench.keeps_none_of(&["s3cret-abc", &given[GIVEN.len()..]]);
}

/// PUSH-01
#[tokio::test]
async fn a_send_over_grpc_is_given_an_address_of_ours() {
    let text = message(&field(1, b"m1"));
    for (service, versions) in [("a2a.v1", (1, 2, v0_3 as Config)), ("lf.a2a.v1", (2, 3, v1_0))] {
        let (message_field, configuration, config) = versions;
        let request = |url: &str| {
            let configuration = field(configuration, &message(&field(2, &config(url))));
            message(&[field(message_field, &text), configuration].concat())
        };
        // A task that repeats it in its metadata, deep down.
        let task = |url: &str| {
            let value = field(3, url.as_bytes());
            let entry = [field(1, b"webhook"), field(2, &value)].concat();
            let metadata = field(6, &field(1, &entry));
            field(1, &message(&[field(1, b"t1"), field(2, b"c1"), metadata].concat()))
        };
        check(&format!("/{service}.A2AService/SendMessage"), request, task).await;
    }
}

/// PUSH-01
#[tokio::test]
async fn a_config_over_grpc_is_given_an_address_of_ours_and_read_back_as_it_was() {
    let create = |service: &str| format!("/{service}.A2AService/CreateTaskPushNotificationConfig");
    check(&create("lf.a2a.v1"), v1_0, v1_0).await;
    let named = |url: &str| {
        message(&[field(1, b"tasks/t1/pushNotificationConfigs/c1"), field(2, &v0_3(url))].concat())
    };
    let request = |url: &str| {
        message(&[field(1, b"tasks/t1"), field(2, b"c1"), field(3, &named(url))].concat())
    };
    check(&create("a2a.v1"), request, named).await;
}

/// PUSH-01
#[tokio::test]
async fn a_streamed_send_over_grpc_is_given_an_address_of_ours() {
    let request = |url: &str| {
        message(&[field(2, &message(&field(1, b"m1"))), field(3, &field(2, &v1_0(url)))].concat())
    };
    let event = |_: &str| field(1, &message(&[field(1, b"t1"), field(2, b"c1")].concat()));
    check("/lf.a2a.v1.A2AService/SendStreamingMessage", request, event).await;
}
