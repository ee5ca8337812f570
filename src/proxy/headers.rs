//! Which header fields belong to a connection and are not passed on (RFC 9110, section 7.6.1).
//!
//! `HeaderMap` moves its last field into the place of a removed one, so fields are removed by building
//! the map anew, in order; and only when there is something to remove. `Connection: keep-alive` alone
//! says what is true of our own connection as well, so it stays, and most messages need no change.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{StatusCode, Version};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// Always of one connection.
static HOP_BY_HOP: [HeaderName; 6] = [
    KEEP_ALIVE,
    PROXY_CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    UPGRADE,
    HTTP2_SETTINGS,
];

/// Removes what must not be passed on to a message of version `to`. Gives the fields that would have
/// been passed on otherwise: those that `Connection` nominated, and a length beside a transfer coding,
/// which has no meaning (RFC 9112, section 6.3) and which hyper refuses to write.
pub(super) fn strip(headers: &mut HeaderMap, to: Version) -> Vec<(HeaderName, HeaderValue)> {
    let nominated = nominated(headers);
    let is_coded = headers.get_all(TRANSFER_ENCODING).iter().any(|value| !says_identity(value));
    let must_go = |name: &HeaderName, value: &HeaderValue| match name {
        name if *name == CONNECTION => to == Version::HTTP_2 || !says_keep_alive_only(value),
        name if *name == TRANSFER_ENCODING => to == Version::HTTP_2 || says_identity(value),
        name if *name == CONTENT_LENGTH && is_coded => true,
        name if *name == TE => value.as_bytes() != b"trailers",
        name => HOP_BY_HOP.contains(name) || nominated.contains(name),
    };
    let mut dropped = Vec::new();
    if headers.iter().any(|(name, value)| must_go(name, value)) {
        let asks_for_trailers = asks_for_trailers(headers);
        let mut kept = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers.iter() {
            if !must_go(name, value) {
                kept.append(name, value.clone());
            } else if *name == TE && asks_for_trailers && !kept.contains_key(TE) {
                kept.append(TE, HeaderValue::from_static("trailers"));
            } else if *name == CONTENT_LENGTH
                || (nominated.contains(name) && !HOP_BY_HOP.contains(name))
            {
                dropped.push((name.clone(), value.clone()));
            }
        }
        *headers = kept;
    }
    dropped
}

/// Removes fields by name, keeping the order of the others.
pub(super) fn remove(headers: &mut HeaderMap, names: &[HeaderName]) {
    if names.iter().any(|name| headers.contains_key(name)) {
        let kept = headers.iter().filter(|(name, _)| !names.contains(name));
        *headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    }
}

/// Whether a request of HTTP/1.1 or 2 names one host and only one, as it must.
pub(super) fn has_one_host(headers: &HeaderMap, authority: Option<&str>, version: Version) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (first, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return false;
    }
    let is_plain = |host: &HeaderValue| {
        !host.as_bytes().iter().any(|octet| matches!(octet, b',' | b' ' | b'/' | b'@' | b'?'))
    };
    match (first, version) {
        (None, Version::HTTP_11) => authority.is_some(),
        (None, _) => true,
        // HTTP/2 may say it twice, but not two things.
        (Some(host), Version::HTTP_2) => {
            authority.is_none_or(|authority| host.as_bytes() == authority.as_bytes())
        }
        (Some(host), _) => is_plain(host),
    }
}

/// Whether an answer has a length although it has no body: hyper would drop the field.
pub(super) fn keeps_length(head: &http::response::Parts, to: Version) -> bool {
    matches!(head.status, StatusCode::NOT_MODIFIED | StatusCode::NO_CONTENT)
        && to != Version::HTTP_2
        && head.headers.contains_key(CONTENT_LENGTH)
}

/// Joins the cookies that HTTP/2 may send in several fields, as HTTP/1.1 must not (RFC 9113, 8.2.3).
pub(super) fn join_cookies(headers: &mut HeaderMap) {
    let mut cookies = headers.get_all(http::header::COOKIE).iter();
    if let (Some(first), Some(second)) = (cookies.next(), cookies.next()) {
        let all = [first, second].into_iter().chain(cookies).map(HeaderValue::as_bytes);
        let joined = all.collect::<Vec<_>>().join(&b"; "[..]);
        if let Ok(joined) = HeaderValue::from_bytes(&joined) {
            headers.insert(http::header::COOKIE, joined);
        }
    }
}

fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    let mut names = Vec::new();
    for value in headers.get_all(CONNECTION) {
        for token in value.as_bytes().split(|octet| *octet == b',') {
            let token = token.trim_ascii();
            let is_plain =
                token.eq_ignore_ascii_case(b"keep-alive") || token.eq_ignore_ascii_case(b"close");
            if !is_plain && let Ok(name) = HeaderName::from_bytes(token) {
                names.push(name);
            }
        }
    }
    names
}

fn says_keep_alive_only(value: &HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"keep-alive")
}

/// The coding of HTTP of 1997 that is none.
fn says_identity(value: &HeaderValue) -> bool {
    value.as_bytes().eq_ignore_ascii_case(b"identity")
}

fn asks_for_trailers(headers: &HeaderMap) -> bool {
    headers.get_all(TE).iter().any(|value| {
        value
            .as_bytes()
            .split(|octet| *octet == b',')
            .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"trailers"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in fields {
            map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        map
    }

    #[track_caller]
    fn check(fields: &[(&str, &str)], to: Version, expected: &[&str], dropped: &[&str]) {
        let mut map = headers(fields);
        let named = strip(&mut map, to);
        let left: Vec<String> = map
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(left, expected);
        let named: Vec<_> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, dropped);
    }

    #[test]
    fn fields_of_one_connection_stay_on_it_and_the_others_keep_their_order() {
        check(
            &[
                ("connection", "keep-alive, X-Debug, A2A-Version"),
                ("x-debug", "1"),
                ("a2a-version", "1.0"),
                ("keep-alive", "timeout=5"),
                ("x-first", "1"),
                ("proxy-connection", "keep-alive"),
                ("proxy-authorization", "Basic eDp5"),
                ("upgrade-insecure-requests", "1"),
                ("transfer-encoding", "chunked"),
                ("x-last", "2"),
            ],
            Version::HTTP_11,
            &[
                "x-first: 1",
                "upgrade-insecure-requests: 1",
                "transfer-encoding: chunked",
                "x-last: 2",
            ],
            &["x-debug", "a2a-version"],
        );
    }

    #[test]
    fn a_plain_keep_alive_is_true_of_our_connection_too() {
        let fields = [("connection", "Keep-Alive"), ("x", "1")];
        check(&fields, Version::HTTP_11, &["connection: Keep-Alive", "x: 1"], &[]);
        check(&fields, Version::HTTP_2, &["x: 1"], &[]);
        check(&[("connection", "close"), ("x", "1")], Version::HTTP_11, &["x: 1"], &[]);
    }

    #[test]
    fn of_te_only_trailers_passes() {
        check(&[("te", "trailers")], Version::HTTP_2, &["te: trailers"], &[]);
        check(&[("te", "gzip, trailers;q=1, Trailers")], Version::HTTP_11, &["te: trailers"], &[]);
        check(&[("te", "deflate")], Version::HTTP_11, &[], &[]);
    }

    #[test]
    fn a_length_beside_a_transfer_coding_does_not_count() {
        let both = [("content-length", "3"), ("transfer-encoding", "chunked"), ("x", "1")];
        let kept = ["transfer-encoding: chunked", "x: 1"];
        check(&both, Version::HTTP_11, &kept, &["content-length"]);
        check(&both, Version::HTTP_2, &["x: 1"], &["content-length"]);
        let none = [("content-length", "3"), ("transfer-encoding", "Identity")];
        check(&none, Version::HTTP_11, &["content-length: 3"], &[]);
    }

    #[test]
    fn a_request_names_one_host() {
        for (fields, authority, version, expected) in [
            (&[("host", "a.test:1")][..], None, Version::HTTP_11, true),
            (&[("host", "a.test, evil.test")], None, Version::HTTP_11, false),
            (&[("host", "a"), ("host", "b")], None, Version::HTTP_11, false),
            (&[], None, Version::HTTP_11, false),
            (&[], None, Version::HTTP_10, true),
            (&[], Some("a.test"), Version::HTTP_2, true),
            (&[("host", "b.test")], Some("a.test"), Version::HTTP_2, false),
            (&[("host", "a.test")], Some("a.test"), Version::HTTP_2, true),
        ] {
            let actual = has_one_host(&headers(fields), authority, version);
            assert_eq!(actual, expected, "{fields:?} {authority:?} {version:?}");
        }
    }

    #[test]
    fn cookies_of_http2_are_one_field_in_http1() {
        let mut map = headers(&[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        join_cookies(&mut map);
        assert_eq!(map.get_all("cookie").iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
    }
}
