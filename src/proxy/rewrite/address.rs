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

const DNS: &str = "dns:///";
const GRPC_DEFAULT_PORT: u16 = 443;

/// An address as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written<'a> {
    pub(super) style: Style,
    pub(super) authority: Authority,
    /// Path and query, as written; may be empty.
    pub(super) rest: &'a str,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `host:port`
    Bare,
    /// `dns:///host:port`
    Dns,
    /// `http://` or `https://`
    Url(Scheme),
    /// `grpc://` or `grpcs://`
    Grpc(Scheme),
}

impl<'a> Written<'a> {
    /// Reads an address. `None` for a relative one, and for what is no address.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix(DNS) {
            return Self::with(Style::Dns, rest, GRPC_DEFAULT_PORT);
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
                Style::Grpc(_) | Style::Bare | Style::Dns => GRPC_DEFAULT_PORT,
            };
            return Self::with(style, rest, port);
        }
        let written = Self::with(Style::Bare, text, 0)?;
        // Without a port it is a relative address: `a2a/v1`.
        (written.authority.port() != 0).then_some(written)
    }

    fn with(style: Style, text: &'a str, default_port: u16) -> Option<Self> {
        let end = text.find(['/', '?', '#']).unwrap_or(text.len());
        let (authority, rest) = text.split_at_checked(end)?;
        let authority = Authority::parse(authority, default_port)?;
        Some(Self { style, authority, rest })
    }

    /// The scheme to dial with; where the style does not say, the agent's own.
    pub(super) fn dial_scheme(&self, agent: &Target) -> Scheme {
        match self.style {
            Style::Url(scheme) | Style::Grpc(scheme) => scheme,
            Style::Bare | Style::Dns => agent.to.scheme,
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
        match self.style {
            Style::Bare => format!("{}{}", base.authority, self.rest),
            Style::Dns => format!("{DNS}{}{}", base.authority, self.rest),
            Style::Grpc(_) => {
                let scheme = match base.scheme {
                    Scheme::Http => "grpc",
                    Scheme::Https => "grpcs",
                };
                format!("{scheme}://{}{}", base.authority, self.rest)
            }
            Style::Url(_) => {
                let (scheme, authority) =
                    (base.scheme.as_str(), base.authority.in_url(base.scheme));
                format!("{scheme}://{authority}{}{root}", base.path)
            }
        }
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
