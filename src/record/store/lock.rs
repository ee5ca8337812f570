//! One writer a store: `LOCK` is flocked by the process that writes. Readers never touch it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::record::store::{StoreError, io_error};

/// How often a lock that is held is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock. It is held as long as the file is open, and gone with the process, however that ends.
///
/// Waits up to `patience`: a daemon that is started right after another was killed finds the lock still
/// held for a moment.
pub(super) fn take(path: &Path, root: &Path, patience: Duration) -> Result<File, StoreError> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(io_error("open", path))?;
    let mut waited = Duration::ZERO;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(rustix::io::Errno::WOULDBLOCK) if waited < patience => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(StoreError::InUse {
                    path: root.display().to_string(),
                    holder: holder(&mut file),
                });
            }
            Err(error) => return Err(io_error("lock", path)(error.into())),
        }
    }
    name_holder(&mut file).map_err(io_error("write", path))?;
    Ok(file)
}

fn name_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}", std::process::id())
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(64).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}
