//! The token in an address of ours, and what it seals.
//!
//! A webhook's address is often a secret itself, and what the daemon's state holds is written to the log
//! as it is. So the log has the token's digest, and the address encrypted with the token: whoever has
//! the token, which is the agent alone, brings the key along.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Letters of a token: 256 bits.
const LETTERS: usize = 43;

/// A token. It is drawn at random and says nothing.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

/// What a token is known by.
pub(super) type TokenDigest = [u8; 32];

impl Token {
    /// A new one: three random UUIDs carry 366 random bits, of which the digest keeps 256.
    pub(super) fn draw() -> Self {
        let mut digest = Sha256::new();
        for _ in 0..3 {
            digest.update(Uuid::new_v4().as_bytes());
        }
        Self(URL_SAFE_NO_PAD.encode(digest.finalize()))
    }

    /// The one of an address, if it can be one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_letter = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        (text.len() == LETTERS && text.bytes().all(is_letter)).then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is looked up by: how long that takes tells nothing about the token.
    pub(super) fn digest(&self) -> TokenDigest {
        Sha256::digest(&self.0).into()
    }

    /// Encrypts octets, or decrypts them. A token seals one text in its life, so its key stream is used
    /// once.
    pub(super) fn seal(&self, octets: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(octets.len());
        for (number, block) in (0_u64..).zip(octets.chunks(32)) {
            let stream = self.keyed(&[b"address ", &number.to_be_bytes()]);
            sealed.extend(block.iter().zip(stream).map(|(octet, key)| octet ^ key));
        }
        sealed
    }

    /// A digest of another secret, which means nothing without this token.
    pub(super) fn tag(&self, secret: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.keyed(&[b"secret ", secret]))
    }

    fn keyed(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes())
            .expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token([secret])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_drawn_anew_each_time_and_read_as_it_is_written() {
        let (one, other) = (Token::draw(), Token::draw());
        assert_ne!(one, other);
        assert_eq!(Token::parse(one.as_str()), Some(one.clone()));
        for text in ["", "short", &"a".repeat(44), &"/".repeat(43), &"%".repeat(43)] {
            assert_eq!(Token::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_it_seals_is_read_with_it_alone() {
        let (one, other) = (Token::draw(), Token::draw());
        let text =
            "https://client.test/hook?k=s3cret-abc&more=long enough for two blocks".as_bytes();
        let sealed = one.seal(text);
        assert_eq!(one.seal(&sealed), text);
        assert_ne!(other.seal(&sealed), text);
        assert!(!sealed.windows(6).any(|part| text.windows(6).any(|plain| plain == part)));
    }
}
