//! Runs the program, and a daemon of it.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets something else has failed"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A directory in which the program is run.
pub(super) struct Desk {
    dir: TempDir,
}

/// What the program said.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

/// How long anything may take on a busy machine before a test gives it up.
const DEADLINE: Duration = Duration::from_secs(30);

impl Desk {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_meddler"));
        command.args(arguments).current_dir(self.path());
        for (name, _) in std::env::vars() {
            if name.starts_with("MEDDLER_") || matches!(name.as_str(), "NO_COLOR" | "COLUMNS") {
                command.env_remove(name);
            }
        }
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    /// Runs it with this on standard input.
    pub(super) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    /// Starts `serve` with these arguments, recording into `recordings`, and waits until it serves.
    pub(super) fn serve(&self, arguments: &[&str]) -> Daemon {
        let log = fs::File::create(self.path().join("serve.log")).unwrap();
        let child = self
            .command(&["serve"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut daemon = Daemon { child, file: Value::Null, log: self.path().join("serve.log") };
        let path = self.path().join("recordings/daemon.json");
        let pid = daemon.child.id();
        daemon.file = eventually("daemon.json", || {
            if let Some(status) = daemon.child.try_wait().unwrap() {
                let log = fs::read_to_string(&daemon.log).unwrap();
                panic!("serve ended with {status}:\n{log}");
            }
            let file: Value = serde_json::from_str(&fs::read_to_string(&path).ok()?).ok()?;
            (file["pid"] == pid).then_some(file)
        });
        daemon
    }
}

impl Said {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The same, after it has been seen to end with this code.
    #[track_caller]
    pub(super) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.out, self.err);
        self
    }
}

/// A running daemon. Killed when dropped.
pub(super) struct Daemon {
    child: Child,
    file: Value,
    log: PathBuf,
}

impl Daemon {
    /// The port of the agent with this number.
    pub(super) fn port(&self, agent: usize) -> u16 {
        let url = self.file["agents"][agent]["url"].as_str().unwrap();
        url.rsplit(':').next().unwrap().parse().unwrap()
    }

    pub(super) fn admin(&self) -> String {
        self.file["admin"].as_str().unwrap().to_owned()
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Asks it to stop; the exit code.
    pub(super) fn stop(mut self) -> i32 {
        self.terminate();
        let status = eventually("the daemon's end", || self.child.try_wait().unwrap());
        status.code().unwrap_or(-1)
    }

    /// Ends it as a crash would.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let killed = self.child.kill();
        drop(killed);
        let waited = self.child.wait();
        drop(waited);
    }
}

/// Waits until there is something, within the deadline.
#[track_caller]
pub(super) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    #[expect(clippy::disallowed_methods, reason = "a child process knows no paused clock")]
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}
