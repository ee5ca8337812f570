//! Addresses in agent cards: every place they stand, and their replacement in the octets as they came.

mod json;
mod protobuf;

use bytes::Bytes;

use crate::a2a::binding::ProtocolVersion;

/// One address in a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where: `$.supportedInterfaces[0].url`.
    pub at: String,
    /// As written.
    pub url: String,
    /// The binding named beside it, as written; 0.3's default is `JSONRPC`.
    pub binding: String,
    /// The version of the protocol named beside it, as written; empty when none is.
    pub version: String,
    /// 1.0's tenant; empty when none is named.
    pub tenant: String,
}

/// How a card is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardShape {
    /// A JSON document: discovery and HTTP+JSON.
    Json,
    /// The `result` of a JSON-RPC answer.
    RpcResult,
    /// A protobuf message, without gRPC's prefix.
    Protobuf(ProtocolVersion),
}

/// A card with other addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The whole body, everything else octet for octet as it came.
    pub body: Bytes,
    /// What was changed: place and new address.
    pub changed: Vec<(Place, String)>,
}

/// What decides about an address: the new one, or `None` to leave it.
type Decide<'a> = &'a mut dyn FnMut(&Place) -> Option<String>;

/// Every address in a card, in the order they stand. Empty when it is no card.
pub fn places(body: &[u8], shape: CardShape) -> Vec<Place> {
    let mut places = Vec::new();
    // Looking is rewriting that changes nothing.
    let nothing = rewrite(body, shape, &mut |place| {
        places.push(place.clone());
        None
    });
    debug_assert!(nothing.is_none(), "nothing was to be changed");
    places
}

/// Replaces addresses: `map` gives the new one, or `None` to leave it. Members, their order, number
/// spelling and whitespace elsewhere stay; so do signatures, which no longer fit (see
/// [`signature`](crate::a2a::signature)). `None` when nothing changes.
pub fn rewrite(
    body: &[u8],
    shape: CardShape,
    map: &mut dyn FnMut(&Place) -> Option<String>,
) -> Option<Rewritten> {
    match shape {
        CardShape::Json => json::rewrite(body, &[], map),
        CardShape::RpcResult => json::rewrite(body, &["result"], map),
        CardShape::Protobuf(version) => protobuf::rewrite(body, version, map),
    }
}
