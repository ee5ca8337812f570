//! Compiles `proto/` without `protoc`: Rust types and services for peers that speak gRPC, and a
//! descriptor set for reading messages by their schema.
//!
//! The descriptor set is protox's own encoding. A set that went through `prost-types` would have lost
//! what `prost-types` does not know.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

const FILES: &[&str] = &[
    "a2a/v0_3/a2a.proto",
    "a2a/v1_0/a2a.proto",
    "google/rpc/error_details.proto",
    "google/rpc/status.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).open_files(FILES)?;
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;

    // With source info: comments in the schemas become the documentation of the types.
    let mut commented = protox::Compiler::new(["proto"])?;
    commented.include_imports(true).include_source_info(true).open_files(FILES)?;
    tonic_prost_build::configure()
        .bytes(".")
        .compile_well_known_types(true)
        .extern_path(".google.protobuf.Empty", "()")
        .extern_path(".google.protobuf", "::prost_reflect::prost_types")
        .compile_fds(commented.file_descriptor_set())?;
    Ok(())
}
