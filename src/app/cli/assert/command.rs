//! Runs a command of the user's: no shell, bounded in time and in what is read of it.

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::assertion::outside::{CommandCall, Ran};

/// Octets of its output that are kept.
const OUTPUT_MAX: u64 = 256 * 1024;

/// Runs it in this directory; blocks until it ends or its time is over.
pub(super) fn run(call: &CommandCall<'_>, directory: &Path) -> Result<Ran, String> {
    let [program, arguments @ ..] = call.run else {
        return Err("there is no program to run".to_owned());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if directory.is_dir() {
        command.current_dir(directory);
    }
    let work = async {
        let mut child =
            command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read what it is given is free not to.
                let written = stdin.write_all(call.input.as_bytes()).await;
                drop(written);
            }
        };
        let ended = async {
            let ((), output, complaint) = tokio::join!(feed, head(stdout), head(stderr));
            let status = child.wait().await.map_err(|error| format!("{program}: {error}"))?;
            Ok(Ran { code: status.code(), output, complaint })
        };
        match tokio::time::timeout(call.timeout, ended).await {
            Ok(ran) => ran,
            Err(_) => Ok(Ran { code: None, output: String::new(), complaint: String::new() }),
        }
    };
    super::super::block_on(work).map_err(|failure| failure.to_string())?
}

/// The first octets; the rest is read away, so that the command is not held up by a full pipe.
async fn head(from: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut from) = from else { return String::new() };
    let mut kept = Vec::new();
    let read = (&mut from).take(OUTPUT_MAX).read_to_end(&mut kept).await;
    drop(read);
    let rest = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    drop(rest);
    String::from_utf8_lossy(&kept).into_owned()
}
