//! A webhook's address, read: where it is dialled, with which path.

use http::uri::PathAndQuery;

use crate::a2a::webhook;
use crate::net::addr::{Authority, Scheme};
use crate::net::dial::Destination;
use crate::proxy::push::token::Token;
use crate::proxy::target::Base;

/// The address of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) to: Destination,
    /// Path and query, as written.
    path: PathAndQuery,
    /// What stands before `@`: agents make credentials of it.
    userinfo: Option<String>,
}

impl Target {
    /// Reads an address. `None`: it is none that could be called.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = Scheme::parse(scheme)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let (userinfo, host) = match authority.rsplit_once('@') {
            Some((userinfo, host)) => (Some(userinfo.to_owned()), host),
            None => (None, authority),
        };
        let authority = Authority::parse(host, scheme.default_port())?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let path = PathAndQuery::try_from(path).ok()?;
        Some(Self { to: Destination { scheme, authority }, path, userinfo })
    }

    /// The address of ours that stands for it: whoever makes credentials of an address makes the same.
    pub(super) fn given(&self, base: &Base, token: &Token) -> String {
        let userinfo = self.userinfo.as_ref().map(|it| format!("{it}@")).unwrap_or_default();
        let authority = base.authority.in_url(base.scheme);
        let (scheme, path) = (base.scheme.as_str(), &base.path);
        format!("{scheme}://{userinfo}{authority}{path}{}{}", webhook::PATH, token.as_str())
    }

    /// Path and query of a delivery; the agent may have added a query of its own.
    pub(super) fn path(&self, added: Option<&str>) -> Option<PathAndQuery> {
        let Some(added) = added else { return Some(self.path.clone()) };
        let mark = if self.path.query().is_some() { '&' } else { '?' };
        PathAndQuery::try_from(format!("{}{mark}{added}", self.path)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, added: Option<&str>, expected: Option<&str>) {
        let actual = Target::parse(url)
            .map(|target| format!("{} {}", target.to, target.path(added).unwrap()));
        assert_eq!(actual.as_deref(), expected, "{url}");
    }

    #[test]
    fn an_address_is_called_as_it_is_written() {
        check("https://Client.test/hook?k=1", None, Some("https://client.test /hook?k=1"));
        check("http://client.test:80?k=1#frag", None, Some("http://client.test /?k=1"));
        check("http://[::1]:4555", None, Some("http://[::1]:4555 /"));
        check("http://u:p@client.test/x", Some("v=2"), Some("http://client.test /x?v=2"));
        check("http://client.test/x?k=1", Some("v=2"), Some("http://client.test /x?k=1&v=2"));
        for url in ["", "/hook", "ftp://a/x", "http://", "http://a b/", "mailto:a@b.test"] {
            check(url, None, None);
        }
    }

    #[test]
    fn credentials_stay_in_the_address_that_is_given() {
        let token = Token::draw();
        let base: Base = "https://p.test:444/base/".parse().unwrap();
        let given = Target::parse("http://u:p@client.test/x").unwrap().given(&base, &token);
        let expected = format!("https://u:p@p.test:444/base/.meddler/push/{}", token.as_str());
        assert_eq!(given, expected);
    }
}
