//! Every exchange of the official SDKs is recorded, whole, and put together with what belongs to it.

use std::fmt::Write;

use meddler::record::query::{Filter, Recording};
use sha2::{Digest, Sha256};

use super::wire::{self, Bench};

async fn recorded(file: &str) -> (Vec<wire::Wire>, Recording) {
    let bench = Bench::new();
    let wires = wire::read(file);
    for wire in &wires {
        bench.play("harness", wire);
    }
    (wires, bench.recording().await)
}

#[tokio::test]
async fn every_recorded_line_is_kept_octet_for_octet_but_for_its_secrets() {
    for file in wire::files() {
        let (wires, recording) = recorded(&file).await;
        let exchanges = recording.exchanges(&Filter::default());
        assert_eq!(exchanges.len(), wires.len(), "{file}");
        for (wire, exchange) in wires.iter().zip(&exchanges) {
            let name = format!("{file} {} {}", wire.op, wire.n);
            let kept = |recorded: &meddler::record::exchange::Payload, sent: &[u8], lane: &str| {
                assert_eq!(recorded.bytes, sent.len() as u64, "{name} {lane}");
                assert_eq!(recorded.kept.len(), sent.len(), "{name} {lane}");
                assert!(!recorded.truncated && recorded.gap == 0, "{name} {lane}");
                let same = recorded.kept.iter().zip(sent).all(|(a, b)| a == b || *a == b'*');
                assert!(same, "{name} {lane} is not what was sent");
                let digest: [u8; 32] = Sha256::digest(sent).into();
                assert_eq!(recorded.sha256 != digest, recorded.digest_is_keyed, "{name} {lane}");
            };
            kept(&exchange.request.body, &wire.body, "request");
            assert_eq!(exchange.request.method, wire.method.as_str(), "{name}");
            match (&exchange.response, &wire.answer) {
                (Some(recorded), Some(sent)) => {
                    assert_eq!(recorded.status, sent.status.as_u16(), "{name}");
                    assert_eq!(recorded.headers.len(), sent.headers.len(), "{name}");
                    kept(&recorded.body, &sent.body(), "response");
                }
                (None, None) => {}
                (recorded, _) => panic!("{name}: the answer is {recorded:?}"),
            }
        }
    }
}

#[tokio::test]
async fn exchanges_are_put_together_into_delegations() {
    for file in wire::files() {
        let (wires, recording) = recorded(&file).await;
        let mut listing = String::new();
        let exchanges = recording.exchanges(&Filter::default());
        let op = |id| {
            let index = exchanges.iter().position(|exchange| exchange.id == id).unwrap();
            format!("{} {}", wires[index].op, wires[index].n)
        };
        for delegation in recording.delegations(&Filter::default()) {
            let exchanges: Vec<String> = delegation.exchanges.iter().map(|id| op(*id)).collect();
            writeln!(
                listing,
                "{}: {} {} [{}] {:?} -> {:?}",
                exchanges.join(", "),
                delegation.operation,
                serde_json::to_string(&delegation.outcome).unwrap(),
                delegation.states.join(" "),
                shortened(&delegation.text),
                shortened(&delegation.reply_text),
            )
            .unwrap();
        }
        writeln!(listing).unwrap();
        for (wire, exchange) in wires.iter().zip(&exchanges) {
            let problems: Vec<String> =
                exchange.problems.iter().map(|problem| problem.name.clone()).collect();
            writeln!(
                listing,
                "{} {}: {} {} {} {}",
                wire.op,
                wire.n,
                exchange.operation,
                exchange.version.map_or("-", |version| version.as_str()),
                serde_json::to_string(&exchange.outcome).unwrap(),
                problems.join(" "),
            )
            .unwrap();
        }
        let name = file.replace(['/', '.'], "_");
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, listing);
        });
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
