//! Help, usage errors and completions.

use super::program::Desk;

#[test]
fn the_help_lists_commands_exit_codes_and_environment() {
    let said = Desk::new().run(&["--help"]).ended(0);
    for words in [
        "serve",
        "log",
        "show",
        "export",
        "import",
        "assert",
        "suite",
        "agents",
        "session",
        "config",
        "completions",
        "Exit codes:",
        "Environment:",
        "MEDDLER_ADMIN_TOKEN",
        "NO_COLOR",
    ] {
        assert!(said.out.contains(words), "`{words}` is not in:\n{}", said.out);
    }
    assert_eq!(said.err, "");
}

#[test]
fn the_version_is_printed() {
    let said = Desk::new().run(&["--version"]).ended(0);
    assert_eq!(said.out, format!("meddler {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn usage_errors_end_with_2_and_name_the_nearest_word() {
    let desk = Desk::new();
    let said = desk.run(&["asert", "suite.yaml"]).ended(2);
    assert!(said.err.contains("assert"), "{}", said.err);
    let said = desk.run(&["log", "--sesion", "x"]).ended(2);
    assert!(said.err.contains("--session"), "{}", said.err);
    let said = desk.run(&["log", "--binding", "soap"]).ended(2);
    assert!(
        said.err.contains("unknown binding `soap`; known: jsonrpc, http+json, grpc"),
        "{}",
        said.err
    );
    desk.run(&[]).ended(2);
}

#[test]
fn completions_are_made_for_every_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = desk.run(&["completions", shell]).ended(0);
        assert!(said.out.contains("meddler") && said.out.contains("healthcheck"), "{shell}");
    }
}
