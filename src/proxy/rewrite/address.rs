//! Addresses as cards write them, and what they become.
//!
//! A URL parser takes `agent.test:50051` for a scheme and adds a slash where there was none, so the few
//! forms that occur are read by hand, and what is not replaced is kept as it was.

use http::uri;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::net::addr::{Authority, Scheme};
use crate::net::dial::Destination;
use crate::proxy::route::TO_PREFIX;
use crate::proxy::target::{Base, Target};

/// What an authority in a path must not hold as it is: the brackets of IPv6.
const AUTHORITY_IN_PATH: &AsciiSet =
    &CONTROLS.add(b'[').add(b']').add(b'/').add(b'?').add(b'#').add(b'%');

/// How gRPC names an address that a resolver is to look up, longest first: `dns:host:port` is allowed.
const RESOLVERS: &[&str] = &["dns:///", "passthrough:///", "ipv4:", "ipv6:", "dns:"];

/// Where the host stands in the one that names a resolver's own address: `dns://8.8.8.8/host:port`.
const DNS_AT: &str = "dns://";

/// What stands in for a form that our own address cannot take.
const DNS: &str = "dns:///";

const GRPC_DEFAULT_PORT: u16 = 443;

/// An address as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written<'a> {
    pub(super) style: Style<'a>,
    /// `user:password@`, or nothing.
    user: &'a str,
    pub(super) authority: Authority,
    /// Path and query, as written; may be empty.
    pub(super) rest: &'a str,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style<'a> {
    /// `host:port`
    Bare,
    /// `dns:///host:port`, with what stands before the host.
    Resolved(&'a str),
    /// `http://` or `https://`
    Url(Scheme),
    /// `grpc://` or `grpcs://`
    Grpc(Scheme),
}

impl<'a> Written<'a> {
    /// Reads an address. `None` for a relative one, and for what is no address.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if let Some(start) = resolver(text) {
            let (start, rest) = text.split_at_checked(start)?;
            return Self::with(Style::Resolved(start), rest, GRPC_DEFAULT_PORT);
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            let style = match scheme.to_ascii_lowercase().as_str() {
                "http" => Style::Url(Scheme::Http),
                "https" => Style::Url(Scheme::Https),
                "grpc" => Style::Grpc(Scheme::Http),
                "grpcs" => Style::Grpc(Scheme::Https),
                _ => return None,
            };
            let port = match style {
                Style::Url(scheme) => scheme.default_port(),
                Style::Grpc(_) | Style::Bare | Style::Resolved(_) => GRPC_DEFAULT_PORT,
            };
            return Self::with(style, rest, port);
        }
        let written = Self::with(Style::Bare, text, 0)?;
        // Without a port it is a relative address: `a2a/v1`.
        (written.authority.port() != 0).then_some(written)
    }

    /// Reads the address of a gRPC interface, where a host alone is one.
    pub(super) fn parse_grpc(text: &'a str) -> Option<Self> {
        let bare = || Self::with(Style::Bare, text, GRPC_DEFAULT_PORT);
        Self::parse(text).or_else(|| bare().filter(|written| written.rest.is_empty()))
    }

    fn with(style: Style<'a>, text: &'a str, default_port: u16) -> Option<Self> {
        let end = text.find(['/', '?', '#']).unwrap_or(text.len());
        let (authority, rest) = text.split_at_checked(end)?;
        let host = authority.rfind('@').map_or(0, |at| at + 1);
        let (user, authority) = authority.split_at_checked(host)?;
        let authority = Authority::parse(authority, default_port)?;
        Some(Self { style, user, authority, rest })
    }

    /// The scheme to dial with; where the style does not say, the agent's own.
    pub(super) fn dial_scheme(&self, agent: &Target) -> Scheme {
        match self.style {
            Style::Url(scheme) | Style::Grpc(scheme) => scheme,
            Style::Bare | Style::Resolved(_) => agent.to.scheme,
        }
    }

    /// Path and query, at least `/`.
    pub(super) fn path(&self) -> String {
        match self.rest.chars().next() {
            None => "/".to_owned(),
            Some('/') => self.rest.to_owned(),
            Some(_) => format!("/{}", self.rest),
        }
    }

    /// The same form with Meddler's own address: scheme and port follow `base`, which is the listener
    /// the orchestrator used; `path` stands below it.
    pub(super) fn at(&self, base: &Base, path: &str) -> String {
        // What `forward` itself is called by has a slash only where it was written with one.
        let root = if path == "/" && !self.rest.ends_with('/') { "" } else { path };
        let user = self.user;
        match self.style {
            Style::Bare => format!("{user}{}{}", base.authority, self.rest),
            Style::Resolved(start) => {
                let start = if can_stand_behind(start, &base.authority) { start } else { DNS };
                format!("{start}{}{}", base.authority, self.rest)
            }
            Style::Grpc(_) => {
                let scheme = match base.scheme {
                    Scheme::Http => "grpc",
                    Scheme::Https => "grpcs",
                };
                format!("{scheme}://{user}{}{}", base.authority, self.rest)
            }
            Style::Url(_) => {
                let (scheme, authority) =
                    (base.scheme.as_str(), base.authority.in_url(base.scheme));
                format!("{scheme}://{user}{authority}{}{root}", base.path)
            }
        }
    }
}

/// How much of the text names a resolver, if it begins with one.
fn resolver(text: &str) -> Option<usize> {
    let named =
        |name: &&&str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    if let Some(name) = RESOLVERS.iter().find(named)
        && !(*name == "dns:" && named(&&DNS_AT))
    {
        return Some(name.len());
    }
    let server = text.get(DNS_AT.len()..).filter(|_| named(&&DNS_AT))?;
    Some(DNS_AT.len() + server.find('/')? + 1)
}

/// Whether our own address can be written in this form: `ipv4:` takes no name.
fn can_stand_behind(start: &str, authority: &Authority) -> bool {
    match start.to_ascii_lowercase().as_str() {
        "ipv4:" => authority.ip().is_some_and(|ip| ip.is_ipv4()),
        "ipv6:" => authority.ip().is_some_and(|ip| ip.is_ipv6()),
        _ => true,
    }
}

/// The path of Meddler's own that leads to this address.
pub(super) fn path_to(to: &Destination, path: &str) -> String {
    let authority = to.authority.to_string();
    let authority = utf8_percent_encode(&authority, AUTHORITY_IN_PATH);
    format!("{TO_PREFIX}{}/{authority}{path}", to.scheme.as_str())
}

/// `Host` and `:authority` for a destination. `agent` is what cannot fail, should this one.
pub(in crate::proxy) fn authority_of(to: &Destination, agent: &Target) -> uri::Authority {
    let text = to.authority.in_url(to.scheme);
    text.parse().unwrap_or_else(|_| agent.authority.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, base: &str, path: &str, expected: Option<&str>) {
        let base: Base = base.parse().unwrap();
        let actual = Written::parse(text).map(|written| written.at(&base, path));
        assert_eq!(actual.as_deref(), expected, "{text:?} at {base:?}");
    }

    #[test]
    fn the_form_of_an_address_is_kept() {
        let base = "http://proxy.test:8100";
        check("agent.test:50051", base, "/", Some("proxy.test:8100"));
        check("agent.test:50051/", base, "/", Some("proxy.test:8100/"));
        check("[2001:db8::7]:50051", base, "/", Some("proxy.test:8100"));
        check("dns:///agent.test:50051", base, "/", Some("dns:///proxy.test:8100"));
        check("grpc://agent.test:50051", base, "/", Some("grpc://proxy.test:8100"));
        check("grpcs://agent.test", base, "/", Some("grpc://proxy.test:8100"));
        check("http://agent.test:50051", base, "/", Some("http://proxy.test:8100"));
        check("http://agent.test/", base, "/", Some("http://proxy.test:8100/"));
        check("http://agent.test/rpc/", base, "/rpc/", Some("http://proxy.test:8100/rpc/"));
        check("HTTP://Agent.Test/x#y", base, "/x#y", Some("http://proxy.test:8100/x#y"));
        check("http://u:p@agent.test/x", base, "/x", Some("http://u:p@proxy.test:8100/x"));
        check("dns:agent.test:50051", base, "/", Some("dns:proxy.test:8100"));
        check("DNS:///agent.test", base, "/", Some("DNS:///proxy.test:8100"));
        check("dns://10.0.0.1/agent.test:1", base, "/", Some("dns://10.0.0.1/proxy.test:8100"));
        check("passthrough:///agent.test:1", base, "/", Some("passthrough:///proxy.test:8100"));
        check("ipv4:10.0.0.1:1", base, "/", Some("dns:///proxy.test:8100"));
        check("ipv4:10.0.0.1:1", "http://10.0.0.2:3", "/", Some("ipv4:10.0.0.2:3"));
        check("ipv6:[::1]:1", "http://[::2]:3", "/", Some("ipv6:[::2]:3"));
    }

    #[test]
    fn a_host_alone_is_an_address_for_grpc_only() {
        assert_eq!(Written::parse("agent.test"), None);
        let written = Written::parse_grpc("agent.test").unwrap();
        assert_eq!(written.authority.to_string(), "agent.test:443");
        for text in ["a2a/v1", "/a2a", "", "?x", "unix:///run/a"] {
            assert_eq!(Written::parse_grpc(text), None, "{text:?}");
        }
    }

    #[test]
    fn scheme_and_port_follow_the_listener() {
        check("grpc://a.test:1", "https://p.test:8443", "/", Some("grpcs://p.test:8443"));
        check("http://a.test:1/x", "https://p.test", "/x", Some("https://p.test/x"));
        check("a.test:1", "https://p.test", "/", Some("p.test:443"));
        check("https://a.test/x", "http://p.test:1/base/", "/x", Some("http://p.test:1/base/x"));
    }

    #[test]
    fn relative_addresses_and_other_things_are_no_addresses() {
        for text in [
            "/a2a/v1",
            "a2a/v1",
            "./rpc",
            "//agent.test:9000/rpc",
            "?agent=7",
            "",
            "ftp://a/",
            "ws://a",
        ] {
            assert_eq!(Written::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_path_of_our_own_names_the_whole_address() {
        let to = Destination {
            scheme: Scheme::Https,
            authority: Authority::parse("[::1]:9", 443).unwrap(),
        };
        assert_eq!(path_to(&to, "/x?y"), "/.meddler/to/https/%5B::1%5D:9/x?y");
    }
}
