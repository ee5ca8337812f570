//! Signatures of agent cards: what a signature covers, where it stands, and its replacement.
//!
//! Pure: keys are the caller's business. A signature is a JWS whose payload is left out, because it is
//! the card itself in canonical form ([`forms`]). The official SDKs do not write the form that the
//! specification describes, so there are several; they differ only for cards that hold empty values or
//! members of their own.

mod jcs;
mod presence;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::presence::{Absent, View};
use crate::a2a::address::CardShape;
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::dialect::protobuf;
use crate::a2a::splice::fields::{self, Change};
use crate::a2a::splice::{Splice, text::Node};

pub use jcs::canonical;

/// The only kind of token that a card's signature is.
const TYP: &str = "JOSE";

/// The number of `AgentCard.signatures`.
const FIELD_NUMBERS: &[(ProtocolVersion, u32)] =
    &[(ProtocolVersion::V0_3, 17), (ProtocolVersion::V1_0, 13)];

/// One signature of a card, as the card holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardSignature {
    /// The protected header, base64url of its JSON.
    pub protected: String,
    /// The signature, base64url.
    pub signature: String,
}

/// What a protected header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The algorithm.
    pub alg: String,
    /// The name of the key.
    pub kid: Option<String>,
    /// Whether it names parameters that must be understood: none of them is.
    pub is_critical: bool,
}

impl CardSignature {
    /// A signature with this protected header, by whoever can sign.
    pub fn new(
        alg: &str,
        kid: &str,
        payload: &str,
        sign: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Self> {
        let header = json!({ "alg": alg, "typ": TYP, "kid": kid });
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let signature = sign(signing_input(&protected, payload).as_bytes())?;
        Some(Self { protected, signature: URL_SAFE_NO_PAD.encode(signature) })
    }

    /// What the protected header says; `None` when it is none.
    pub fn header(&self) -> Option<Header> {
        let octets = URL_SAFE_NO_PAD.decode(self.protected.trim_end_matches('=')).ok()?;
        let header: Map<String, Value> = serde_json::from_slice(&octets).ok()?;
        let text = |name: &str| header.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Header {
            alg: text("alg")?,
            kid: text("kid"),
            is_critical: header.contains_key("crit"),
        })
    }

    /// The octets of the signature; `None` when it is none.
    pub fn octets(&self) -> Option<Vec<u8>> {
        URL_SAFE_NO_PAD.decode(self.signature.trim_end_matches('=')).ok()
    }

    /// What is signed, for this form of the card.
    pub fn input(&self, payload: &str) -> String {
        signing_input(&self.protected, payload)
    }
}

/// The signatures of a card, in order; none when it is no card or holds none.
pub fn read(body: &[u8], shape: CardShape) -> Vec<CardSignature> {
    match shape {
        CardShape::Json | CardShape::RpcResult => read_json(body, shape),
        CardShape::Protobuf(version) => {
            let all = fields::fields(body).unwrap_or_default().into_iter();
            let lists = all.filter(|field| field.number == field_number(version));
            let text = |octets: &[u8], number| {
                let octets = fields::last(octets, number).unwrap_or_default();
                String::from_utf8_lossy(octets).into_owned()
            };
            let octets = lists.filter_map(fields::Field::octets);
            octets
                .map(|octets| CardSignature {
                    protected: text(octets, 1),
                    signature: text(octets, 2),
                })
                .collect()
        }
    }
}

/// The canonical forms of a card that a signature may cover, each once: the specification's first, then
/// that of the official SDKs, then the plain one, of the card as it is.
pub fn forms(body: &[u8], shape: CardShape) -> Vec<String> {
    let Some((card, absent)) = value(body, shape) else { return Vec::new() };
    let mut plain = card.clone();
    if let Some(members) = plain.as_object_mut() {
        members.shift_remove("signatures");
    }
    // A card of 0.3 only has another schema, and its specification asks for no more than RFC 8785.
    let is_0_3 = card.get("url").is_some() && card.get("supportedInterfaces").is_none();
    let views = if is_0_3 {
        vec![Some(plain.clone()), presence::without_empty(&plain)]
    } else {
        let signed = |view| presence::signed(&card, view, absent);
        vec![signed(View::Specification), signed(View::Sdk), Some(plain)]
    };
    let mut forms: Vec<String> = Vec::new();
    for form in views.into_iter().flatten().map(|view| canonical(&view)) {
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// The card with other signatures, none of the old ones left; everything else octet for octet as it
/// came. `None` when it is no card.
pub fn replace(body: &[u8], shape: CardShape, signatures: &[CardSignature]) -> Option<Bytes> {
    match shape {
        CardShape::Json | CardShape::RpcResult => {
            let text = std::str::from_utf8(body).ok()?;
            let card = card(text, shape)?;
            let list: Vec<Value> = signatures
                .iter()
                .map(|one| json!({ "protected": one.protected, "signature": one.signature }))
                .collect();
            let mut splice = Splice::default();
            match card.get("signatures").filter(|_| !list.is_empty()) {
                Some(old) => splice.replace(old.range(), Value::Array(list).to_string()),
                None => {
                    for range in card.without("signatures") {
                        splice.replace(range, "");
                    }
                }
            }
            Some(Bytes::from(splice.apply(text)))
        }
        CardShape::Protobuf(version) => {
            let number = field_number(version);
            let mut card = fields::map(body, &mut |field| {
                if field.number == number { Change::Remove } else { Change::Keep }
            })?;
            for one in signatures {
                let mut message = Vec::new();
                fields::put(&mut message, 1, one.protected.as_bytes());
                fields::put(&mut message, 2, one.signature.as_bytes());
                fields::put(&mut card, number, &message);
            }
            Some(Bytes::from(card))
        }
    }
}

fn signing_input(protected: &str, payload: &str) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload))
}

fn field_number(version: ProtocolVersion) -> u32 {
    FIELD_NUMBERS.iter().find(|row| row.0 == version).map_or(0, |row| row.1)
}

fn card(text: &str, shape: CardShape) -> Option<Node<'_>> {
    let root = Node::root(text)?;
    match shape {
        CardShape::RpcResult => root.get("result"),
        CardShape::Json | CardShape::Protobuf(_) => Some(root),
    }
}

fn read_json(body: &[u8], shape: CardShape) -> Vec<CardSignature> {
    let card = std::str::from_utf8(body).ok().and_then(|text| card(text, shape));
    let items = card.and_then(|card| card.get("signatures")).map(Node::items).unwrap_or_default();
    let text = |item: Node<'_>, name| item.get(name).and_then(Node::as_string).unwrap_or_default();
    let one = |item: Node<'_>| CardSignature {
        protected: text(item, "protected"),
        signature: text(item, "signature"),
    };
    items.into_iter().map(one).collect()
}

/// The card as a JSON value, and what it means that a member is absent from it.
fn value(body: &[u8], shape: CardShape) -> Option<(Value, Absent)> {
    let card = match shape {
        CardShape::Json | CardShape::RpcResult => {
            let text = std::str::from_utf8(body).ok()?;
            let node = card(text, shape)?;
            let value = serde_json::from_str(text.get(node.range())?).ok()?;
            (value, Absent::IsAbsent)
        }
        CardShape::Protobuf(version) => (protobuf::card_to_json(version, body)?, Absent::IsDefault),
    };
    card.0.is_object().then_some(card)
}
