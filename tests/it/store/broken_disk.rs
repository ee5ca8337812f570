//! A disk that is full, that fails, or that loses its power.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use meddler::record::store::disk::Options;
use meddler::record::store::media::{Media, MediaFile, System};
use meddler::record::store::{Entry, Health, Store, sample};
use proptest::prelude::*;

use super::support::{Place, scan, texts};

/// A disk to be broken.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Condition>>);

#[derive(Debug, Default)]
struct Condition {
    /// Octets that still fit; `None` without end.
    room: Option<u64>,
    syncs_fail: bool,
    is_dead: bool,
    /// Up to where each file has been synced.
    synced: BTreeMap<PathBuf, Arc<AtomicU64>>,
}

#[derive(Debug)]
struct DiskFile {
    disk: Disk,
    synced: Arc<AtomicU64>,
    file: Box<dyn MediaFile>,
    len: u64,
}

impl Disk {
    fn set(&self, change: impl FnOnce(&mut Condition)) {
        change(&mut self.0.lock().unwrap());
    }

    fn file(&self, path: &Path, file: Box<dyn MediaFile>) -> io::Result<Box<dyn MediaFile>> {
        let len = fs::metadata(path)?.len();
        let synced = Arc::new(AtomicU64::new(len));
        self.set(|disk| drop(disk.synced.insert(path.to_owned(), Arc::clone(&synced))));
        Ok(Box::new(DiskFile { disk: self.clone(), synced, file, len }))
    }

    fn alive(&self) -> io::Result<()> {
        if self.0.lock().unwrap().is_dead {
            return Err(io::Error::other("no power"));
        }
        Ok(())
    }

    /// What a power cut leaves: everything that was synced, and so many octets of what was not.
    fn cut_power(&self, survivors: u64) {
        self.set(|disk| disk.is_dead = true);
        for (path, synced) in &self.0.lock().unwrap().synced {
            let Ok(len) = fs::metadata(path).map(|data| data.len()) else { continue };
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(len.min(synced.load(Ordering::SeqCst) + survivors)).unwrap();
        }
    }
}

impl Media for Disk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn MediaFile>> {
        self.alive()?;
        self.file(path, System.create(path)?)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn MediaFile>> {
        self.alive()?;
        self.file(path, System.open(path)?)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.alive()?;
        System.publish(from, to)?;
        let mut disk = self.0.lock().unwrap();
        let synced = disk.synced.remove(from).unwrap();
        disk.synced.insert(to.to_owned(), synced);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.alive()?;
        System.remove(path)
    }
}

impl MediaFile for DiskFile {
    fn write_at(&mut self, octets: &[u8], offset: u64) -> io::Result<()> {
        self.disk.alive()?;
        let mut disk = self.disk.0.lock().unwrap();
        let room = disk.room.map_or(usize::MAX, |room| usize::try_from(room).unwrap());
        let fits = octets.len().min(room);
        if let Some(room) = &mut disk.room {
            *room -= fits as u64;
        }
        self.file.write_at(octets.get(..fits).unwrap(), offset)?;
        self.len = self.len.max(offset + fits as u64);
        if fits < octets.len() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.alive()?;
        let disk = self.disk.0.lock().unwrap();
        if disk.syncs_fail {
            return Err(io::Error::other("input/output error"));
        }
        drop(disk);
        self.file.sync()?;
        self.synced.store(self.len, Ordering::SeqCst);
        Ok(())
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.disk.alive()?;
        let mut disk = self.disk.0.lock().unwrap();
        if let Some(room) = &mut disk.room {
            *room += self.len.saturating_sub(len);
        }
        self.len = len;
        self.file.cut(len)
    }
}

fn on(disk: &Disk) -> Options {
    Options {
        media: Arc::new(disk.clone()),
        queue_bytes: 64 * 1024,
        append_wait: Duration::from_millis(50),
        ..Options::default()
    }
}

fn entries(numbers: std::ops::Range<u64>) -> Vec<Entry> {
    numbers.map(sample::entry).collect()
}

#[test]
fn a_full_disk_is_told_and_nothing_that_was_taken_is_lost_when_there_is_room_again() {
    let (place, disk) = (Place::new(), Disk::default());
    let store = place.writer_with(on(&disk));
    store.append(&entries(0..5)).unwrap();
    store.flush().unwrap();
    disk.set(|disk| disk.room = Some(1_500));
    store.append(&entries(5..10)).unwrap();
    let error = store.flush().unwrap_err();
    assert!(error.to_string().starts_with("cannot write "), "{error}");
    let Health::Failing { why, waiting } = store.health() else { panic!("{:?}", store.health()) };
    assert!(why.ends_with("no space left on device"), "{why}");
    assert_eq!(waiting, 5);
    let (shown, scanned) = scan(&place.reader());
    assert_eq!(shown, texts(&entries(0..5)));
    assert_eq!(scanned.unfinished_bytes, 0, "the half-written record was cut off");

    store.append(&entries(10..12)).unwrap();
    disk.set(|disk| disk.room = None);
    store.flush().unwrap();
    assert_eq!(store.health(), Health::Well);
    let (shown, scanned) = scan(&place.reader());
    assert_eq!(shown, texts(&entries(0..12)));
    assert_eq!(scanned.damaged_bytes, 0);
}

#[test]
fn a_disk_that_stays_full_is_refused_to_the_caller_and_costs_bounded_memory() {
    let (place, disk) = (Place::new(), Disk::default());
    let store = place.writer_with(on(&disk));
    disk.set(|disk| disk.room = Some(0));
    let mut taken = Vec::new();
    let refused = (0..500).find_map(|number| {
        let outcome = store.append(&entries(number..number + 1));
        taken.extend(outcome.is_ok().then_some(number));
        outcome.err()
    });
    let refused = refused.expect("64 KiB are full long before 500 exchanges");
    assert!(refused.to_string().starts_with("cannot write "), "{refused}");
    disk.set(|disk| disk.room = None);
    store.flush().unwrap();
    let expected: Vec<_> = taken.into_iter().map(sample::entry).collect();
    assert_eq!(scan(&store).0, texts(&expected));
}

#[test]
fn a_new_segment_that_cannot_be_begun_is_begun_later() {
    let (place, disk) = (Place::new(), Disk::default());
    let store = place.writer_with(Options { segment_bytes: 4_000, ..on(&disk) });
    // An event between any two exchanges, so that no pack takes them all.
    let pair = |number| [sample::entry(number), Entry::Event(sample::event(number))];
    for number in 0..30 {
        // Room for a record or two now and then: the disk is full at every kind of place.
        disk.set(|disk| disk.room = Some(number * 97 % 2_100));
        store.append(&pair(number)).unwrap();
        // Well or not: what matters is what is there in the end.
        drop(store.flush());
    }
    disk.set(|disk| disk.room = None);
    store.flush().unwrap();
    let (shown, scanned) = scan(&place.reader());
    assert_eq!(shown, texts(&(0..30).flat_map(pair).collect::<Vec<_>>()));
    assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0));
    assert!(place.segments() > 3);
}

#[test]
fn a_sync_that_fails_is_no_commit() {
    let (place, disk) = (Place::new(), Disk::default());
    let store = place.writer_with(on(&disk));
    disk.set(|disk| disk.syncs_fail = true);
    store.append(&entries(0..3)).unwrap();
    store.flush().unwrap_err();
    assert_eq!(scan(&place.reader()).0, Vec::<String>::new());
    disk.set(|disk| disk.syncs_fail = false);
    store.flush().unwrap();
    assert_eq!(scan(&place.reader()).0, texts(&entries(0..3)));
}

#[test]
fn a_store_whose_disk_is_gone_can_still_be_closed() {
    let (place, disk) = (Place::new(), Disk::default());
    let store = place.writer_with(on(&disk));
    disk.set(|disk| disk.is_dead = true);
    store.append(&entries(0..3)).unwrap();
    let error = store.close().unwrap_err().to_string();
    assert!(error.starts_with("cannot write "), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_power_cut_takes_nothing_that_was_flushed_or_shown(
        flushed in 1_u64..40,
        more in 0_u64..20,
        survivors in 0_u64..20_000,
        segment_bytes in 4_000_u64..60_000,
    ) {
        let (place, disk) = (Place::new(), Disk::default());
        let store = place.writer_with(Options { segment_bytes, ..on(&disk) });
        for number in (0..flushed).step_by(3) {
            store.append(&entries(number..(number + 3).min(flushed))).unwrap();
            store.flush().unwrap();
        }
        store.append(&entries(flushed..flushed + more)).unwrap();
        let (shown, _) = scan(&place.reader());
        disk.cut_power(survivors);
        drop(store);

        let all = texts(&entries(0..flushed + more));
        let store = place.writer();
        let (kept, scanned) = scan(&store);
        prop_assert!(all.starts_with(&kept));
        prop_assert!(kept.len() >= shown.len() && kept.len() as u64 >= flushed);
        prop_assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0));
    }
}
