//! Secrets in header fields, in the edits of them, and in lone texts.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::body::{self, Rules};
use super::ledger::{At, Hit, Ledger};
use super::places;
use crate::record::exchange::EditRecord;

/// Names one card may declare.
const DECLARED_NAMES_MAX: usize = 32;

/// What an agent's card says that keys are called.
#[derive(Default)]
pub(super) struct Declared {
    headers: BTreeSet<String>,
    query: BTreeSet<String>,
}

/// Header fields of one exchange.
pub(super) struct Fields<'a> {
    /// Names that the configuration adds, in lower case.
    pub(super) configured: &'a BTreeSet<String>,
    pub(super) declared: Option<&'a Declared>,
    pub(super) rules: &'a Rules<'a>,
}

impl Declared {
    /// The keys of a card's security schemes, in the spelling of 1.0 (`apiKeySecurityScheme`, also in snake
    /// case) or 0.3 (`type: apiKey`, `in`).
    pub(super) fn by_card(card: &Value) -> Self {
        let mut declared = Self::default();
        let schemes = card.get("securitySchemes").or_else(|| card.get("security_schemes"));
        let schemes = schemes.and_then(Value::as_object).into_iter().flatten();
        for (_, scheme) in schemes.take(DECLARED_NAMES_MAX) {
            let inner = ["apiKeySecurityScheme", "api_key_security_scheme"];
            let inner = inner.iter().find_map(|name| scheme.get(*name)).unwrap_or(scheme);
            let text = |name: &str| inner.get(name).and_then(Value::as_str);
            let Some(name) = text("name") else { continue };
            match text("location").or_else(|| text("in")) {
                Some("header") if places::may_be_declared(name) => {
                    declared.headers.insert(name.to_ascii_lowercase());
                }
                Some("query") => {
                    declared.query.insert(places::plain_name(name));
                }
                Some(_) | None => {}
            }
        }
        declared
    }

    /// Whether a query parameter of this plain name is a key.
    pub(super) fn has_parameter(&self, plain: &str) -> bool {
        self.query.contains(plain)
    }
}

/// The queries of the webhooks in an exchange. An address that is given to one agent is a secret all
/// over, but its parameters have any name, and only here do their values mean something.
#[derive(Default)]
pub(super) struct Hooks {
    names: BTreeSet<String>,
    values: BTreeSet<Vec<u8>>,
}

impl Hooks {
    /// Of those that the edits name.
    pub(super) fn of(edits: &[EditRecord]) -> Self {
        let mut hooks = Self::default();
        let edits = edits.iter().filter(|edit| edit.kind.starts_with("webhook"));
        let queries = edits.flat_map(|edit| [&edit.from, &edit.to]).filter_map(|url| {
            url.split('#').next().unwrap_or_default().split_once('?').map(|(_, query)| query)
        });
        for (name, value) in
            queries.flat_map(|query| query.split('&')).filter_map(|it| it.split_once('='))
        {
            let name = percent_decode_str(name).decode_utf8_lossy();
            if !places::is_secret_parameter(&name) {
                hooks.names.insert(places::plain_name(&name));
                hooks.values.insert(value.as_bytes().to_vec());
                hooks.values.insert(percent_decode_str(value).collect());
            }
        }
        hooks
    }

    /// Whether a query parameter of this plain name is one of theirs.
    pub(super) fn has_parameter(&self, plain: &str) -> bool {
        self.names.contains(plain)
    }

    /// Whether a value is a secret here, and perhaps a common word elsewhere.
    pub(super) fn has_value(&self, value: &[u8]) -> bool {
        self.values.contains(value)
    }
}

impl Fields<'_> {
    fn kind(&self, name: &str) -> Option<&'static str> {
        if let Some(kind) = places::header_kind(name) {
            return Some(kind);
        }
        let declared = self.declared.map(|declared| &declared.headers);
        if self.configured.is_empty() && declared.is_none_or(BTreeSet::is_empty) {
            return None;
        }
        let lower = name.to_ascii_lowercase();
        if self.configured.contains(&lower) {
            return Some("rule");
        }
        let is_declared = declared.is_some_and(|declared| declared.contains(&lower));
        is_declared.then_some("api_key")
    }

    pub(super) fn cover(
        &self,
        fields: &mut [(String, String)],
        place: &str,
        ledger: &mut Ledger<'_>,
    ) {
        for (name, value) in fields {
            self.cover_field(name, value, place, ledger);
        }
    }

    fn cover_field(&self, name: &str, value: &mut String, place: &str, ledger: &mut Ledger<'_>) {
        let Some(kind) = self.kind(name) else {
            cover_urls(value, place, self.rules, ledger);
            return;
        };
        let secrets = places::in_header(name, value, kind);
        for secret in &secrets {
            let octets = value.as_bytes().get(secret.range.clone()).unwrap_or_default();
            ledger.secrets.extend(places::also_known_as(value, octets));
        }
        let mut octets = std::mem::take(value).into_bytes();
        for secret in secrets {
            let plain = octets.get(secret.range.clone()).unwrap_or_default().to_vec();
            let hit = Hit { range: secret.range, kind: secret.kind, plain, cover: b'*' };
            ledger.cover_and_learn(&mut octets, hit, place, At::Name(name));
        }
        *value = String::from_utf8_lossy(&octets).into_owned();
    }

    /// An edit of a header field holds what the field holds.
    pub(super) fn cover_edit(&self, edit: &mut EditRecord, ledger: &mut Ledger<'_>) {
        let EditRecord { at, from, to, .. } = edit;
        for text in [from, to] {
            self.cover_field(at, text, "edit", ledger);
        }
    }
}

pub(super) fn cover_urls(
    text: &mut String,
    place: &str,
    rules: &Rules<'_>,
    ledger: &mut Ledger<'_>,
) {
    let hits = body::in_urls(text, rules);
    if hits.is_empty() {
        return;
    }
    let mut octets = std::mem::take(text).into_bytes();
    for hit in hits {
        ledger.cover_and_learn(&mut octets, hit, place, At::Offset);
    }
    *text = String::from_utf8_lossy(&octets).into_owned();
}

pub(super) fn content_type(headers: &[(String, String)]) -> &str {
    let field = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    field.map_or("", |(_, value)| value)
}
