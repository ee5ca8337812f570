//! Addresses in cards are found in every place, and replaced with nothing else moved.

use bytes::Bytes;
use meddler::a2a::address::{CardShape, Place, Rewritten, places, rewrite};
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::dialect::protobuf;
use meddler::a2a::model::Operation;
use meddler::a2a::signature::{self, CardSignature};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{fixture, samples};

fn found(body: &[u8], shape: CardShape) -> Vec<String> {
    let show = |place: Place| format!("{} {} {}", place.at, place.binding, place.url);
    places(body, shape).into_iter().map(show).collect()
}

/// Every address gets `proxy.test` for what stands before its path.
#[expect(clippy::unnecessary_wraps, reason = "what decides may leave an address as it is")]
fn through_proxy(place: &Place) -> Option<String> {
    Some(
        place
            .url
            .replace("http://agent.test:9000", "http://proxy.test")
            .replace("agent.test:50051", "proxy.test:1"),
    )
}

fn moved(body: &str) -> Rewritten {
    rewrite(body.as_bytes(), CardShape::Json, &mut through_proxy).unwrap()
}

const MIXED: &str = r#"{
  "name" : "x", "x-vendor": {"url":"http://agent.test:9000/not-me","n":1.10},
  "url": "http://agent.test:9000/a",
  "preferredTransport":"HTTP+JSON",
  "supportedInterfaces":[ {"url":"http://agent.test:9000/","protocolBinding":"JSONRPC","protocolVersion":"1.0"},
     {"protocolBinding":"GRPC","url":"agent.test:50051"}, {"url":"\/a2a\/v1","protocolBinding":"HTTP+JSON"} ],
  "additionalInterfaces": [{"transport":"GRPC","url":"agent.test:50051"}],
  "documentationUrl":"http://agent.test:9000/docs","provider":{"url":"http://agent.test:9000/"},
  "iconUrl":"http://agent.test:9000/i",
  "signatures":[{"protected":"e30","signature":"AAAA"}], "big":123456789012345678901234567890
}"#;

#[test]
fn every_place_is_found_and_no_other() {
    assert_eq!(
        found(MIXED.as_bytes(), CardShape::Json),
        [
            "$.url HTTP+JSON http://agent.test:9000/a",
            "$.supportedInterfaces[0].url JSONRPC http://agent.test:9000/",
            "$.supportedInterfaces[1].url GRPC agent.test:50051",
            "$.supportedInterfaces[2].url HTTP+JSON /a2a/v1",
            "$.additionalInterfaces[0].url GRPC agent.test:50051",
        ]
    );
}

#[test]
fn addresses_are_replaced_and_all_other_octets_stay() {
    let rewritten = moved(MIXED);
    let expected = MIXED
        .replacen("\"http://agent.test:9000/a\"", "\"http://proxy.test/a\"", 1)
        .replacen("{\"url\":\"http://agent.test:9000/\",", "{\"url\":\"http://proxy.test/\",", 1)
        .replace("agent.test:50051", "proxy.test:1");
    assert_eq!(String::from_utf8(rewritten.body.to_vec()).unwrap(), expected);
    assert_eq!(rewritten.changed.len(), 4);
    assert_eq!(rewritten.changed[0].1, "http://proxy.test/a");
}

#[test]
fn a_card_in_which_nothing_changes_is_left_alone() {
    assert_eq!(rewrite(MIXED.as_bytes(), CardShape::Json, &mut |_| None), None);
    let same = &mut |place: &Place| Some(place.url.clone());
    assert_eq!(rewrite(MIXED.as_bytes(), CardShape::Json, same), None);
}

#[test]
fn signatures_are_read_and_replaced_with_nothing_else_moved() {
    let one = |protected: &str, signature: &str| CardSignature {
        protected: protected.to_owned(),
        signature: signature.to_owned(),
    };
    let body = MIXED.as_bytes();
    assert_eq!(signature::read(body, CardShape::Json), [one("e30", "AAAA")]);
    let old = "\n  \"signatures\":[{\"protected\":\"e30\",\"signature\":\"AAAA\"}],";
    let without = signature::replace(body, CardShape::Json, &[]).unwrap();
    assert_eq!(without, MIXED.replace(old, ""));
    let two = [one("e31", "BB"), one("e32", "CC")];
    let with = signature::replace(body, CardShape::Json, &two).unwrap();
    let new = old.replace(
        r#"{"protected":"e30","signature":"AAAA"}"#,
        r#"{"protected":"e31","signature":"BB"},{"protected":"e32","signature":"CC"}"#,
    );
    assert_eq!(with, MIXED.replace(old, &new));
    assert_eq!(signature::read(&with, CardShape::Json), two);
    let answer = format!(r#"{{"id":1,"result":{MIXED}}}"#);
    let stripped = signature::replace(answer.as_bytes(), CardShape::RpcResult, &[]).unwrap();
    assert_eq!(stripped, answer.replace(old, ""));
    for version in samples::VERSIONS {
        let shape = CardShape::Protobuf(*version);
        let with = signature::replace(b"\x0a\x01x\xfa\x07\x03abc", shape, &two).unwrap();
        assert_eq!(signature::read(&with, shape), two);
        let without = signature::replace(&with, shape, &[]).unwrap();
        assert_eq!(&without[..], b"\x0a\x01x\xfa\x07\x03abc");
    }
}

#[test]
fn a_card_in_a_json_rpc_answer_is_found_below_result() {
    let body = format!(r#"{{"jsonrpc":"2.0","id":9007199254740993,"result":{MIXED}}}"#);
    let all = found(body.as_bytes(), CardShape::RpcResult);
    assert_eq!(all.len(), 5);
    assert_eq!(all[1], "$.result.supportedInterfaces[0].url JSONRPC http://agent.test:9000/");
    let moved = rewrite(body.as_bytes(), CardShape::RpcResult, &mut through_proxy).unwrap();
    let text = String::from_utf8(moved.body.to_vec()).unwrap();
    assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":9007199254740993,"result":{"#));
    assert_eq!(
        found(text.as_bytes(), CardShape::RpcResult)[2],
        "$.result.supportedInterfaces[1].url GRPC proxy.test:1"
    );
}

#[test]
fn what_is_no_card_has_no_addresses() {
    for body in [
        "",
        "[]",
        "7",
        "{",
        r#"{"url":"http://x.test"}"#,
        r#"{"name":"x","url":7}"#,
        r#"{"name":"x"}"#,
        r#"{"supportedInterfaces":{"url":"http://x.test"}}"#,
        r#"{"error":{"url":"http://x.test"}}"#,
    ] {
        assert_eq!(found(body.as_bytes(), CardShape::Json), [""; 0], "{body}");
        assert_eq!(found(body.as_bytes(), CardShape::RpcResult), [""; 0], "{body}");
    }
    assert_eq!(found(b"\xff\xff", CardShape::Protobuf(ProtocolVersion::V1_0)), [""; 0]);
}

#[test]
fn a_03_card_without_a_transport_is_json_rpc() {
    let body = br#"{"name":"x","url":"http://a.test/"}"#;
    assert_eq!(found(body, CardShape::Json), ["$.url JSONRPC http://a.test/"]);
}

#[test]
fn both_of_a_duplicate_address_are_replaced() {
    let body = r#"{"name":"x","url":"http://agent.test:9000/1","url":"http://agent.test:9000/2"}"#;
    let moved = moved(body);
    assert_eq!(moved.body, body.replace("agent.test:9000", "proxy.test"));
}

#[test]
fn recorded_cards_change_in_their_addresses_only() {
    for name in [
        "0.3/agent-card.json",
        "0.3/extended-agent-card.json",
        "0.3-on-1.0/agent-card.json",
        "0.3-on-1.0/extended-agent-card.json",
        "1.0/agent-card.json",
        "1.0/extended-agent-card.json",
    ] {
        let body = fixture::file(name);
        let count = places(&body, CardShape::Json).len();
        assert!(count >= 3, "{name}");
        let map = &mut |place: &Place| Some(place.url.replace("127.0.0.1", "[::1]"));
        let moved = rewrite(&body, CardShape::Json, map).unwrap();
        assert_eq!(moved.changed.len(), count, "{name}");
        // These cards have no loopback address elsewhere, so replacing the text does the same.
        let expected = String::from_utf8(body).unwrap().replace("127.0.0.1", "[::1]");
        assert_eq!(moved.body, expected, "{name}");
    }
}

#[test]
fn recorded_grpc_cards_change_in_their_addresses_only() {
    let mut count = 0;
    for line in fixture::lines() {
        let call = line.call();
        if call.operation != Operation::GetExtendedAgentCard || line.binding != Binding::Grpc {
            continue;
        }
        let Some(response) = line.response.filter(|response| !response.body.is_empty()) else {
            continue;
        };
        count += 1;
        let message = response.body.slice(5..);
        let shape = CardShape::Protobuf(line.version);
        let before = places(&message, shape);
        assert!(before.len() >= 3, "{}", line.at);
        // An unknown field and signatures, which the recorded cards do not have.
        let tag: &[u8] = match line.version {
            ProtocolVersion::V0_3 => b"\x8a\x01",
            ProtocolVersion::V1_0 => b"\x6a",
        };
        let unknown = b"\xfa\x07\x03abc";
        let signed = [&message[..], unknown, tag, b"\x02\x0a\x00"].concat();

        let map = &mut |place: &Place| Some(place.url.replace("127.0.0.1", "[::1]"));
        let moved = rewrite(&signed, shape, map).unwrap();
        assert_eq!(moved.changed.len(), before.len(), "{}", line.at);
        let moved = signature::replace(&moved.body, shape, &[]).unwrap();
        assert!(moved.ends_with(unknown), "the unknown field stays: {}", line.at);
        let back = &mut |place: &Place| Some(place.url.replace("[::1]", "127.0.0.1"));
        let back = rewrite(&moved, shape, back).unwrap();
        assert_eq!(back.body, Bytes::from([&message[..], unknown].concat()), "{}", line.at);
    }
    assert!(count >= 3, "only {count} cards");
}

#[test]
fn places_in_protobuf_are_those_of_its_json() {
    let card = json!({
        "name": "x", "url": "http://a.test/", "preferredTransport": "HTTP+JSON",
        "additionalInterfaces": [{"url": "a.test:1", "transport": "GRPC"}, {"url": "http://a.test/r"}],
    });
    let packed = |version, value: &Value| {
        let operation = Operation::GetExtendedAgentCard;
        protobuf::from_json(version, operation, protobuf::Message::Response, value).unwrap()
    };
    let v0_3 = ProtocolVersion::V0_3;
    assert_eq!(
        found(&packed(v0_3, &card), CardShape::Protobuf(v0_3)),
        [
            "$.url HTTP+JSON http://a.test/",
            "$.additionalInterfaces[0].url GRPC a.test:1",
            "$.additionalInterfaces[1].url JSONRPC http://a.test/r",
        ]
    );
    let card = json!({"supportedInterfaces": [{"url": "a.test:1", "protocolBinding": "GRPC", "tenant": "t"}]});
    let v1_0 = ProtocolVersion::V1_0;
    assert_eq!(
        found(&packed(v1_0, &card), CardShape::Protobuf(v1_0)),
        ["$.supportedInterfaces[0].url GRPC a.test:1"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_octets_make_it_panic(
        octets in proptest::collection::vec(any::<u8>(), 0..48),
        text in r#"\{"name":("[a-z]"|[0-9]|\[),? ?"(url|signatures|supportedInterfaces)" ?: ?["\[{}a-z,]{0,12}\}?"#,
    ) {
        for body in [octets.as_slice(), text.as_bytes()] {
            let versions = samples::VERSIONS.iter().map(|version| CardShape::Protobuf(*version));
            for shape in versions.chain([CardShape::Json, CardShape::RpcResult]) {
                rewrite(body, shape, &mut |_| Some("x".to_owned()));
                signature::read(body, shape);
                signature::forms(body, shape);
                signature::replace(body, shape, &[CardSignature::default()]);
            }
        }
    }
}
