//! A secret that passed cannot be found in what is kept, however it is searched for.

use std::io::Write;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use meddler::base::clock::WallClock;
use meddler::base::limits::Limits;
use meddler::record::exchange::{EditRecord, Exchange};
use meddler::record::jsonl::{self, Header};
use meddler::record::query::{Filter, Recording};
use meddler::record::redact::RedactConfig;
use meddler::record::store::disk::{self, Options};
use meddler::record::tap::{End, Lane, WhenFull};
use tracing_subscriber::fmt::MakeWriter;

use super::wire::{Bench, Wire, fields, report};

const TOKEN: &str = "tk-aaaa1111";
const COOKIE: &str = "ck-bbbb2222";
const SET_COOKIE: &str = "ck-cccc3333";
const API_KEY: &str = "ak-dddd4444";
const QUERY_KEY: &str = "qk-eeee5555";
const PASSWORD: &str = "ffff6666~?";
const PUSH_TOKEN: &str = "tok-7f3a-7f3a";
const CREDENTIALS: &str = "cred-91bb-91bb";
const ALL: &[&str] =
    &[TOKEN, COOKIE, SET_COOKIE, API_KEY, QUERY_KEY, PASSWORD, PUSH_TOKEN, CREDENTIALS];

/// A delegation that has a secret in every place, and an agent that repeats what it can.
fn secretive() -> Wire {
    let config = format!(
        r#"{{"url":"http://hook.test/x?token={QUERY_KEY}","token":"{PUSH_TOKEN}","authentication":{{"scheme":"Bearer","credentials":"{CREDENTIALS}"}}}}"#
    );
    let echo = format!(
        "you sent {TOKEN} and {} and {API_KEY}, {}",
        STANDARD.encode(format!("xx{TOKEN}")),
        PASSWORD.replace('~', "%7E").replace('?', "%3F"),
    );
    let mut wire = Wire::rpc(
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m1","role":"ROLE_USER","parts":[{{"text":"hello"}}]}},"configuration":{{"taskPushNotificationConfig":{config}}}}}}}"#
        ),
        &format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"task":{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_FAILED","message":{{"messageId":"a1","role":"ROLE_AGENT","parts":[{{"text":"{echo}"}}]}}}},"metadata":{{"config":{config}}}}}}}}}"#
        ),
    );
    let basic = STANDARD.encode(format!("user:{PASSWORD}"));
    wire.target = format!("/?key={QUERY_KEY}").parse().unwrap();
    wire.headers.extend(fields(&[
        ("authorization", &format!("Bearer {TOKEN}")),
        ("proxy-authorization", &format!("Basic {basic}")),
        ("cookie", &format!("sid={COOKIE}; theme=dark")),
        ("x-api-key", API_KEY),
        ("x-note", &format!("see {API_KEY}")),
    ]));
    let answer = wire.answer();
    answer.headers.extend(fields(&[("set-cookie", &format!("sid={SET_COOKIE}; Path=/"))]));
    // Split in the middle of secrets.
    let body = Bytes::from(answer.body());
    answer.pieces = body.chunks(7).map(|piece| body.slice_ref(piece)).collect();
    wire
}

/// Complains of every secret that is in these octets: plain, percent-encoded, or as base64.
#[track_caller]
fn check_has_none(what: &str, octets: &[u8]) {
    for secret in ALL {
        let mut spellings = vec![secret.as_bytes().to_vec()];
        for before in 0..3 {
            let digits = STANDARD.encode([&vec![b'x'; before], secret.as_bytes()].concat());
            let digits = digits.trim_end_matches('=');
            spellings.push(digits.as_bytes()[4..digits.len() - 2].to_vec());
        }
        spellings.push(secret.replace('~', "%7E").replace('?', "%3F").into_bytes());
        for spelling in spellings {
            let found = octets.windows(spelling.len()).any(|window| window == spelling);
            assert!(!found, "{what} holds {secret} as {}", String::from_utf8_lossy(&spelling));
        }
    }
}

fn exported(recording: &Recording) -> Vec<u8> {
    let mut file = Vec::new();
    let header = Header::new(None, Timestamp::UNIX_EPOCH);
    jsonl::export(recording, &Filter::default(), &header, &mut file).unwrap();
    file
}

/// Where tracing writes to.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(octets)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_secret_reaches_the_disk_the_export_or_the_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recordings");
    let options = Options { compression: disk::Compression::Off, ..Options::default() };
    let store = Arc::new(disk::open_writer(&path, options, WallClock::system()).unwrap());
    let redact = RedactConfig::default();
    let bench = Bench::into_store(Limits::default(), WhenFull::Wait, redact, store);
    bench.play("billing", &secretive());
    // Later, and nowhere near the place it was known by.
    bench.play("shipping", &Wire::send("m2", &format!("they use {PUSH_TOKEN}"), "{}"));
    let recording = bench.recording().await;
    bench.recorder.stop().await.unwrap();

    let mut files = 0;
    let mut folders = vec![path.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                check_has_none(&path.display().to_string(), &std::fs::read(&path).unwrap());
            }
        }
    }
    assert!(files > 3, "there is a store");
    check_has_none("the export", &exported(&recording));
    drop(guard);
    let log = log.0.lock().unwrap().clone();
    check_has_none("the log", &log);
    check_has_none("what the debugger shows", format!("{recording:?} {bench:?}").as_bytes());
}

#[tokio::test]
async fn what_is_masked_keeps_its_length_and_its_equality() {
    let bench = Bench::new();
    let wire = secretive();
    bench.play("billing", &wire);
    let mut delivery = Wire::rpc(
        r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#,
        "",
    );
    delivery.headers.extend(fields(&[
        ("x-a2a-notification-token", PUSH_TOKEN),
        ("authorization", &format!("Bearer {CREDENTIALS}")),
    ]));
    bench.play("billing", &delivery);
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    let [send, push] = exchanges.as_slice() else { panic!("two exchanges") };

    assert_eq!(send.request.body.kept.len(), wire.body.len());
    assert_eq!(header(send, "authorization"), "Bearer ***********");
    assert_eq!(header(send, "cookie"), "sid=***********; theme=****");
    assert_eq!(header(send, "x-note"), "see ***********");
    assert_eq!(send.request.target, "/?key=***********");
    assert!(send.request.body.digest_is_keyed);
    assert_eq!(send.problems, [], "a masked message still reads");
    let hmac = |exchange: &Exchange, kind: &str, place: &str| {
        let mut rows = exchange.redactions.iter();
        rows.find(|row| row.kind == kind && row.place == place).unwrap().hmac.clone()
    };
    let registered = hmac(send, "push_token", "request.body");
    assert_eq!(registered, hmac(push, "push_token", "request.header"));
    let registered = hmac(send, "credentials", "request.body");
    assert_eq!(registered, hmac(push, "authorization", "request.header"));
    assert_ne!(registered, hmac(send, "api_key", "request.header"));
    let delegation = recording.delegation(&recording.short('x', push.id)).unwrap();
    assert_eq!(delegation.exchanges, [send.id, push.id]);
}

#[tokio::test]
async fn a_secret_of_an_exchange_that_goes_on_is_known_to_the_others() {
    let bench = Bench::new();
    let mut long = Wire::send("m1", "hello", "{}");
    long.headers.extend(fields(&[("authorization", &format!("Bearer {TOKEN}"))]));
    let answer = long.answer.take().unwrap();
    let open = bench.tap.begin(bench.start("billing", &long));
    report(&open, &long);
    bench.recorder.flush().await.unwrap();
    bench.play("shipping", &Wire::send("m2", &format!("they use {TOKEN}"), "{}"));
    let recording = bench.recording().await;
    check_has_none("the export", &exported(&recording));
    assert_eq!(recording.exchanges(&Filter::default()).len(), 1);
    long.answer = Some(answer);
    report(&open, &long);
}

#[tokio::test]
async fn cards_and_configuration_name_more_places() {
    let redact = RedactConfig {
        headers: vec!["X-Corp-Id".to_owned()],
        query: vec!["ticket".to_owned()],
        json: vec!["$..pin".to_owned()],
        env: Vec::new(),
    };
    let bench = Bench::with(Limits::default(), WhenFull::Wait, redact);
    let mut card = Wire::rpc(
        "",
        r#"{"name":"b","securitySchemes":{"a":{"apiKeySecurityScheme":{"location":"header","name":"X-Billing"}},"b":{"type":"apiKey","in":"query","name":"bk"},"c":{"apiKeySecurityScheme":{"location":"header","name":"Content-Type"}}}}"#,
    );
    card.method = http::Method::GET;
    card.target = "/.well-known/agent-card.json".parse().unwrap();
    bench.play("billing", &card);
    let mut call = Wire::send(
        "m1",
        "hello",
        r#"{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"data":{"pin":1234}}]}}"#,
    );
    call.target = "/?bk=abc&ticket=de&page=1".parse().unwrap();
    call.headers.extend(fields(&[("x-billing", "short"), ("x-corp-id", "cid")]));
    bench.play("billing", &call);
    bench.play("shipping", &call);
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    let [_, billing, shipping] = exchanges.as_slice() else { panic!("three exchanges") };
    assert_eq!(billing.request.target, "/?bk=***&ticket=**&page=1");
    assert_eq!(shipping.request.target, "/?bk=abc&ticket=**&page=1");
    assert_eq!(header(billing, "x-billing"), "*****");
    assert_eq!(header(shipping, "x-billing"), "short");
    assert_eq!(header(billing, "x-corp-id"), "***");
    assert_eq!(header(billing, "content-type"), "application/json");
    let body = &billing.response.as_ref().unwrap().body.kept;
    assert!(String::from_utf8_lossy(body).contains(r#"{"pin":1111}"#));
}

#[tokio::test]
async fn the_real_credentials_of_an_agent_do_not_stand_in_edits() {
    let bench = Bench::new();
    let wire = Wire::send("m1", "hello", "{}");
    let tap = bench.tap.begin(bench.start("billing", &wire));
    tap.edit(EditRecord {
        kind: "header".to_owned(),
        at: "authorization".to_owned(),
        from: String::new(),
        to: format!("Bearer {TOKEN}"),
    });
    tap.edit(EditRecord {
        kind: "webhook".to_owned(),
        at: "$.params.url".to_owned(),
        from: format!("http://hook.test/?sig={QUERY_KEY}"),
        to: "http://meddler.test/.meddler/push/1".to_owned(),
    });
    report(&tap, &wire);
    drop(tap);
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    assert_eq!(exchanges[0].edits[0].to, "Bearer ***********");
    assert_eq!(exchanges[0].edits[1].from, "http://hook.test/?sig=***********");
    check_has_none("the export", &exported(&recording));
}

#[tokio::test]
async fn a_secret_that_the_limit_cuts_is_masked_as_far_as_it_is_kept() {
    let wire = secretive();
    for body_bytes in 150..wire.body.len() {
        let limits = Limits { body_bytes, ..Limits::default() };
        let bench = Bench::with(limits, WhenFull::Wait, RedactConfig::default());
        bench.play("billing", &wire);
        let recording = bench.recording().await;
        let exchange = recording.exchanges(&Filter::default()).remove(0);
        let kept = String::from_utf8_lossy(&exchange.request.body.kept).into_owned();
        assert_eq!(kept.len(), body_bytes);
        for secret in [PUSH_TOKEN, CREDENTIALS, QUERY_KEY] {
            assert!(!kept.contains(&secret[..5]), "{kept}");
        }
    }
}

#[tokio::test]
async fn secrets_in_grpc_and_in_compressed_answers_are_masked_as_well() {
    let bench = Bench::new();
    for wire in super::wire::read("1.0/grpc.python.jsonl") {
        bench.play("harness", &wire);
    }
    let mut packed = secretive();
    let answer = packed.answer();
    let plain = answer.body();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&plain).unwrap();
    answer.pieces = vec![Bytes::from(encoder.finish().unwrap())];
    answer.headers.extend(fields(&[("content-encoding", "gzip")]));
    let bytes = answer.body().len();
    bench.play("billing", &packed);
    let recording = bench.recording().await;
    let export = exported(&recording);
    check_has_none("the export", &export);
    for secret in ["fake-push-token", "fake-push-credentials", "fake-extended-token"] {
        let is_there = export.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_there, "{secret}");
    }
    let last = recording.exchanges(&Filter::default()).pop().unwrap();
    let body = &last.response.as_ref().unwrap().body;
    assert_eq!(
        (body.kept.len(), body.bytes, body.encoding.as_str()),
        (plain.len(), bytes as u64, "gzip")
    );
}

#[tokio::test]
async fn trouble_and_notes_that_quote_a_secret_are_masked() {
    let bench = Bench::new();
    let mut wire = Wire::send("m1", "hello", "{}");
    wire.headers.extend(fields(&[("authorization", &format!("Bearer {TOKEN}"))]));
    wire.answer = None;
    let tap = bench.tap.begin(bench.start("billing", &wire));
    report(&tap, &wire);
    tap.end(
        Lane::Response,
        End::Trouble(meddler::record::exchange::UpstreamTrouble {
            word: "reset".to_owned(),
            text: format!("after Bearer {TOKEN}"),
        }),
    );
    drop(tap);
    bench.recorder.event(meddler::record::store::EventRecord {
        name: "card_changed".to_owned(),
        at: Timestamp::UNIX_EPOCH,
        session: "s".to_owned(),
        agent: "billing".to_owned(),
        text: format!("now {TOKEN}"),
    });
    let recording = bench.recording().await;
    check_has_none("the export", &exported(&recording));
    let exchange = recording.exchanges(&Filter::default()).remove(0);
    assert_eq!(exchange.upstream_error.as_ref().unwrap().text, "after Bearer ***********");
}

/// A length-delimited protobuf field.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

/// `google.protobuf.Struct` with one member.
fn structure(name: &str, value: &[u8]) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, value)].concat())
}

#[tokio::test]
async fn rules_and_names_find_secrets_in_grpc_as_they_do_in_json() {
    let redact = RedactConfig { json: vec!["$..pin".to_owned()], ..RedactConfig::default() };
    let data = field(5, &structure("pin", &field(3, b"1234-pin")));
    let below = field(5, &structure("inner", &field(3, CREDENTIALS.as_bytes())));
    let metadata = structure("credentials", &below);
    let message =
        [field(1, b"m1"), field(4, &[1]), field(5, &field(4, &data)), field(6, &metadata)].concat();
    let request = field(2, &message);
    let len = u8::try_from(request.len()).unwrap();
    let mut wires = super::wire::read("1.0/grpc.python.jsonl").into_iter();
    let is_send = |wire: &Wire| wire.target.path().ends_with("/SendMessage");
    let mut wire = wires.find(is_send).unwrap();
    wire.body = [&[0, 0, 0, 0, len], request.as_slice()].concat().into();
    let bench = Bench::with(Limits::default(), WhenFull::Wait, redact);
    bench.play("billing", &wire);
    let recording = bench.recording().await;
    let exchange = recording.exchanges(&Filter::default()).remove(0);
    let kept = String::from_utf8_lossy(&exchange.request.body.kept).into_owned();
    assert_eq!(kept.len(), wire.body.len());
    assert!(kept.contains("pin") && !kept.contains("1234-pin"), "{kept}");
    assert!(kept.contains("inner") && !kept.contains(CREDENTIALS), "{kept}");
}

#[tokio::test]
async fn a_secret_that_a_grpc_agent_repeats_is_masked_in_message_and_status() {
    let mut wires = super::wire::read("1.0/grpc.python.jsonl").into_iter();
    let is_send = |wire: &Wire| wire.target.path().ends_with("/SendMessage");
    let mut wire = wires.find(is_send).unwrap();
    let token = format!("{TOKEN}~?");
    wire.headers.extend(fields(&[("authorization", &format!("Bearer {token}"))]));
    let said = field(2, &[field(1, b"a1"), field(5, &field(1, token.as_bytes()))].concat());
    let len = u8::try_from(said.len()).unwrap();
    let details = STANDARD.encode(format!("\u{8}\u{5}no {token}"));
    let message = format!("no {}", token.replace('~', "%7E").replace('?', "%3F"));
    let answer = wire.answer();
    answer.pieces = vec![Bytes::from([&[0, 0, 0, 0, len], said.as_slice()].concat())];
    answer.trailers = Some(fields(&[
        ("grpc-status", "16"),
        ("grpc-message", &message),
        ("grpc-status-details-bin", details.trim_end_matches('=')),
        ("x-note", &token),
    ]));
    let bench = Bench::new();
    bench.play("billing", &wire);
    let export = exported(&bench.recording().await);
    check_has_none("the export", &export);
    let text = String::from_utf8_lossy(&export).into_owned();
    assert!(text.contains("no *****************"), "{text}");
}

/// An answer of several events to a message that carries the token.
fn streamed(events: &[String]) -> Wire {
    let mut wire = Wire::send("m1", "hello", "{}");
    wire.headers.extend(fields(&[("authorization", &format!("Bearer {TOKEN}"))]));
    let body = format!("data: {}\n\n", events.join("\n\ndata: "));
    let answer = wire.answer();
    answer.headers = fields(&[("content-type", "text/event-stream")]);
    answer.pieces = vec![Bytes::from(body)];
    wire
}

fn chunk(artifact: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","append":true,"artifact":{{"artifactId":"{artifact}","parts":[{{"text":"{text}"}}]}}}}}}}}"#
    )
}

#[tokio::test]
async fn a_secret_that_an_agent_streams_in_pieces_is_masked_in_each() {
    let (head, rest) = TOKEN.split_at(4);
    let (middle, tail) = rest.split_at(2);
    for events in [
        vec![chunk("a", &format!("it is {head}")), chunk("a", middle), chunk("a", tail)],
        vec![chunk("a", head), chunk("b", "words"), chunk("a", middle), chunk("a", tail)],
    ] {
        let mut wire = streamed(&events);
        wire.body = String::from_utf8(wire.body.to_vec())
            .unwrap()
            .replace("SendMessage", "SendStreamingMessage")
            .into();
        let bench = Bench::new();
        bench.play("billing", &wire);
        let recording = bench.recording().await;
        let delegation = recording.delegations(&Filter::default()).remove(0);
        assert!(!delegation.reply_text.contains(TOKEN), "{}", delegation.reply_text);
        assert!(delegation.reply_text.contains("***********"), "{}", delegation.reply_text);
        let exchange = recording.exchanges(&Filter::default()).remove(0);
        assert_eq!(exchange.problems, [], "the events still read");
    }
}

#[tokio::test]
async fn a_wrong_media_type_or_octets_that_are_no_text_hide_no_secret() {
    let task =
        format!(r#"{{"result":{{"task":{{"id":"t","metadata":{{"token":"{PUSH_TOKEN}"}}}}}}}}"#);
    let events = format!("data: {task}\n\n");
    let url = format!("\u{fffd} https://h.test/?token={QUERY_KEY}");
    let bad = url.into_bytes().into_iter().map(|octet| if octet == 0xef { 0xff } else { octet });
    let cases: [(&str, Vec<u8>); 5] = [
        ("text/event-stream", task.clone().into_bytes()),
        ("application/json", events.clone().into_bytes()),
        ("text/plain", events.into_bytes()),
        ("application/x-www-form-urlencoded", task.into_bytes()),
        ("text/plain", bad.collect()),
    ];
    for (media_type, body) in cases {
        let bench = Bench::new();
        let mut wire = Wire::send("m1", "hello", "{}");
        let answer = wire.answer();
        answer.headers = fields(&[("content-type", media_type)]);
        answer.pieces = vec![Bytes::from(body)];
        bench.play("billing", &wire);
        check_has_none(media_type, &exported(&bench.recording().await));
    }
}

#[tokio::test]
async fn a_secret_is_known_however_it_is_repeated() {
    let quoted = format!("theme=dark; sid=\"{COOKIE}\"");
    let basic = STANDARD.encode(format!("user:{PASSWORD}"));
    let unpadded = format!("Basic {}", basic.trim_end_matches('='));
    let keys = format!("{API_KEY}, another-key-1");
    let digest = format!(r#"Digest username="u", response="{TOKEN}""#);
    let long = TOKEN.repeat(6);
    let wrapped: Vec<String> = STANDARD
        .encode(format!("x: {long}"))
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8(line.to_vec()).unwrap())
        .collect();
    for (name, value, echo) in [
        ("cookie", quoted.as_str(), COOKIE.to_owned()),
        ("authorization", &unpadded, PASSWORD.to_owned()),
        ("x-api-key", &keys, API_KEY.to_owned()),
        ("authorization", &digest, TOKEN.to_owned()),
        ("authorization", &format!("Custom {TOKEN}"), TOKEN.to_owned()),
        ("authorization", &format!("Bearer {long}"), wrapped.join(r"\n")),
        ("x-auth", API_KEY, API_KEY.to_owned()),
        ("x-goog-iap-jwt-assertion", TOKEN, TOKEN.to_owned()),
        ("referer", &format!("https://h.test/cb#access_token={TOKEN}"), TOKEN.to_owned()),
        ("link", &format!("</next?token={TOKEN}>; rel=next"), TOKEN.to_owned()),
        (
            "referer",
            &format!("https://h.test/?next=https%3A%2F%2Fx%2F%3Ftoken%3D{TOKEN}"),
            TOKEN.to_owned(),
        ),
    ] {
        let bench = Bench::new();
        let mut wire = Wire::send(
            "m1",
            "hello",
            &format!(
                r#"{{"message":{{"messageId":"a","role":"ROLE_AGENT","parts":[{{"text":"{echo}"}}]}}}}"#
            ),
        );
        wire.headers.extend(fields(&[(name, value)]));
        bench.play("billing", &wire);
        let export = exported(&bench.recording().await);
        check_has_none(&format!("after {name}: {value} the export"), &export);
        for line in echo.split(r"\n") {
            let is_there = export.windows(line.len()).any(|window| window == line.as_bytes());
            assert!(!is_there, "{line} after {name}: {value}");
        }
    }
}

fn header<'a>(exchange: &'a Exchange, name: &str) -> &'a str {
    &exchange.request.headers.iter().find(|(known, _)| known == name).unwrap().1
}
