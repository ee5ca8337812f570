//! Where a credential went.
//!
//! Secrets are not in a recording; digests of what was masked are, under the store's key. So the
//! question can be answered without the value ever being written.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem;
use percent_encoding::percent_decode;

use super::super::finding::Finding;
use super::super::quote::{plain, plural};
use super::super::reader::{Fields, Reader, Shown};
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};
use crate::record::exchange::{Exchange, Redaction};
use crate::record::query::Filter;

/// A secret of the environment went to these agents and to nobody else.
#[derive(Debug)]
pub(super) struct SecretStays {
    secret: Shown<String>,
    only: Vec<String>,
}

/// What is shorter is found by chance, and is not learned by the recorder either.
const LEN_MIN: usize = 8;

impl Named for SecretStays {
    const NAME: &'static str = "secret_stays";
    const SUMMARY: &'static str = "the value of an environment variable went to no agent but these, in no header and no body, plainly, as base64 or percent-encoded; needs the store's key";
    const EXAMPLES: &'static [&'static str] = &[
        "secret_stays: { env: BILLING_TOKEN, only: [billing] }",
        "secret_stays: { env: ADMIN_KEY }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { env: BILLING_TOKEN, only: [billing] }";
        let mut fields = Fields::of(body, form, reader)?;
        let at = fields.at();
        let secret = fields.need("env", reader).and_then(|node| reader.environment(node));
        let only = match fields.take("only") {
            None => Some(Vec::new()),
            Some(node) => reader.names(node),
        };
        fields.finish(reader);
        let (secret, only) = (secret?, only?);
        if secret.value.len() < LEN_MIN {
            let text = format!(
                "the value of {} is shorter than {LEN_MIN} octets: it would be found by chance",
                secret.written
            );
            reader.problem(at, text);
            return None;
        }
        Some(Self { secret, only })
    }
}

impl Assertion for SecretStays {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let name = &self.secret.written;
        let expected = match self.only.as_slice() {
            [] => format!("{name} goes to no agent"),
            only => format!("{name} goes to no agent but {}", only.join(", ")),
        };
        // To anyone: where it should not go is where nobody looks.
        let filter = Filter { agents: Vec::new(), ..view.filter.clone() };
        let exchanges = view.source.exchanges(&filter);
        if exchanges.is_empty() {
            return vec![Finding::vacuous(
                expected,
                "nothing to look at: no exchange is left here",
            )];
        }
        let digests: HashSet<String> =
            forms(&self.secret.value).iter().flat_map(|form| view.outside.digests(form)).collect();
        if digests.is_empty() {
            let text = "the recording came without the key of its digests, so what was masked cannot be told apart";
            let hint = "ask the store itself: -R DIR";
            return vec![Finding::error(expected, text).hint(hint)];
        }
        let strays = exchanges.iter().filter(|exchange| !self.only.contains(&exchange.agent));
        let found: Vec<(_, String)> = strays
            .filter_map(|exchange| Some((exchange, self.place(exchange, &digests)?)))
            .collect();
        if found.is_empty() {
            return Vec::new();
        }
        let actual = format!("{} carried it", plural(found.len(), "request"));
        let proof = found
            .iter()
            .take(5)
            .map(|(exchange, place)| view.evidence_of_exchange(exchange, plain(place)));
        vec![Finding::failed(expected, actual).proved_by(proof)]
    }

    fn agents(&self) -> Vec<&str> {
        self.only.iter().map(String::as_str).collect()
    }
}

impl SecretStays {
    /// Where a request carries it, if it does. The value itself is named nowhere.
    fn place(&self, exchange: &Exchange, digests: &HashSet<String>) -> Option<String> {
        let of_request = |place: &str| place.starts_with("request") || place == "target";
        let masked = |row: &&Redaction| of_request(&row.place) && digests.contains(&row.hmac);
        if let Some(row) = exchange.redactions.iter().find(masked) {
            let at = if row.place.contains("header") { row.at.as_str() } else { "" };
            return Some(format!("in {} {at}", row.place).trim_end().to_owned());
        }
        let request = &exchange.request;
        let forms = forms(&self.secret.value);
        let carries = |octets: &[u8]| {
            let undone: Vec<u8> = percent_decode(octets).collect();
            forms.iter().any(|form| {
                memmem::find(octets, form.as_bytes()).is_some()
                    || memmem::find(&undone, form.as_bytes()).is_some()
            })
        };
        let fields = request.headers.iter().chain(&request.trailers);
        let field = fields.clone().find(|(_, value)| carries(value.as_bytes()));
        if let Some((name, _)) = field {
            return Some(format!("in the header {name}"));
        }
        if carries(request.target.as_bytes()) {
            return Some("in the target".to_owned());
        }
        carries(&request.body.kept).then(|| "in the body".to_owned())
    }
}

/// The value, and what is left of it within base64 at each of its three alignments.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    for before in 0..3_usize {
        let mut octets = vec![0; before];
        octets.extend_from_slice(secret.as_bytes());
        let text = STANDARD_NO_PAD.encode(&octets);
        let head = (before * 8).div_ceil(6);
        let tail = octets.len() * 8 / 6;
        forms.push(text.get(head..tail).unwrap_or_default().to_owned());
    }
    forms.retain(|form| form.len() >= LEN_MIN);
    forms
}
