//! What the admin listener wants to be told.

use std::fmt;
use std::net::SocketAddr;

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The section `admin:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminConfig {
    /// Where to listen. Absent: port 7071 of loopback, or any free one when that is taken.
    #[serde(default)]
    pub listen: Option<SocketAddr>,
    /// What a caller must show as `Authorization: Bearer TOKEN`. Required off loopback.
    #[serde(default)]
    pub token: Option<Token>,
}

/// A secret of the configuration.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Token(String);

impl AdminConfig {
    /// Whether this may be served: whoever is not on this machine must show a token.
    pub fn check(&self) -> Result<(), String> {
        match (self.listen, &self.token) {
            (Some(listen), None) if !listen.ip().is_loopback() => {
                Err(format!("{listen} can be reached from other machines, so a token is required"))
            }
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }
}

impl Token {
    /// The token itself, for the one header that carries it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether `shown` is the token. Digests are compared, so that the time taken tells nothing of
    /// how much of it was right.
    pub fn matches(&self, shown: &str) -> bool {
        let ours = Sha256::digest(self.0.as_bytes());
        let theirs = Sha256::digest(shown.as_bytes());
        ours.iter().zip(theirs.iter()).fold(0, |different, (a, b)| different | (a ^ b)) == 0
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("a token is one word without spaces");
        }
        Ok(Self(text))
    }
}

impl std::str::FromStr for Token {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(listen: &str, token: Option<&str>) -> AdminConfig {
        AdminConfig {
            listen: Some(listen.parse().unwrap()),
            token: token.map(|token| token.parse().unwrap()),
        }
    }

    #[test]
    fn a_token_is_required_where_other_machines_reach() {
        assert!(config("127.0.0.1:7071", None).check().is_ok());
        assert!(config("[::1]:7071", None).check().is_ok());
        assert!(config("0.0.0.0:7071", Some("t0ken")).check().is_ok());
        let refused = config("0.0.0.0:7071", None).check().unwrap_err();
        assert!(refused.contains("token"), "{refused}");
    }

    #[test]
    fn a_token_is_not_printed_and_matches_only_itself() {
        let token: Token = "s3cret".parse().unwrap();
        assert_eq!(format!("{token:?}"), "[secret]");
        assert!(token.matches("s3cret"));
        assert!(!token.matches("s3cre"));
        assert!(!token.matches(""));
    }
}
