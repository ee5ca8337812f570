//! Octets that are cut off, garbled or missing cost what stood there, and nothing else.

use std::fs;
use std::io::Write;
use std::sync::LazyLock;

use meddler::record::exchange::Exchange;
use meddler::record::store::disk::Options;
use meddler::record::store::select::Select;
use meddler::record::store::{Entry, Store, StoreError, conformance, sample};
use proptest::prelude::*;

use super::support::{Place, flip, plain, scan, texts};

fn entries(numbers: std::ops::Range<u64>) -> Vec<Entry> {
    numbers.map(sample::entry).collect()
}

/// A store of one segment: ten exchanges, a commit mark behind every second.
fn ten() -> Place {
    let place = Place::new();
    let store = place.writer();
    for number in (0..10).step_by(2) {
        store.append(&entries(number..number + 2)).unwrap();
        store.flush().unwrap();
    }
    store.close().unwrap();
    place
}

/// A store of one segment: ten exchanges, each under a commit mark of its own and so in no pack.
fn ten_alone() -> Place {
    let place = Place::new();
    let store = place.writer();
    for number in 0..10 {
        store.append(&entries(number..number + 1)).unwrap();
        store.flush().unwrap();
    }
    store.close().unwrap();
    place
}

/// A store of forty exchanges in several segments.
fn forty() -> Place {
    let place = Place::new();
    let store = place.writer_with(Options { segment_bytes: 12_000, ..Options::default() });
    for number in (0..40).step_by(10) {
        store.append(&entries(number..number + 10)).unwrap();
        store.flush().unwrap();
    }
    store.close().unwrap();
    place
}

/// A store of several sealed segments.
fn sealed() -> Place {
    let place = Place::new();
    let store = place.writer_of_small_segments();
    for number in 0..60 {
        store.append(&entries(number..number + 1)).unwrap();
        if number % 8 == 0 {
            store.flush().unwrap();
        }
    }
    store.close().unwrap();
    assert!(place.segments() > 3);
    place
}

#[test]
fn wherever_a_file_is_cut_the_store_opens_and_holds_what_was_before_the_cut() {
    let original = ten();
    let whole = usize::try_from(fs::metadata(original.segment(1)).unwrap().len()).unwrap();
    // Cut everywhere in the last two records and marks, and at strides before.
    let cuts = (whole - 3_000..whole).step_by(61).chain((64..whole).step_by(977));
    for cut in cuts {
        let place = Place::copy(&original);
        let file = fs::OpenOptions::new().write(true).open(place.segment(1)).unwrap();
        file.set_len(cut as u64).unwrap();

        let (shown, _) = scan(&place.reader());
        assert!(texts(&entries(0..10)).starts_with(&shown), "cut at {cut}");
        let store = place.writer();
        let (kept, scanned) = scan(&store);
        assert!(kept.starts_with(&shown), "cut at {cut}: what was shown stays");
        assert_eq!(scanned.damaged_bytes, 0, "cut at {cut}: a torn tail is cut off");
        store.append(&entries(20..21)).unwrap();
        store.flush().unwrap();
        let expected: Vec<_> = kept.into_iter().chain(texts(&entries(20..21))).collect();
        assert_eq!(scan(&store).0, expected, "cut at {cut}: it can be written on");
    }
}

#[test]
fn octets_behind_the_last_commit_are_counted_by_readers_and_cut_by_the_writer() {
    let place = ten();
    let mut file = fs::OpenOptions::new().append(true).open(place.segment(1)).unwrap();
    file.write_all(&[0xA2, 0x5E, 1, 0, 9, 9, 9]).unwrap();
    let (shown, scanned) = scan(&place.reader());
    assert_eq!(shown, texts(&entries(0..10)));
    assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 7));
    let store = place.writer();
    assert_eq!(store.opening().torn_bytes, 7);
    let (kept, scanned) = scan(&store);
    assert_eq!(kept, texts(&entries(0..10)));
    assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0));
}

#[test]
fn whole_records_behind_the_last_commit_are_kept_by_the_writer() {
    let place = ten();
    // The marks alone are 52 octets; without the last one the last two exchanges have none.
    let len = fs::metadata(place.segment(1)).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(place.segment(1)).unwrap();
    file.set_len(len - 52).unwrap();
    assert_eq!(scan(&place.reader()).0, texts(&entries(0..8)));
    let store = place.writer();
    store.append(&entries(10..11)).unwrap();
    store.flush().unwrap();
    assert_eq!(scan(&place.reader()).0, texts(&entries(0..11)));
}

#[test]
fn a_record_damaged_in_the_middle_is_left_out_and_counted() {
    // The first octets of a record are its frame, the last are in its body.
    for from_the_mark in [false, true] {
        let place = ten_alone();
        let octets = fs::read(place.segment(1)).unwrap();
        let starts: Vec<usize> = (64..octets.len() - 3)
            .filter(|at| octets[*at..].starts_with(&[0xA2, 0x5E, 1]))
            .collect();
        assert_eq!(starts.len(), 10);
        // Before the next record stands the mark of 52 octets.
        let end = starts[5] - 52;
        let at = if from_the_mark { starts[4] } else { end - 8 };
        flip(&place.segment(1), at);

        let expected = [entries(0..4), entries(5..10)].concat();
        let reader = place.reader();
        let (found, scanned) = scan(&reader);
        assert_eq!(found, texts(&expected));
        assert_eq!(scanned.damaged_bytes, (end - starts[4]) as u64);
        match reader.exchange(sample::id(4)) {
            Ok(None) if from_the_mark => {}
            Err(StoreError::Damaged { at, .. }) => assert_eq!(at, starts[4] as u64),
            other => panic!("{other:?}"),
        }
        for number in [3, 5] {
            let found = reader.exchange(sample::id(number)).unwrap().unwrap();
            assert_eq!(found.get().id, sample::id(number));
        }
        let store = place.writer();
        assert_eq!(store.opening().torn_bytes, 0, "nothing committed is cut off");
        assert_eq!(scan(&store).0, texts(&expected));
    }
}

#[test]
fn a_damaged_pack_costs_its_exchanges_and_is_counted() {
    let place = ten();
    let octets = fs::read(place.segment(1)).unwrap();
    let packs: Vec<usize> =
        (64..octets.len() - 3).filter(|at| octets[*at..].starts_with(&[0xA2, 0x5E, 7])).collect();
    assert_eq!(packs.len(), 5);
    flip(&place.segment(1), packs[2] + 100);

    let expected = [entries(0..4), entries(6..10)].concat();
    let reader = place.reader();
    let (found, scanned) = scan(&reader);
    assert_eq!(found, texts(&expected));
    assert!(scanned.damaged_bytes > 500, "{scanned:?}");
    for number in [4, 5] {
        let lost = reader.exchange(sample::id(number));
        assert!(matches!(lost, Err(StoreError::Damaged { .. })), "{lost:?}");
    }
    assert!(reader.exchange(sample::id(6)).unwrap().is_some());
    let store = place.writer();
    assert_eq!(store.opening().torn_bytes, 0, "nothing committed is cut off");
    assert_eq!(scan(&store).0, texts(&expected));
}

#[test]
fn a_segment_whose_header_is_damaged_is_counted_and_the_others_are_read() {
    let place = sealed();
    let len = fs::metadata(place.segment(2)).unwrap().len();
    flip(&place.segment(2), 20);
    let (found, scanned) = scan(&place.reader());
    assert_eq!(scanned.damaged_bytes, len);
    assert!(found.len() < 60 && found.len() > 40, "{} of 60", found.len());
    let store = place.writer_of_small_segments();
    store.append(&entries(60..61)).unwrap();
    store.flush().unwrap();
    assert_eq!(scan(&store).0.last(), texts(&entries(60..61)).last());
}

#[test]
fn the_last_segment_with_a_damaged_header_is_left_and_the_next_one_begun() {
    let place = ten();
    flip(&place.segment(1), 3);
    let store = place.writer();
    store.append(&entries(20..22)).unwrap();
    store.flush().unwrap();
    assert_eq!(scan(&store).0, texts(&entries(20..22)));
    assert_eq!(place.segments(), 2, "what may still be saved by hand is not thrown away");
}

/// Answers that need sidecars.
fn answers(store: &dyn Store) -> Vec<String> {
    let task = Select { task: Some("task-3".to_owned()), ..Select::default() };
    let agent = Select { agents: vec!["agent-2".to_owned()], ..Select::default() };
    let mut answers = vec![format!("{:?}", conformance::selected(store, &Select::default()))];
    answers.push(format!("{:?}", conformance::selected(store, &task)));
    answers.push(format!("{:?}", conformance::selected(store, &agent)));
    answers.extend((0..60).map(|number| format!("{:?}", store.exchange(sample::id(number)))));
    answers
}

#[test]
fn a_sidecar_that_is_missing_or_damaged_changes_no_answer() {
    let place = sealed();
    let right = answers(&place.reader());
    let len = fs::metadata(place.sidecar(1)).unwrap().len();
    for at in (0..usize::try_from(len).unwrap()).step_by(37) {
        flip(&place.sidecar(1), at);
        assert_eq!(answers(&place.reader()), right, "octet {at} flipped");
        flip(&place.sidecar(1), at);
    }
    let file = fs::OpenOptions::new().write(true).open(place.sidecar(1)).unwrap();
    file.set_len(len - 1).unwrap();
    assert_eq!(answers(&place.reader()), right, "cut");
    fs::remove_file(place.sidecar(1)).unwrap();
    fs::rename(place.sidecar(2), place.sidecar(3)).unwrap();
    assert_eq!(answers(&place.reader()), right, "gone, and another's in its place");

    let store = place.writer_of_small_segments();
    assert_eq!(store.opening().sidecars_restored, 3);
    assert_eq!(answers(&store), right);
    assert!(place.sidecar(1).exists());
}

#[test]
fn octets_of_a_peer_are_never_taken_for_records() {
    // A body that is itself a segment, and a record around it whose frame is damaged.
    let inner = ten();
    let place = Place::new();
    let store = place.writer_with(plain());
    let forged = fs::read(inner.segment(1)).unwrap();
    let Entry::Exchange(mut exchange) = sample::entry(50) else { unreachable!() };
    let body = |exchange: &Exchange| exchange.request.body.kept.clone();
    let before = body(exchange.get());
    *exchange = sample::masked(Exchange {
        request: meddler::record::exchange::RecordedRequest {
            body: meddler::record::exchange::Payload {
                kept: forged.into(),
                ..exchange.get().request.body.clone()
            },
            ..exchange.get().request.clone()
        },
        ..exchange.get().clone()
    });
    assert_ne!(body(exchange.get()), before);
    store.append(&[Entry::Exchange(exchange), sample::entry(51)]).unwrap();
    store.close().unwrap();

    flip(&place.segment(1), 64 + 52 + 5);
    let (found, scanned) = scan(&place.reader());
    assert_eq!(found, texts(&entries(51..52)));
    assert!(scanned.damaged_bytes > 10_000, "{scanned:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_flipped_bit_costs_one_pack_at_most(at in 64_usize..20_000, bit in 0_u8..8) {
        static ORIGINAL: LazyLock<Place> = LazyLock::new(forty);
        let place = Place::copy(&ORIGINAL);
        let mut octets = fs::read(place.segment(1)).unwrap();
        let at = 64 + at % (octets.len() - 64);
        octets[at] ^= 1 << bit;
        fs::write(place.segment(1), octets).unwrap();

        let (found, scanned) = scan(&place.reader());
        prop_assert!(found.len() >= 30, "{} of 40", found.len());
        prop_assert!(scanned.damaged_bytes > 0);
        let store = place.writer();
        prop_assert_eq!(scan(&store).0, found);
    }

    #[test]
    fn no_octets_make_a_reader_panic(
        from in 64_usize..2_000,
        garbage in proptest::collection::vec(prop_oneof![Just(0xA2_u8), Just(0x5E), Just(0), any::<u8>()], 0..4_000),
    ) {
        static ORIGINAL: LazyLock<Place> = LazyLock::new(ten);
        let place = Place::copy(&ORIGINAL);
        let mut octets = fs::read(place.segment(1)).unwrap();
        octets.truncate(from);
        octets.extend_from_slice(&garbage);
        fs::write(place.segment(1), &octets).unwrap();

        let (found, scanned) = scan(&place.reader());
        prop_assert!(texts(&entries(0..10)).starts_with(&found));
        prop_assert!(scanned.unfinished_bytes <= octets.len() as u64);
        prop_assert_eq!(answers(&place.reader()).len(), 63);
        let store = place.writer();
        prop_assert_eq!(scan(&store).1.unfinished_bytes, 0);
    }
}
