//! The daemon's state can be lost, and comes back from the log.

use std::fs;
use std::path::Path;

use meddler::record::store::disk::DiskStore;
use meddler::record::store::state::StateOrigin;
use meddler::record::store::{Entry, SessionRecord, Store, sample};

use super::support::{Place, scan, texts};

fn put(store: &DiskStore, key: &str, value: &str) {
    store.state().unwrap().put("tasks", key.as_bytes(), value.as_bytes()).unwrap();
}

fn get(store: &DiskStore, key: &str) -> Option<String> {
    let value = store.state().unwrap().get("tasks", key.as_bytes()).unwrap();
    value.map(|value| String::from_utf8(value).unwrap())
}

fn three() -> Place {
    let place = Place::new();
    let store = place.writer();
    put(&store, "a", "1");
    put(&store, "b", "2");
    put(&store, "a", "3");
    put(&store, "gone", "4");
    store.state().unwrap().delete("tasks", b"gone").unwrap();
    store.close().unwrap();
    place
}

#[track_caller]
fn check(place: &Place) -> StateOrigin {
    let store = place.writer();
    let origin = store.state_origin().unwrap();
    assert_eq!(get(&store, "a").as_deref(), Some("3"));
    assert_eq!(get(&store, "b").as_deref(), Some("2"));
    assert_eq!(get(&store, "gone"), None);
    put(&store, "c", "new");
    assert_eq!(get(&store, "c").as_deref(), Some("new"));
    origin
}

#[test]
fn state_outlives_a_clean_stop() {
    assert_eq!(check(&three()), StateOrigin::Kept);
}

#[test]
fn state_that_was_removed_is_filled_from_the_log() {
    let place = three();
    fs::remove_dir_all(place.path().join("state")).unwrap();
    assert_eq!(check(&place), StateOrigin::Filled);
}

#[test]
fn state_that_cannot_be_opened_is_set_aside_and_made_anew() {
    let place = three();
    for round in 0..2 {
        garble(&place.path().join("state"));
        let StateOrigin::SetAside(aside) = check(&place) else { panic!("round {round}") };
        assert!(aside.join("db").exists(), "{} can be looked at", aside.display());
        let names = fs::read_dir(place.path()).unwrap().map(|file| file.unwrap().file_name());
        let aside = names.filter(|name| name.to_str().unwrap().starts_with("state.bad-"));
        assert_eq!(aside.count(), 1, "only the newest is kept");
    }
}

#[test]
fn state_that_opens_and_says_something_else_is_put_right() {
    let place = three();
    let other = Place::new();
    let store = other.writer();
    put(&store, "a", "a lie");
    store.close().unwrap();
    fs::remove_dir_all(place.path().join("state")).unwrap();
    fs::rename(other.path().join("state"), place.path().join("state")).unwrap();
    assert_eq!(check(&place), StateOrigin::Filled);
}

#[test]
fn a_directory_where_no_state_can_be_made_stops_nothing() {
    let place = three();
    fs::remove_dir_all(place.path().join("state")).unwrap();
    fs::write(place.path().join("state"), "no directory").unwrap();
    // A file is set aside like a directory, so that sled gets its place.
    assert!(matches!(check(&place), StateOrigin::SetAside(_)));
}

#[test]
fn state_and_sessions_outlive_the_segments_that_first_told_them() {
    let place = Place::new();
    let store = place.writer_of_small_segments();
    put(&store, "a", "1");
    let sessions = [sample::session(0), sample::session(1)];
    store.append(&sessions.clone().map(Entry::Session)).unwrap();
    for number in 0..60 {
        store.append(&[sample::entry(number)]).unwrap();
        store.flush().unwrap();
    }
    put(&store, "b", "2");
    store.close().unwrap();
    assert!(place.segments() > 4);

    // What retention does: whole segments go, the oldest first.
    for number in 1..=3 {
        fs::remove_file(place.segment(number)).unwrap();
        fs::remove_file(place.sidecar(number)).unwrap();
    }
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let store = place.writer_of_small_segments();
    assert_eq!(get(&store, "a").as_deref(), Some("1"));
    assert_eq!(get(&store, "b").as_deref(), Some("2"));
    assert_eq!(store.sessions().unwrap(), sessions);
    assert_eq!(place.reader().sessions().unwrap(), sessions);
    let (entries, scanned) = scan(&store);
    assert_eq!(entries[..2], texts(&sessions.map(Entry::Session)), "the snapshot tells them");
    assert_eq!(scanned.damaged_bytes, 0);
}

#[test]
fn a_session_is_visited_once_though_each_segment_repeats_it() {
    let place = Place::new();
    let store = place.writer_of_small_segments();
    store.append(&[Entry::Session(sample::session(0))]).unwrap();
    for number in 0..40 {
        store.append(&[sample::entry(number)]).unwrap();
    }
    let again = SessionRecord { started: sample::session(9).started, ..sample::session(0) };
    store.append(&[Entry::Session(again.clone())]).unwrap();
    store.flush().unwrap();
    let (entries, _) = scan(&store);
    let told: Vec<_> = entries.iter().filter(|entry| entry.starts_with("Session")).collect();
    assert_eq!(told.len(), 2, "opened, and opened again");
    assert_eq!(store.sessions().unwrap(), [sample::session(0), again]);
}

fn garble(dir: &Path) {
    for file in fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let garbage: Vec<u8> = (0..=250_u8).cycle().take(5_000).collect();
            fs::write(path, garbage).unwrap();
        }
    }
}
