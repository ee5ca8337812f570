//! A recording can be carried away as a file, read anywhere, and brought back.

use std::path::Path;

use jiff::Timestamp;
use meddler::record::jsonl::{self, Header, Lines};
use meddler::record::query::{Filter, Recording};
use meddler::record::redact::{RedactConfig, Redactor};
use meddler::record::store::Store;
use meddler::record::store::memory::MemoryStore;

use super::wire::{self, Bench};

fn header() -> Header {
    Header::new(None, "2026-11-30T12:00:00.5Z".parse().unwrap())
}

fn exported(recording: &Recording) -> String {
    let mut file = Vec::new();
    jsonl::export(recording, &Filter::default(), &header(), &mut file).unwrap();
    String::from_utf8(file).unwrap()
}

async fn recorded(file: &str) -> Recording {
    let bench = Bench::new();
    for wire in wire::read(file) {
        bench.play("harness", &wire);
    }
    bench.recording().await
}

#[tokio::test]
async fn a_file_that_is_read_and_written_again_is_the_same() {
    for file in wire::files() {
        let recording = recorded(&file).await;
        let first = exported(&recording);
        let read = Recording::read("first", &mut first.as_bytes()).unwrap();
        assert_eq!(read.exchanges(&Filter::default()), recording.exchanges(&Filter::default()));
        assert!(exported(&read) == first, "{file} changes when it is read and written again");
    }
}

#[tokio::test]
async fn an_import_brings_everything_back_once() {
    let recording = recorded("1.0/jsonrpc.python.jsonl").await;
    let file = exported(&recording);
    let store = MemoryStore::new();
    let key = store.digest_key().unwrap();
    let mut redactor = Redactor::new(&RedactConfig::default(), key, 100).unwrap();
    let mut import = || {
        let lines = Lines::open("file", file.as_bytes()).unwrap();
        jsonl::import(lines, &mut redactor, &store).unwrap()
    };
    let exchanges = recording.exchanges(&Filter::default()).len() as u64;
    let first = import();
    assert_eq!((first.exchanges, first.known), (exchanges, 0));
    let second = import();
    assert_eq!((second.exchanges, second.known), (0, exchanges));
    assert!(exported(&Recording::of_store(&store).unwrap()) == file);
}

#[tokio::test]
async fn compressed_files_are_known_by_their_octets() {
    let recording = recorded("1.0/rest.python.jsonl").await;
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("a.a2a.jsonl");
    let packed = directory.path().join("a.a2a.jsonl.zst");
    for path in [&plain, &packed] {
        jsonl::save(&recording, &Filter::default(), &header(), path).unwrap();
    }
    let size = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(size(&packed) * 3 < size(&plain));
    let renamed = directory.path().join("b.a2a.jsonl");
    std::fs::rename(&packed, &renamed).unwrap();
    let read = |path: &Path| exported(&Recording::open(path).unwrap());
    assert!(read(&renamed) == read(&plain));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left over");
}

#[tokio::test(start_paused = true)]
async fn the_format_of_a_line_does_not_change() {
    let recording = recorded("1.0/jsonrpc.python.jsonl").await;
    let file = exported(&recording);
    let wanted = ["card 1", "send-message 1", "stream-message 1"];
    let wires = wire::read("1.0/jsonrpc.python.jsonl");
    let chosen: Vec<usize> = wires
        .iter()
        .enumerate()
        .filter(|(_, wire)| wanted.contains(&format!("{} {}", wire.op, wire.n).as_str()))
        .map(|(index, _)| index)
        .collect();
    let lines = file.lines().filter(|line| line.contains(r#""type":"exchange""#));
    let exchanges = lines.enumerate().filter(|(n, _)| chosen.contains(n)).map(|(_, line)| line);
    let others = file.lines().filter(|line| !line.contains(r#""type":"exchange""#));
    let kept: Vec<String> = others.take(4).chain(exchanges).map(pretty).collect();
    insta::with_settings!({
        snapshot_path => "snapshots",
        prepend_module_to_snapshot => false,
    }, {
        let version = concat!("meddler ", env!("CARGO_PKG_VERSION"));
        insta::assert_snapshot!("lines", kept.join("\n").replace(version, "meddler VERSION"));
    });
}

fn pretty(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

#[track_caller]
fn check(file: &str, expected: &str) {
    let found = match Recording::read("x.jsonl", &mut file.as_bytes()) {
        Ok(recording) => format!("{} exchanges", recording.exchanges(&Filter::default()).len()),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected);
}

const FIRST: &str = r#"{"a2a_recording":1}"#;
const EXCHANGE: &str = r#"{"type":"exchange","id":"01940000-0000-7000-8000-000000000001","session":"s","instance":"01940000-0000-7000-8000-000000000002","agent":"a","orchestrator":"o","started":"2026-11-30T12:00:00Z","request":{"method":"GET","target":"/"},"outcome":"completed"}"#;

#[test]
fn files_of_other_versions_are_read_as_far_as_they_are_understood() {
    check(&format!("{FIRST}\n{EXCHANGE}\n"), "1 exchanges");
    check(&format!("{FIRST}\n\n{EXCHANGE}"), "1 exchanges");
    let newer = EXCHANGE.replace(r#""agent""#, r#""mood":{"a":[1]},"operation":"Dance","agent""#);
    check(
        &format!("{{\"a2a_recording\":9,\"new\":1}}\n{{\"type\":\"dance\"}}\n{newer}\n"),
        "1 exchanges",
    );
}

#[test]
fn what_is_no_recording_is_refused_with_its_line() {
    let first = "x.jsonl:1: not a recording: the first line must be {\"a2a_recording\": 1, ...}";
    check("", first);
    check("hello", first);
    check(EXCHANGE, first);
    check(
        &format!("{FIRST}\n{EXCHANGE}\n{}", &EXCHANGE[..80]),
        "x.jsonl:3: the file ends in the middle of this line",
    );
    check(
        &format!("{FIRST}\n{{\"type\":\"exchange\"}}\n"),
        "x.jsonl:2: missing field `id` at line 1 column 19",
    );
    let broken = EXCHANGE.replace(r#""target":"/""#, r#""target":"/","body":{"base64":"?"}"#);
    check(
        &format!("{FIRST}\n{broken}\n"),
        "x.jsonl:2: request.body.base64: Invalid symbol 63, offset 0.",
    );
    let missing = Recording::open(Path::new("no/such/file.a2a.jsonl")).unwrap_err();
    assert_eq!(missing.to_string(), "cannot open no/such/file.a2a.jsonl");
}

#[tokio::test]
async fn a_part_of_a_recording_holds_whole_delegations() {
    let recording = recorded("1.0/jsonrpc.python.jsonl").await;
    let filter = Filter { text: Some("task:get".to_owned()), ..Filter::default() };
    let mut file = Vec::new();
    let exported = jsonl::export(&recording, &filter, &header(), &mut file).unwrap();
    assert_eq!((exported.exchanges, exported.delegations), (4, 1));
    let part = Recording::read("part", &mut file.as_slice()).unwrap();
    assert_eq!(part.delegations(&Filter::default())[0].exchanges.len(), 4);
    assert_eq!(part.sessions().len(), 1);
    assert!(part.sessions()[0].started > Timestamp::UNIX_EPOCH);
}

#[tokio::test]
async fn recordings_are_merged_without_repeating_anything() {
    let recording = recorded("0.3/rest.js.jsonl").await;
    let file = exported(&recording);
    let read = || Recording::read("x", &mut file.as_bytes()).unwrap();
    let merged = Recording::merge([read(), read()]);
    assert_eq!(merged.exchanges(&Filter::default()), recording.exchanges(&Filter::default()));
    assert_eq!(merged.sessions(), recording.sessions());
}
