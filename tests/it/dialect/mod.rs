//! Every dialect reads and writes the model.

mod corrupted;
mod protobuf;
mod recorded;
mod round_trip;
mod same_content;
mod stream;
mod traffic;
