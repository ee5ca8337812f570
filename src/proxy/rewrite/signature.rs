//! What becomes of a card's signatures when its addresses are rewritten, and what they were worth.

use bytes::Bytes;
use tracing::warn;

use crate::a2a::address::CardShape;
use crate::a2a::signature::{self, CardSignature};
use crate::net::jws::{Checked, KeySet, SigningKey};
use crate::proxy::config::Signatures;
use crate::proxy::rewrite::card::{Delivery, edit};
use crate::record::exchange::EditRecord;

/// A card whose signatures have been dealt with.
pub(super) struct Signed {
    pub(super) body: Option<Bytes>,
    pub(super) edit: Option<EditRecord>,
}

/// What the signatures of a card are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A key of the agent's made one of them, over this very card.
    Valid,
    /// A key of the agent's did not make the one that names it.
    Invalid,
    /// There is none.
    Unsigned,
    /// No key is known to verify them by.
    Unverifiable,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Unsigned => "unsigned",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// Deals with the signatures of a card that came as `original` and goes on as `rewritten`, if anything
/// in it was.
pub(super) fn deliver(
    delivery: &Delivery<'_>,
    keys: Option<&KeySet>,
    original: (&[u8], CardShape),
    rewritten: Option<Bytes>,
) -> Signed {
    let (body, shape) = original;
    let signatures = signature::read(body, shape);
    if signatures.is_empty() && keys.is_none() {
        return Signed { body: rewritten, edit: None };
    }
    let verdict = verify(&signatures, keys, &signature::forms(body, shape));
    if verdict == Verdict::Invalid {
        warn!(agent = %delivery.agent.name, "the card's signature does not fit the card");
    }
    let (body, done) = match rewritten {
        Some(body) if verdict != Verdict::Unsigned => {
            let (body, done) = sign_anew(delivery, body, shape);
            (Some(body), done)
        }
        rewritten => (rewritten, "untouched"),
    };
    Signed { body, edit: Some(edit("card_signature", at(shape), verdict.as_str(), done)) }
}

/// Where signatures stand.
const fn at(shape: CardShape) -> &'static str {
    match shape {
        CardShape::Json | CardShape::Protobuf(_) => "$.signatures",
        CardShape::RpcResult => "$.result.signatures",
    }
}

/// The rewritten card with what the configuration wants of signatures that no longer fit.
fn sign_anew(delivery: &Delivery<'_>, body: Bytes, shape: CardShape) -> (Bytes, &'static str) {
    let name = &delivery.agent.name;
    let signed = match (delivery.agent.config.signatures, delivery.signer) {
        (Signatures::Keep, _) => {
            warn!(agent = %name, "the signatures of the rewritten card are kept, and do not fit it");
            return (body, "kept");
        }
        (Signatures::Resign, Some(key)) => sign(key, &body, shape),
        (Signatures::Resign, None) | (Signatures::Strip, _) => Vec::new(),
    };
    let done = if signed.is_empty() { "stripped" } else { "resigned" };
    match signature::replace(&body, shape, &signed) {
        Some(replaced) => {
            warn!(agent = %name, done, "the card was signed, and its addresses were rewritten");
            (replaced, done)
        }
        None => (body, "kept"),
    }
}

/// Signatures of ours, one for each form that somebody may verify.
fn sign(key: &SigningKey, body: &[u8], shape: CardShape) -> Vec<CardSignature> {
    let sign =
        |form: &String| CardSignature::new(SigningKey::ALG, key.kid(), form, |it| key.sign(it));
    signature::forms(body, shape).iter().filter_map(sign).collect()
}

fn verify(signatures: &[CardSignature], keys: Option<&KeySet>, forms: &[String]) -> Verdict {
    if signatures.is_empty() {
        return Verdict::Unsigned;
    }
    let Some(keys) = keys else { return Verdict::Unverifiable };
    let mut verdict = Verdict::Unverifiable;
    for signature in signatures {
        let checked = match (signature.header(), signature.octets()) {
            (Some(header), Some(_)) if header.is_critical => Checked::NoKey,
            (Some(header), Some(octets)) => {
                let inputs: Vec<String> = forms.iter().map(|form| signature.input(form)).collect();
                keys.check(&header.alg, header.kid.as_deref(), &inputs, &octets)
            }
            // Whoever's it is meant to be, it is none.
            (None, _) | (_, None) => Checked::Bad,
        };
        match checked {
            Checked::Good => return Verdict::Valid,
            Checked::Bad => verdict = Verdict::Invalid,
            Checked::NoKey => {}
        }
    }
    verdict
}
