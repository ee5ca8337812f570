//! What keeps secrets out of the recording: the only type a store accepts is [`Redacted`].
//!
//! A secret is known in two ways. By its place: header fields, query parameters, members of push
//! configs, whatever the configuration and the agent's card name. And by its value: each one that was
//! found by its place is learned, and looked for in everything that is recorded from then on. A mask is
//! as long as what it covers, so lengths in the recording stay true; a keyed digest tells which masks
//! cover the same thing.

mod body;
mod fields;
mod json;
mod learned;
mod ledger;
mod places;
mod protobuf;
mod structs;
mod texts;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::iter::repeat;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json_path::JsonPath;

use self::body::{Kind, Rules};
use self::fields::{Declared, Fields, Hooks, content_type, cover_urls};
use self::learned::Learned;
use self::ledger::{At, Hit, Ledger};
use self::texts::Texts;
use crate::a2a::dialect::protobuf::Message;
use crate::a2a::model::{Operation, Reply};
use crate::record::decode;
use crate::record::exchange::{Exchange, Payload, RecordedResponse, Redaction};

/// Agents whose declared keys are remembered.
const DECLARED_AGENTS_MAX: usize = 1000;

/// A value whose secrets have been masked. Only this module makes one:
///
/// ```compile_fail,E0423
/// let forged = meddler::record::redact::Redacted("Bearer tk-aaaa1111");
/// ```
///
/// ```compile_fail,E0624
/// let forged = meddler::record::redact::Redacted::from_storage("Bearer tk-aaaa1111");
/// ```
#[derive(Clone, Debug)]
pub struct Redacted<T>(T);

/// What is secret beside the things that always are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedactConfig {
    /// Names of header fields.
    pub headers: Vec<String>,
    /// Names of query parameters.
    pub query: Vec<String>,
    /// JSON paths (RFC 9535) into bodies and into the data of events.
    pub json: Vec<String>,
    /// Names of environment variables whose values are secrets. Whoever reads the environment gives
    /// the values to [`Redactor::learn`].
    pub env: Vec<String>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// A JSON path is none.
    #[error("`{path}` in `redact.json` is no JSON path")]
    Path {
        /// As written.
        path: String,
        /// What is wrong with it.
        source: serde_json_path::ParseError,
    },
}

/// The key of the digests that stand for what was masked. Each store has its own, so that equal secrets
/// can be seen to be equal within a store and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey([u8; 32]);

/// Finds and masks secrets. It learns from what it sees, so exchanges must come in the order in which
/// they ended.
pub struct Redactor {
    headers: BTreeSet<String>,
    query: BTreeSet<String>,
    paths: Vec<JsonPath>,
    key: DigestKey,
    learned: Learned,
    /// By agent: what its card says that keys are called.
    declared: BTreeMap<String, Declared>,
}

impl<T> Redacted<T> {
    /// What a store reads back: it was masked when it was written. For `record::store` alone.
    pub(in crate::record) const fn from_storage(value: T) -> Self {
        Self(value)
    }

    /// The value.
    pub const fn get(&self) -> &T {
        &self.0
    }

    /// The value, owned.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl DigestKey {
    /// The key with these octets.
    pub const fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// Its octets, for the store that keeps them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest that stands for a secret in the redactions of exchanges, hex.
    pub fn digest(&self, secret: &[u8]) -> String {
        ledger::hex(&ledger::digest(self, secret))
    }
}

impl Redactor {
    /// A redactor that knows no values yet and will learn at most so many.
    pub fn new(
        config: &RedactConfig,
        key: DigestKey,
        learned_max: usize,
    ) -> Result<Self, RedactError> {
        let parse = |path: &String| {
            JsonPath::parse(path).map_err(|source| RedactError::Path { path: path.clone(), source })
        };
        Ok(Self {
            headers: config.headers.iter().map(|name| name.to_ascii_lowercase()).collect(),
            query: config.query.iter().map(|name| places::plain_name(name)).collect(),
            paths: config.json.iter().map(parse).collect::<Result<_, _>>()?,
            key,
            learned: Learned::new(learned_max),
            declared: BTreeMap::new(),
        })
    }

    /// Remembers a value that is secret wherever it occurs.
    pub fn learn(&mut self, secret: &str) {
        self.learned.learn(secret.as_bytes());
    }

    /// Learns the secrets of an exchange that has not ended yet.
    pub fn learn_from(&mut self, mut exchange: Exchange) {
        let secrets = self.mask_by_place(&mut exchange).secrets;
        self.learn_all(&secrets);
    }

    /// Masks an exchange. `derive` fills in what is derived from its octets, after they are masked; what
    /// it writes is masked as well.
    pub fn redact(
        &mut self,
        mut exchange: Exchange,
        derive: impl FnOnce(&mut Exchange),
    ) -> Redacted<Exchange> {
        let Ledger { rows, secrets, texts, .. } = self.mask_by_place(&mut exchange);
        exchange.redactions.extend(rows);
        self.learn_all(&secrets);
        let rows = self.mask_octets_by_value(&mut exchange, &texts);
        exchange.redactions.extend(rows);
        derive(&mut exchange);
        let rows = self.mask_texts_by_value(&mut exchange);
        exchange.redactions.extend(rows);
        self.note_declared(&exchange);
        Redacted(exchange)
    }

    /// Masks known values in a text that stands beside the exchanges.
    pub fn mask_text(&self, text: &mut String) {
        let mut ledger = Ledger::new(&self.key);
        self.mask_string(text, "event", At::Offset, &mut ledger);
    }

    fn learn_all(&mut self, secrets: &[Vec<u8>]) {
        for secret in secrets {
            self.learned.learn(secret);
        }
    }

    fn mask_by_place(&self, exchange: &mut Exchange) -> Ledger<'_> {
        let mut ledger = Ledger::new(&self.key);
        let declared = self.declared.get(&exchange.agent);
        let hooks = Hooks::of(&exchange.edits);
        let is_parameter = |name: &str| {
            let plain = places::plain_name(name);
            places::is_secret_parameter(name)
                || self.query.contains(&plain)
                || hooks.has_parameter(&plain)
                || declared.is_some_and(|declared| declared.has_parameter(&plain))
        };
        let rules = Rules { is_parameter: &is_parameter, paths: &self.paths };
        let recognized = decode::recognize(&exchange.request);
        let operation = recognized.operation.unwrap_or_default();
        let fields = Fields { configured: &self.headers, declared, rules: &rules };

        cover_urls(&mut exchange.request.target, "target", &rules, &mut ledger);
        if let Some(upstream) = &mut exchange.upstream {
            cover_urls(upstream, "upstream", &rules, &mut ledger);
        }
        let request = &mut exchange.request;
        fields.cover(&mut request.headers, "request.header", &mut ledger);
        fields.cover(&mut request.trailers, "request.trailer", &mut ledger);
        let media_type = content_type(&request.headers);
        let kind = Kind {
            content_type: media_type,
            version: recognized.version,
            operation,
            message: Message::Request,
            rules: &rules,
        };
        self.cover_body(&mut request.body, &kind, "request.body", &mut ledger);
        let answers = [
            (&mut exchange.response, ["response.header", "response.trailer", "response.body"]),
            (&mut exchange.delivered, ["delivered.header", "delivered.trailer", "delivered.body"]),
        ];
        for (response, [header, trailer, body]) in answers {
            let Some(response) = response else { continue };
            fields.cover(&mut response.headers, header, &mut ledger);
            fields.cover(&mut response.trailers, trailer, &mut ledger);
            let media_type = content_type(&response.headers);
            let kind = Kind { content_type: media_type, message: Message::Response, ..kind };
            self.cover_body(&mut response.body, &kind, body, &mut ledger);
        }
        for edit in &mut exchange.edits {
            fields.cover_edit(edit, &mut ledger);
        }
        ledger.secrets.retain(|secret| !hooks.has_value(secret));
        ledger
    }

    fn cover_body(
        &self,
        body: &mut Payload,
        kind: &Kind<'_>,
        place: &'static str,
        ledger: &mut Ledger<'_>,
    ) {
        let mut texts = Texts::default();
        let hits = body::secrets(&body.kept, kind, &mut texts);
        ledger.texts.push((place, texts));
        self.rewrite(body, hits.is_empty(), |octets| {
            hits.into_iter()
                .filter_map(|hit| ledger.cover_and_learn(octets, hit, place, At::Offset))
                .sum()
        });
    }

    /// Changes the octets of a body; when any was covered, its digest is keyed.
    fn rewrite(&self, body: &mut Payload, has_none: bool, cover: impl FnOnce(&mut [u8]) -> u64) {
        if has_none {
            return;
        }
        let mut octets = Vec::from(std::mem::take(&mut body.kept));
        let covered = cover(&mut octets);
        body.kept = Bytes::from(octets);
        if covered > 0 && !body.digest_is_keyed {
            body.sha256 = ledger::digest(&self.key, &body.sha256);
            body.digest_is_keyed = true;
        }
    }

    fn mask_octets_by_value(
        &self,
        exchange: &mut Exchange,
        texts: &[(&'static str, Texts)],
    ) -> Vec<Redaction> {
        let mut ledger = Ledger::new(&self.key);
        let mask_payload = |body: &mut Payload, place: &str, ledger: &mut Ledger<'_>| {
            self.mask_payload(body, place, ledger);
            for (_, texts) in texts.iter().filter(|(of, _)| *of == place) {
                self.mask_across(body, texts, place, ledger);
            }
        };
        let request = &mut exchange.request;
        self.mask_string(&mut request.target, "target", At::Offset, &mut ledger);
        self.mask_fields(&mut request.headers, "request.header", &mut ledger);
        self.mask_fields(&mut request.trailers, "request.trailer", &mut ledger);
        mask_payload(&mut request.body, "request.body", &mut ledger);
        let mut answer = |response: &mut Option<RecordedResponse>, places: [&str; 3]| {
            let Some(response) = response else { return };
            let [header, trailer, body] = places;
            self.mask_fields(&mut response.headers, header, &mut ledger);
            self.mask_fields(&mut response.trailers, trailer, &mut ledger);
            mask_payload(&mut response.body, body, &mut ledger);
        };
        let places = ["response.header", "response.trailer", "response.body"];
        answer(&mut exchange.response, places);
        let places = ["delivered.header", "delivered.trailer", "delivered.body"];
        answer(&mut exchange.delivered, places);
        ledger.rows
    }

    /// Texts that are no octets of the wire, but may quote some.
    fn mask_texts_by_value(&self, exchange: &mut Exchange) -> Vec<Redaction> {
        let mut ledger = Ledger::new(&self.key);
        let mut mask = |text: &mut String, place: &str| {
            self.mask_string(text, place, At::Offset, &mut ledger);
        };
        mask(&mut exchange.orchestrator, "orchestrator");
        mask(&mut exchange.wire_name, "wire_name");
        let ids = &mut exchange.ids;
        let optional = [
            (&mut exchange.upstream, "upstream"),
            (&mut exchange.declared_version, "declared_version"),
            (&mut ids.message_id, "ids"),
            (&mut ids.context_id, "ids"),
            (&mut ids.task_id, "ids"),
            (&mut ids.config_id, "ids"),
            (&mut ids.tenant, "ids"),
        ];
        for (text, place) in optional {
            for text in text.iter_mut() {
                mask(text, place);
            }
        }
        for problem in &mut exchange.problems {
            mask(&mut problem.at, "problem");
            mask(&mut problem.text, "problem");
        }
        for edit in &mut exchange.edits {
            mask(&mut edit.from, "edit");
            mask(&mut edit.to, "edit");
        }
        for fault in &mut exchange.faults {
            mask(&mut fault.note, "fault");
        }
        if let Some(trouble) = &mut exchange.upstream_error {
            mask(&mut trouble.text, "upstream_error");
        }
        ledger.rows
    }

    fn mask_fields(&self, fields: &mut [(String, String)], place: &str, ledger: &mut Ledger<'_>) {
        for (name, value) in fields {
            self.mask_string(name, place, At::Offset, ledger);
            self.mask_string(value, place, At::Name(name), ledger);
        }
    }

    fn mask_string(&self, text: &mut String, place: &str, at: At<'_>, ledger: &mut Ledger<'_>) {
        let found = self.learned.find(text.as_bytes());
        if found.is_empty() {
            return;
        }
        let mut octets = std::mem::take(text).into_bytes();
        for found in found {
            let hit = self.hit_of(&found);
            ledger.cover(&mut octets, &hit, place, at);
        }
        // A value that is no text may end within a character; what is left of that is no secret.
        *text = String::from_utf8_lossy(&octets).into_owned();
    }

    fn mask_payload(&self, body: &mut Payload, place: &str, ledger: &mut Ledger<'_>) {
        let mut found = self.learned.find(&body.kept);
        if body.truncated || body.gap > 0 {
            found.extend(self.learned.beginning_at_end(&body.kept));
        }
        self.rewrite(body, found.is_empty(), |octets| {
            found
                .iter()
                .filter_map(|found| ledger.cover(octets, &self.hit_of(found), place, At::Offset))
                .sum()
        });
    }

    /// Masks what is spread over several texts of a body.
    fn mask_across(&self, body: &mut Payload, texts: &Texts, place: &str, ledger: &mut Ledger<'_>) {
        for joined in texts.joined(&body.kept) {
            let found = self.learned.find(&joined.octets);
            self.rewrite(body, found.is_empty(), |octets| {
                found
                    .iter()
                    .flat_map(|found| joined.origins(&found.range).into_iter().zip(repeat(found)))
                    .filter_map(|(range, found)| {
                        let hit = Hit { range, ..self.hit_of(found) };
                        ledger.cover(octets, &hit, place, At::Offset)
                    })
                    .sum()
            });
        }
    }

    fn hit_of(&self, found: &learned::Found) -> Hit {
        let plain = self.learned.plain(found).to_vec();
        Hit { range: found.range.clone(), kind: "learned", plain, cover: b'*' }
    }

    /// Remembers how the agent's card says that keys are called.
    fn note_declared(&mut self, exchange: &Exchange) {
        let is_card = match exchange.operation {
            Operation::AgentCard | Operation::GetExtendedAgentCard => true,
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::GetTask
            | Operation::ListTasks
            | Operation::CancelTask
            | Operation::SubscribeToTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::PushNotification
            | Operation::Unknown => false,
        };
        let is_known = self.declared.contains_key(&exchange.agent);
        if !is_card || (!is_known && self.declared.len() >= DECLARED_AGENTS_MAX) {
            return;
        }
        let Some(answer) = decode::understand(exchange).answer else { return };
        if let Some(Reply::Card(card)) = answer.reply {
            let declared = Declared::by_card(&card.raw);
            self.declared.insert(exchange.agent.clone(), declared);
        }
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey([secret])")
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor([secret])")
    }
}
