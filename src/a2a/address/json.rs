//! Addresses in cards that are JSON: both shapes, and cards that have both.

use bytes::Bytes;

use super::{Decide, Place, Rewritten, Signatures};
use crate::a2a::splice::Splice;
use crate::a2a::splice::text::Node;

/// The lists of interfaces and how an item names its binding: 1.0, then 0.3.
const LISTS: &[(&str, &str)] =
    &[("supportedInterfaces", "protocolBinding"), ("additionalInterfaces", "transport")];

/// Members of which a card has at least one: an error that names a `url` is no card.
const SIGNS: &[&str] = &["name", "skills", "capabilities", "protocolVersion", "preferredTransport"];

/// What 0.3 takes an address for that names no binding.
const DEFAULT_BINDING: &str = "JSONRPC";

/// Replaces addresses in the card that stands at this path of the document.
pub(super) fn rewrite(
    body: &[u8],
    path: &[&str],
    signatures: Signatures,
    decide: Decide<'_>,
) -> Option<Rewritten> {
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
    let mut signatures_removed = 0;
    if signatures == Signatures::Strip {
        signatures_removed = card.get("signatures").map_or(0, |list| list.items().len());
        for range in card.without("signatures") {
            splice.replace(range, "");
        }
    }
    Some(Rewritten { body: Bytes::from(splice.apply(text)), changed, signatures_removed })
}

/// Every address and where it stands, in the order of the document.
fn places<'t>(card: Node<'t>, root: &str) -> Vec<(Place, Node<'t>)> {
    let members = card.members();
    let is_card = members.iter().any(|member| SIGNS.contains(&member.0.as_str()));
    let preferred = card.get("preferredTransport").and_then(Node::as_string);
    let mut places = Vec::new();
    for (name, node) in &members {
        if name == "url" && is_card {
            places.extend(place(format!("{root}.url"), *node, preferred.clone()));
        }
        let Some((_, binding)) = LISTS.iter().find(|list| list.0 == name) else { continue };
        for (index, item) in node.items().into_iter().enumerate() {
            for (_, url) in item.members().into_iter().filter(|member| member.0 == "url") {
                let at = format!("{root}.{name}[{index}].url");
                let binding = item.get(binding).and_then(Node::as_string);
                places.extend(place(at, url, binding));
            }
        }
    }
    places
}

fn place(at: String, node: Node<'_>, binding: Option<String>) -> Option<(Place, Node<'_>)> {
    let url = node.as_string()?;
    let binding = binding.unwrap_or_else(|| DEFAULT_BINDING.to_owned());
    Some((Place { at, url, binding }, node))
}
