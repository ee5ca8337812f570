//! Where an agent is (`forward:`) and what Meddler is reached by (`advertise:`), and the rule of paths
//! between them: `/x` leads to `<forward>/x`, and `/` to `<forward>` exactly as written.

use std::fmt;
use std::str::FromStr;

use http::uri::PathAndQuery;
use serde::{Deserialize, Deserializer};

use crate::net::addr::{Authority, Scheme};
use crate::net::dial::Destination;

/// Names under which a card is found, below an origin or a base path.
pub(super) const WELL_KNOWN: &[&str] = &["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// `forward:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Scheme, host and port.
    pub to: Destination,
    /// What `Host` and `:authority` say: as written.
    pub authority: http::uri::Authority,
    /// The path and query as written; `/` when none is.
    pub exactly: PathAndQuery,
    /// What the agent speaks.
    pub speaks: Speaks,
    /// The path without its last slash: what other paths are put below. Empty for the root.
    base: String,
}

/// What an agent speaks at its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// HTTP, and gRPC where its card says.
    Http,
    /// gRPC only: `grpc://`, `grpcs://`.
    Grpc,
}

/// What Meddler is reached by: scheme, authority, and a path prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The scheme.
    pub scheme: Scheme,
    /// Host and port.
    pub authority: Authority,
    /// The path without its last slash; empty for the root.
    pub path: String,
}

impl Target {
    /// The path and query at the agent for those of a request to Meddler. `None` when the two together
    /// are longer than an address can be.
    pub fn path_for(&self, asked: Option<&PathAndQuery>) -> Option<PathAndQuery> {
        let Some(asked) = asked else { return Some(self.exactly.clone()) };
        if asked.path() == "/" {
            return match asked.query() {
                None => Some(self.exactly.clone()),
                Some(query) => join(self.exactly.path(), "", Some(query)),
            };
        }
        // `OPTIONS *` asks about the whole server: there is nothing below it.
        if self.base.is_empty() || asked.path() == "*" {
            return Some(asked.clone());
        }
        join(&self.base, asked.path(), asked.query())
    }

    /// The path at Meddler that leads to this path (query included) of the agent, or `None` when no
    /// path below `forward` does.
    pub fn path_from(&self, path: &str) -> Option<String> {
        if path == self.exactly.as_str() {
            return Some("/".to_owned());
        }
        let rest = path.strip_prefix(&self.base)?;
        // `/` alone is taken by `forward` itself, and `?` after a base would begin a query of `/`.
        (rest.starts_with('/') && rest != "/" && !rest.starts_with("/?")).then(|| rest.to_owned())
    }

    /// How much of a path it has: of two that a path lies below, the longer one means it more.
    pub(super) fn base_len(&self) -> usize {
        self.base.len()
    }

    /// Whether it has a path, so that a card may lie above it.
    pub fn is_below_origin(&self) -> bool {
        !self.base.is_empty()
    }
}

fn join(base: &str, path: &str, query: Option<&str>) -> Option<PathAndQuery> {
    let mut joined = String::with_capacity(base.len() + path.len() + 1);
    joined.push_str(base);
    joined.push_str(path);
    if let Some(query) = query {
        joined.push('?');
        joined.push_str(query);
    }
    PathAndQuery::try_from(joined).ok()
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` is no address of an agent: {why}");
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| wrong("write it with its scheme, `http://host:port/path`"))?;
        let (scheme, speaks) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, Speaks::Http),
            "https" => (Scheme::Https, Speaks::Http),
            "grpc" => (Scheme::Http, Speaks::Grpc),
            "grpcs" => (Scheme::Https, Speaks::Grpc),
            _ => return Err(wrong("the scheme must be http, https, grpc or grpcs")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority_text, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if authority_text.contains('@') {
            return Err(wrong("credentials do not belong in it; use `headers:`"));
        }
        if path.contains('#') {
            return Err(wrong("it must have no fragment"));
        }
        let path = card_folder(path).map_err(|why| wrong(&why))?;
        let authority = Authority::parse(authority_text, scheme.default_port())
            .ok_or_else(|| wrong("host or port cannot be read"))?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let exactly = PathAndQuery::try_from(path.as_str())
            .map_err(|_| wrong("its path has a character that must be percent-encoded"))?;
        if speaks == Speaks::Grpc && exactly.path() != "/" {
            return Err(wrong("a gRPC address has no path"));
        }
        let base = exactly.path().strip_suffix('/').unwrap_or(exactly.path()).to_owned();
        let as_written =
            authority_text.parse().map_err(|_| wrong("host or port cannot be read"))?;
        let to = Destination { scheme, authority };
        Ok(Self { to, authority: as_written, exactly, speaks, base })
    }
}

/// The path below which a card lies, when the path is a card's; the path itself when it is none.
fn card_folder(path: &str) -> Result<&str, String> {
    for name in WELL_KNOWN {
        if let Some(folder) = path.trim_end_matches('/').strip_suffix(name) {
            return Ok(folder);
        }
    }
    let is_file =
        path.split('?').next().is_some_and(|path| path.to_ascii_lowercase().ends_with(".json"));
    if is_file {
        return Err("it looks like the address of a card; give the address that is called".into());
    }
    Ok(path)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.to.scheme.as_str(), self.authority, self.exactly)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no address to be reached by; write `http://host:port`");
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let scheme = Scheme::parse(scheme).ok_or_else(wrong)?;
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at_checked(slash).ok_or_else(wrong)?,
            None => (rest, ""),
        };
        if path.contains(['?', '#']) {
            return Err(wrong());
        }
        let authority = Authority::parse(authority, scheme.default_port()).ok_or_else(wrong)?;
        Ok(Self { scheme, authority, path: path.trim_end_matches('/').to_owned() })
    }
}

impl<'de> Deserialize<'de> for Base {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_forward(forward: &str, asked: &str, expected: &str) {
        let target: Target = forward.parse().unwrap();
        let asked: PathAndQuery = asked.parse().unwrap();
        let actual = target.path_for(Some(&asked)).unwrap();
        assert_eq!(actual.as_str(), expected, "{forward} asked {asked}");
    }

    #[test]
    fn a_path_goes_below_forward_and_the_root_is_forward_itself() {
        check_forward("http://a.test", "/", "/");
        check_forward("http://a.test", "/x?y=1", "/x?y=1");
        check_forward("http://a.test/", "//rpc", "//rpc");
        check_forward("http://a.test/a2a", "/", "/a2a");
        check_forward("http://a.test/a2a", "/?v=1", "/a2a?v=1");
        check_forward("http://a.test/a2a/", "/", "/a2a/");
        check_forward("http://a.test/a2a", "/tasks/1:cancel", "/a2a/tasks/1:cancel");
        check_forward("http://a.test/a2a/", "/tasks", "/a2a/tasks");
        check_forward("http://a.test/a2a", "//", "/a2a//");
        check_forward("http://a.test/x?agent=7", "/", "/x?agent=7");
        check_forward("http://a.test/a2a", "*", "*");
    }

    #[track_caller]
    fn check_back(forward: &str, path: &str, expected: Option<&str>) {
        let target: Target = forward.parse().unwrap();
        assert_eq!(target.path_from(path).as_deref(), expected, "{forward} from {path}");
        if let Some(back) = expected {
            let back: PathAndQuery = back.parse().unwrap();
            assert_eq!(target.path_for(Some(&back)).unwrap().as_str(), path, "the way back");
        }
    }

    #[test]
    fn every_path_that_is_given_out_leads_back_to_what_was_written() {
        check_back("http://a.test", "/", Some("/"));
        check_back("http://a.test", "/rpc/", Some("/rpc/"));
        check_back("http://a.test/svc", "/svc", Some("/"));
        check_back("http://a.test/svc", "/svc/rest", Some("/rest"));
        check_back("http://a.test/svc", "/svc/", None);
        check_back("http://a.test/svc/", "/svc/", Some("/"));
        check_back("http://a.test/svc/", "/svc", None);
        check_back("http://a.test/svc", "/other", None);
        check_back("http://a.test/svc", "/svcx", None);
        check_back("http://a.test/svc", "/svc/rest?x=1", Some("/rest?x=1"));
    }

    #[track_caller]
    fn check_target(text: &str, expected: Result<&str, &str>) {
        let actual = text.parse::<Target>().map(|target| target.to_string());
        assert_eq!(actual.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn the_address_of_a_card_is_told_from_a_path_that_only_looks_like_one() {
        check_target("http://a.test:9000/.well-known/agent-card.json", Ok("http://a.test:9000/"));
        check_target("http://a.test/x/.well-known/agent.json/", Ok("http://a.test/x"));
        let refused = "it looks like the address of a card; give the address that is called";
        for text in
            ["http://a.test/custom/card.json", "http://a.test/my-well-known/agent-card.json"]
        {
            let expected = format!("`{text}` is no address of an agent: {refused}");
            check_target(text, Err(&expected));
        }
    }

    #[test]
    fn what_cannot_be_forwarded_to_is_refused_with_the_reason() {
        for (text, why) in [
            ("agent.test:9000", "write it with its scheme, `http://host:port/path`"),
            ("ftp://a", "the scheme must be http, https, grpc or grpcs"),
            ("http://u:p@a", "credentials do not belong in it; use `headers:`"),
            ("http://:80", "host or port cannot be read"),
            ("grpc://a:1/x", "a gRPC address has no path"),
        ] {
            check_target(text, Err(&format!("`{text}` is no address of an agent: {why}")));
        }
    }
}
