//! What a store asks of a file system to write, as a trait: so that a test can fill a disk, break a
//! sync or cut the power without one.
//!
//! Reading goes to files directly: a reader has nothing to lose.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file system, as far as a store writes to it.
pub trait Media: fmt::Debug + Send + Sync {
    /// A new, empty file that only its owner may read; what stood there is gone.
    fn create(&self, path: &Path) -> io::Result<Box<dyn MediaFile>>;

    /// A file that is there, to be written on.
    fn open(&self, path: &Path) -> io::Result<Box<dyn MediaFile>>;

    /// Gives a file its final name, and returns when the name is on the disk.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. That it was not there is no error.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file that is being written.
pub trait MediaFile: fmt::Debug + Send {
    /// Writes all of it at this offset.
    fn write_at(&mut self, octets: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when what was written is on the disk.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file to this length.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Media for System {
    fn create(&self, path: &Path) -> io::Result<Box<dyn MediaFile>> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        Ok(Box::new(file))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn MediaFile>> {
        Ok(Box::new(OpenOptions::new().write(true).open(path)?))
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        sync_parent(to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl MediaFile for File {
    fn write_at(&mut self, octets: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(octets, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// Writes a small file whole: it is there with all its octets, or as it was before.
pub(super) fn write_whole(media: &dyn Media, path: &Path, octets: &[u8]) -> io::Result<()> {
    let draft = draft(path);
    let mut file = media.create(&draft)?;
    file.write_at(octets, 0)?;
    file.sync()?;
    media.publish(&draft, path)
}

/// The name of a file that is not whole yet.
pub(super) fn draft(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Returns when the names in the directory of `path` are on the disk.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}
