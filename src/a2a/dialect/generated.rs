//! Types and services that `build.rs` makes of `proto/`: for peers that speak gRPC themselves.
//!
//! Reading recorded messages does not go through these types: they would drop what a schema does not
//! know. [`super::protobuf`] reads by descriptor instead.

/// A2A 0.3.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code, in the style of its generator"
)]
pub mod v0_3 {
    include!(concat!(env!("OUT_DIR"), "/a2a.v1.rs"));
}

/// A2A 1.0.
#[expect(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code, in the style of its generator"
)]
pub mod v1_0 {
    include!(concat!(env!("OUT_DIR"), "/lf.a2a.v1.rs"));
}

/// What `grpc-status-details-bin` carries.
pub mod rpc {
    include!(concat!(env!("OUT_DIR"), "/google.rpc.rs"));
}
