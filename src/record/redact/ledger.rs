//! Masking, and the book kept of it.

use std::ops::Range;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::DigestKey;
use super::texts::Texts;
use crate::record::exchange::Redaction;

/// Rows kept for one exchange. What is masked beyond is masked without a row.
const ROWS_MAX: usize = 1000;

/// What was masked in one exchange, and what was learned from it.
pub(super) struct Ledger<'a> {
    key: &'a DigestKey,
    pub(super) rows: Vec<Redaction>,
    pub(super) secrets: Vec<Vec<u8>>,
    /// The texts of the bodies, by the bodies' places.
    pub(super) texts: Vec<(&'static str, Texts)>,
}

/// A secret in octets.
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) kind: &'static str,
    /// What it says, encodings undone.
    pub(super) plain: Vec<u8>,
    /// What it is covered with.
    pub(super) cover: u8,
}

/// Where something was masked.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// In the header field, or edit, of this name.
    Name(&'a str),
    /// At this offset.
    Offset,
}

impl<'a> Ledger<'a> {
    pub(super) const fn new(key: &'a DigestKey) -> Self {
        Self { key, rows: Vec::new(), secrets: Vec::new(), texts: Vec::new() }
    }

    /// Covers a secret. What is covered already (in a recording that is read in anew) stays as it is.
    /// Returns how many octets were covered.
    pub(super) fn cover(
        &mut self,
        octets: &mut [u8],
        hit: &Hit,
        place: &str,
        at: At<'_>,
    ) -> Option<u64> {
        let target = octets.get_mut(hit.range.clone())?;
        if target.iter().all(|octet| *octet == hit.cover) {
            return None;
        }
        target.fill(hit.cover);
        let bytes = target.len() as u64;
        if self.rows.len() < ROWS_MAX {
            self.rows.push(Redaction {
                place: place.to_owned(),
                at: match at {
                    At::Name(name) => name.to_owned(),
                    At::Offset => hit.range.start.to_string(),
                },
                bytes,
                kind: hit.kind.to_owned(),
                hmac: hex(&digest(self.key, &hit.plain)),
            });
        }
        Some(bytes)
    }

    /// Covers a secret that was known by its place, and remembers it for the texts to come.
    pub(super) fn cover_and_learn(
        &mut self,
        octets: &mut [u8],
        hit: Hit,
        place: &str,
        at: At<'_>,
    ) -> Option<u64> {
        let raw = octets.get(hit.range.clone()).unwrap_or_default().to_vec();
        let covered = self.cover(octets, &hit, place, at)?;
        if raw != hit.plain {
            self.secrets.push(raw);
        }
        self.secrets.push(hit.plain);
        Some(covered)
    }
}

/// HMAC-SHA-256.
pub(super) fn digest(key: &DigestKey, octets: &[u8]) -> [u8; 32] {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(octets);
    mac.finalize().into_bytes().into()
}

/// Digits for octets.
pub(super) fn hex(octets: &[u8]) -> String {
    use std::fmt::Write;

    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("a String takes any text");
        text
    })
}
