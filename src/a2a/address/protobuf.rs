//! Addresses in cards that are protobuf messages.

use bytes::Bytes;

use super::{Decide, Place, Rewritten, Signatures};
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::splice::fields::{self, Change, Field};

/// Where addresses stand in one version's `AgentCard`, by field number.
struct Layout {
    version: ProtocolVersion,
    /// The card's own address and the binding beside it: 0.3 only.
    own: Option<(u32, u32)>,
    /// The list of interfaces and its JSON name. In both versions an interface's address is field 1,
    /// its binding field 2.
    list: (u32, &'static str),
    signatures: u32,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        version: ProtocolVersion::V0_3,
        own: Some((3, 14)),
        list: (15, "additionalInterfaces"),
        signatures: 17,
    },
    Layout {
        version: ProtocolVersion::V1_0,
        own: None,
        list: (3, "supportedInterfaces"),
        signatures: 13,
    },
];

/// What 0.3 takes an address for that names no binding.
const DEFAULT_BINDING: &str = "JSONRPC";

/// Replaces addresses in a card. Its other fields, unknown ones included, keep octets and order.
pub(super) fn rewrite(
    body: &[u8],
    version: ProtocolVersion,
    signatures: Signatures,
    decide: Decide<'_>,
) -> Option<Rewritten> {
    let layout = LAYOUTS.iter().find(|layout| layout.version == version)?;
    let own_binding = layout.own.map(|(_, binding)| text(body, binding));
    let mut changed = Vec::new();
    let mut index = 0;
    let rewritten = fields::map(body, &mut |field| {
        if layout.own.is_some_and(|(url, _)| url == field.number) {
            let binding = own_binding.clone().unwrap_or_default();
            return change_url(field, "$.url".to_owned(), &binding, decide, &mut changed);
        }
        let Some(octets) = field.octets().filter(|_| field.number == layout.list.0) else {
            return Change::Keep;
        };
        let at = format!("$.{}[{index}].url", layout.list.1);
        index += 1;
        let binding = text(octets, 2);
        let before = changed.len();
        let interface = fields::map(octets, &mut |field| match field.number {
            1 => change_url(field, at.clone(), &binding, decide, &mut changed),
            _ => Change::Keep,
        });
        match interface {
            Some(interface) if changed.len() > before => Change::Replace(interface),
            Some(_) | None => Change::Keep,
        }
    })?;
    if changed.is_empty() {
        return None;
    }
    let mut signatures_removed = 0;
    let body = match signatures {
        Signatures::Keep => rewritten,
        Signatures::Strip => fields::map(&rewritten, &mut |field| {
            if field.number != layout.signatures {
                return Change::Keep;
            }
            signatures_removed += 1;
            Change::Remove
        })?,
    };
    Some(Rewritten { body: Bytes::from(body), changed, signatures_removed })
}

fn change_url(
    field: Field<'_>,
    at: String,
    binding: &str,
    decide: Decide<'_>,
    changed: &mut Vec<(Place, String)>,
) -> Change {
    let Some(url) = field.text() else { return Change::Keep };
    let binding = if binding.is_empty() { DEFAULT_BINDING } else { binding };
    let place = Place { at, url: url.to_owned(), binding: binding.to_owned() };
    match decide(&place).filter(|new| *new != place.url) {
        Some(new) => {
            changed.push((place, new.clone()));
            Change::Replace(new.into_bytes())
        }
        None => Change::Keep,
    }
}

fn text(octets: &[u8], number: u32) -> String {
    String::from_utf8_lossy(fields::last(octets, number).unwrap_or_default()).into_owned()
}
