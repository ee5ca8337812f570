//! Where an address of a card leads, and by what address of Meddler's an orchestrator gets there.
//!
//! An address is given out only if calling it leads to exactly what the agent wrote. A loopback or
//! wildcard address means "this agent" wherever the agent is. What leads to nobody we know stays: it
//! leads around Meddler, but never through it to strangers.

use std::sync::Arc;

use crate::a2a::address::Place;
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::net::dial::Destination;
use crate::proxy::agent::Agent;
use crate::proxy::grpc;
use crate::proxy::learned::GrpcInterface;
use crate::proxy::rewrite::address::{Style, Written, path_to};
use crate::proxy::rewrite::card::Delivery;
use crate::proxy::target::{Base, Target};

/// Where an address leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::proxy) enum Lead {
    /// Through Meddler, as it stands: the agent was told how it is called.
    AsItIs,
    /// Through Meddler, by this address.
    Through(String),
    /// Past Meddler, and why.
    Around(&'static str),
    /// Wherever the orchestrator takes it from: it names no host.
    Relative,
}

const UNKNOWN: &str =
    "it names a host that is not configured, so calls to it lead around Meddler; see `also:`";
const SECOND: &str = "another gRPC interface of the same version and tenant comes before it, and calls \
                      to the two cannot be told apart, so calls to it lead around Meddler";
const UNREADABLE: &str =
    "it is no address that Meddler can read, so calls to it lead around Meddler";

/// The addresses of one card, read together: some are understood by the others.
pub(in crate::proxy) struct Addresses<'a> {
    delivery: &'a Delivery<'a>,
    /// The port by which the agent's loopback addresses mean the one that we forward to.
    own_port: u16,
    grpc: Vec<GrpcInterface>,
}

impl<'a> Addresses<'a> {
    pub(in crate::proxy) fn of(delivery: &'a Delivery<'a>, places: &[Place]) -> Self {
        let own_port = own_port(delivery, places);
        let mut addresses = Self { delivery, own_port, grpc: Vec::new() };
        addresses.grpc = addresses.grpc_interfaces(places);
        addresses
    }

    /// The card's gRPC interfaces that lead to the agent, in its order.
    pub(in crate::proxy) fn grpc(self) -> Vec<GrpcInterface> {
        self.grpc
    }

    /// Where other HTTP interfaces of the agent are: what its port forwards to besides `forward`.
    pub(in crate::proxy) fn elsewhere(&self, places: &[Place]) -> Vec<Destination> {
        let agent = self.delivery.agent;
        let http = places.iter().filter(|place| !is_grpc(place));
        let to = http.filter_map(|place| {
            let to = self.destination(&Written::parse(&place.url)?);
            agent.may_reach(&to.authority).then_some(to)
        });
        to.filter(|to| *to != agent.config.forward.to).collect()
    }

    /// The paths below which HTTP+JSON is spoken on the agent's own port, the root left out.
    pub(in crate::proxy) fn bases(&self, places: &[Place]) -> Vec<String> {
        let agent = self.delivery.agent;
        let base = |place: &Place| {
            let written = Written::parse(&place.url)?;
            let (to, path) = (self.destination(&written), written.path());
            let is_ours = agent.may_reach(&to.authority) && self.other_owner(&to, &path).is_none();
            let path = mapped(&agent.config.forward, &to, &path);
            let base = path.trim_end_matches('/');
            // A 0.3 interface at `/v1` is called below `/v1/v1`, or by clients that mean the path itself.
            let is_version = base.ends_with("/v1") && !place.version.starts_with('1');
            (is_ours && !base.is_empty() && !base.contains('?') && !is_version)
                .then(|| base.to_owned())
        };
        places.iter().filter(|place| is_http_json(place)).filter_map(base).collect()
    }

    /// Where one of them leads.
    pub(in crate::proxy) fn lead(&self, place: &Place) -> Lead {
        let delivery = self.delivery;
        let written = match written(place) {
            Some(written) => written,
            None if is_relative(&place.url) => return Lead::Relative,
            None => return Lead::Around(UNREADABLE),
        };
        if written.authority == delivery.base.authority {
            return Lead::AsItIs;
        }
        let to = self.destination(&written);
        if is_grpc(place) {
            self.grpc_lead(place, &written, &to)
        } else {
            self.http_lead(&written, &to)
        }
    }

    fn http_lead(&self, written: &Written<'_>, to: &Destination) -> Lead {
        let path = written.path();
        let agent = self.delivery.agent;
        if let Some(other) = self.other_owner(to, &path) {
            return at_another(self.delivery, other, written, &path);
        }
        if !agent.may_reach(&to.authority) {
            return Lead::Around(UNKNOWN);
        }
        let path = mapped(&agent.config.forward, to, &path);
        Lead::Through(written.at(&self.delivery.base, &path))
    }

    fn grpc_lead(&self, place: &Place, written: &Written<'_>, to: &Destination) -> Lead {
        if let Some(other) = self.grpc_owner(to) {
            return at_another(self.delivery, other, written, "/");
        }
        if self.delivery.agent.may_reach(&to.authority) {
            let version = ProtocolVersion::parse(&place.version);
            let picked = grpc::pick(&self.grpc, version, &place.tenant);
            let is_it = picked.is_some_and(|picked| picked.to == *to);
            let here = || Lead::Through(written.at(&self.delivery.base, "/"));
            return if is_it { here() } else { Lead::Around(SECOND) };
        }
        let has_learned =
            |other: &&Arc<Agent>| other.learned.grpc().iter().any(|known| known.to == *to);
        match self.others().find(has_learned) {
            Some(other) => at_another(self.delivery, other, written, "/"),
            None => Lead::Around(UNKNOWN),
        }
    }

    /// Another configured agent that is at this very address, if the one whose card this is is not.
    fn grpc_owner(&self, to: &Destination) -> Option<&'a Arc<Agent>> {
        if is_same(&self.delivery.agent.config.forward, to) {
            return None;
        }
        self.others().find(|other| is_same(&other.config.forward, to))
    }

    fn grpc_interfaces(&self, places: &[Place]) -> Vec<GrpcInterface> {
        let agent = self.delivery.agent;
        let interface = |place: &Place| {
            let to = self.destination(&written(place)?);
            let is_own = agent.may_reach(&to.authority) && self.grpc_owner(&to).is_none();
            is_own.then(|| GrpcInterface {
                version: ProtocolVersion::parse(&place.version),
                tenant: place.tenant.clone(),
                to,
            })
        };
        places.iter().filter(|place| is_grpc(place)).filter_map(interface).collect()
    }

    /// The destination behind an address: what is a loopback address to the agent is the agent's host
    /// to us.
    fn destination(&self, written: &Written<'_>) -> Destination {
        let forward = &self.delivery.agent.config.forward;
        let scheme = written.dial_scheme(forward);
        let authority = &written.authority;
        if !authority.is_local() {
            return Destination { scheme, authority: authority.clone() };
        }
        let own = &forward.to;
        match (authority.port() == self.own_port, written.style) {
            // Whatever it says of TLS: it may not know what stands before it.
            (true, Style::Url(_)) => own.clone(),
            (true, _) => Destination { scheme, authority: own.authority.clone() },
            (false, _) => {
                Destination { scheme, authority: own.authority.with_port(authority.port()) }
            }
        }
    }

    fn others(&self) -> impl Iterator<Item = &'a Arc<Agent>> {
        let delivery = self.delivery;
        delivery.agents.iter().filter(|other| other.name != delivery.agent.name)
    }

    /// Another configured agent that stands for this address, if it does so better than the one whose
    /// card this is: one server may be the home of several, each below a path of its own.
    fn other_owner(&self, to: &Destination, path: &str) -> Option<&'a Arc<Agent>> {
        let own = self.delivery.agent;
        let fit = |agent: &Agent| {
            let forward = &agent.config.forward;
            let is_below = is_same(forward, to) && forward.path_from(path).is_some();
            is_below.then(|| forward.base_len())
        };
        let fits = self.others().filter_map(|other| Some((fit(other)?, other)));
        // The one with the longest path; the first of several.
        let best = fits.reduce(|best, next| if next.0 > best.0 { next } else { best });
        match (best, fit(own)) {
            (Some((len, other)), fit) if fit.is_none_or(|fit| fit < len) => Some(other),
            (Some(_), _) | (None, Some(_)) => None,
            (None, None) if own.may_reach(&to.authority) => None,
            (None, None) => self.others().find(|other| is_same(&other.config.forward, to)),
        }
    }
}

pub(in crate::proxy) fn is_grpc(place: &Place) -> bool {
    match Binding::parse(&place.binding) {
        Some(Binding::Grpc) => true,
        Some(Binding::JsonRpc | Binding::HttpJson) | None => false,
    }
}

fn is_http_json(place: &Place) -> bool {
    Binding::parse(&place.binding) == Some(Binding::HttpJson)
}

fn written(place: &Place) -> Option<Written<'_>> {
    if is_grpc(place) { Written::parse_grpc(&place.url) } else { Written::parse(&place.url) }
}

/// Whether a URL without a scheme or a host of its own: `/a2a/v1`, `rpc`, `?agent=7`, nothing at all.
fn is_relative(url: &str) -> bool {
    let has_scheme = url.split(['/', '?', '#']).next().is_some_and(|start| start.contains(':'));
    !has_scheme && !url.starts_with("//")
}

fn is_same(forward: &Target, to: &Destination) -> bool {
    let (a, b) = (&forward.to.authority, &to.authority);
    a == b || (a.is_local() && b.is_local() && a.port() == b.port())
}

/// The path of the agent's own port that leads to this path at this address.
fn mapped(forward: &Target, to: &Destination, path: &str) -> String {
    let below = if *to == forward.to { forward.path_from(path) } else { None };
    below.unwrap_or_else(|| path_to(to, path))
}

/// An address of another agent that Meddler stands for becomes one of that agent's port.
fn at_another(delivery: &Delivery<'_>, other: &Agent, written: &Written<'_>, path: &str) -> Lead {
    let Some(listen) = other.listen.get() else { return Lead::Around(UNKNOWN) };
    let base = other.config.advertise.clone().unwrap_or_else(|| Base {
        scheme: other.listen_scheme(),
        authority: delivery.base.authority.with_port(listen.port()),
        path: String::new(),
    });
    let forward = &other.config.forward;
    Lead::Through(written.at(&base, &mapped(forward, &forward.to, path)))
}

/// The port by which loopback addresses in a card mean the one that we forward to: that one, if the card
/// names it; else the first that it names, which is then the port inside of the agent's container. Seen
/// from the same machine, a port that another agent is configured at is that agent's.
fn own_port(delivery: &Delivery<'_>, places: &[Place]) -> u16 {
    let own = &delivery.agent.config.forward.to.authority;
    let is_anothers = |port: u16| {
        let at = |agent: &Arc<Agent>| {
            let other = &agent.config.forward.to.authority;
            agent.name != delivery.agent.name && other.is_local() && other.port() == port
        };
        own.is_local() && delivery.agents.iter().any(at)
    };
    let local: Vec<u16> = places
        .iter()
        .filter(|place| !is_grpc(place))
        .filter_map(|place| Written::parse(&place.url))
        .filter(|written| written.authority.is_local())
        .map(|written| written.authority.port())
        .collect();
    if local.contains(&own.port()) {
        return own.port();
    }
    local.into_iter().find(|port| !is_anothers(*port)).unwrap_or(own.port())
}
