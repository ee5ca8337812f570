//! Every kind of store keeps what stores promise, and the one on disk guards its directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use meddler::record::store::disk::{self, Durability, Options};
use meddler::record::store::select::Select;
use meddler::record::store::{STORES, Store, StoreError, conformance, sample};

use super::support::{Place, clock, impatient, scan, texts};

fn check_all(options: &Options) {
    for kind in STORES {
        let mut places = Vec::new();
        let suite = conformance::check(&mut || {
            places.push(Place::new());
            kind.open(&places.last().unwrap().path(), options.clone(), clock())
        });
        assert_eq!(suite, Ok(()), "store `{}` with {options:?}", kind.name);
    }
}

#[test]
fn every_kind_of_store_keeps_the_promises() {
    check_all(&Options::default());
}

#[test]
fn promises_are_kept_across_many_small_segments() {
    check_all(&Options { segment_bytes: 12_000, ..Options::default() });
}

#[test]
fn promises_are_kept_at_every_durability() {
    for durability in [Durability::Each, Durability::Lazy] {
        check_all(&Options { durability, ..Options::default() });
    }
}

#[test]
fn a_store_that_was_closed_goes_on_where_it_ended() {
    let place = Place::new();
    for number in 0..5 {
        let store = place.writer_of_small_segments();
        assert_eq!(store.opening().torn_bytes, 0);
        let from = number * 20;
        let entries: Vec<_> = (from..from + 20).map(sample::entry).collect();
        store.append(&entries).unwrap();
        store.close().unwrap();
    }
    let expected: Vec<_> = (0..100).map(sample::entry).collect();
    assert_eq!(scan(&place.reader()).0, texts(&expected));
    assert!(place.segments() > 3, "{} segments", place.segments());
    let key = place.reader().digest_key().unwrap();
    assert_eq!(place.writer().digest_key(), Some(key), "the key of digests stays the same");
}

#[test]
fn with_durability_each_an_append_returns_when_readers_see_it() {
    let place = Place::new();
    let store = place.writer_with(Options { durability: Durability::Each, ..Options::default() });
    for number in 0..3 {
        store.append(&[sample::entry(number)]).unwrap();
        assert_eq!(
            place
                .reader()
                .scan(None, &mut |_| std::ops::ControlFlow::Continue(()))
                .unwrap()
                .entries,
            number + 1
        );
    }
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let place = Place::new();
    let _store = place.writer();
    let error = disk::open_writer(&place.path(), impatient(), clock()).unwrap_err();
    let StoreError::InUse { path, holder } = &error else { panic!("{error}") };
    assert_eq!(Path::new(path), place.path());
    assert_eq!(holder, &format!("process {}", std::process::id()));
    assert_eq!(
        error.to_string(),
        format!("the store {path} is in use by {holder}; stop it, or choose another `store.path`")
    );
}

#[test]
fn a_directory_with_something_else_in_it_is_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    fs::write(place.path().join("thesis.txt"), "years of work").unwrap();
    let error = disk::open_writer(&place.path(), impatient(), clock()).unwrap_err().to_string();
    assert!(error.contains("holds `thesis.txt`; choose an empty directory"), "{error}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing was added");
    let error = disk::open_reader(&place.path()).unwrap_err().to_string();
    assert!(error.ends_with("is no recording: it has no FORMAT file"), "{error}");
}

#[test]
fn a_store_of_a_later_format_is_read_and_not_written() {
    let place = Place::new();
    let store = place.writer();
    store.append(&[sample::entry(1)]).unwrap();
    store.close().unwrap();
    let format = place.path().join("FORMAT");
    let later =
        fs::read_to_string(&format).unwrap().replace(r#""a2a_store":2"#, r#""a2a_store":3"#);
    fs::write(&format, later).unwrap();

    let error = disk::open_writer(&place.path(), impatient(), clock()).unwrap_err().to_string();
    assert!(error.contains("has format 3, this program writes 2"), "{error}");
    let reader = place.reader();
    assert_eq!(reader.version(), 3);
    assert_eq!(scan(&reader).0, texts(&[sample::entry(1)]));
}

#[test]
fn nobody_but_the_owner_can_read_a_store() {
    let place = Place::new();
    let store = place.writer_of_small_segments();
    store.append(&(0..40).map(sample::entry).collect::<Vec<_>>()).unwrap();
    store.state().unwrap().put("webhooks", b"1", b"task-1").unwrap();
    store.close().unwrap();
    check_modes(&place.path());
}

fn check_modes(path: &Path) {
    let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
    if path.is_dir() {
        assert_eq!(mode, 0o700, "{} is {mode:o}", path.display());
        for file in fs::read_dir(path).unwrap() {
            check_modes(&file.unwrap().path());
        }
    } else {
        assert_eq!(mode, 0o600, "{} is {mode:o}", path.display());
    }
}

#[test]
fn a_reader_writes_nothing() {
    let place = Place::new();
    let store = place.writer();
    store.append(&[sample::entry(1)]).unwrap();
    store.close().unwrap();
    let names = || {
        let files = fs::read_dir(place.path()).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let reader = place.reader();
    conformance::selected(&reader, &Select::default()).unwrap();
    let error = reader.append(&[sample::entry(2)]).unwrap_err().to_string();
    assert!(error.ends_with("cannot be written: it was opened for reading"), "{error}");
    assert_eq!(names(), before);
}

#[test]
fn a_reader_sees_what_was_committed_when_it_looked_last() {
    let place = Place::new();
    let store = place.writer_of_small_segments();
    let reader = place.reader();
    let count = |store: &dyn Store| scan(store).0.len();
    assert_eq!(count(&reader), 0);
    for round in 1..=10 {
        let from = (round - 1) * 10;
        store.append(&(from..from + 10).map(sample::entry).collect::<Vec<_>>()).unwrap();
        store.flush().unwrap();
        assert_eq!(count(&reader), usize::try_from(from).unwrap(), "before it looks again");
        reader.refresh().unwrap();
        assert_eq!(count(&reader), usize::try_from(from + 10).unwrap());
        let select = Select { task: Some(format!("task-{}", from / 4)), ..Select::default() };
        assert!(!conformance::selected(&reader, &select).unwrap().is_empty());
    }
    assert!(place.segments() > 3);
}

#[test]
fn an_entry_that_fits_no_record_is_refused_and_spoils_nothing() {
    let place = Place::new();
    let store = place.writer();
    store.append(&[sample::entry(1)]).unwrap();
    let state = store.state().unwrap();
    let error = state.put(&"space".repeat(100), b"key", b"value").unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot record a change of state: the name of the space is longer than 255 octets"
    );
    store.append(&[sample::entry(2)]).unwrap();
    store.flush().unwrap();
    assert_eq!(scan(&store).0, texts(&[sample::entry(1), sample::entry(2)]));
}

#[test]
fn nothing_made_up_gets_past_the_redactor() {
    let mut exchange = sample::exchange(0);
    exchange.request.headers = vec![("authorization".to_owned(), "Bearer tk-aaaa1111".to_owned())];
    let masked = sample::masked(exchange);
    assert_eq!(masked.get().request.headers[0].1, "Bearer ***********");
    let clean = sample::exchange(1);
    assert_eq!(format!("{:?}", sample::masked(clean.clone()).get()), format!("{clean:?}"));
}
