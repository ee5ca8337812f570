//! Recordings of every version of the format are kept as fixtures, and stay readable.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::record::exchange::{Exchange, RecordedResponse};
use meddler::record::store::disk::{self, Options};
use meddler::record::store::select::Select;
use meddler::record::store::{Entry, Store, conformance, sample};

use super::support::{Place, clock, plain};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/store").join(name)
}

/// What the recordings in the fixtures hold.
fn recording() -> Vec<Vec<Entry>> {
    let mut long = sample::exchange(3);
    long.ids.task_id = Some(format!("task-{}", "ö".repeat(300)));
    long.delivered = long.response.clone().map(|answer| RecordedResponse {
        status: 503,
        trailers: vec![("grpc-status".to_owned(), "14".to_owned())],
        grpc_status: Some(14),
        ..answer
    });
    long.request.body.truncated = true;
    long.request.body.gap = 17;
    let long = Entry::Exchange(Box::new(sample::masked(long)));
    vec![
        vec![Entry::Session(sample::session(0)), sample::entry(0)],
        vec![sample::entry(1), Entry::Event(sample::event(1)), Entry::Gap(sample::gap(1))],
        vec![sample::entry(2), long],
        vec![Entry::Session(sample::session(1)), sample::entry(7)],
    ]
}

/// Writes that recording into a place that has the store id of the fixture.
fn write(place: &Place, name: &str, options: Options) {
    fs::create_dir(place.path()).unwrap();
    fs::copy(fixture(name).join("FORMAT"), place.path().join("FORMAT")).unwrap();
    let options = Options { segment_bytes: 6_000, ..options };
    let store = disk::open_writer(&place.path(), options, clock()).unwrap();
    for entries in recording() {
        store.append(&entries).unwrap();
        store.flush().unwrap();
        store.state().unwrap().put("tasks", entries.len().to_string().as_bytes(), b"x").unwrap();
        store.flush().unwrap();
    }
    store.state().unwrap().delete("tasks", b"3").unwrap();
    store.close().unwrap();
}

/// What a reader of the year it was written would want to know, in words that do not change when the
/// model grows.
fn told(entry: &Entry) -> String {
    match entry {
        Entry::Exchange(exchange) => told_exchange(exchange.get()),
        Entry::Session(session) => format!("session {} {}", session.name, session.started),
        Entry::Event(event) => format!("event {} {} {}", event.name, event.at, event.text),
        Entry::Gap(gap) => format!("gap {} {} {}", gap.reason, gap.at, gap.bytes),
    }
}

fn told_exchange(exchange: &Exchange) -> String {
    let answer = |answer: &Option<RecordedResponse>| {
        answer.as_ref().map(|answer| {
            (answer.status, answer.body.kept.len(), answer.events.len(), answer.grpc_status)
        })
    };
    format!(
        "exchange {} session={} agent={} {} {:?} {:?} {:?} task={:?} at {} took={:?} request={} {:?} \
         response={:?} delivered={:?} faults={} redactions={}",
        exchange.id,
        exchange.session,
        exchange.agent,
        exchange.operation,
        exchange.binding.map(Binding::as_str),
        exchange.version.map(ProtocolVersion::as_str),
        exchange.outcome,
        exchange
            .ids
            .task_id
            .as_ref()
            .map(|task| (task.chars().take(12).collect::<String>(), task.len())),
        exchange.started,
        exchange.timings.end_us,
        exchange.request.body.kept.len(),
        exchange.request.body.kept.get(..40).map(String::from_utf8_lossy),
        answer(&exchange.response),
        answer(&exchange.delivered),
        exchange.faults.len(),
        exchange.redactions.len(),
    )
}

fn check(name: &str) {
    let reader = disk::open_reader(&fixture(name)).unwrap();
    let mut lines = Vec::new();
    let scanned = reader.scan(None, &mut |entry| {
        lines.push(told(&entry));
        ControlFlow::Continue(())
    });
    let scanned = scanned.unwrap();
    assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0));
    let expected = fs::read_to_string(fixture("expected.txt")).unwrap();
    assert_eq!(lines.join("\n"), expected.trim_end(), "{name}");

    let select = Select { task: Some("task-0".to_owned()), ..Select::default() };
    let found = conformance::selected(&reader, &select).unwrap();
    assert_eq!(found, [sample::id(0), sample::id(1), sample::id(2)], "{name}");
    assert!(reader.exchange(sample::id(7)).unwrap().is_some(), "{name}");
}

#[test]
fn a_recording_of_version_1_is_readable() {
    check("v1");
}

#[test]
fn a_recording_of_version_1_without_compression_is_readable() {
    check("v1-plain");
}

#[test]
fn a_recording_of_version_2_is_readable() {
    check("v2");
}

#[test]
fn a_recording_of_version_2_without_compression_is_readable() {
    check("v2-plain");
}

#[test]
fn what_is_written_today_is_version_2_to_the_octet() {
    let place = Place::new();
    write(&place, "v2-plain", plain());
    let files = fs::read_dir(fixture("v2-plain/seg")).unwrap();
    let names: Vec<_> =
        files.map(|file| Path::new("seg").join(file.unwrap().file_name())).collect();
    assert!(names.len() > 3);
    for name in names {
        let written = fs::read(place.path().join(&name)).unwrap();
        let kept = fs::read(fixture("v2-plain").join(&name)).unwrap();
        let first = written.iter().zip(&kept).position(|(a, b)| a != b);
        assert_eq!((first, written.len()), (None, kept.len()), "{}", name.display());
    }
}

#[test]
fn a_recording_of_version_1_can_be_written_on() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("seg")).unwrap();
    for file in ["FORMAT", "seg/000001.log", "seg/000001.idx", "seg/000002.log"] {
        fs::copy(fixture("v1").join(file), place.path().join(file)).unwrap();
    }
    let store = place.writer();
    assert_eq!(store.state().unwrap().get("tasks", b"2").unwrap(), Some(b"x".to_vec()));
    assert_eq!(store.state().unwrap().get("tasks", b"3").unwrap(), None);
    store.append(&[sample::entry(100)]).unwrap();
    store.flush().unwrap();
    assert!(store.exchange(sample::id(0)).unwrap().is_some());
    let reader = place.reader();
    assert!(reader.exchange(sample::id(100)).unwrap().is_some());
    // Version 1 knows no packs: what is new stands in a segment of its own, and the store says so.
    assert_eq!(reader.version(), 2);
    let kept = fs::read(fixture("v1/seg/000002.log")).unwrap();
    assert_eq!(fs::read(place.path().join("seg/000002.log")).unwrap(), kept);
}

/// Writes the fixtures of the version of today. They are kept, so this is for the day of a new version:
/// `MEDDLER_WRITE_FIXTURES=1 cargo test --test it the_fixtures_of_today`.
#[test]
fn the_fixtures_of_today_are_as_they_would_be_written() {
    for (name, options) in [("v2", Options::default()), ("v2-plain", plain())] {
        let place = Place::new();
        write(&place, name, options);
        let reader = place.reader();
        let mut lines = Vec::new();
        let each = &mut |entry: Entry| {
            lines.push(told(&entry));
            ControlFlow::Continue(())
        };
        reader.scan(None, each).unwrap();
        let expected = fs::read_to_string(fixture("expected.txt")).unwrap();
        assert_eq!(lines.join("\n"), expected.trim_end(), "{name}");
        if std::env::var_os("MEDDLER_WRITE_FIXTURES").is_some() {
            let seg = fixture(name).join("seg");
            fs::create_dir_all(&seg).unwrap();
            for file in fs::read_dir(place.path().join("seg")).unwrap() {
                let file = file.unwrap();
                fs::copy(file.path(), seg.join(file.file_name())).unwrap();
            }
        }
    }
}
