//! What the dialects share: reading JSON that may be anything, and writing JSON that is right.
//!
//! Nothing here knows a version. A dialect says by a [`shape::Shape`] what is its own.

pub(crate) mod card;
pub(crate) mod log;
pub(crate) mod node;
pub(crate) mod shape;
pub(crate) mod values;
pub(crate) mod write;
