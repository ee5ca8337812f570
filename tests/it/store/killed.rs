//! Another process writes, is read from here, and is killed without warning.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use meddler::record::store::disk::{self, Options};
use meddler::record::store::{Store, StoreError, sample};

use super::support::{Place, clock, impatient, scan, texts};

const DIRECTORY: &str = "MEDDLER_TEST_STORE";
const FIRST: &str = "MEDDLER_TEST_FIRST";
/// The child waits for a line after each flush.
const ORDERED: &str = "MEDDLER_TEST_ORDERED";

/// Not a promise: the process that is killed. Without its environment it does nothing.
#[test]
#[expect(clippy::print_stdout, reason = "it is how the child tells its parent")]
fn a_child_writes_until_it_is_killed() {
    let (Some(path), Ok(first)) = (std::env::var_os(DIRECTORY), std::env::var(FIRST)) else {
        return;
    };
    let options = Options { segment_bytes: 64 * 1024, ..Options::default() };
    let store = disk::open_writer(&PathBuf::from(path), options, clock()).unwrap();
    let first: u64 = first.parse().unwrap();
    let mut orders = std::env::var_os(ORDERED).map(|_| std::io::stdin().lines());
    for number in first.. {
        store.append(&[sample::entry(number)]).unwrap();
        if number % 5 == 4 {
            store.flush().unwrap();
            println!("flushed {number}");
            if let Some(orders) = &mut orders {
                orders.next();
            }
        }
    }
}

struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// One that writes as fast as it can.
    fn start(place: &Place, first: u64) -> Self {
        Self::run(&mut Self::command(place, first))
    }

    /// One that writes five exchanges an order.
    fn start_ordered(place: &Place) -> Self {
        Self::run(Self::command(place, 0).env(ORDERED, "").stdin(Stdio::piped()))
    }

    fn command(place: &Place, first: u64) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "store::killed::a_child_writes_until_it_is_killed", "--nocapture"])
            .env(DIRECTORY, place.path())
            .env(FIRST, first.to_string())
            .stdout(Stdio::piped());
        command
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The number of the last exchange that the next flush made durable.
    fn flushed(&mut self) -> u64 {
        loop {
            let line = self.lines.next().expect("the child writes until it is killed").unwrap();
            if let Some((_, number)) = line.split_once("flushed ") {
                return number.parse().unwrap();
            }
        }
    }

    fn order(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"more\n").unwrap();
    }

    /// Kills it; returns the last number that it said before.
    fn kill(mut self) -> Option<u64> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let said = self.lines.map_while(Result::ok);
        said.filter_map(|line| line.split_once("flushed ")?.1.parse().ok()).last()
    }
}

#[test]
fn what_was_flushed_is_there_after_a_kill_again_and_again() {
    let place = Place::new();
    let mut first = 0;
    let mut expected = Vec::new();
    for round in 0..6 {
        let mut writer = Writer::start(&place, first);
        let mut last = 0;
        for _ in 0..=round * 7 {
            last = writer.flushed();
        }
        last = writer.kill().unwrap_or(last);

        expected.extend(texts(&(first..=last).map(sample::entry).collect::<Vec<_>>()));
        let (shown, scanned) = scan(&place.reader());
        assert!(shown.starts_with(&expected), "round {round}: {} of {last}", shown.len());
        assert_eq!(scanned.damaged_bytes, 0, "round {round}");
        let store = place.writer();
        let (kept, scanned) = scan(&store);
        assert!(kept.starts_with(&shown), "round {round}: what was shown is still there");
        assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0), "round {round}");
        first +=
            (kept.len() - (expected.len() - usize::try_from(last + 1 - first).unwrap())) as u64;
        expected = kept;
    }
    assert!(place.segments() > 1, "the kills came in several segments");
}

#[test]
fn one_process_reads_while_another_writes_and_cannot_write_itself() {
    let place = Place::new();
    let mut writer = Writer::start_ordered(&place);
    let mut seen = 0;
    for _ in 0..20 {
        let flushed = writer.flushed();
        writer.order();
        let (shown, scanned) = scan(&place.reader());
        assert!(shown.len() as u64 > flushed, "{} shown, {flushed} flushed", shown.len());
        assert!(shown.len() >= seen && scanned.damaged_bytes == 0);
        assert_eq!(shown, texts(&(0..shown.len() as u64).map(sample::entry).collect::<Vec<_>>()));
        seen = shown.len();
        let found = place.reader().exchange(sample::id(flushed)).unwrap();
        assert!(found.is_some(), "exchange {flushed}");
    }
    match disk::open_writer(&place.path(), impatient(), clock()) {
        Err(StoreError::InUse { holder, .. }) => {
            assert_eq!(holder, format!("process {}", writer.child.id()));
        }
        other => panic!("{other:?}"),
    }
    writer.kill();
    assert!(place.writer().opening().torn_bytes < 1_000_000, "a quick restart waits for the lock");
}
