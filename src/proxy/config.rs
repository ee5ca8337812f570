//! What a remote agent's entry in the configuration says about the way to it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Deserializer};

use crate::base::units;
use crate::net::addr::{Authority, Scheme};
use crate::net::dial::Destination;
use crate::net::jws::{KeyError, KeySet};
use crate::net::tls::{ClientTlsConfig, ListenTlsConfig};
use crate::proxy::push::config::PushMode;
use crate::proxy::target::{Base, Target};

/// One remote agent: where it is heard and where it is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// Where Meddler listens in its place; port 0 takes a free one.
    #[serde(alias = "addr")]
    pub listen: ListenAddr,
    /// Where it is.
    pub forward: Target,
    /// Other hosts (`host` or `host:port`) that it may name in its card and that are reached through
    /// this port as well.
    #[serde(default)]
    pub also: Vec<AlsoHost>,
    /// Header fields for every request to it, in place of same-named ones.
    #[serde(default)]
    pub headers: HeaderFields,
    /// TLS towards it.
    #[serde(default)]
    pub tls: ClientTlsConfig,
    /// TLS towards the orchestrator.
    #[serde(default)]
    pub listen_tls: Option<ListenTlsConfig>,
    /// Bounds on waiting.
    #[serde(default)]
    pub timeout: Timeouts,
    /// What orchestrators and the agent reach this port by, when that is not what orchestrators write in
    /// `Host`.
    #[serde(default)]
    pub advertise: Option<Base>,
    /// What becomes of webhooks; `push:` of the configuration when absent.
    #[serde(default)]
    pub push: Option<PushMode>,
    /// Header fields that tell the agent who called.
    #[serde(default)]
    pub forwarded: Forwarded,
    /// What becomes of a card's signatures when its addresses are rewritten.
    #[serde(default)]
    pub signatures: Signatures,
    /// The keys that its cards are signed by (JWKS): a file, or a URL.
    #[serde(default)]
    pub card_keys: Option<CardKeys>,
    /// The path at the agent where its card lies, when that is no well-known one.
    #[serde(default)]
    pub card: Option<CardPath>,
    /// What it means when an HTTP/1.1 client ends its own direction and waits.
    #[serde(default)]
    pub half_close: HalfClose,
}

/// An address to listen on: `127.0.0.1:8095`, `localhost:0`, `:8095`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddr(pub SocketAddr);

/// A host of `also:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlsoHost {
    host: Authority,
    port: Option<u16>,
}

/// Header fields whose values are secrets: `Debug` shows the names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HeaderFields(pub Vec<(HeaderName, HeaderValue)>);

/// Bounds on waiting for an agent. An answer may take as long as it likes unless these say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// DNS, TCP and TLS together; `Limits::connect_timeout` when absent.
    #[serde(with = "units::as_optional_duration")]
    pub connect: Option<Duration>,
    /// From the request to the head of its answer.
    #[serde(with = "units::as_optional_duration")]
    pub first_byte: Option<Duration>,
    /// Between two portions of an answer.
    #[serde(with = "units::as_optional_duration")]
    pub idle: Option<Duration>,
}

/// Which header fields tell the agent who called. None by default: a recorder should not be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forwarded {
    /// None.
    #[default]
    None,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// `X-Forwarded-For`, `-Host`, `-Proto`.
    #[serde(rename = "x-forwarded")]
    XForwarded,
}

/// What becomes of a card's signatures when its addresses are rewritten, which breaks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signatures {
    /// They are removed.
    #[default]
    Strip,
    /// They stay, and do not fit: a test of whoever verifies them.
    Keep,
    /// They are replaced by Meddler's own.
    Resign,
}

/// Where the keys are that cards are signed by.
#[derive(Clone, Debug)]
pub enum CardKeys {
    /// In a file.
    File {
        /// Which.
        path: PathBuf,
        /// What it holds; nothing until it has been read.
        set: KeySet,
    },
    /// At an address.
    Url(KeysUrl),
}

/// An address of a key set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysUrl {
    /// Where.
    pub to: Destination,
    /// Path and query.
    pub path: PathAndQuery,
}

/// The path of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardPath(pub PathAndQuery);

/// What a client means that ends its own direction and keeps reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HalfClose {
    /// It waits for its answer; it has left when a write to it fails.
    #[default]
    Allow,
    /// It has left.
    Deny,
}

impl AgentConfig {
    /// The least that is needed: where to listen and where to send.
    pub fn new(listen: SocketAddr, forward: Target) -> Self {
        Self {
            listen: ListenAddr(listen),
            forward,
            also: Vec::new(),
            headers: HeaderFields::default(),
            tls: ClientTlsConfig::default(),
            listen_tls: None,
            timeout: Timeouts::default(),
            advertise: None,
            push: None,
            forwarded: Forwarded::default(),
            signatures: Signatures::default(),
            card_keys: None,
            card: None,
            half_close: HalfClose::default(),
        }
    }
}

impl std::str::FromStr for CardKeys {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no address of a key set; write `https://host/jwks.json`");
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::File { path: PathBuf::from(text), set: KeySet::default() });
        };
        let scheme = Scheme::parse(scheme).ok_or_else(wrong)?;
        let slash = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(slash).ok_or_else(wrong)?;
        let authority = Authority::parse(authority, scheme.default_port()).ok_or_else(wrong)?;
        let path = PathAndQuery::try_from(path).map_err(|_| wrong())?;
        Ok(Self::Url(KeysUrl { to: Destination { scheme, authority }, path }))
    }
}

impl<'de> Deserialize<'de> for CardKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl CardKeys {
    /// Reads the file, if it is one.
    pub(super) fn read(&mut self) -> Result<(), KeyError> {
        match self {
            Self::File { path, set } => *set = KeySet::open(path)?,
            Self::Url(_) => {}
        }
        Ok(())
    }
}

impl fmt::Display for KeysUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Destination { scheme, authority } = &self.to;
        write!(f, "{}://{}{}", scheme.as_str(), authority.in_url(*scheme), self.path)
    }
}

impl std::str::FromStr for CardPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no path of a card; write it from the host on, `/custom/card.json`")
        };
        let path = PathAndQuery::try_from(text).map_err(|_| wrong())?;
        if text.starts_with('/') { Ok(Self(path)) } else { Err(wrong()) }
    }
}

impl<'de> Deserialize<'de> for CardPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for ListenAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no address to listen on; write `127.0.0.1:8095`");
        if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
            // `:8095` is every address, as in other tools; a bare port is the loopback.
            let ip = if text.starts_with(':') { "0.0.0.0" } else { "127.0.0.1" };
            let ip = ip.parse().map_err(|_| wrong())?;
            return Ok(Self(SocketAddr::new(ip, port)));
        }
        let mut found = text.to_socket_addrs().map_err(|_| wrong())?;
        found.next().map(Self).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for ListenAddr {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl AlsoHost {
    /// Whether it means this authority.
    pub fn covers(&self, authority: &Authority) -> bool {
        self.host.is_same_host(authority) && self.port.is_none_or(|port| port == authority.port())
    }
}

impl std::str::FromStr for AlsoHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no host; write `agent.example.com` or `host:port`");
        let host = Authority::parse(text, 0).ok_or_else(wrong)?;
        let port = (host.port() != 0).then(|| host.port());
        Ok(Self { host, port })
    }
}

impl<'de> Deserialize<'de> for AlsoHost {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for HeaderFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|(name, _)| (name, "[secret]"))).finish()
    }
}

impl<'de> Deserialize<'de> for HeaderFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        let fields = BTreeMap::<String, String>::deserialize(from)?;
        let mut read = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let parsed = HeaderName::try_from(name.as_str())
                .map_err(|_| D::Error::custom(format!("`{name}` is no header name")))?;
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                D::Error::custom(format!("the value of `{name}` is no header value"))
            })?;
            value.set_sensitive(true);
            read.push((parsed, value));
        }
        Ok(Self(read))
    }
}

/// The scheme a listener is reached by.
pub(super) const fn listen_scheme(config: &AgentConfig) -> Scheme {
    match config.listen_tls {
        None => Scheme::Http,
        Some(_) => Scheme::Https,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(yaml: &str) -> Result<AgentConfig, String> {
        serde_saphyr::from_str(yaml).map_err(|error| error.to_string())
    }

    #[test]
    fn an_agent_is_read_with_all_its_keys() {
        let config = read(
            "addr: 127.0.0.1:0\nforward: https://agent.test/a2a\nalso: [edge.test, \"edge.test:81\"]\n\
             headers: { Authorization: Bearer x }\ntls: { insecure: true }\nlisten_tls: auto\n\
             timeout: { connect: 10s, idle: 1m }\nadvertise: http://meddler:8095\nforwarded: x-forwarded\n",
        )
        .unwrap();
        assert_eq!(config.listen.0.port(), 0);
        assert_eq!(config.timeout.connect, Some(Duration::from_secs(10)));
        assert_eq!(config.timeout.first_byte, None);
        assert_eq!(format!("{:?}", config.headers), r#"{"authorization": "[secret]"}"#);
        assert!(config.also[0].covers(&Authority::parse("edge.test:9", 80).unwrap()));
        assert!(!config.also[1].covers(&Authority::parse("edge.test", 80).unwrap()));
    }

    #[test]
    fn a_wrong_key_or_value_is_named() {
        let error = read("listen: 127.0.0.1:0\nforward: http://a\nheader: {}\n").unwrap_err();
        assert!(error.contains("header"), "{error}");
        let error = read("listen: nowhere\nforward: http://a\n").unwrap_err();
        assert!(error.contains("`nowhere` is no address to listen on"), "{error}");
    }

    #[test]
    fn listen_addresses_may_be_short() {
        for (text, expected) in
            [("127.0.0.1:0", "127.0.0.1:0"), (":80", "0.0.0.0:80"), ("8095", "127.0.0.1:8095")]
        {
            assert_eq!(text.parse::<ListenAddr>().unwrap().0.to_string(), expected, "{text}");
        }
    }
}
