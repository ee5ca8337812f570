//! Secrets in bodies, by their places: JSON, server-sent events, forms, gRPC, and URLs in any text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use percent_encoding::percent_decode;
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

use super::json::{self, Scalar, ScalarKind, Step};
use super::ledger::Hit;
use super::places::{self, Secret};
use super::protobuf;
use super::structs::{Document, Root};
use super::texts::{self, Reading, Texts};
use super::view::View;
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::dialect::protobuf::Message;
use crate::a2a::model::Operation;

/// What a body is, as far as its secrets are concerned.
pub(super) struct Kind<'a> {
    /// The media type, as written.
    pub(super) content_type: &'a str,
    /// Of the call.
    pub(super) version: Option<ProtocolVersion>,
    /// Of the call.
    pub(super) operation: Operation,
    /// Request or answer.
    pub(super) message: Message,
    /// What the configuration adds.
    pub(super) rules: &'a Rules<'a>,
}

/// What the configuration adds.
pub(super) struct Rules<'a> {
    /// Whether a query parameter of this name is a secret.
    pub(super) is_parameter: &'a dyn Fn(&str) -> bool,
    /// Places in JSON texts.
    pub(super) paths: &'a [JsonPath],
}

/// The secrets of a body, content coding undone, and the texts in it. Agents get their media types
/// wrong, and rules make them wrong on purpose, so what a text looks like counts more.
pub(super) fn secrets(body: &[u8], kind: &Kind<'_>, texts: &mut Texts) -> Vec<Hit> {
    let rules = kind.rules;
    let media_type = kind.content_type.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    match media_type.as_str() {
        "application/x-www-form-urlencoded" if !looks_like_json(body) => {
            let form = readable(body);
            let is_secret =
                |name: &str| (rules.is_parameter)(name) || places::member_kind(name).is_some();
            hits_of_parameters(&form, places::in_pairs(&form, &is_secret))
        }
        grpc if grpc.starts_with("application/grpc") => in_grpc(body, kind, texts),
        "text/event-stream" if !looks_like_json(body) => in_events(body, rules, texts),
        _ if looks_like_events(body) => in_events(body, rules, texts),
        _ => in_text(body, rules, texts),
    }
}

/// The secrets of URLs in a text, and of URLs that stand percent-encoded in a URL.
pub(super) fn in_urls(text: &str, rules: &Rules<'_>) -> Vec<Hit> {
    let mut hits = hits_of_parameters(text, places::in_urls(text, rules.is_parameter));
    if let Some(view) = View::without_percent(text.as_bytes()) {
        let inner = readable(&view.text);
        let inner = hits_of_parameters(&inner, places::in_urls(&inner, rules.is_parameter));
        hits.extend(inner.into_iter().map(|hit| Hit { range: view.origin(&hit.range), ..hit }));
    }
    hits
}

/// The octets as text, each octet that is none replaced by one that is.
fn readable(octets: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(octets) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(octets.len());
    for chunk in octets.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

fn looks_like_json(text: &[u8]) -> bool {
    let first = text.iter().find(|octet| !octet.is_ascii_whitespace());
    // 0xef begins a byte order mark, which some servers put before their JSON.
    matches!(first, Some(b'{' | b'[' | b'"' | 0xef))
}

/// Whether it begins with a line of a server-sent event.
fn looks_like_events(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| body.starts_with(field))
}

fn hits_of_parameters(text: &str, secrets: Vec<Secret>) -> Vec<Hit> {
    let hit = |secret: Secret| {
        let raw = text.as_bytes().get(secret.range.clone())?;
        let plain = percent_decode(raw).collect();
        Some(Hit { range: secret.range, kind: secret.kind, plain, cover: b'*' })
    };
    secrets.into_iter().filter_map(hit).collect()
}

fn in_grpc(body: &[u8], kind: &Kind<'_>, texts: &mut Texts) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut artifact = None;
    let mut visit = |range: Range<usize>, hit: protobuf::Hit| {
        let Some(octets) = body.get(range.clone()) else { return };
        match hit {
            protobuf::Hit::Secret(kind) => {
                hits.push(Hit { range, kind, plain: octets.to_vec(), cover: b'*' });
            }
            protobuf::Hit::Url => {
                let found = in_urls(&readable(octets), kind.rules).into_iter();
                hits.extend(found.map(|hit| moved(hit, range.start)));
            }
            protobuf::Hit::Json(root) => in_struct(body, range, root, kind.rules, &mut hits),
            protobuf::Hit::Artifact => artifact = Some(texts::digest(octets)),
            protobuf::Hit::Text => {
                let found = in_urls(&readable(octets), kind.rules).into_iter();
                hits.extend(found.map(|hit| moved(hit, range.start)));
                texts.add(range, artifact);
            }
        }
    };
    protobuf::secrets(body, kind.version, kind.operation, kind.message, &mut visit);
    hits
}

fn in_struct(
    body: &[u8],
    within: Range<usize>,
    root: Root,
    rules: &Rules<'_>,
    hits: &mut Vec<Hit>,
) {
    let Document { value, leaves } = Document::read(body, within, root);
    let by_rule = places_by_rule(&value, rules.paths);
    for leaf in leaves {
        let octets = body.get(leaf.range.clone()).unwrap_or_default();
        let kind = match root {
            _ if is_ruled(&leaf.path, &by_rule) => Some("rule"),
            Root::Metadata => kind_by_name(&leaf.path),
            Root::Data | Root::Value => None,
        };
        if let Some(kind) = kind {
            let plain = octets.to_vec();
            hits.push(Hit { range: leaf.range, kind, plain, cover: b'*' });
            continue;
        }
        let found = in_urls(&readable(octets), rules).into_iter();
        hits.extend(found.map(|hit| moved(hit, leaf.range.start)));
    }
}

fn moved(mut hit: Hit, by: usize) -> Hit {
    hit.range = hit.range.start + by..hit.range.end + by;
    hit
}

/// JSON if it looks like it, else a text that may name URLs.
fn in_text(text: &[u8], rules: &Rules<'_>, texts: &mut Texts) -> Vec<Hit> {
    if looks_like_json(text) {
        in_json(text, rules, texts)
    } else {
        in_urls(&readable(text), rules)
    }
}

fn in_json(text: &[u8], rules: &Rules<'_>, texts: &mut Texts) -> Vec<Hit> {
    let value = (!rules.paths.is_empty()).then(|| serde_json::from_slice::<Value>(text).ok());
    let by_rule = value.flatten().map(|value| places_by_rule(&value, rules.paths));
    let by_rule = by_rule.unwrap_or_default();
    let mut hits = Vec::new();
    let mut reading = Reading::default();
    json::scalars(text, &mut |scalar| {
        reading.visit(scalar);
        let kind =
            if is_ruled(scalar.path, &by_rule) { Some("rule") } else { kind_by_name(scalar.path) };
        match (kind, scalar.kind) {
            (Some(kind), ScalarKind::String) => hits.push(Hit {
                range: scalar.range.clone(),
                kind,
                plain: scalar.text().into_owned(),
                cover: b'*',
            }),
            // A number is covered by a number, so that the text stays JSON.
            (Some(kind), ScalarKind::Word) if scalar.raw.iter().any(u8::is_ascii_digit) => {
                let range = scalar.range.clone();
                hits.push(Hit { range, kind, plain: scalar.raw.to_vec(), cover: b'1' });
            }
            (Some(_) | None, ScalarKind::Word) => {}
            (None, ScalarKind::String) => in_string(scalar, rules, &mut hits),
        }
    });
    reading.finish(texts);
    hits
}

/// What the names on the way to a value say: a member with a secret's name, or anything below
/// `credentials`. The data of parts is the application's: there only the configuration's paths count.
fn kind_by_name(path: &[Step]) -> Option<&'static str> {
    let is_part_data = path.windows(3).any(|steps| match steps {
        [Step::Member(list), Step::Element(_), Step::Member(data)] => {
            matches!(list.as_str(), "parts" | "content") && data == "data"
        }
        _ => false,
    });
    if is_part_data {
        return None;
    }
    let is_below_credentials = path
        .iter()
        .any(|step| matches!(step, Step::Member(name) if name.eq_ignore_ascii_case("credentials")));
    if is_below_credentials {
        return Some("credentials");
    }
    match path.last()? {
        Step::Member(name) => places::member_kind(name),
        Step::Element(_) => None,
    }
}

fn in_string(scalar: &Scalar<'_>, rules: &Rules<'_>, hits: &mut Vec<Hit>) {
    // The least that a URL with a secret has.
    if memchr::memchr2(b':', b'=', scalar.raw).is_none() {
        return;
    }
    // Most strings have no escape: what stands there is what is meant, octet for octet.
    let is_plain = memchr::memchr(b'\\', scalar.raw).is_none();
    if let (true, Ok(text)) = (is_plain, std::str::from_utf8(scalar.raw)) {
        hits.extend(in_urls(text, rules).into_iter().map(|hit| moved(hit, scalar.range.start)));
        return;
    }
    let (text, origins) = json::unescape_with_origins(scalar.raw);
    for hit in in_urls(&text, rules) {
        let start = origins.get(hit.range.start).copied();
        let end = origins.get(hit.range.end).copied();
        let (Some(start), Some(end)) = (start, end) else { continue };
        hits.push(moved(Hit { range: start..end, ..hit }, scalar.range.start));
    }
}

/// Whether a rule names the value at this path, or one that it is in.
fn is_ruled(path: &[Step], by_rule: &HashSet<Vec<Step>>) -> bool {
    !by_rule.is_empty()
        && (0..=path.len()).any(|len| path.get(..len).is_some_and(|path| by_rule.contains(path)))
}

fn places_by_rule(value: &Value, paths: &[JsonPath]) -> HashSet<Vec<Step>> {
    let step = |element: &PathElement<'_>| match element {
        PathElement::Name(name) => Step::Member((*name).to_owned()),
        PathElement::Index(index) => Step::Element(*index),
    };
    paths
        .iter()
        .flat_map(|path| path.query_located(value).into_iter())
        .map(|node| node.location().iter().map(step).collect())
        .collect()
}

/// The secrets in the data of server-sent events, also of a last one that was cut. Data may stand on
/// several lines; a secret that does is covered line by line.
fn in_events(body: &[u8], rules: &Rules<'_>, texts: &mut Texts) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut event = Event::default();
    for line in lines(body) {
        let content = body.get(line.clone()).unwrap_or_default();
        if content.is_empty() {
            event.finish(rules, &mut hits, texts);
        } else if let Some(data) = content.strip_prefix(b"data:") {
            let data = data.strip_prefix(b" ").unwrap_or(data);
            event.add(line.end - data.len(), data);
        } else {
            let found = in_urls(&readable(content), rules).into_iter();
            hits.extend(found.map(|hit| moved(hit, line.start)));
        }
    }
    event.finish(rules, &mut hits, texts);
    hits
}

#[derive(Default)]
struct Event {
    data: Vec<u8>,
    /// Where each line's data begins: here, and in the body.
    lines: Vec<(usize, usize)>,
}

impl Event {
    fn add(&mut self, origin: usize, data: &[u8]) {
        if !self.lines.is_empty() {
            self.data.push(b'\n');
        }
        self.lines.push((self.data.len(), origin));
        self.data.extend_from_slice(data);
    }

    fn finish(&mut self, rules: &Rules<'_>, hits: &mut Vec<Hit>, texts: &mut Texts) {
        let mut said = Texts::default();
        for hit in in_text(&self.data, rules, &mut said) {
            for range in self.origins(hit.range.clone()) {
                hits.push(Hit { range, plain: hit.plain.clone(), ..hit });
            }
        }
        texts.extend(said, |range| self.origins(range));
        self.data.clear();
        self.lines.clear();
    }

    /// Where these octets of the data stand in the body: a range for each line that has some of them.
    fn origins(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let ends = self.lines.iter().skip(1).map(|(start, _)| start - 1);
        let ends = ends.chain([self.data.len()]);
        let mut origins = Vec::new();
        for ((start, origin), end) in self.lines.iter().zip(ends) {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            if from < to {
                origins.push(origin + from - start..origin + to - start);
            }
        }
        origins
    }
}

/// The lines of a body without their ends: CR, LF or CRLF. A byte order mark is no part of the first.
fn lines(body: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = if body.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    std::iter::from_fn(move || {
        let rest = body.get(at..).filter(|rest| !rest.is_empty())?;
        let len = memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let line = at..at + len;
        let end = rest.get(len..).unwrap_or_default();
        at += len + if end.starts_with(b"\r\n") { 2 } else { 1 };
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(content_type: &str, body: &str, paths: &[&str]) -> String {
        let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let rules = Rules { is_parameter: &places::is_secret_parameter, paths: &paths };
        let kind = Kind {
            content_type,
            version: None,
            operation: Operation::Unknown,
            message: Message::Request,
            rules: &rules,
        };
        let mut octets = body.as_bytes().to_vec();
        for hit in secrets(body.as_bytes(), &kind, &mut Texts::default()) {
            octets[hit.range].fill(hit.cover);
        }
        String::from_utf8(octets).unwrap()
    }

    #[track_caller]
    fn check(content_type: &str, body: &str, expected: &str) {
        assert_eq!(masked(content_type, body, &[]), expected);
    }

    #[test]
    fn tokens_of_push_configs_are_masked_in_every_spelling() {
        for (body, expected) in [
            (
                r#"{"token":"tok-7f3a","url":"http://h"}"#,
                r#"{"token":"********","url":"http://h"}"#,
            ),
            (
                r#"{"authentication":{"schemes":["Bearer"],"credentials":"cr\"ed"}}"#,
                r#"{"authentication":{"schemes":["Bearer"],"credentials":"******"}}"#,
            ),
            (
                r#"{"push_notification":{"token" : "t"}}"#,
                r#"{"push_notification":{"token" : "*"}}"#,
            ),
            (r#"[{"result":{"client_secret":"abc"}}]"#, r#"[{"result":{"client_secret":"***"}}]"#),
            (r#"{"credentials":{"a":["x",12]}}"#, r#"{"credentials":{"a":["*",11]}}"#),
        ] {
            check("application/json", body, expected);
        }
    }

    #[test]
    fn the_data_of_parts_is_left_alone() {
        let body =
            r#"{"message":{"parts":[{"data":{"token":"a word"}}],"metadata":{"token":"x"}}}"#;
        let expected = body.replace(r#""x""#, r#""*""#);
        check("application/json", body, &expected);
    }

    #[test]
    fn what_the_configuration_names_is_masked_and_stays_json() {
        let body = r#"{"a":{"pin":-12.5e3,"name":"x"},"b":[{"pin":"1234"},{"pin":true}]}"#;
        let expected = r#"{"a":{"pin":1111111,"name":"x"},"b":[{"pin":"****"},{"pin":true}]}"#;
        assert_eq!(masked("application/json", body, &["$..pin"]), expected);
        let expected = r#"{"a":{"pin":1111111,"name":"*"},"b":[{"pin":"1234"},{"pin":true}]}"#;
        assert_eq!(masked("application/json", body, &["$.a"]), expected);
    }

    #[test]
    fn urls_are_searched_in_strings_however_they_are_escaped() {
        check(
            "application/json",
            r#"{"url":"https:\/\/h.test\/x?a=1\u0026token=s\u00e9cret&b"}"#,
            r#"{"url":"https:\/\/h.test\/x?a=1\u0026token=***********&b"}"#,
        );
        check("text/plain", "at http://u:p@h/?sig=x now", "at http://***@h/?sig=* now");
    }

    #[test]
    fn events_are_searched_whatever_their_line_ends() {
        for end in ["\n", "\r", "\r\n"] {
            let body = [": ping", "data: {\"token\":\"ab\"}", "", "data:{\"token\":", "data: \"cd"];
            let expected =
                [": ping", "data: {\"token\":\"**\"}", "", "data:{\"token\":", "data: \"**"];
            check("text/event-stream; charset=utf-8", &body.join(end), &expected.join(end));
        }
    }

    #[test]
    fn forms_are_searched_by_the_names_of_their_fields() {
        check(
            "application/x-www-form-urlencoded",
            "grant_type=password&client_secret=a%2Fb&scope=x",
            "grant_type=password&client_secret=*****&scope=x",
        );
    }
}
