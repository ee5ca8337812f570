//! What an agent's cards have told of where it is. Nothing of it outlives the process: it is looked up
//! again when it is needed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::a2a::address::Place;
use crate::a2a::binding::ProtocolVersion;
use crate::net::dial::Destination;

/// Other addresses of one agent that are remembered; a card names a handful.
const NAMED_MAX: usize = 256;

/// A gRPC interface of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GrpcInterface {
    /// `None`: the card names none, or one that we do not know.
    pub(super) version: Option<ProtocolVersion>,
    /// Empty for none.
    pub(super) tenant: String,
    pub(super) to: Destination,
}

/// What is known of one agent.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// The addresses of the card that was seen last.
    places: ArcSwapOption<Vec<Place>>,
    /// Its gRPC interfaces, in its order.
    grpc: ArcSwap<Vec<GrpcInterface>>,
    /// The paths of its HTTP+JSON interfaces as they are given out, longest first; none for the root.
    bases: ArcSwap<Vec<Arc<str>>>,
    /// Other addresses that one of its cards has named.
    named: Mutex<HashSet<Destination>>,
}

impl Learned {
    pub(super) fn note(
        &self,
        places: &[Place],
        elsewhere: Vec<Destination>,
        mut bases: Vec<String>,
        grpc: Vec<GrpcInterface>,
    ) {
        bases.sort_by_key(|base| std::cmp::Reverse(base.len()));
        if !bases.is_empty()
            && !self.bases.load().iter().map(|base| &**base).eq(bases.iter().map(String::as_str))
        {
            self.bases.store(Arc::new(bases.iter().map(|base| Arc::from(base.as_str())).collect()));
        }
        if places.is_empty() {
            return;
        }
        let known = self.places.load();
        if known.as_ref().is_none_or(|known| known.as_slice() != places) {
            self.places.store(Some(Arc::new(places.to_vec())));
        }
        // A card without one does not unsay what another said: the extended card may be the shorter.
        if !grpc.is_empty() && **self.grpc.load() != grpc {
            self.grpc.store(Arc::new(grpc));
        }
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        for to in elsewhere {
            if named.len() >= NAMED_MAX {
                named.clear();
            }
            named.insert(to);
        }
    }

    pub(super) fn places(&self) -> Option<Arc<Vec<Place>>> {
        self.places.load_full()
    }

    /// The interface that a path lies below.
    pub(super) fn base_of(&self, path: &str) -> Option<Arc<str>> {
        let bases = self.bases.load();
        let is_below = |base: &&Arc<str>| {
            path.strip_prefix(&***base).is_some_and(|rest| rest.starts_with('/'))
        };
        bases.iter().find(is_below).cloned()
    }

    pub(super) fn grpc(&self) -> Arc<Vec<GrpcInterface>> {
        self.grpc.load_full()
    }

    /// Whether one of its cards has named this address.
    pub(super) fn has_named(&self, to: &Destination) -> bool {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).contains(to)
    }
}
