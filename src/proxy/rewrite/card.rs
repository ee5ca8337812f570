//! What the addresses of an agent card become, and what is learned from them.
//!
//! An address that leads to a configured agent becomes one of that agent's port; what leads elsewhere
//! stays, with a warning. [`super::lead`] decides, and here it is done.

use std::sync::Arc;

use bytes::Bytes;
use http::uri::PathAndQuery;
use tracing::warn;

use crate::a2a::address::{self, CardShape, Place};
use crate::net::dial::Destination;
use crate::net::jws::{KeySet, SigningKey};
use crate::proxy::agent::Agent;
use crate::proxy::rewrite::address::{Style, Written, path_to};
use crate::proxy::rewrite::lead::{Addresses, Lead};
use crate::proxy::rewrite::signature;
use crate::proxy::target::Base;
use crate::record::exchange::EditRecord;

/// Where a card is being delivered.
pub(in crate::proxy) struct Delivery<'a> {
    /// The agent whose card it is.
    pub(in crate::proxy) agent: &'a Agent,
    /// All agents: a card may name another one.
    pub(in crate::proxy) agents: &'a [Arc<Agent>],
    /// What the orchestrator reaches this port by.
    pub(in crate::proxy) base: Base,
    /// What cards are signed with anew.
    pub(in crate::proxy) signer: Option<&'a SigningKey>,
}

/// A card as it is delivered, and what was changed.
pub(in crate::proxy) struct Delivered {
    /// The new body; `None` when nothing in it changes.
    pub(in crate::proxy) body: Option<Bytes>,
    /// What to record.
    pub(in crate::proxy) edits: Vec<EditRecord>,
}

/// Rewrites a card (content coding undone, for gRPC without its prefix), and learns from it. `keys`
/// are those that its signatures are verified by.
pub(in crate::proxy) fn deliver(
    delivery: &Delivery<'_>,
    keys: Option<&KeySet>,
    body: &[u8],
    shape: CardShape,
) -> Delivered {
    let places = address::places(body, shape);
    if places.is_empty() {
        return Delivered { body: None, edits: Vec::new() };
    }
    learn(delivery, &places);
    let addresses = Addresses::of(delivery, &places);
    let mut edits = Vec::new();
    let rewritten = address::rewrite(body, shape, &mut |place| match addresses.lead(place) {
        Lead::AsItIs => None,
        Lead::Through(url) => Some(url),
        Lead::Around(why) => {
            warn!(agent = %delivery.agent.name, at = %place.at, url = %place.url, "{why}");
            edits.push(edit("card_bypass", &place.at, &place.url, &place.url));
            None
        }
        Lead::Relative => {
            let why = "it is relative, and is left as it is";
            warn!(agent = %delivery.agent.name, at = %place.at, url = %place.url, "{why}");
            edits.push(edit("card_relative", &place.at, &place.url, &place.url));
            None
        }
    });
    let changed = rewritten.iter().flat_map(|rewritten| &rewritten.changed);
    edits.extend(changed.map(|(place, new)| edit("card_address", &place.at, &place.url, new)));
    let rewritten = rewritten.map(|rewritten| rewritten.body);
    let signed = signature::deliver(delivery, keys, (body, shape), rewritten);
    edits.extend(signed.edit);
    Delivered { body: signed.body, edits }
}

/// Remembers what a card says of where the agent is.
pub(in crate::proxy) fn learn_from(delivery: &Delivery<'_>, body: &[u8], shape: CardShape) {
    learn(delivery, &address::places(body, shape));
}

fn learn(delivery: &Delivery<'_>, places: &[Place]) {
    let addresses = Addresses::of(delivery, places);
    let elsewhere = addresses.elsewhere(places);
    let bases = addresses.bases(places);
    delivery.agent.learn(places, elsewhere, bases, addresses.grpc());
}

/// A change to be recorded.
pub(in crate::proxy) fn edit(kind: &str, at: &str, from: &str, to: &str) -> EditRecord {
    EditRecord { kind: kind.into(), at: at.into(), from: from.into(), to: to.into() }
}

/// What a `Location` becomes that names the agent's own address, or the one that was `asked` for `path`;
/// `None` leaves it. A path alone is left only where the client resolves it against the right root: not below a
/// base path, and not on a path of our own that leads elsewhere.
pub(in crate::proxy) fn location(
    delivery: &Delivery<'_>,
    (asked, path): (&Destination, &PathAndQuery),
    location: &str,
) -> Option<String> {
    let forward = &delivery.agent.config.forward;
    let path_at = |to: &Destination, path: &str| {
        let mapped = if *to == forward.to { forward.path_from(path) } else { None };
        mapped.unwrap_or_else(|| path_to(to, path))
    };
    let is_without_scheme = location.starts_with("//");
    // Only `forward` itself is known to the client by another path than it has at the agent.
    let is_forward = *asked == forward.to && *path == forward.exactly;
    let resolved = if is_forward { relative(path.as_str(), location) } else { None };
    let location = resolved.as_deref().unwrap_or(location);
    if location.starts_with('/') && !is_without_scheme {
        if *asked == forward.to && !forward.is_below_origin() {
            return None;
        }
        return Some(format!("{}{}", delivery.base.path, path_at(asked, location)));
    }
    // `//host/path` is of the scheme that was asked with.
    let whole = is_without_scheme.then(|| format!("{}:{location}", asked.scheme.as_str()));
    let written = Written::parse(whole.as_deref().unwrap_or(location))?;
    let scheme = match written.style {
        Style::Url(scheme) => scheme,
        Style::Bare | Style::Resolved(_) | Style::Grpc(_) => return None,
    };
    let to = Destination { scheme, authority: written.authority.clone() };
    // Only an address that is mapped: not its TLS twin, not another port, not another host.
    if to != forward.to && to != *asked {
        return None;
    }
    Some(written.at(&delivery.base, &path_at(&to, &written.path())))
}

/// A path that is relative to the one that was asked for (RFC 3986, section 5.2), from the root.
fn relative(asked: &str, location: &str) -> Option<String> {
    let has_scheme =
        location.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':'));
    if location.is_empty() || location.starts_with('/') || has_scheme {
        return None;
    }
    // Any host does: what counts is what becomes of the path.
    let asked = url::Url::parse("http://agent.invalid").ok()?.join(asked).ok()?;
    let joined = asked.join(location).ok()?;
    joined.as_str().strip_prefix("http://agent.invalid").map(str::to_owned)
}
