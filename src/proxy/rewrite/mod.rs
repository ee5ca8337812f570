//! The sanctioned edits: what Meddler changes in what passes, with no rule asking for it.
//!
//! Each is recorded as an `edit`. The octets themselves are edited by [`crate::a2a::address`]; here is
//! decided what an address becomes.

pub(super) mod address;
pub(super) mod card;
pub(super) mod coding;
pub(super) mod lead;
mod signature;

use http::Method;

/// Whether a card, by discovery or extended over HTTP+JSON, can be asked for with this method.
pub(super) fn can_be_asked_by(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}
