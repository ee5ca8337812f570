//! Canaries: the marks within injected attacks, by which it shows who carries them on.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use memchr::memmem;

use crate::base::id::ExchangeId;
use crate::record::exchange::{Exchange, FaultVerdict};

/// Below this a canary would be found by chance.
const LEN_MIN: usize = 6;

/// The canaries that were planted, each with the exchange that did.
pub(super) fn planted(exchanges: &[Arc<Exchange>]) -> Vec<(ExchangeId, String)> {
    let mut found = Vec::new();
    for exchange in exchanges {
        let fired = exchange.faults.iter().filter(|fault| fault.verdict == FaultVerdict::Fired);
        for canary in fired.filter_map(|fault| fault.canary.as_ref()) {
            if canary.len() >= LEN_MIN {
                found.push((exchange.id, canary.clone()));
            }
        }
    }
    found
}

/// Whether a request carries a canary, plainly or as base64, in its target, a header or its body.
pub(super) fn carries(exchange: &Exchange, canary: &str) -> bool {
    let request = &exchange.request;
    let is_in = |octets: &[u8]| {
        memmem::find(octets, canary.as_bytes()).is_some()
            || encoded(canary).iter().any(|form| memmem::find(octets, form.as_bytes()).is_some())
    };
    is_in(request.target.as_bytes())
        || is_in(&request.body.kept)
        || request.headers.iter().any(|(_, value)| is_in(value.as_bytes()))
}

/// Whether a request fetches a canary's URL, which leads to Meddler.
pub(super) fn fetches(exchange: &Exchange, canary: &str) -> bool {
    exchange.request.target.contains(canary) && exchange.request.target.contains("/canary/")
}

/// The canary as base64 at each of the three places it can stand within a longer text: only the digits
/// that depend on nothing else.
fn encoded(canary: &str) -> Vec<String> {
    (0..3)
        .map(|before| {
            let mut octets = vec![0; before];
            octets.extend_from_slice(canary.as_bytes());
            let text = STANDARD_NO_PAD.encode(&octets);
            let head = (before * 8).div_ceil(6);
            let tail = canary.len().saturating_add(before) * 8 / 6;
            text.get(head..tail).unwrap_or_default().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_found_within_base64_wherever_it_stands() {
        for before in ["", "a", "ab", "abc", "abcd"] {
            let text =
                base64::engine::general_purpose::STANDARD.encode(format!("{before}canary-7f3a!!"));
            assert!(
                encoded("canary-7f3a").iter().any(|form| text.contains(form)),
                "{before}: {text} {:?}",
                encoded("canary-7f3a")
            );
        }
    }
}
