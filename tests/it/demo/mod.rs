//! `meddler demo` shows the main job without a network.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

struct Said {
    code: i32,
    out: String,
}

/// Runs the program in this directory, and nothing but it: no variable of the environment matters.
fn meddler(at: &Path, arguments: &[&str]) -> Said {
    let done = Command::new(env!("CARGO_BIN_EXE_meddler"))
        .args(arguments)
        .current_dir(at)
        .env_clear()
        .output()
        .unwrap();
    let code = done.status.code().unwrap();
    Said { code, out: String::from_utf8(done.stdout).unwrap() }
}

fn delegations(at: &Path) -> Vec<Value> {
    let said = meddler(at, &["log", "--format", "json"]);
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_demo_delegates_on_every_binding_and_its_suite_holds() {
    let at = tempfile::tempdir().unwrap();
    let said = meddler(at.path(), &["demo"]);

    assert_eq!(said.code, 0, "{}", said.out);
    for promised in ["arrives tomorrow", "billing is down", "4 of 4 tests held", "meddler show d-"]
    {
        assert!(said.out.contains(promised), "no `{promised}` in\n{}", said.out);
    }
    let recorded = delegations(at.path());
    let told: Vec<[&str; 4]> = recorded
        .iter()
        .map(|it| ["agent", "binding", "version", "state"].map(|name| it[name].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ["billing", "jsonrpc", "1.0", "completed"],
            ["shipping", "http+json", "1.0", "completed"],
            ["billing", "grpc", "1.0", "failed"],
            ["billing", "grpc", "1.0", "completed"],
            ["shipping", "jsonrpc", "0.3", "input_required"],
        ]
    );
    assert_eq!(recorded[2]["faults"][0], "billing is down");
    assert_eq!(recorded[3]["retry_of"], recorded[2]["id"]);
}

#[test]
fn a_failing_suite_names_the_delegation_that_proves_it() {
    let at = tempfile::tempdir().unwrap();
    let said = meddler(at.path(), &["demo", "--fail"]);

    assert_eq!(said.code, 1, "{}", said.out);
    let id = delegations(at.path())[2]["id"].as_str().unwrap().replace('-', "");
    let proof = format!("meddler show d-{}", &id[id.len() - 8..]);
    for promised in ["expected", "actual", "is \"failed\"", &proof] {
        assert!(said.out.contains(promised), "no `{promised}` in\n{}", said.out);
    }
}

#[test]
fn a_second_demo_is_judged_by_what_it_did_itself() {
    let at = tempfile::tempdir().unwrap();
    assert_eq!(meddler(at.path(), &["demo"]).code, 0);
    let said = meddler(at.path(), &["demo"]);

    assert_eq!(said.code, 0, "{}", said.out);
    let recorded = delegations(at.path());
    assert_eq!(recorded.len(), 10, "both are recorded");
    let retries = recorded.iter().filter(|it| !it["retry_of"].is_null()).count();
    assert_eq!(retries, 2, "one in each: a second run is no retry of the first");
}
