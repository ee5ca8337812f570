//! What tests stand on: peers that are raw sockets, HTTP/2 peers that see frames, and a proxy.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a peer that is not as the test made it is the test's own failure"
)]

pub(crate) mod http2;
pub(crate) mod proxies;
pub(crate) mod raw;
