//! A body as its pieces come in, and what is kept of it.

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::coding;
use super::pieces::Pieces;
use crate::a2a::problem::Problem;
use crate::base::limits::Limits;
use crate::record::exchange::Payload;

/// How the content types of gRPC begin.
const GRPC: &str = "application/grpc";
/// Pieces of a body whose times are kept; past it the last one stands for all that follow.
const ARRIVALS_MAX: usize = 65_536;

/// When the octets before an offset had arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) end: u64,
    pub(super) at_us: u64,
}

/// The octets that all open exchanges keep together.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) used: usize,
    pub(super) body_bytes: usize,
    pub(super) open_bytes: usize,
}

/// A body so far.
#[derive(Default)]
pub(super) struct Body {
    pub(super) kept: Pieces,
    pub(super) bytes: u64,
    pub(super) gap: u64,
    pub(super) is_truncated: bool,
    pub(super) digest: Sha256,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) trailers: Vec<(String, String)>,
}

impl Budget {
    pub(super) const fn new(limits: &Limits) -> Self {
        Self { used: 0, body_bytes: limits.body_bytes, open_bytes: limits.open_bytes }
    }
}

impl Body {
    pub(super) fn add(
        &mut self,
        octets: &Bytes,
        keep: fn(&mut Pieces, Bytes),
        at_us: u64,
        budget: &mut Budget,
    ) {
        self.bytes += octets.len() as u64;
        self.digest.update(octets);
        if self.is_truncated {
            return;
        }
        let room = budget.body_bytes.saturating_sub(self.kept.len());
        let room = room.min(budget.open_bytes.saturating_sub(budget.used));
        let taken = octets.slice(..room.min(octets.len()));
        budget.used += taken.len();
        self.is_truncated = taken.len() < octets.len();
        keep(&mut self.kept, taken);
        let end = self.kept.len() as u64;
        if self.arrivals.len() >= ARRIVALS_MAX {
            self.arrivals.pop();
        }
        self.arrivals.push(Arrival { end, at_us });
    }

    /// What follows a gap is not kept: it could not be read, and a secret across it could not be found.
    pub(super) const fn lose(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.gap += bytes;
        self.is_truncated = true;
    }

    pub(super) fn copy(&self) -> Self {
        Self {
            kept: self.kept.clone(),
            bytes: self.bytes,
            gap: self.gap,
            is_truncated: self.is_truncated,
            digest: self.digest.clone(),
            arrivals: self.arrivals.clone(),
            trailers: self.trailers.clone(),
        }
    }

    pub(super) fn finish(
        self,
        headers: &[(String, String)],
        name: &str,
        limits: &Limits,
        problems: &mut Vec<Problem>,
    ) -> (Payload, Vec<Arrival>) {
        let values = |wanted: &'static str| {
            let named = move |(name, _): &&(String, String)| name.eq_ignore_ascii_case(wanted);
            headers.iter().filter(named).map(|(_, value)| value.as_str())
        };
        let is_grpc = values("content-type").next().is_some_and(|value| {
            value.get(..GRPC.len()).is_some_and(|start| start.eq_ignore_ascii_case(GRPC))
        });
        let coded = if is_grpc { "grpc-encoding" } else { "content-encoding" };
        let encoding = values(coded).collect::<Vec<_>>().join(", ");
        let is_plain = encoding.is_empty() || encoding.eq_ignore_ascii_case("identity");
        let kept = self.kept.into_bytes();
        let (kept, arrivals, trouble) = if is_plain {
            (kept, self.arrivals, None)
        } else {
            let most = limits.inflated_bytes;
            let undone = if is_grpc {
                coding::undo_grpc(&encoding, &kept, &self.arrivals, most)
            } else {
                coding::undo(&encoding, Vec::from(kept), self.arrivals, most)
            };
            (Bytes::from(undone.octets), undone.arrivals, undone.trouble)
        };
        let is_broken = trouble.is_some();
        if let Some(trouble) = trouble {
            problems.push(Problem::new("content_coding", format!("{name} body"), trouble));
        }
        let payload = Payload {
            kept,
            bytes: self.bytes,
            encoding: if is_plain { String::new() } else { encoding },
            truncated: self.is_truncated || is_broken,
            sha256: self.digest.finalize().into(),
            digest_is_keyed: false,
            gap: self.gap,
        };
        (payload, arrivals)
    }
}
