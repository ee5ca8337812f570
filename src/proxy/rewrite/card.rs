//! What the addresses of an agent card become, and what is learned from them.
//!
//! An address that leads to this agent becomes one of this port, such that calling it leads to exactly
//! what the agent wrote. A loopback or wildcard address means "this agent" wherever the agent is. What
//! leads elsewhere stays, with a warning: it leads around Meddler, but never through it to strangers.

use bytes::Bytes;
use tracing::warn;

use crate::a2a::address::{self, CardShape, Place};
use crate::a2a::binding::Binding;
use crate::net::dial::Destination;
use crate::proxy::agent::Agent;
use crate::proxy::rewrite::address::{Style, Written, path_to};
use crate::proxy::target::Base;
use crate::record::exchange::EditRecord;

/// Where a card is being delivered.
pub(in crate::proxy) struct Delivery<'a> {
    /// The agent whose card it is.
    pub(in crate::proxy) agent: &'a Agent,
    /// All agents: a card may name another one.
    pub(in crate::proxy) agents: &'a [std::sync::Arc<Agent>],
    /// What the orchestrator reaches this port by.
    pub(in crate::proxy) base: Base,
}

/// A card as it is delivered, and what was changed.
pub(in crate::proxy) struct Delivered {
    /// The new body; `None` when nothing in it changes.
    pub(in crate::proxy) body: Option<Bytes>,
    /// What to record.
    pub(in crate::proxy) edits: Vec<EditRecord>,
}

/// Rewrites a card (content coding undone, for gRPC without its prefix), and learns from it.
pub(in crate::proxy) fn deliver(
    delivery: &Delivery<'_>,
    body: &[u8],
    shape: CardShape,
) -> Delivered {
    let places = address::places(body, shape);
    learn(delivery.agent, &places);
    let ports = Ports::of(delivery.agent, &places);
    let mut edits = Vec::new();
    let rewritten = address::rewrite(body, shape, true, &mut |place| {
        let new = new_address(delivery, place, ports);
        if let Err(why) = &new {
            warn!(agent = %delivery.agent.name, at = %place.at, url = %place.url, "{why}");
            edits.push(edit("card_bypass", &place.at, &place.url, &place.url));
        }
        new.ok().flatten().filter(|new| *new != place.url)
    });
    let Some(rewritten) = rewritten else { return Delivered { body: None, edits } };
    for (place, new) in &rewritten.changed {
        edits.push(edit("card_address", &place.at, &place.url, new));
    }
    if rewritten.signatures_removed > 0 {
        warn!(
            agent = %delivery.agent.name,
            "the card was signed; its addresses were rewritten, so the signatures were removed"
        );
        let count = rewritten.signatures_removed.to_string();
        edits.push(edit("card_signature", "$.signatures", &count, "0"));
    }
    Delivered { body: Some(rewritten.body), edits }
}

/// Remembers where gRPC calls go: to the first gRPC interface that may be reached.
pub(in crate::proxy) fn learn_from(agent: &Agent, body: &[u8], shape: CardShape) {
    learn(agent, &address::places(body, shape));
}

fn learn(agent: &Agent, places: &[Place]) {
    let found = places.iter().find_map(|place| {
        let written = Written::parse(&place.url)?;
        is_grpc(place).then(|| grpc_destination(agent, &written))?
    });
    if let Some(to) = found {
        let known = agent.grpc.load();
        if known.as_ref().is_none_or(|known| *known.destination() != to) {
            agent.grpc.store(Some(std::sync::Arc::new(agent.elsewhere(&to))));
        }
    }
}

fn is_grpc(place: &Place) -> bool {
    match Binding::parse(&place.binding) {
        Some(Binding::Grpc) => true,
        Some(Binding::JsonRpc | Binding::HttpJson) | None => false,
    }
}

/// Whether the ports in a card are those of the network or those inside the agent's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    /// One of its HTTP addresses has the port that we forward to: the others are real as well.
    Real,
    /// None has: they are mapped on the way, and all of them mean the one we forward to.
    Mapped,
}

impl Ports {
    fn of(agent: &Agent, places: &[Place]) -> Self {
        let port = agent.config.forward.to.authority.port();
        let has_ours = places
            .iter()
            .filter(|place| !is_grpc(place))
            .filter_map(|place| Written::parse(&place.url))
            .any(|written| written.authority.port() == port);
        if has_ours { Self::Real } else { Self::Mapped }
    }
}

/// The new address; `Ok(None)` leaves it because it is right as it is, `Err` says why it leads past us.
fn new_address(
    delivery: &Delivery<'_>,
    place: &Place,
    ports: Ports,
) -> Result<Option<String>, &'static str> {
    let agent = delivery.agent;
    let Some(written) = Written::parse(&place.url) else {
        return Err("a relative address in a card is left as it is");
    };
    if written.authority == delivery.base.authority {
        // An agent that builds its card from what it was called by has got it right already.
        return Ok(None);
    }
    if is_grpc(place) {
        return match grpc_destination(agent, &written) {
            Some(_) => Ok(Some(written.at(&delivery.base, "/"))),
            None => at_another(delivery, &written),
        };
    }
    let path = written.path();
    match http_destination(agent, &written, ports) {
        Some(to) if to == agent.config.forward.to => {
            let path = agent.config.forward.path_from(&path).unwrap_or_else(|| path_to(&to, &path));
            Ok(Some(written.at(&delivery.base, &path)))
        }
        Some(to) => Ok(Some(written.at(&delivery.base, &path_to(&to, &path)))),
        None => at_another(delivery, &written),
    }
}

/// The destination behind a gRPC address, if it is this agent's.
fn grpc_destination(agent: &Agent, written: &Written<'_>) -> Option<Destination> {
    let own = &agent.config.forward.to.authority;
    let authority = if written.authority.is_local() && !written.authority.is_same_host(own) {
        own.with_port(written.authority.port())
    } else {
        written.authority.clone()
    };
    let scheme = written.dial_scheme(&agent.config.forward);
    agent.may_reach(&authority).then_some(Destination { scheme, authority })
}

/// The destination behind an HTTP address, if it is this agent's.
fn http_destination(agent: &Agent, written: &Written<'_>, ports: Ports) -> Option<Destination> {
    let own = &agent.config.forward.to;
    let scheme = written.dial_scheme(&agent.config.forward);
    if written.authority.is_local() {
        let is_own_port = written.authority.port() == own.authority.port();
        // Seen from another machine a loopback address can only mean "me, as you called me".
        let is_me = is_own_port || ports == Ports::Mapped || !own.authority.is_local();
        if is_me {
            return Some(own.clone());
        }
        let authority = own.authority.with_port(written.authority.port());
        return Some(Destination { scheme, authority });
    }
    let authority = written.authority.clone();
    agent.may_reach(&authority).then_some(Destination { scheme, authority })
}

/// An address of another agent that Meddler stands for becomes one of that agent's port.
fn at_another(
    delivery: &Delivery<'_>,
    written: &Written<'_>,
) -> Result<Option<String>, &'static str> {
    const UNKNOWN: &str = "the card names a host that is not configured: calls to it lead around Meddler; see `also:`";
    let other = delivery.agents.iter().find(|other| {
        other.name != delivery.agent.name && other.config.forward.to.authority == written.authority
    });
    let Some(other) = other else { return Err(UNKNOWN) };
    let Some(listen) = other.listen.get() else { return Err(UNKNOWN) };
    let base = other.config.advertise.clone().unwrap_or_else(|| Base {
        scheme: other.listen_scheme(),
        authority: delivery.base.authority.with_port(listen.port()),
        path: String::new(),
    });
    let path = written.path();
    let to = &other.config.forward.to;
    let path = other.config.forward.path_from(&path).unwrap_or_else(|| path_to(to, &path));
    Ok(Some(written.at(&base, &path)))
}

/// A change to be recorded.
pub(in crate::proxy) fn edit(kind: &str, at: &str, from: &str, to: &str) -> EditRecord {
    EditRecord { kind: kind.into(), at: at.into(), from: from.into(), to: to.into() }
}

/// What a `Location` becomes that names the agent's own address, or the one that was `asked`; `None`
/// leaves it. A path alone is left only where the client resolves it against the right root: not below a
/// base path, and not on a path of our own that leads elsewhere.
pub(in crate::proxy) fn location(
    delivery: &Delivery<'_>,
    asked: &Destination,
    location: &str,
) -> Option<String> {
    let forward = &delivery.agent.config.forward;
    let path_at = |to: &Destination, path: &str| {
        let mapped = if *to == forward.to { forward.path_from(path) } else { None };
        mapped.unwrap_or_else(|| path_to(to, path))
    };
    let is_without_scheme = location.starts_with("//");
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
        Style::Bare | Style::Dns | Style::Grpc(_) => return None,
    };
    let to = Destination { scheme, authority: written.authority.clone() };
    // Only an address that is mapped: not its TLS twin, not another port, not another host.
    if to != forward.to && to != *asked {
        return None;
    }
    Some(written.at(&delivery.base, &path_at(&to, &written.path())))
}
