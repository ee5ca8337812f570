//! A look at the world as it is now: whether a delegation had its effect.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::compare::Bounds;
use super::super::finding::Finding;
use super::super::on::Sees;
use super::super::outside::HttpCall;
use super::super::path::Path;
use super::super::predicate::Predicate;
use super::super::quote::quote;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::words::Words;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// A request is answered like this.
#[derive(Debug)]
pub(super) struct Http {
    call: HttpCall,
    shown: String,
    status: Bounds,
    text: Option<Words>,
    json: Option<(Path, Predicate)>,
}

/// How long an answer may take when it is not told.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Named for Http {
    const NAME: &'static str = "http";
    const SUMMARY: &'static str = "an HTTP request, made now, is answered with this status (200 by default), text and JSON; redirects are not followed; only with --allow-live";
    const EXAMPLES: &'static [&'static str] = &[
        "http: { url: \"http://127.0.0.1:9000/orders/ORD-1001\", expect: { json_path: { path: $.state, equals: refunded } } }",
        "http: { url: \"http://127.0.0.1:9000/reset\", method: POST, headers: { content-type: application/json }, body: \"{}\", timeout: 5s, expect: { status: 204, text: { not_contains: error } } }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { url: \"http://...\", expect: { status: 200 } }";
        let mut fields = Fields::of(body, form, reader)?;
        let url = fields.need("url", reader).and_then(|node| {
            let shown = reader.shown_text(node)?;
            let is_http = shown.value.starts_with("http://") || shown.value.starts_with("https://");
            if !is_http {
                reader.problem(node.at, "expected an http or https address");
            }
            is_http.then_some(shown)
        });
        let method = match fields.take("method") {
            None => Some("GET".to_owned()),
            Some(node) => reader.name(node).map(|name| name.to_ascii_uppercase()),
        };
        let headers = fields.take("headers").map_or(Some(BTreeMap::new()), |node| {
            let entries = Fields::of(node, "a map of header fields", reader)?.rest();
            entries
                .into_iter()
                .map(|(key, node)| Some((key.name.clone(), reader.text(node)?)))
                .collect()
        });
        let payload = fields.take("body").map_or(Some(String::new()), |node| match node.value {
            Yaml::Map(_) | Yaml::List(_) => Some(reader.json(node).value.to_string()),
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => reader.text(node),
        });
        let timeout = match fields.take("timeout") {
            None => Some(TIMEOUT),
            Some(node) => reader.duration(node),
        };
        let expect = fields
            .take("expect")
            .map_or(Some(Expect::default()), |node| Expect::parse(node, reader));
        fields.finish(reader);
        let (url, method) = (url?, method?);
        let shown = format!("{method} {}", url.written);
        let call = HttpCall {
            method,
            url: url.value,
            headers: headers?,
            body: payload?,
            timeout: timeout?,
        };
        let Expect { status, text, json } = expect?;
        let status = status.unwrap_or_else(|| Bounds::exactly(200));
        Some(Self { call, shown, status, text, json })
    }
}

#[derive(Default)]
struct Expect {
    status: Option<Bounds>,
    text: Option<Words>,
    json: Option<(Path, Predicate)>,
}

impl Expect {
    fn parse(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(node, "a map like { status: 200 }", reader)?;
        let mut expect = Self::default();
        if let Some(node) = fields.take("status") {
            expect.status = Some(super::super::predicate::count(node, reader)?);
        }
        if let Some(node) = fields.take("text") {
            expect.text = Some(Words::parse(node, reader)?);
        }
        if let Some(node) = fields.take("json_path") {
            let mut inner = Fields::of(node, "a map like { path: $.state, equals: x }", reader)?;
            let path = inner.need("path", reader).and_then(|node| Path::parse(node, reader));
            let predicate = Predicate::take(&mut inner, reader);
            inner.finish(reader);
            expect.json = Some((path?, predicate?));
        }
        fields.finish(reader);
        Some(expect)
    }
}

impl Assertion for Http {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("{} answers with status {}", self.shown, self.status);
        let answer = match view.outside.http(&self.call) {
            Ok(answer) => answer,
            Err(why) => return vec![Finding::error(expected, why)],
        };
        let mut findings = Vec::new();
        if !self.status.hold_count(usize::from(answer.status)) {
            let actual = format!("{}: {}", answer.status, quote(&answer.body));
            findings.push(Finding::failed(expected, actual));
        }
        if let Some(words) = &self.text
            && !words.hold(&answer.body)
        {
            let actual = words.offence(&answer.body).unwrap_or_else(|| quote(&answer.body));
            findings.push(Finding::failed(format!("a body that {words}"), actual));
        }
        if let Some((path, predicate)) = &self.json {
            let expected = format!("{} {predicate}", path.written);
            match serde_json::from_str::<Value>(&answer.body) {
                Err(error) => {
                    findings.push(Finding::failed(expected, format!("no JSON: {error}")));
                }
                Ok(body) => {
                    match path.find(&body).map(|places| predicate.miss(&places, Sees::Wire)) {
                        Err(why) => findings.push(Finding::error(expected, why)),
                        Ok(Some(found)) => findings.push(Finding::failed(expected, found)),
                        Ok(None) => {}
                    }
                }
            }
        }
        findings
    }
}
