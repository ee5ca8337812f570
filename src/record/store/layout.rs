//! Which files a store has, and the two small ones: `FORMAT` and the key of redaction digests.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::record::format::VERSION;
use crate::record::redact::DigestKey;
use crate::record::store::media::{self, Media};
use crate::record::store::{StoreError, io_error};

/// Where the files of a store are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

/// What `FORMAT` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Format {
    #[serde(rename = "a2a_store")]
    pub(super) version: u32,
    pub(super) store_id: Uuid,
    pub(super) created: Timestamp,
}

impl Layout {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.root.join("LOCK")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    pub(super) fn log(&self, number: u32) -> PathBuf {
        self.segments_dir().join(format!("{number:06}.log"))
    }

    pub(super) fn sidecar(&self, number: u32) -> PathBuf {
        self.segments_dir().join(format!("{number:06}.idx"))
    }

    /// The numbers of the segments, ascending.
    pub(super) fn segments(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        let files = match fs::read_dir(self.segments_dir()) {
            Ok(files) => files,
            // A store that is just being made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(numbers),
            Err(error) => return Err(error),
        };
        for file in files {
            let name = file?.file_name();
            let number: Option<u32> =
                name.to_str().and_then(|name| name.strip_suffix(".log")?.parse().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Makes the directory, unless it is there, and says what it holds.
    pub(super) fn prepare(&self) -> Result<Found, StoreError> {
        make_private_dir(&self.root).map_err(io_error("create", &self.root))?;
        if self.format().exists() {
            return Ok(Found::Store);
        }
        let ours = ["LOCK", "FORMAT.tmp", "digest.key", "digest.key.tmp", "seg"];
        for file in fs::read_dir(&self.root).map_err(io_error("read", &self.root))? {
            let name = file.map_err(io_error("read", &self.root))?.file_name();
            if !name.to_str().is_some_and(|name| ours.contains(&name)) {
                return Err(self.no_store(format!(
                    "it has no FORMAT file but holds `{}`; choose an empty directory",
                    name.display()
                )));
            }
        }
        Ok(Found::Nothing)
    }

    /// Makes the store in a directory that holds none. `FORMAT` is written last: with it the store is
    /// whole, without it this is done again.
    pub(super) fn create(&self, media: &dyn Media, now: Timestamp) -> Result<Format, StoreError> {
        fs::set_permissions(&self.root, fs::Permissions::from_mode(0o700))
            .map_err(io_error("protect", &self.root))?;
        let format = Format { version: u32::from(VERSION), store_id: Uuid::new_v4(), created: now };
        self.write_format(media, &format)?;
        Ok(format)
    }

    /// Says that the store holds what this version writes, so that an earlier program does not write to
    /// it any more.
    pub(super) fn raise(&self, media: &dyn Media, format: Format) -> Result<Format, StoreError> {
        if format.version >= u32::from(VERSION) {
            return Ok(format);
        }
        let format = Format { version: u32::from(VERSION), ..format };
        self.write_format(media, &format)?;
        Ok(format)
    }

    /// Makes the directory of the segments, unless it is there.
    pub(super) fn make_segments_dir(&self) -> Result<(), StoreError> {
        let path = self.segments_dir();
        make_private_dir(&path)
            .and_then(|()| media::sync_parent(&path))
            .map_err(io_error("create", &path))
    }

    /// Reads `FORMAT`.
    pub(super) fn read_format(&self) -> Result<Format, StoreError> {
        let path = self.format();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(self.no_store("it has no FORMAT file".to_owned()));
            }
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        serde_json::from_slice(&text)
            .map_err(|error| self.no_store(format!("its FORMAT file cannot be read: {error}")))
    }

    /// The key of redaction digests; `None` when it is missing or no key.
    pub(super) fn read_key(&self) -> Option<DigestKey> {
        let octets = fs::read(self.key()).ok()?;
        octets.try_into().ok().map(DigestKey::new)
    }

    /// The key of redaction digests, drawn when there is none.
    pub(super) fn key_or_new(&self, media: &dyn Media) -> Result<DigestKey, StoreError> {
        if let Some(key) = self.read_key() {
            return Ok(key);
        }
        let key = random_key();
        let path = self.key();
        media::write_whole(media, &path, key.as_bytes()).map_err(io_error("write", &path))?;
        Ok(key)
    }

    fn write_format(&self, media: &dyn Media, format: &Format) -> Result<(), StoreError> {
        let path = self.format();
        let mut line = serde_json::to_vec(format).unwrap_or_default();
        line.push(b'\n');
        media::write_whole(media, &path, &line).map_err(io_error("write", &path))
    }

    fn no_store(&self, why: String) -> StoreError {
        StoreError::NotAStore { path: self.root.display().to_string(), why }
    }

    fn format(&self) -> PathBuf {
        self.root.join("FORMAT")
    }

    fn key(&self) -> PathBuf {
        self.root.join("digest.key")
    }

    fn segments_dir(&self) -> PathBuf {
        self.root.join("seg")
    }
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A store.
    Store,
    /// Nothing, or a store that was never finished.
    Nothing,
}

/// A key that nobody knows: four random UUIDs carry 488 random bits, of which the digest keeps 256.
pub(super) fn random_key() -> DigestKey {
    let mut digest = Sha256::new();
    for _ in 0..4 {
        digest.update(Uuid::new_v4().as_bytes());
    }
    DigestKey::new(digest.finalize().into())
}

fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
