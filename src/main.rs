//! Arguments in, exit code out; everything between is [`meddler::app`].

use std::process::ExitCode;

/// The traffic allocates on one thread and the recorder frees on another, which the system's allocator
/// answers with memory that it never gives back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    meddler::app::run()
}
