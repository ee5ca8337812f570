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
    /// Other addresses that one of its cards has named.
    named: Mutex<HashSet<Destination>>,
}

impl Learned {
    pub(super) fn note(
        &self,
        places: &[Place],
        elsewhere: Vec<Destination>,
        grpc: Vec<GrpcInterface>,
    ) {
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

    pub(super) fn grpc(&self) -> Arc<Vec<GrpcInterface>> {
        self.grpc.load_full()
    }

    /// Whether one of its cards has named this address.
    pub(super) fn has_named(&self, to: &Destination) -> bool {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).contains(to)
    }
}
