//! Where secrets stand: header fields, query parameters, JSON members, by their names.

use std::ops::Range;

use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::{percent_decode, percent_decode_str};

use crate::a2a::webhook;

/// Senders forget the padding.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Header fields whose value is a secret as a whole, or after its scheme. Lower case.
const HEADERS: &[(&str, &str)] = &[
    ("authorization", "authorization"),
    ("cookie", "cookie"),
    ("proxy-authorization", "authorization"),
    ("set-cookie", "cookie"),
    ("x-a2a-notification-token", "push_token"),
];

/// What makes a header field's name look like a key's, hyphens and underscores left out.
const HEADER_WORDS: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "authkey",
    "authorization",
    "authtoken",
    "bearer",
    "clientsecret",
    "credential",
    "functionskey",
    "jwt",
    "passphrase",
    "passwd",
    "password",
    "privatetoken",
    "secret",
    "securitytoken",
    "sessiontoken",
    "subscriptionkey",
    "vaulttoken",
];

/// What the name of a header field may end in that makes it a key's.
const HEADER_ENDINGS: &[&str] = &["token", "xauth", "authentication"];

/// Fields that a card may not declare a secret: without them nothing can be read any more.
const NEVER: &[&str] = &[
    "a2a-extensions",
    "a2a-version",
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "host",
    "te",
    "traceparent",
    "transfer-encoding",
    "user-agent",
];

/// Words before credentials that may be read.
const SCHEMES: &[&str] = &[
    "apikey",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "digest",
    "dpop",
    "gnap",
    "hoba",
    "mutual",
    "negotiate",
    "ntlm",
    "privatetoken",
    "scram-sha-1",
    "scram-sha-256",
    "token",
    "vapid",
];

/// Parameters of `Authorization` that are secret by themselves.
const SECRET_PARAMETERS: &[&[u8]] =
    &[b"access_token", b"cnonce", b"credential", b"key", b"response", b"signature", b"token"];

/// Query parameters beside those that are named like a JSON member that holds a secret. Hyphens and
/// underscores left out. Lower case.
const QUERY: &[&str] = &[
    "assertion",
    "auth",
    "clientassertion",
    "code",
    "key",
    "samlresponse",
    "sig",
    "signature",
    "subscriptionkey",
    "xamzcredential",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
];

/// JSON members, hyphens and underscores left out, and the kind of what they hold. Lower case.
const MEMBERS: &[(&str, &str)] = &[
    ("accesskey", "api_key"),
    ("apikey", "api_key"),
    ("authcode", "credentials"),
    ("authorization", "authorization"),
    ("authorizationcode", "credentials"),
    ("bearer", "credentials"),
    ("codeverifier", "credentials"),
    ("cookie", "cookie"),
    ("credential", "credentials"),
    ("credentials", "credentials"),
    ("devicecode", "credentials"),
    ("jwt", "credentials"),
    ("passphrase", "credentials"),
    ("passwd", "credentials"),
    ("password", "credentials"),
    ("privatekey", "credentials"),
    ("proxyauthorization", "authorization"),
    ("pwd", "credentials"),
    ("secret", "credentials"),
    ("secretaccesskey", "credentials"),
    ("secretkey", "credentials"),
    ("setcookie", "cookie"),
    ("signingkey", "credentials"),
    ("token", "push_token"),
    ("usercode", "credentials"),
    ("xa2anotificationtoken", "push_token"),
    ("xapikey", "api_key"),
];

/// What stands before `token` or `secret` in the name of a member that holds one. A list, because
/// `pageToken` and `maxToken` hold none.
const OF_TOKENS: &[&str] = &[
    "access",
    "api",
    "app",
    "auth",
    "bearer",
    "bot",
    "client",
    "csrf",
    "id",
    "notification",
    "oauth",
    "push",
    "refresh",
    "security",
    "session",
    "shared",
    "signing",
    "webhook",
    "xamzsecurity",
    "xsrf",
];

/// A secret within a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secret {
    /// Its octets in the value.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) kind: &'static str,
}

/// The name without hyphens and underscores, in lower case.
pub(super) fn plain_name(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Whether [`plain_name`] of the name is this. Without an allocation: it is asked of every member.
fn is_plainly(name: &str, plain: &str) -> bool {
    let letters = name.bytes().filter(|octet| !matches!(octet, b'-' | b'_'));
    letters.map(|octet| octet.to_ascii_lowercase()).eq(plain.bytes())
}

/// What a header field of this name holds, if it is a secret.
pub(super) fn header_kind(name: &str) -> Option<&'static str> {
    if is_never(name) {
        return None;
    }
    if let Some((_, kind)) = HEADERS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Some(kind);
    }
    let plain = plain_name(name);
    let looks_secret = HEADER_WORDS.iter().any(|word| plain.contains(word));
    // `x-auth-token`, `private-token`, but not the names of what is no secret: `x-request-token-count`.
    let ends_secret = HEADER_ENDINGS.iter().any(|ending| plain.ends_with(ending));
    (looks_secret || ends_secret).then_some("api_key")
}

/// Whether a card may say that this header field holds a key.
pub(super) fn may_be_declared(name: &str) -> bool {
    !is_never(name) && !name.starts_with(':')
}

fn is_never(name: &str) -> bool {
    NEVER.iter().any(|never| never.eq_ignore_ascii_case(name))
}

/// What a JSON member of this name holds, if it is a secret.
pub(super) fn member_kind(name: &str) -> Option<&'static str> {
    let first = name.bytes().find(|octet| !matches!(octet, b'-' | b'_'))?.to_ascii_lowercase();
    let of_letter = MEMBERS.iter().filter(|(known, _)| known.as_bytes().first() == Some(&first));
    if let Some((_, kind)) = of_letter.into_iter().find(|(known, _)| is_plainly(name, known)) {
        return Some(kind);
    }
    // Few names end as the rest must: it is asked of every member, and spelling one plainly allocates.
    let may_end_so = |octet: &u8| matches!(octet, b'n' | b'N' | b't' | b'T' | b'-' | b'_');
    if !name.as_bytes().last().is_some_and(may_end_so) {
        return None;
    }
    let plain = plain_name(name);
    let owner = plain.strip_suffix("token").or_else(|| plain.strip_suffix("secret"))?;
    OF_TOKENS.contains(&owner).then_some("credentials")
}

/// The secret octets of a header field's value.
pub(super) fn in_header(name: &str, value: &str, kind: &'static str) -> Vec<Secret> {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        "cookie" => cookie_values(value, usize::MAX),
        "set-cookie" => cookie_values(value, 1),
        _ => {
            let start = after_scheme(value);
            some_secret(start..value.len(), kind).into_iter().collect()
        }
    }
}

/// What else the secret of a header field may be repeated as: without its quotes or percent-encoding,
/// one of several keys or tokens, the pair and the password that a `Basic` value stands for.
pub(super) fn also_known_as(value: &str, secret: &[u8]) -> Vec<Vec<u8>> {
    let mut also = Vec::new();
    if let Some((pair, password)) = basic_credentials(value) {
        also.extend([pair, password]);
    }
    let bare = secret.trim_ascii();
    let bare = bare.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(bare);
    also.push(bare.to_vec());
    also.push(percent_decode(bare).collect());
    let parts = bare.split(|octet| b" \t,".contains(octet));
    also.extend(parts.filter_map(secret_part).map(<[u8]>::to_vec));
    also.retain(|other| other != secret);
    also
}

/// One of several keys, or the value of a parameter that is secret by itself. The others (`realm`, `uri`,
/// `SignedHeaders`) are words of the protocol, which must not be hidden wherever they occur.
fn secret_part(part: &[u8]) -> Option<&[u8]> {
    let len = part.iter().rposition(|octet| *octet != b'=').map_or(0, |last| last + 1);
    let Some(equals) = part.get(..len)?.iter().position(|octet| *octet == b'=') else {
        return part.iter().any(u8::is_ascii_digit).then_some(part);
    };
    let (name, value) = part.split_at_checked(equals)?;
    let is_secret = SECRET_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known));
    let value = value.strip_prefix(b"=").filter(|_| is_secret)?;
    Some(value.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(value))
}

fn basic_credentials(value: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    use base64::Engine;

    let (scheme, encoded) = value.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = LENIENT_BASE64.decode(encoded.trim()).ok()?;
    let colon = pair.iter().position(|octet| *octet == b':')?;
    let password = pair.get(colon + 1..)?.to_vec();
    Some((pair, password))
}

/// The secrets of URLs in a text: passwords before the host, the token in an address that stands for a
/// webhook, and parameters with a secret's name in
/// query or fragment. URLs need not be whole: `/path?key=x` and `?key=x` are some as well.
pub(super) fn in_urls(text: &str, is_secret: &dyn Fn(&str) -> bool) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for at in memchr::memmem::find_iter(text.as_bytes(), "://") {
        let start = at + "://".len();
        let rest = text.get(start..).unwrap_or_default();
        let len = rest.find(|letter| ends_url(letter) || "/?#".contains(letter));
        let authority = rest.get(..len.unwrap_or(rest.len())).unwrap_or_default();
        if let Some(user_len) = authority.rfind('@') {
            secrets.extend(some_secret(start..start + user_len, "userinfo"));
        }
    }
    for (at, path) in text.match_indices(webhook::PATH) {
        let start = at + path.len();
        let rest = text.get(start..).unwrap_or_default();
        let len = rest.find(|letter| ends_url(letter) || "/?#".contains(letter));
        secrets.extend(some_secret(start..start + len.unwrap_or(rest.len()), "push_address"));
    }
    // What is within a value already is not searched again, so a text is read once, whatever it is.
    let mut read_to = 0;
    for (at, _) in text.match_indices('=') {
        if at < read_to {
            continue;
        }
        let before = text.get(..at).unwrap_or_default();
        let name_start = before.rfind(|letter| !is_in_name(letter)).map_or(0, |mark| mark + 1);
        // `;` as in `&amp;`, and as an old way to write `&`.
        let is_parameter =
            before.get(..name_start).is_some_and(|it| it.ends_with(['?', '&', '#', ';']));
        let name = before.get(name_start..).unwrap_or_default();
        if is_parameter && is_secret(&percent_decode_str(name).decode_utf8_lossy()) {
            let rest = text.get(at + 1..).unwrap_or_default();
            let len = rest.find(|letter| ends_url(letter) || "&#".contains(letter));
            read_to = at + 1 + len.unwrap_or(rest.len());
            secrets.extend(some_secret(at + 1..read_to, "query"));
        }
    }
    secrets
}

/// The secrets of `name=value&name=value`: a query, or a form.
pub(super) fn in_pairs(text: &str, is_secret: &dyn Fn(&str) -> bool) -> Vec<Secret> {
    let mut secrets = Vec::new();
    pairs(text, 0, is_secret, &mut secrets);
    secrets
}

/// Whether a query parameter of this name is a secret whatever the configuration says.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    QUERY.contains(&plain_name(name).as_str()) || member_kind(name).is_some()
}

fn pairs(text: &str, offset: usize, is_secret: &dyn Fn(&str) -> bool, secrets: &mut Vec<Secret>) {
    let mut start = offset;
    for pair in text.split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && is_secret(&percent_decode_str(name).decode_utf8_lossy())
        {
            let begin = start + name.len() + 1;
            secrets.extend(some_secret(begin..begin + value.len(), "query"));
        }
        start += pair.len() + 1;
    }
}

const fn is_in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '%')
}

fn ends_url(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "\"'<>\\`{}|^".contains(letter)
}

/// Where the credentials begin: after a scheme that is known, else at the beginning.
fn after_scheme(value: &str) -> usize {
    match value.split_once(' ') {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            value.len() - rest.trim_start().len()
        }
        Some(_) | None => 0,
    }
}

fn cookie_values(value: &str, count: usize) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut start = 0;
    for pair in value.split(';').take(count) {
        let name_len = pair.find('=').map_or(0, |equals| equals + 1);
        secrets.extend(some_secret(start + name_len..start + pair.len(), "cookie"));
        start += pair.len() + 1;
    }
    secrets
}

fn some_secret(range: Range<usize>, kind: &'static str) -> Option<Secret> {
    (!range.is_empty()).then_some(Secret { range, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, secrets: &[Secret]) -> String {
        let mut octets = text.as_bytes().to_vec();
        for secret in secrets {
            octets[secret.range.clone()].fill(b'*');
        }
        String::from_utf8(octets).unwrap()
    }

    #[track_caller]
    fn check_header(name: &str, value: &str, expected: &str) {
        let secrets = header_kind(name).map_or(Vec::new(), |kind| in_header(name, value, kind));
        assert_eq!(masked(value, &secrets), expected, "{name}: {value}");
    }

    #[track_caller]
    fn check_urls(text: &str, expected: &str) {
        let secrets = in_urls(text, &is_secret_parameter);
        assert_eq!(masked(text, &secrets), expected);
    }

    #[test]
    fn credentials_are_masked_and_their_scheme_is_not() {
        check_header("Authorization", "Bearer tk-aaaa1111", "Bearer ***********");
        check_header("authorization", "tk-aaaa1111", "***********");
        check_header("authorization", "my secret", "*********");
        check_header("Proxy-Authorization", "Basic cHc6ZmY=", "Basic ********");
        check_header("X-A2A-Notification-Token", "tok-7f3a", "********");
    }

    #[test]
    fn cookies_keep_their_names_and_attributes() {
        check_header("cookie", "sid=ck-bbbb2222; a=b", "sid=***********; a=*");
        check_header("Set-Cookie", "sid=ck-cc; Path=/; HttpOnly", "sid=*****; Path=/; HttpOnly");
    }

    #[test]
    fn names_that_look_like_keys_are_masked() {
        for name in ["x-api-key", "Api_Key", "x-goog-api-key", "X-Auth-Token", "client-secret"] {
            check_header(name, "ak-dddd", "*******");
        }
        for name in ["content-type", "x-request-id", "a2a-version", "etag", "x-token-count"] {
            check_header(name, "ak-dddd", "ak-dddd");
        }
    }

    #[test]
    fn secrets_of_urls_are_masked_wherever_the_url_stands() {
        check_urls("/rpc?key=qk-eeee&page=2", "/rpc?key=*******&page=2");
        check_urls("/rpc?pageToken=abc&api%5Fkey=x", "/rpc?pageToken=abc&api%5Fkey=*");
        check_urls(
            "go to https://u:pw@h.test/p?sig=ab#f!",
            "go to https://****@h.test/p?sig=**#f!",
        );
        check_urls("https://h.test/@user?x=1", "https://h.test/@user?x=1");
        check_urls(
            "https://h.test/cb#access_token=ab&x=c",
            "https://h.test/cb#access_token=**&x=c",
        );
        check_urls("</next?token=ab>; rel=next", "</next?token=**>; rel=next");
        check_urls("href='/?a=1&amp;token=ab'", "href='/?a=1&amp;token=**'");
        check_urls("/?next=https://u:pw@h.test/x", "/?next=https://****@h.test/x");
        check_urls("the token=ab, a=b", "the token=ab, a=b");
    }

    #[test]
    fn members_that_hold_secrets_are_told_from_those_that_do_not() {
        for name in
            ["token", "access_token", "clientSecret", "Proxy-Authorization", "webhookSecret"]
        {
            assert!(member_kind(name).is_some(), "{name}");
        }
        for name in ["pageToken", "nextPageToken", "tokens", "code", "secretary", "authentication"]
        {
            assert_eq!(member_kind(name), None, "{name}");
        }
    }

    #[test]
    fn a_secret_is_known_by_what_it_may_be_repeated_as() {
        let also = |value: &str, secret: &str| {
            let also = also_known_as(value, secret.as_bytes()).into_iter();
            also.map(|it| String::from_utf8(it).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(also("Bearer tk-1", "tk-1"), [""; 0]);
        assert_eq!(also("", "\"a%2Fb\""), ["a%2Fb", "a/b", "a%2Fb"]);
        assert_eq!(also("", "k1, k2"), ["k1", "k2"]);
        let digest = r#"username="u", uri="/agents/v1", response="ab12""#;
        assert_eq!(also(digest, digest), ["ab12"]);
        let signed = "Credential=AK/1, SignedHeaders=host;x-amz-content-sha256, Signature=ff==";
        assert_eq!(also(signed, signed), ["AK/1", "ff=="]);
        for basic in ["cHc6ZmZmZjY2NjY=", "cHc6ZmZmZjY2NjY"] {
            let value = format!("Basic {basic}");
            assert_eq!(also(&value, basic), ["pw:ffff6666", "ffff6666"]);
        }
    }
}
