//! Octets: addresses, listeners, TLS, and connections to agents. Knows no A2A.
//!
//! Downstream: [`listen`] accepts, [`sniff`] tells TLS, HTTP/2 and HTTP/1 apart, [`tls`] decrypts.
//! Upstream: [`dial`] connects, [`pool`] keeps what is worth keeping. Both sides speak through one
//! [`stream::Stream`], and every failure has one of the words of [`trouble::Word`].

pub mod addr;
pub mod dial;
pub mod executor;
pub mod jws;
pub mod listen;
pub mod pool;
mod race;
pub mod sniff;
pub mod stream;
pub mod tls;
pub mod trouble;
