//! Addresses: schemes, authorities, and which of them mean "here".

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// How an origin is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// `http` or `https`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that a URL of this scheme leaves out.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// The scheme of this name, any case.
    pub fn parse(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("http") {
            Some(Self::Http)
        } else if name.eq_ignore_ascii_case("https") {
            Some(Self::Https)
        } else {
            None
        }
    }
}

/// A host and its port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Host {
    Ip(IpAddr),
    /// Lower case, without the final dot.
    Name(String),
}

impl Authority {
    /// Reads `host`, `host:port`, `1.2.3.4:port`, `[::1]:port`. `default_port` is taken where none is
    /// written. `None` for what is no authority.
    pub fn parse(text: &str, default_port: u16) -> Option<Self> {
        let (host, port) = split_port(text)?;
        let port = match port {
            None | Some("") => default_port,
            Some(digits) if digits.bytes().all(|octet| octet.is_ascii_digit()) => {
                digits.parse().ok()?
            }
            Some(_) => return None,
        };
        Some(Self { host: Host::parse(host)?, port })
    }

    /// The authority of an address.
    pub fn of_ip(ip: IpAddr, port: u16) -> Self {
        Self { host: Host::Ip(ip), port }
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The same host at another port.
    #[must_use]
    pub fn with_port(&self, port: u16) -> Self {
        Self { host: self.host.clone(), port }
    }

    /// The host without brackets: what a resolver and a certificate take.
    pub fn host(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        }
    }

    /// The host as an address, when it is one.
    pub const fn ip(&self) -> Option<IpAddr> {
        match &self.host {
            Host::Ip(ip) => Some(*ip),
            Host::Name(_) => None,
        }
    }

    /// Whether both name the same host, whatever the port.
    pub fn is_same_host(&self, other: &Self) -> bool {
        self.host == other.host
    }

    /// Whether it means "this machine" to whoever wrote it: loopback, a wildcard address, `localhost`.
    pub fn is_local(&self) -> bool {
        match &self.host {
            Host::Ip(ip) => ip.is_loopback() || ip.is_unspecified(),
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// As a URL of this scheme and a `Host` field have it: the default port left out.
    pub fn in_url(&self, scheme: Scheme) -> String {
        if self.port == scheme.default_port() { self.bracketed() } else { self.to_string() }
    }

    fn bracketed(&self) -> String {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]"),
            Host::Ip(IpAddr::V4(ip)) => ip.to_string(),
            Host::Name(name) => name.clone(),
        }
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return Ipv6Addr::from_str(inner).ok().map(|ip| Self::Ip(IpAddr::V6(ip)));
        }
        if let Ok(ip) = Ipv4Addr::from_str(text) {
            return Some(Self::Ip(IpAddr::V4(ip)));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_name = !name.is_empty()
            && name.bytes().all(|octet| {
                octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~')
            });
        is_name.then(|| Self::Name(name.to_ascii_lowercase()))
    }
}

/// Host (with its brackets) and the text after its colon.
fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    if text.starts_with('[') {
        let (host, rest) = text.split_once(']')?;
        let host = text.get(..=host.len())?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None if rest.is_empty() => Some((host, None)),
            None => None,
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.bracketed(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let actual = Authority::parse(text, 80).map(|authority| authority.to_string());
        assert_eq!(actual.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn an_authority_is_a_host_and_a_port() {
        check("agent.test:9000", Some("agent.test:9000"));
        check("Agent.Test.", Some("agent.test:80"));
        check("10.0.0.1", Some("10.0.0.1:80"));
        check("[2001:db8::7]:50051", Some("[2001:db8::7]:50051"));
        check("[::1]", Some("[::1]:80"));
        check("agent.test:", Some("agent.test:80"));
    }

    #[test]
    fn what_is_no_authority_is_refused() {
        for text in
            ["", ":80", "a:b", "a:80, evil", "a b", "[::1", "[::1]x", "a:99999", "a/b", "::1"]
        {
            check(text, None);
        }
    }

    #[test]
    fn loopback_and_wildcard_addresses_mean_here() {
        for (text, expected) in [
            ("127.0.0.1", true),
            ("0.0.0.0", true),
            ("[::]", true),
            ("[::1]", true),
            ("localhost", true),
            ("10.0.0.1", false),
            ("agent.test", false),
        ] {
            assert_eq!(Authority::parse(text, 80).unwrap().is_local(), expected, "{text}");
        }
    }

    #[test]
    fn a_url_leaves_its_default_port_out() {
        let authority = Authority::parse("agent.test:443", 80).unwrap();
        assert_eq!(authority.in_url(Scheme::Https), "agent.test");
        assert_eq!(authority.in_url(Scheme::Http), "agent.test:443");
    }
}
