//! How a body that passes can fail, and on which side.

use crate::base::Side;

/// A body that did not come to its end. hyper looks for an HTTP/2 error among the causes and resets the
/// other stream with the same code.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// The sender broke off.
    #[error("{side} broke off")]
    Broken {
        /// Which.
        side: Side,
        /// How.
        #[source]
        source: hyper::Error,
    },
    /// The sender reset its stream, or fell silent for too long.
    #[error("{side} broke off: {why}")]
    Cut {
        /// Which.
        side: Side,
        /// In words.
        why: String,
        /// What the other stream is reset with.
        #[source]
        source: h2::Error,
    },
    /// A rule or an answer of ours ends here.
    #[error("broken off on purpose")]
    OnPurpose,
}

impl BodyError {
    /// A cut that resets an HTTP/2 stream with CANCEL.
    pub(super) fn cut(side: Side, why: impl Into<String>) -> Self {
        Self::Cut { side, why: why.into(), source: h2::Error::from(h2::Reason::CANCEL) }
    }
}
