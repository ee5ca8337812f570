//! Addresses in cards that are protobuf messages.

use bytes::Bytes;

use super::{Decide, Place, Rewritten};
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
    /// The field that names the version, of the card and of an interface.
    card_version: Option<u32>,
    interface_version: Option<u32>,
    /// The field of an interface that names its tenant.
    tenant: Option<u32>,
}

const LAYOUTS: &[Layout] = &[
    Layout {
        version: ProtocolVersion::V0_3,
        own: Some((3, 14)),
        list: (15, "additionalInterfaces"),
        card_version: Some(16),
        interface_version: None,
        tenant: None,
    },
    Layout {
        version: ProtocolVersion::V1_0,
        own: None,
        list: (3, "supportedInterfaces"),
        card_version: None,
        interface_version: Some(4),
        tenant: Some(3),
    },
];

/// What 0.3 takes an address for that names no binding.
const DEFAULT_BINDING: &str = "JSONRPC";

/// Replaces addresses in a card. Its other fields, unknown ones included, keep octets and order.
pub(super) fn rewrite(
    body: &[u8],
    version: ProtocolVersion,
    decide: Decide<'_>,
) -> Option<Rewritten> {
    let layout = LAYOUTS.iter().find(|layout| layout.version == version)?;
    let card_version = numbered(body, layout.card_version);
    let own_binding = layout.own.map(|(_, binding)| text(body, binding));
    let mut changed = Vec::new();
    let mut index = 0;
    let rewritten = fields::map(body, &mut |field| {
        if layout.own.is_some_and(|(url, _)| url == field.number) {
            let binding = own_binding.clone().unwrap_or_default();
            let about = about("$.url".to_owned(), &binding, card_version.clone(), String::new());
            return change_url(field, about, decide, &mut changed);
        }
        let Some(octets) = field.octets().filter(|_| field.number == layout.list.0) else {
            return Change::Keep;
        };
        let at = format!("$.{}[{index}].url", layout.list.1);
        index += 1;
        let own = numbered(octets, layout.interface_version);
        let version = if own.is_empty() { card_version.clone() } else { own };
        let about = about(at, &text(octets, 2), version, numbered(octets, layout.tenant));
        let before = changed.len();
        let interface = fields::map(octets, &mut |field| match field.number {
            1 => change_url(field, about.clone(), decide, &mut changed),
            _ => Change::Keep,
        });
        match interface {
            Some(interface) if changed.len() > before => Change::Replace(interface),
            Some(_) | None => Change::Keep,
        }
    })?;
    (!changed.is_empty()).then(|| Rewritten { body: Bytes::from(rewritten), changed })
}

/// A place whose address is still to be filled in.
fn about(at: String, binding: &str, version: String, tenant: String) -> Place {
    let binding = if binding.is_empty() { DEFAULT_BINDING } else { binding };
    Place { at, url: String::new(), binding: binding.to_owned(), version, tenant }
}

fn change_url(
    field: Field<'_>,
    about: Place,
    decide: Decide<'_>,
    changed: &mut Vec<(Place, String)>,
) -> Change {
    let Some(url) = field.text() else { return Change::Keep };
    let place = Place { url: url.to_owned(), ..about };
    match decide(&place).filter(|new| *new != place.url) {
        Some(new) => {
            changed.push((place, new.clone()));
            Change::Replace(new.into_bytes())
        }
        None => Change::Keep,
    }
}

fn numbered(octets: &[u8], number: Option<u32>) -> String {
    number.map_or_else(String::new, |number| text(octets, number))
}

fn text(octets: &[u8], number: u32) -> String {
    String::from_utf8_lossy(fields::last(octets, number).unwrap_or_default()).into_owned()
}
