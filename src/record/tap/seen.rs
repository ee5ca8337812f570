//! What an exchange reports: one piece of news each.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, Version};

use super::{End, Lane};
use crate::a2a::problem::Problem;
use crate::record::exchange::{EditRecord, FaultRecord};

/// What one piece of news costs beside its octets, so that a flood of tiny ones is bounded as well.
pub(super) const NEWS_BYTES: usize = 64;

/// One piece of news. Times are microseconds after the exchange's start.
#[derive(Debug)]
pub(in crate::record) enum Seen {
    /// Octets that lie in [`Taken::copied`].
    Copied { lane: Lane, at_us: u64, len: usize },
    /// Octets that are shared with the traffic.
    Shared { lane: Lane, at_us: u64, octets: Bytes },
    /// Octets that there was no room for.
    Gap { lane: Lane, bytes: u64 },
    /// The head of an answer.
    Head { lane: Lane, at_us: u64, head: Box<(Version, StatusCode, HeaderMap)> },
    /// Trailer fields.
    Trailers(Lane, Box<HeaderMap>),
    /// Where the request is sent.
    Upstream(Arc<str>),
    /// What a rule did.
    Fault(Box<FaultRecord>),
    /// A sanctioned change.
    Edit(Box<EditRecord>),
    /// An answer of Meddler's own may follow the agent's.
    MayChange,
    /// None follows after all.
    Stays,
    /// The task it belongs to.
    Task(Box<str>),
    /// What is wrong beside what the octets tell.
    Problem(Box<Problem>),
    /// The end of a lane.
    End { lane: Lane, at_us: u64, end: End },
    /// Nobody can report anything any more.
    Dropped { at_us: u64 },
}

impl Seen {
    /// The room that it takes, octets of bodies apart.
    pub(super) fn cost(&self) -> usize {
        NEWS_BYTES
            + match self {
                Self::Head { head, .. } => header_bytes(&head.2),
                Self::Trailers(_, headers) => header_bytes(headers),
                Self::Copied { .. }
                | Self::Shared { .. }
                | Self::Gap { .. }
                | Self::Fault(_)
                | Self::Edit(_)
                | Self::MayChange
                | Self::Stays
                | Self::Upstream(_)
                | Self::Task(_)
                | Self::Problem(_)
                | Self::End { .. }
                | Self::Dropped { .. } => 0,
            }
    }
}

/// The room that header fields take.
pub(super) fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
}
