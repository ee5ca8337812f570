//! What `--help` says beside the options: exit codes and environment, because people script on them.

/// After `-h`.
pub(super) const BRIEF: &str = "`meddler --help` also lists exit codes and environment.";

/// After `--help`.
pub(super) const LONG: &str = "\
Exit codes:
  0  all well; `serve`: stopped cleanly
  1  findings: a test failed, a file has errors, the daemon is not ready
  2  could not run: usage, configuration, set-up, store

Environment:
  MEDDLER_*            every option by its name: MEDDLER_CONFIG, MEDDLER_RECORDING ...
  MEDDLER_ADMIN_TOKEN  what the daemon's admin listener asks for
  MEDDLER_LOG          log filter, `meddler=debug,warn`; goes before -v
  NO_COLOR             no colours, when it is not empty
  ${NAME}              in values of the configuration

Recordings (-R) are a store's directory, an .a2a.jsonl or .a2a.jsonl.zst file, `-`, or a daemon's URL.
Without -R: the suite's `recording:`, `store.path` of the configuration, ./recordings.

Start:
  meddler serve http://127.0.0.1:9000      record what passes to and from that agent
  meddler log                              what was delegated
  meddler show ID                          one delegation, in full
  meddler assert suite.yaml                hold it against a suite";
