//! `assert`: verdicts as exit codes, reports as files.

use std::fs;

use serde_json::Value;

use super::agent::{Agent, send};
use super::program::{Daemon, Desk};

const HOLDS: &str = "version: 1
tests:
  - name: refund goes to billing
    select: { agent: billing }
    assert:
      - delegated_to: { agent: billing, contains: ORD-1001 }
      - state: completed
      - text: { contains: \"Echo: refund\" }
";

fn recorded() -> (Desk, Daemon) {
    let desk = Desk::new();
    let agent = Agent::start();
    let arguments =
        [&agent.url(), "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    send(daemon.port(0), "refund ORD-1001");
    desk.write("holds.yaml", HOLDS);
    desk.write("fails.yaml", &HOLDS.replace("Echo: refund", "Echo: goodbye"));
    desk.write("nothing.yaml", &HOLDS.replace("agent: billing }", "agent: billing, text: never }"));
    (desk, daemon)
}

#[test]
fn a_verdict_is_an_exit_code() {
    let (desk, _daemon) = recorded();
    desk.run(&["assert", "holds.yaml"]).ended(0);
    let said = desk.run(&["assert", "fails.yaml"]).ended(1);
    assert!(said.out.contains("Echo: goodbye") && said.out.contains("d-"), "{}", said.out);
    desk.run(&["assert", "nothing.yaml"]).ended(1);
    desk.run(&["assert", "holds.yaml", "fails.yaml"]).ended(1);
    desk.run(&["assert", "missing.yaml"]).ended(2);
    desk.run(&["assert", "holds.yaml", "-R", "nowhere"]).ended(2);
    let said = desk.run(&["assert", "holds.yaml", "--test", "refund goes to biling"]).ended(2);
    assert!(said.err.contains("refund goes to billing"), "{}", said.err);
    desk.run(&["assert", "holds.yaml", "fails.yaml", "--test", "refund goes to billing"]).ended(1);
}

#[test]
fn a_suite_holds_on_a_file_and_on_a_daemon() {
    let (desk, daemon) = recorded();
    desk.run(&["assert", "holds.yaml", "-R", &daemon.admin()]).ended(0);
    desk.run(&["export", "-o", "run.a2a.jsonl"]).ended(0);
    let elsewhere = Desk::new();
    fs::copy(desk.path().join("run.a2a.jsonl"), elsewhere.path().join("run.a2a.jsonl")).unwrap();
    elsewhere.write("holds.yaml", HOLDS);
    elsewhere.run(&["assert", "holds.yaml", "-R", "run.a2a.jsonl"]).ended(0);
    elsewhere.write(
        "names.yaml",
        &HOLDS.replace("tests:", "recording: { file: run.a2a.jsonl }\ntests:"),
    );
    elsewhere.run(&["assert", "names.yaml"]).ended(0);
}

#[test]
fn reports_are_written_in_the_format_of_their_ending() {
    let (desk, _daemon) = recorded();
    let arguments = ["assert", "fails.yaml", "-o", "r.xml", "-o", "r.json", "--format", "json"];
    let said = desk.run(&arguments).ended(1);
    let xml = fs::read_to_string(desk.path().join("r.xml")).unwrap();
    assert!(xml.contains("<testsuite") && xml.contains("failure"), "{xml}");
    let json: Value =
        serde_json::from_str(&fs::read_to_string(desk.path().join("r.json")).unwrap()).unwrap();
    assert_eq!(json["verdict"], "failed");
    assert!(!said.out.starts_with('{'), "a file has the JSON, so people get text: {}", said.out);

    let said = desk.run(&["assert", "holds.yaml", "fails.yaml", "--format", "json"]).ended(1);
    let json: Value = serde_json::from_str(&said.out).expect("one document for both suites");
    assert_eq!(json["tests"].as_array().unwrap().len(), 2);
    let said = desk.run(&["assert", "holds.yaml", "-o", "report"]).ended(2);
    assert!(said.err.contains("no report format for report"), "{}", said.err);
}
