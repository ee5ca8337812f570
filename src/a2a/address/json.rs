//! Addresses in cards that are JSON: both shapes, and cards that have both.

use bytes::Bytes;

use super::{Decide, Place, Rewritten};
use crate::a2a::splice::Splice;
use crate::a2a::splice::text::Node;

/// The lists of interfaces, how an item names its binding, and how it names its version where it has one
/// of its own: 1.0, then 0.3.
const LISTS: &[(&str, &str, Option<&str>)] = &[
    ("supportedInterfaces", "protocolBinding", Some("protocolVersion")),
    ("additionalInterfaces", "transport", None),
];

/// Members of which a card has at least one: an error that names a `url` is no card.
const SIGNS: &[&str] = &["name", "skills", "capabilities", "protocolVersion", "preferredTransport"];

/// What 0.3 takes an address for that names no binding.
const DEFAULT_BINDING: &str = "JSONRPC";

/// Replaces addresses in the card that stands at this path of the document.
pub(super) fn rewrite(body: &[u8], path: &[&str], decide: Decide<'_>) -> Option<Rewritten> {
    let text = std::str::from_utf8(body).ok()?;
    let card = path.iter().try_fold(Node::root(text)?, |node, name| node.get(name))?;
    let root = path.iter().fold(String::from("$"), |root, name| format!("{root}.{name}"));
    let mut splice = Splice::default();
    let mut changed = Vec::new();
    for (place, node) in places(card, &root) {
        if let Some(url) = decide(&place).filter(|url| *url != place.url) {
            splice.replace(node.range(), serde_json::Value::from(url.as_str()).to_string());
            changed.push((place, url));
        }
    }
    if splice.is_empty() {
        return None;
    }
    Some(Rewritten { body: Bytes::from(splice.apply(text)), changed })
}

/// Every address and where it stands, in the order of the document.
fn places<'t>(card: Node<'t>, root: &str) -> Vec<(Place, Node<'t>)> {
    let members = card.members();
    let is_card = members.iter().any(|member| SIGNS.contains(&member.0.as_str()));
    let text = |node: Node<'_>, name| node.get(name).and_then(Node::as_string);
    // 0.3 has one version for all of its addresses.
    let version = text(card, "protocolVersion").unwrap_or_default();
    let mut places = Vec::new();
    for (name, node) in &members {
        if name == "url" && is_card {
            let beside = Beside {
                binding: text(card, "preferredTransport"),
                version: version.clone(),
                ..Beside::default()
            };
            places.extend(place(format!("{root}.url"), *node, beside));
        }
        let Some((list, binding, own)) = LISTS.iter().find(|list| list.0 == name) else {
            continue;
        };
        for (index, item) in node.items().into_iter().enumerate() {
            for (_, url) in item.members().into_iter().filter(|member| member.0 == "url") {
                let at = format!("{root}.{list}[{index}].url");
                let version = match own {
                    Some(own) => text(item, own).unwrap_or_default(),
                    None => version.clone(),
                };
                let beside = Beside {
                    binding: text(item, binding),
                    version,
                    tenant: text(item, "tenant").unwrap_or_default(),
                };
                places.extend(place(at, url, beside));
            }
        }
    }
    places
}

/// What a card says beside an address.
#[derive(Default)]
struct Beside {
    binding: Option<String>,
    version: String,
    tenant: String,
}

fn place(at: String, node: Node<'_>, beside: Beside) -> Option<(Place, Node<'_>)> {
    let url = node.as_string()?;
    let Beside { binding, version, tenant } = beside;
    let binding = binding.unwrap_or_else(|| DEFAULT_BINDING.to_owned());
    Some((Place { at, url, binding, version, tenant }, node))
}
