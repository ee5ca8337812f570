//! Signed cards: a card that was changed never carries a signature as if it fitted, unless it is told to,
//! and what the agent's own signature was worth is in the recording.

use meddler::a2a::address::CardShape;
use meddler::a2a::signature::{self, CardSignature};
use meddler::net::jws::{Checked, KeySet, SigningKey};
use serde_json::{Value, json};

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, within};

const ASK: &str = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test:8100\r\n\r\n";

fn card(url: &str) -> Value {
    json!({
        "name": "billing \u{e4}\u{1f600}", "description": "", "version": "1", "x-vendor": { "n": 1.5 },
        "supportedInterfaces": [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": { "streaming": false, "extensions": [{ "uri": "e:1", "params": { "n": 3.0 } }] },
        "defaultInputModes": ["text/plain"], "defaultOutputModes": [],
        "skills": [{ "id": "s", "name": "s", "description": "d", "tags": [] }],
    })
}

/// The card, signed over the specification's form.
fn signed(card: &Value, key: &SigningKey) -> String {
    let form = signature::forms(card.to_string().as_bytes(), CardShape::Json).remove(0);
    let one = CardSignature::new("ES256", key.kid(), &form, |octets| key.sign(octets)).unwrap();
    let mut card = card.clone();
    card["signatures"] = json!([{ "protected": one.protected, "signature": one.signature }]);
    card.to_string()
}

fn response(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A body by the length in its head.
async fn body_of(client: &mut RawConn) -> String {
    let head = client.read_head().await.to_ascii_lowercase();
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    String::from_utf8(client.read_exactly(length).await).unwrap()
}

/// Whether every signature of a card is good, by this key set; how many there are.
fn good(card: &str, keys: &KeySet) -> Vec<bool> {
    let forms = signature::forms(card.as_bytes(), CardShape::Json);
    let check = |one: &CardSignature| {
        let header = one.header().unwrap();
        let inputs: Vec<String> = forms.iter().map(|form| one.input(form)).collect();
        keys.check(&header.alg, header.kid.as_deref(), &inputs, &one.octets().unwrap())
            == Checked::Good
    };
    signature::read(card.as_bytes(), CardShape::Json).iter().map(check).collect()
}

/// What a signed card is delivered as, and what is recorded of its signature. `MORE` is the agent's
/// configuration, `change` what happens to the card after it was signed.
async fn check(
    more: &str,
    change: impl Fn(String) -> String,
    expected: (&str, &str),
) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    let key = SigningKey::open(&directory.path().join("agent.pem")).unwrap();
    let jwks = directory.path().join("agent.jwks.json");
    std::fs::write(&jwks, key.jwks()).unwrap();
    let more = more.replace("JWKS", jwks.to_str().unwrap());
    let at = Recorded::start_in(&more, directory.path().join("ours.pem")).await;
    let (mut client, mut upstream) = at.ask(ASK).await;
    let url = format!("http://localhost:{}/a2a", at.agent.addr.port());
    let original = change(signed(&card(&url), &key));
    upstream.write(response(&original)).await;
    let delivered = body_of(&mut client).await;
    let exchange = at.exchange().await;
    let edit = exchange.edits.iter().find(|edit| edit.kind == "card_signature").unwrap();
    assert_eq!((edit.from.as_str(), edit.to.as_str()), expected, "{more}");
    assert_eq!(exchange.response.as_ref().unwrap().body.kept, original, "the original is kept");
    (original, delivered)
}

/// CARD-10
#[tokio::test]
async fn by_default_a_rewritten_card_loses_its_signatures_and_nothing_else() {
    let (original, delivered) = check("", |card| card, ("unverifiable", "stripped")).await;
    let mut expected: Value = serde_json::from_str(&original).unwrap();
    expected.as_object_mut().unwrap().shift_remove("signatures");
    expected["supportedInterfaces"][0]["url"] = "http://proxy.test:8100/a2a".into();
    assert_eq!(delivered, expected.to_string());
}

/// CARD-10
#[tokio::test]
async fn signatures_that_are_kept_stay_as_they_were_and_fit_no_more() {
    let keys = ", signatures: keep, card_keys: \"JWKS\"";
    let (original, delivered) = check(keys, |card| card, ("valid", "kept")).await;
    let of = |card: &str| signature::read(card.as_bytes(), CardShape::Json);
    assert_eq!(of(&original), of(&delivered));
    assert_ne!(original, delivered);
}

/// CARD-10
#[tokio::test]
async fn the_agents_own_signature_is_verified_before_the_card_is_rewritten() {
    let keys = ", card_keys: \"JWKS\"";
    let tampered = |card: String| card.replace("\"version\":\"1\"", "\"version\":\"2\"");
    let unsigned = |card: String| {
        let without = signature::replace(card.as_bytes(), CardShape::Json, &[]).unwrap();
        String::from_utf8(without.to_vec()).unwrap()
    };
    let of_another = |_: String| {
        json!({ "name": "a", "url": "http://x.test/", "signatures": [
            // {"alg":"ES256","kid":"k1"}
            { "protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIn0", "signature": "AAAA" },
        ] })
        .to_string()
    };
    let broken = |card: String| card.replace("\"protected\":\"", "\"protected\":\"!");
    check(keys, |card| card, ("valid", "stripped")).await;
    check(keys, tampered, ("invalid", "stripped")).await;
    check(keys, broken, ("invalid", "stripped")).await;
    check(keys, unsigned, ("unsigned", "untouched")).await;
    check(keys, of_another, ("unverifiable", "untouched")).await;
}

/// CARD-10
#[tokio::test]
async fn a_card_is_signed_anew_with_a_key_that_meddler_serves() {
    let agent = RawAgent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let others = SigningKey::open(&directory.path().join("agent.pem")).unwrap();
    let config = format!(
        "{{ listen: \"127.0.0.1:0\", signatures: resign, forward: \"http://localhost:{}\" }}",
        agent.addr.port()
    );
    let signing_key = directory.path().join("keys/card.pem");
    let around = || Surroundings { signing_key: signing_key.clone(), ..Surroundings::default() };
    let mut served = Vec::new();
    for _ in 0..2 {
        // The second time it is another process with the same key.
        let proxy = TestProxy::within(std::slice::from_ref(&config), around());
        let mut client = RawConn::connect(proxy.addr()).await;
        client.write("GET /.meddler/jwks.json HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let jwks = body_of(&mut client).await;
        let keys = KeySet::parse(jwks.as_bytes()).unwrap();
        served.push(jwks);
        client.write(ASK).await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        let card = card(&format!("http://localhost:{}/a2a", agent.addr.port()));
        upstream.write(response(&signed(&card, &others))).await;
        let delivered = body_of(&mut client).await;
        let good = good(&delivered, &keys);
        assert!(good.iter().all(|good| *good), "{good:?} {delivered}");
        let value: Value = serde_json::from_str(&delivered).unwrap();
        assert_eq!(value["x-vendor"], json!({ "n": 1.5 }), "unknown members stay");
        let header = signature::read(delivered.as_bytes(), CardShape::Json)[0].header().unwrap();
        assert_eq!(header.alg, "ES256");
        assert!(keys.knows(&header.kid.unwrap()));
        // What is not rewritten is not signed: this one leads to nobody we stand for.
        client.write(ASK).await;
        upstream.read_head().await;
        let elsewhere = signed(&self::card("https://other.test/a2a"), &others);
        upstream.write(response(&elsewhere)).await;
        assert_eq!(body_of(&mut client).await, elsewhere);
        // Nor is what was not signed.
        client.write(ASK).await;
        upstream.read_head().await;
        upstream.write(response(&card.to_string())).await;
        assert!(!body_of(&mut client).await.contains("signatures"));
    }
    assert_eq!(served[0], served[1]);
}

/// CARD-10
#[tokio::test]
async fn an_extended_card_over_grpc_is_signed_anew_as_well() {
    let mut agent = Http2Agent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let signing_key = directory.path().join("card.pem");
    let config = format!(
        "{{ listen: \"127.0.0.1:0\", signatures: resign, forward: \"grpc://{}\" }}",
        agent.addr
    );
    let around = Surroundings { signing_key: signing_key.clone(), ..Surroundings::default() };
    let proxy = TestProxy::within(&[config], around);
    let keys = SigningKey::open(&signing_key).unwrap();
    let keys = KeySet::parse(keys.jwks().as_bytes()).unwrap();
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/GetExtendedAgentCard", b"").await;
    let mut arrived = agent.next().await;
    let mut sending = arrived.answer(&[("content-type", "application/grpc")]);
    let field = |tag: u8, text: &[u8]| [&[tag, u8::try_from(text.len()).unwrap()], text].concat();
    let interface = [field(0x0a, agent.addr.to_string().as_bytes()), field(0x12, b"GRPC")].concat();
    let signature = [field(0x0a, b"e30"), field(0x12, b"AAAA")].concat();
    let card = [field(0x0a, b"billing"), field(0x1a, &interface), field(0x6a, &signature)].concat();
    sending.send_data(framed(&card), false).unwrap();
    let trailers = [("grpc-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect();
    sending.send_trailers(trailers).unwrap();
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    let (octets, _) = read(&mut body).await;
    let shape = CardShape::Protobuf(meddler::a2a::binding::ProtocolVersion::V1_0);
    let forms = signature::forms(&octets[5..], shape);
    assert!(forms[0].contains("\"description\":\"\"") && forms[0].contains("\"skills\":[]"));
    let signatures = signature::read(&octets[5..], shape);
    assert!(!signatures.is_empty());
    for one in signatures {
        let inputs: Vec<String> = forms.iter().map(|form| one.input(form)).collect();
        let header = one.header().unwrap();
        let checked = keys.check("ES256", header.kid.as_deref(), &inputs, &one.octets().unwrap());
        assert_eq!(checked, Checked::Good);
    }
}

#[tokio::test]
async fn keys_at_an_address_are_asked_for_once_and_without_the_agents_credentials() {
    let agent = RawAgent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let key = SigningKey::open(&directory.path().join("agent.pem")).unwrap();
    let home = RawAgent::start().await;
    let at = Recorded::start(
        &format!(
            "forward: \"http://localhost:{}\", headers: {{ Authorization: Bearer x }}, card_keys: \"http://{}/jwks.json\"",
            agent.addr.port(),
            home.addr
        ),
        "[]",
    )
    .await;
    let mut client = RawConn::connect(at.proxy.addr()).await;
    let body = signed(&card(&format!("http://localhost:{}/a2a", agent.addr.port())), &key);
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write(response(&body)).await;
    let mut keys = home.accept().await;
    let head = keys.read_head().await.to_ascii_lowercase();
    // However long it takes: the recorder has taken in all that was said so far, and waits.
    at.settle().await;
    assert!(head.starts_with("get /jwks.json ") && !head.contains("authorization"), "{head}");
    keys.write(response(key.jwks())).await;
    body_of(&mut client).await;
    client.write(ASK).await;
    upstream.read_head().await;
    upstream.write(response(&body)).await;
    body_of(&mut client).await;
    assert!(keys.is_quiet() && home.is_left_alone(), "a key that is known is believed");
    let recording = at.recording(2).await;
    for exchange in recording.exchanges(&meddler::record::query::Filter::default()) {
        assert!(exchange.edits.iter().any(|edit| edit.from == "valid" && edit.to == "stripped"));
    }
}

#[tokio::test]
async fn where_no_card_is_signed_there_is_no_key_and_nothing_is_made() {
    let agent = RawAgent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let signing_key = directory.path().join("card.pem");
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}\" }}", agent.addr);
    let around = Surroundings { signing_key: signing_key.clone(), ..Surroundings::default() };
    let proxy = TestProxy::within(&[config], around);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET /.meddler/jwks.json HTTP/1.1\r\nHost: p\r\n\r\n").await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 404 "));
    assert!(!signing_key.exists());
}

#[test]
fn keys_that_cannot_be_read_stop_the_start() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let config = "{ listen: \"127.0.0.1:0\", forward: \"http://a.test\", card_keys: nowhere.json }";
    let error = TestProxy::try_within(&[config.to_owned()], Surroundings::default()).err().unwrap();
    assert_eq!(error.to_string(), "agent `agent0`: cannot do what it says of signed cards");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "cannot use nowhere.json");
}
