//! `daemon.json` in a store's directory: who writes there now, and where to ask.
//!
//! A reading command finds the daemon by it, to have it flush first; a person and a script find the
//! ports by it when they were left to chance. A daemon that was killed leaves its file behind, so
//! the process it names is checked before it is believed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::admin::DaemonInfo;

/// The file's name.
pub(crate) const NAME: &str = "daemon.json";

/// What stands in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DaemonFile {
    /// The admin listener's URL.
    pub(crate) admin: String,
    /// Who it is and what it serves.
    #[serde(flatten)]
    pub(crate) info: DaemonInfo,
}

impl DaemonFile {
    /// Writes it into a store's directory, whole or not at all.
    pub(crate) fn write(&self, store: &Path) -> io::Result<Written> {
        let path = store.join(NAME);
        let draft = store.join(format!("{NAME}.{}", self.info.pid));
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        fs::write(&draft, text)?;
        fs::rename(&draft, &path)?;
        Ok(Written { path })
    }

    /// The daemon that writes in this directory now, if one does.
    pub(crate) fn of_living(store: &Path) -> Option<Self> {
        let text = fs::read_to_string(store.join(NAME)).ok()?;
        let file: Self = serde_json::from_str(&text).ok()?;
        lives(file.info.pid).then_some(file)
    }
}

/// A written file, removed when the daemon ends well.
#[derive(Debug)]
pub(crate) struct Written {
    path: PathBuf,
}

impl Drop for Written {
    fn drop(&mut self) {
        let removed = fs::remove_file(&self.path);
        drop(removed);
    }
}

fn lives(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match pid.map(test_kill_process) {
        Some(Ok(())) => true,
        // It lives, under another user.
        Some(Err(error)) => error == rustix::io::Errno::PERM,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(pid: u32) -> DaemonFile {
        DaemonFile {
            admin: "http://127.0.0.1:7071".to_owned(),
            info: DaemonInfo {
                tool: "meddler".to_owned(),
                version: "0.1.0".to_owned(),
                instance: "i".to_owned(),
                pid,
                started: "2026-11-30T12:00:00Z".to_owned(),
                session: "run".to_owned(),
                store: None,
                agents: Vec::new(),
            },
        }
    }

    #[test]
    fn a_living_daemon_is_found_until_it_ends() {
        let store = tempfile::tempdir().unwrap();
        let written = file(std::process::id()).write(store.path()).unwrap();
        let found = DaemonFile::of_living(store.path()).unwrap();
        assert_eq!(found.admin, "http://127.0.0.1:7071");
        drop(written);
        assert!(DaemonFile::of_living(store.path()).is_none());
    }

    #[test]
    fn what_a_killed_daemon_left_is_not_believed() {
        let store = tempfile::tempdir().unwrap();
        // No process has this number: it lies above the kernel's greatest.
        let _written = file(i32::MAX.unsigned_abs()).write(store.path()).unwrap();
        assert!(DaemonFile::of_living(store.path()).is_none());
    }
}
