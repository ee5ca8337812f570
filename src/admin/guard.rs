//! Who may ask: the checks in front of every route.
//!
//! On loopback there is no password, so the browser is the way in: a page anywhere on the web may
//! make requests to 127.0.0.1, directly or by a name that is rebound to it. Such requests give
//! themselves away by `Origin` or `Host`.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};

use super::config::Token;
use super::problem::Problem;

/// What a caller has to show.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) token: Option<Token>,
}

/// Routes that a probe may call with whatever `Host` it likes and without a token: they tell nothing.
const OPEN: &[&str] = &["/healthz", "/readyz"];

impl Guard {
    fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<Problem> {
        if OPEN.contains(&uri.path()) {
            return None;
        }
        let host = uri
            .authority()
            .map(http::uri::Authority::as_str)
            .or_else(|| headers.get(header::HOST).and_then(|host| host.to_str().ok()));
        let Some(host) = host else {
            return Some(Problem::new(StatusCode::BAD_REQUEST, "the request has no Host"));
        };
        if let Some(origin) = headers.get(header::ORIGIN)
            && !is_same(origin, host)
        {
            return Some(Problem::new(StatusCode::FORBIDDEN, "asked by a page of another origin"));
        }
        match &self.token {
            None if !is_here(host) => {
                let detail = format!("`{host}` is not this machine's own name");
                Some(
                    Problem::new(StatusCode::FORBIDDEN, detail)
                        .with_hint("call 127.0.0.1 or localhost, or set `admin.token`"),
                )
            }
            Some(token) if !shows(headers, token) => Some(
                Problem::new(StatusCode::UNAUTHORIZED, "this daemon asks for its token")
                    .with_hint("send `Authorization: Bearer TOKEN`, or set MEDDLER_ADMIN_TOKEN"),
            ),
            None | Some(_) => None,
        }
    }
}

/// The layer before all routes.
pub(super) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.refusal(request.uri(), request.headers()) {
        None => next.run(request).await,
        Some(problem) => {
            let mut response = problem.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                let scheme = HeaderValue::from_static("Bearer realm=\"meddler\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            }
            response
        }
    }
}

fn is_same(origin: &HeaderValue, host: &str) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
}

/// Whether a `Host` can only mean this machine: a name that no DNS server answers for, or an address.
fn is_here(host: &str) -> bool {
    let Ok(authority) = host.parse::<http::uri::Authority>() else { return false };
    let name = authority.host();
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
}

fn shows(headers: &HeaderMap, token: &Token) -> bool {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match shown.and_then(|shown| shown.split_once(' ')) {
        Some((scheme, shown)) => {
            scheme.eq_ignore_ascii_case("bearer") && token.matches(shown.trim())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(token: Option<&str>, path: &str, headers: &[(&str, &str)], expected: Option<u16>) {
        let guard = Guard { token: token.map(|token| token.parse().unwrap()) };
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let refusal = guard.refusal(&path.parse().unwrap(), &map);
        let status = refusal.map(|problem| problem.into_response().status().as_u16());
        assert_eq!(status, expected, "{path} with {headers:?} and token {token:?}");
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let host = ("host", "127.0.0.1:7071");
        check(None, "/delegations", &[host], None);
        check(None, "/delegations", &[host, ("origin", "http://127.0.0.1:7071")], None);
        check(None, "/delegations", &[host, ("origin", "http://evil.test")], Some(403));
        check(None, "/delegations", &[host, ("origin", "null")], Some(403));
    }

    #[test]
    fn a_rebound_name_is_refused() {
        check(None, "/delegations", &[("host", "evil.test:7071")], Some(403));
        check(None, "/delegations", &[("host", "localhost:7071")], None);
        check(None, "/delegations", &[("host", "[::1]:7071")], None);
        check(None, "/delegations", &[], Some(400));
    }

    #[test]
    fn a_token_is_asked_for_when_there_is_one() {
        let host = ("host", "meddler:7071");
        check(Some("t0ken"), "/flush", &[host], Some(401));
        check(Some("t0ken"), "/flush", &[host, ("authorization", "Bearer other")], Some(401));
        check(Some("t0ken"), "/flush", &[host, ("authorization", "bearer t0ken")], None);
    }

    #[test]
    fn probes_need_nothing() {
        check(Some("t0ken"), "/healthz", &[("host", "10.0.0.7:7071")], None);
        check(None, "/readyz", &[("host", "pod.cluster.local")], None);
    }
}
