//! By what address the orchestrator reached Meddler: what goes into the cards it is given.
//!
//! Noted for every request, worked out for the few that need it.

use http::header::{FORWARDED, HOST, HeaderValue};
use http::request::Parts;
use http::uri;

use crate::net::addr::{Authority, Scheme};
use crate::proxy::config::Forwarded;
use crate::proxy::exchange::Connection;
use crate::proxy::target::Base;

/// What a request says of the address it was sent to.
#[derive(Debug)]
pub(super) struct Called {
    authority: Option<uri::Authority>,
    host: Option<HeaderValue>,
    forwarded: Option<HeaderValue>,
}

impl Called {
    /// By this head, before it is changed.
    pub(super) fn by(parts: &Parts) -> Self {
        Self {
            authority: parts.uri.authority().cloned(),
            host: parts.headers.get(HOST).cloned(),
            forwarded: parts.headers.get(FORWARDED).cloned(),
        }
    }

    /// What the configuration says, else what a proxy before us says, else what was written.
    pub(super) fn base(&self, conn: &Connection) -> Base {
        let agent = &conn.agent;
        if let Some(base) = &agent.config.advertise {
            return base.clone();
        }
        let scheme = conn.scheme;
        let forwarded = self.forwarded.as_ref().and_then(|value| value.to_str().ok());
        if let Some((scheme, authority)) = forwarded.and_then(|text| forwarded_host(text, scheme)) {
            return Base { scheme, authority, path: String::new() };
        }
        let host = self.host.as_ref().and_then(|host| host.to_str().ok());
        let authority = self
            .authority
            .as_ref()
            .map(uri::Authority::as_str)
            .or(host)
            .and_then(|text| Authority::parse(text, scheme.default_port()))
            .or_else(|| agent.listen.get().map(|addr| Authority::of_ip(addr.ip(), addr.port())))
            .unwrap_or_else(|| Authority::of_ip(conn.peer.ip(), 0));
        Base { scheme, authority, path: String::new() }
    }
}

/// Tells the agent who called, where it is configured to be told.
pub(super) fn add_forwarded(conn: &Connection, parts: &mut Parts) {
    let kind = conn.agent.config.forwarded;
    if kind == Forwarded::None {
        return;
    }
    let base = Called::by(parts).base(conn);
    let host = base.authority.in_url(base.scheme);
    let proto = base.scheme.as_str();
    let ip = conn.peer.ip();
    let fields = match kind {
        Forwarded::None => return,
        Forwarded::Forwarded => {
            let node = if ip.is_ipv6() { format!("\"[{ip}]\"") } else { ip.to_string() };
            vec![("forwarded", format!("for={node};host=\"{host}\";proto={proto}"))]
        }
        Forwarded::XForwarded => vec![
            ("x-forwarded-for", ip.to_string()),
            ("x-forwarded-host", host),
            ("x-forwarded-proto", proto.to_owned()),
        ],
    };
    for (name, value) in fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            // What stands there already is kept: a list grows at its end.
            parts.headers.append(name, value);
        }
    }
}

/// `Forwarded: host=...;proto=...` of the proxy nearest to the client.
fn forwarded_host(text: &str, listener: Scheme) -> Option<(Scheme, Authority)> {
    let mut host = None;
    let mut scheme = listener;
    for pair in text.split(',').next()?.split(';') {
        let (key, value) = pair.split_once('=')?;
        let value = value.trim().trim_matches('"');
        if key.trim().eq_ignore_ascii_case("host") {
            host = Some(value);
        } else if key.trim().eq_ignore_ascii_case("proto") {
            scheme = Scheme::parse(value)?;
        }
    }
    Some((scheme, Authority::parse(host?, scheme.default_port())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proxy_nearest_to_the_client_is_believed() {
        for (text, expected) in [
            ("for=1.2.3.4;host=\"a.test:81\";proto=https, host=b", Some("https a.test:81")),
            ("host=a.test", Some("http a.test:80")),
            ("for=1.2.3.4", None),
            ("host=a b", None),
        ] {
            let actual = forwarded_host(text, Scheme::Http)
                .map(|(scheme, authority)| format!("{} {authority}", scheme.as_str()));
            assert_eq!(actual.as_deref(), expected, "{text}");
        }
    }
}
