//! The traffic never pays for the recording: not for a slow store, not for a broken one.

use std::collections::HashMap;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use meddler::base::clock::WallClock;
use meddler::base::id::ExchangeId;
use meddler::base::limits::Limits;
use meddler::record::exchange::{Exchange, Outcome};
use meddler::record::query::{Filter, Recording};
use meddler::record::recorder::Live;
use meddler::record::redact::{DigestKey, RedactConfig, Redacted};
use meddler::record::store::disk;
use meddler::record::store::memory::MemoryStore;
use meddler::record::store::{Entry, Scanned, Store, StoreError};
use meddler::record::tap::{Lane, WhenFull};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::wire::{Bench, Wire, eventually, report};

/// A store that can be told to hang, or to refuse.
#[derive(Default)]
struct Difficult {
    kept: MemoryStore,
    hangs: Mutex<bool>,
    goes_on: Condvar,
    refuses: AtomicBool,
}

impl Difficult {
    fn hang(&self, hangs: bool) {
        *self.hangs.lock().unwrap() = hangs;
        self.goes_on.notify_all();
    }
}

impl Store for Difficult {
    fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        drop(self.goes_on.wait_while(self.hangs.lock().unwrap(), |hangs| *hangs).unwrap());
        if self.refuses.load(Ordering::SeqCst) {
            return Err(StoreError::NotAStore { path: "/x".to_owned(), why: "full".to_owned() });
        }
        self.kept.append(entries)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.kept.flush()
    }

    fn scan(
        &self,
        since: Option<Timestamp>,
        visit: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) -> Result<Scanned, StoreError> {
        self.kept.scan(since, visit)
    }

    fn exchange(&self, id: ExchangeId) -> Result<Option<Redacted<Exchange>>, StoreError> {
        self.kept.exchange(id)
    }

    fn digest_key(&self) -> Option<DigestKey> {
        self.kept.digest_key()
    }
}

fn bench(limits: Limits, when_full: WhenFull) -> (Bench, Arc<Difficult>) {
    let store = Arc::new(Difficult::default());
    let kept: Arc<dyn Store> = Arc::<Difficult>::clone(&store);
    (Bench::into_store(limits, when_full, RedactConfig::default(), kept), store)
}

fn recorded(store: &Difficult) -> Recording {
    Recording::of_store(store).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_reads_nothing_costs_the_traffic_nothing() {
    let limits = Limits { queue_bytes: 10_000, ..Limits::default() };
    let (bench, store) = bench(limits, WhenFull::Drop);
    store.hang(true);
    let wire = Wire::send("m1", "hello", "{}");
    let tap = bench.tap.begin(bench.start("billing", &wire));
    bench.play("shipping", &wire);
    let begun = tokio::time::Instant::now();
    for _ in 0..1000 {
        poll_fn(|cx| tap.poll_ready(cx)).await;
        tap.data(Lane::Request, &Bytes::from(vec![b'x'; 1000]));
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
    store.hang(false);
    report(&tap, &wire);
    drop(tap);
    bench.recorder.flush().await.unwrap();
    let recording = recorded(&store);
    let exchange = recording.exchanges(&Filter::default()).remove(0);
    let body = &exchange.request.body;
    assert!(body.gap > 900_000 && body.truncated, "{body:?}");
    assert_eq!(body.bytes, 1_000_000 + wire.body.len() as u64, "what was lost is counted");
    let lost = body.gap + exchange.response.as_ref().unwrap().body.gap;
    let gap = &recording.gaps()[0];
    assert_eq!((gap.exchange, gap.bytes), (Some(exchange.id), lost));
    assert_eq!(bench.recorder.counts().lost_bytes, lost);
}

#[tokio::test(start_paused = true)]
async fn an_exchange_waits_for_a_slow_store_within_its_bound() {
    let limits = Limits { queue_bytes: 10_000, ..Limits::default() };
    let (bench, store) = bench(limits, WhenFull::Wait);
    store.hang(true);
    let wire = Wire::send("m1", "hello", "{}");
    // The first one occupies the recorder.
    bench.play("shipping", &wire);
    let tap = bench.tap.begin(bench.start("billing", &wire));
    let begun = tokio::time::Instant::now();
    for _ in 0..100 {
        poll_fn(|cx| tap.poll_ready(cx)).await;
        tap.data(Lane::Request, &Bytes::from(vec![b'x'; 1000]));
    }
    assert_eq!(begun.elapsed(), Duration::from_millis(250), "in all");
    store.hang(false);
}

#[tokio::test]
async fn a_recorder_that_is_behind_keeps_every_exchange_whole() {
    // Room for some twenty exchanges, so that most of them wait for the recorder.
    let limits = Limits { queue_bytes: 256 * 1024, ..Limits::default() };
    let folder = tempfile::tempdir().unwrap();
    let clock = WallClock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
    let store = disk::open_writer(&folder.path().join("store"), disk::Options::default(), clock);
    let store: Arc<dyn Store> = Arc::new(store.unwrap());
    let redact = RedactConfig::default();
    let bench = Bench::into_store(limits, WhenFull::Wait, redact, Arc::clone(&store));
    let mut sent = HashMap::new();
    for group in 0..60 {
        // Sixteen callers at once.
        let open: Vec<_> = (0..16)
            .map(|n| {
                let words = format!("words {group} {n} ");
                let task = json!({"task": {
                    "id": format!("t-{group}-{n}"),
                    "status": {"state": "TASK_STATE_COMPLETED"},
                    "artifacts": [{"artifactId": "a", "parts": [{"text": words.repeat(600)}]}],
                }});
                let wire =
                    Wire::send(&format!("m-{group}-{n}"), &words.repeat(150), &task.to_string());
                let start = bench.start("billing", &wire);
                let digests = [sha256(&wire.body), sha256(&wire.answer.as_ref().unwrap().body())];
                sent.insert(start.id, digests);
                (bench.tap.begin(start), wire)
            })
            .collect();
        for (tap, wire) in open {
            poll_fn(|cx| tap.poll_ready(cx)).await;
            report(&tap, &wire);
        }
    }
    let recording = bench.recording().await;
    assert!(recording.gaps().is_empty(), "{:?}", recording.gaps());
    let exchanges = recording.exchanges(&Filter::default());
    assert_eq!(exchanges.len(), sent.len());
    for exchange in exchanges {
        let [request, response] = sent.remove(&exchange.id).expect("each is there once");
        assert_eq!(sha256(&exchange.request.body.kept), request);
        assert_eq!(exchange.request.body.sha256, request);
        let answer = exchange.response.as_ref().unwrap();
        assert_eq!(sha256(&answer.body.kept), response);
        assert_eq!(answer.body.sha256, response);
        assert_eq!(exchange.outcome, Outcome::Completed);
    }
}

fn sha256(octets: &[u8]) -> [u8; 32] {
    Sha256::digest(octets).into()
}

#[tokio::test]
async fn a_store_that_fails_loses_the_recording_and_nothing_else() {
    let (bench, store) = bench(Limits::default(), WhenFull::Wait);
    let wire = Wire::send("m1", "hello", "{}");
    bench.play("billing", &wire);
    bench.recorder.flush().await.unwrap();
    store.refuses.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        bench.play("billing", &wire);
    }
    let error = bench.recorder.flush().await.unwrap_err();
    assert_eq!(error.to_string(), "/x is no recording: full");
    store.refuses.store(false, Ordering::SeqCst);
    bench.play("billing", &wire);
    bench.recorder.flush().await.unwrap();

    let recording = recorded(&store);
    assert_eq!(recording.exchanges(&Filter::default()).len(), 2);
    let [gap] = recording.gaps() else { panic!("{:?}", recording.gaps()) };
    assert_eq!((gap.exchanges, gap.reason.as_str()), (3, "store_error"));
    assert_eq!(bench.recorder.counts().unstored_exchanges, 3);
    assert_eq!(recording.sessions().len(), 1);
}

#[tokio::test]
async fn exchanges_are_visible_soon_after_they_ended_without_being_asked_for() {
    let (bench, store) = bench(Limits::default(), WhenFull::Wait);
    bench.play("billing", &Wire::send("m1", "hello", "{}"));
    eventually(|| recorded(&store).exchanges(&Filter::default()).len() == 1).await;
    // ... also when a clone of the tap lives on.
    let wire = Wire::send("m2", "hello", "{}");
    let tap = bench.tap.begin(bench.start("billing", &wire));
    report(&tap, &wire);
    eventually(|| recorded(&store).exchanges(&Filter::default()).len() == 2).await;
    drop(tap);
}

#[tokio::test]
async fn listeners_hear_of_each_exchange_and_of_what_they_missed() {
    let (bench, _store) = bench(Limits::default(), WhenFull::Wait);
    let mut quick = bench.recorder.subscribe();
    let mut slow = bench.recorder.subscribe();
    let wire = Wire::send("m1", "hello", "{}");
    let mut heard = 0;
    for _ in 0..3 {
        for _ in 0..500 {
            bench.play("billing", &wire);
        }
        bench.recorder.flush().await.unwrap();
        for _ in 0..500 {
            match quick.recv().await {
                Some(Live::Exchange(_)) => heard += 1,
                other @ (Some(Live::Lagged(_)) | None) => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(heard, 1500);
    let mut lines = 0;
    while lines < 1024 {
        assert!(matches!(slow.recv().await, Some(Live::Exchange(_))));
        lines += 1;
    }
    bench.play("billing", &wire);
    bench.recorder.flush().await.unwrap();
    assert!(matches!(slow.recv().await, Some(Live::Lagged(476))));
    assert!(matches!(slow.recv().await, Some(Live::Exchange(_))));
    bench.recorder.stop().await.unwrap();
    assert!(slow.recv().await.is_none());
}
