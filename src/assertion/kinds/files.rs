//! Files in the replies: their metadata, and of inline ones their octets. What a URL leads to is never
//! fetched, and no report shows a URL: it may be signed.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::compare::Bounds;
use super::super::finding::Finding;
use super::super::on::Quantifier;
use super::super::parts::{Part, PartFilter, of_kind};
use super::super::predicate;
use super::super::quote::{plural, quote};
use super::super::reader::{Fields, Reader};
use super::super::view::{Look, RunView};
use super::super::yaml::Node;
use super::{Assertion, Named};

/// A reply has such a file (or so many).
#[derive(Debug)]
pub(super) struct Files {
    filter: PartFilter,
    filename: Option<String>,
    place: Option<Place>,
    size: Vec<(SizeRule, u64)>,
    sha256: Option<String>,
    count: Option<Bounds>,
}

/// Where a file's octets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Inline,
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizeRule {
    Exactly,
    AtLeast,
    AtMost,
}

const PLACES: &[(&str, Place)] = &[
    ("bytes", Place::Inline),
    ("raw", Place::Inline),
    ("uri", Place::Elsewhere),
    ("url", Place::Elsewhere),
];

const SIZES: &[(&str, SizeRule)] = &[
    ("max_size_bytes", SizeRule::AtMost),
    ("min_size_bytes", SizeRule::AtLeast),
    ("size_bytes", SizeRule::Exactly),
];

impl Named for Files {
    const NAME: &'static str = "files";
    const SUMMARY: &'static str =
        "a reply has such a file, or `count` of them; sizes and digests of inline files only";
    const EXAMPLES: &'static [&'static str] = &[
        "files: { source: artifact, artifact_name: summary, media_type: text/plain, count: 1 }",
        "files: { filename: receipt.pdf, kind: raw, min_size_bytes: 4, max_size_bytes: 1048576 }",
        "files: { size_bytes: 4, sha256: \"315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027\" }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let form = "a map like { media_type: application/pdf, count: 1 }";
        let mut fields = Fields::of(body, form, reader)?;
        let files = Self::take(&mut fields, reader);
        fields.finish(reader);
        files
    }
}

impl Files {
    fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let filter = PartFilter::take(fields, reader)?;
        let mut files = Self {
            filter,
            filename: None,
            place: None,
            size: Vec::new(),
            sha256: None,
            count: None,
        };
        if let Some(node) = fields.take("filename") {
            files.filename = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("kind") {
            files.place = Some(reader.word(node, PLACES)?);
        }
        for (name, rule) in SIZES {
            if let Some(node) = fields.take(name) {
                files.size.push((*rule, u64::try_from(reader.count(node)?).unwrap_or(u64::MAX)));
            }
        }
        if let Some(node) = fields.take("sha256") {
            let digest = reader.name(node)?.to_ascii_lowercase();
            if digest.len() != 64 || !digest.bytes().all(|octet| octet.is_ascii_hexdigit()) {
                reader.problem(node.at, "expected 64 hex digits");
                return None;
            }
            files.sha256 = Some(digest);
        }
        if let Some(node) = fields.take("count") {
            files.count = Some(predicate::count(node, reader)?);
        }
        Some(files)
    }

    fn is(&self, part: &Part<'_>) -> bool {
        let text = |name: &str| part.value.get(name).and_then(Value::as_str);
        let octets = text("raw").and_then(decode);
        let place = if text("raw").is_some() { Place::Inline } else { Place::Elsewhere };
        let size = octets.as_ref().map(|octets| octets.len() as u64);
        self.filter.is(part)
            && self.filename.as_deref().is_none_or(|name| text("filename") == Some(name))
            && self.place.is_none_or(|wanted| wanted == place)
            && self.size.iter().all(|(rule, bound)| {
                size.is_some_and(|size| match rule {
                    SizeRule::Exactly => size == *bound,
                    SizeRule::AtLeast => size >= *bound,
                    SizeRule::AtMost => size <= *bound,
                })
            })
            && self.sha256.as_deref().is_none_or(|wanted| {
                octets.is_some_and(|octets| hex(&Sha256::digest(&octets)) == wanted)
            })
    }

    fn describe(&self) -> String {
        let mut parts = vec![match &self.count {
            None => format!("a file{}", self.filter),
            Some(count) => format!("{count} files{}", self.filter),
        }];
        parts.extend(self.filename.as_ref().map(|name| format!("named {name:?}")));
        parts.extend(self.place.map(|place| match place {
            Place::Inline => "inline".to_owned(),
            Place::Elsewhere => "by URL".to_owned(),
        }));
        parts.extend(self.size.iter().map(|(rule, bound)| match rule {
            SizeRule::Exactly => format!("exactly {bound} octets"),
            SizeRule::AtLeast => format!("at least {bound} octets"),
            SizeRule::AtMost => format!("at most {bound} octets"),
        }));
        parts.extend(self.sha256.as_ref().map(|digest| format!("SHA-256 {digest}")));
        parts.join(", ")
    }
}

impl Assertion for Files {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        view.hold(Quantifier::Any, &self.describe(), |delegation| {
            let Some(reply) = &delegation.reply else {
                return Look::Misses("there is no reply".to_owned());
            };
            let files = of_kind(reply, "file");
            let found = files.iter().filter(|part| self.is(part)).count();
            let holds = match &self.count {
                None => found > 0,
                Some(count) => count.hold_count(found),
            };
            if holds {
                return Look::Holds;
            }
            let named: Vec<String> = files.iter().take(3).map(shown).collect();
            let named =
                if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
            Look::Misses(format!("{found} of {}{named}", plural(files.len(), "file")))
        })
    }

    fn settles(&self) -> bool {
        true
    }
}

/// A file for people: its name, type and size. Never its URL.
fn shown(part: &Part<'_>) -> String {
    let text = |name: &str| part.value.get(name).and_then(Value::as_str);
    let name = text("filename").map_or("without a name".to_owned(), quote);
    let media_type = text("mediaType").map_or(String::new(), |found| format!(", {}", quote(found)));
    let size = match text("raw") {
        None => "by URL".to_owned(),
        Some(raw) => {
            decode(raw).map_or("no base64".to_owned(), |octets| plural(octets.len(), "octet"))
        }
    };
    format!("{name} ({size}{media_type})")
}

/// Inline octets: base64 in either alphabet, padded or not, as the canonical form and its senders write it.
fn decode(raw: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let standard = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
    let url_safe = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);
    standard.decode(raw).or_else(|_| url_safe.decode(raw)).ok()
}

fn hex(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len() * 2);
    for octet in octets {
        text.extend(
            [octet >> 4, octet & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')),
        );
    }
    text
}
