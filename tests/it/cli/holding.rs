//! `assert` beyond a verdict (waiting, watching, evidence, the world outside), and its sisters `lint`,
//! `coverage`, `schema`, `suite`.
#![expect(clippy::indexing_slicing, reason = "a test that meets something else has failed")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::agent::{Agent, ask, send};
use super::program::{Daemon, Desk, eventually};

const PLAYED: &str = "version: 1
admin: { listen: '127.0.0.1:0' }
remote_agents:
  billing: { listen: '127.0.0.1:0', skills: [refund], reply: 'Refunded, the reference is RF-889.' }
";

fn recorded() -> (Desk, Daemon) {
    let desk = Desk::new();
    desk.write("meddler.yaml", PLAYED);
    let daemon = desk.serve(&[]);
    let port = daemon.port(0);
    let card = format!(
        "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    );
    ask(port, &card);
    send(port, "refund ORD-1001");
    (desk, daemon)
}

fn suite(assertion: &str) -> String {
    format!("version: 1\ntests:\n  - name: t\n    assert:\n      - {assertion}\n")
}

#[test]
fn what_passed_is_linted() {
    let (desk, _daemon) = recorded();
    let said = desk.run(&["lint", "--level", "should", "-o", "l.sarif"]).ended(0);
    assert!(said.out.contains("0 against a must, 0 against a should"), "{}", said.out);
    let sarif: Value =
        serde_json::from_slice(&fs::read(desk.path().join("l.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let rules = desk.run(&["lint", "--rules"]).ended(0).out;
    assert!(rules.lines().count() >= 60 && rules.contains("stream-after-end"), "{rules}");
    let said = desk.run(&["lint", "--except", "bloking"]).ended(2);
    assert!(said.err.contains("did you mean `blocking`?"), "{}", said.err);
    desk.run(&["lint", "--session", "nowhere"]).ended(1);
}

#[test]
fn an_agents_flaw_is_an_exit_code_until_it_is_accepted() {
    let desk = Desk::new();
    // Echo answers 1.0 as if it were blocking, and never names the version.
    let agent = Agent::start();
    let arguments = [&agent.url(), "-l", "127.0.0.1:0", "--name", "echo", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    let port = daemon.port(0);
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}"#;
    let request = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    ask(port, &request);
    let said = desk.run(&["lint"]).ended(1);
    assert!(
        said.out.contains("message-role-user") && said.out.contains("meddler show x-"),
        "{}",
        said.out
    );
    desk.write(
        "kept.yaml",
        "version: 1\naccept: [{ rule: message-role-user, agent: echo, reason: an old client }]\n",
    );
    let said = desk.run(&["lint", "--accept", "kept.yaml"]).ended(0);
    assert!(said.out.contains("1 accepted"), "{}", said.out);
}

#[test]
fn coverage_names_what_was_not_seen() {
    let (desk, _daemon) = recorded();
    let said = desk.run(&["coverage"]).ended(0);
    assert!(said.out.contains("billing") && said.out.contains("-refund"), "{}", said.out);
    desk.run(&["coverage", "--min", "99"]).ended(1);
    desk.run(&["coverage", "--min", "1"]).ended(0);
    let json: Value =
        serde_json::from_str(&desk.run(&["coverage", "--format", "json"]).ended(0).out).unwrap();
    assert_eq!(json["agents"][0]["agent"], "billing");
    assert!(json["seen"].as_u64() < json["cells"].as_u64());
}

#[test]
fn schemas_packs_and_the_reference_are_printed() {
    let desk = Desk::new();
    for what in ["suite", "config", "recording"] {
        let schema: Value =
            serde_json::from_str(&desk.run(&["schema", what]).ended(0).out).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    let pack = desk.run(&["suite", "pack", "graceful_degradation"]).ended(0).out;
    let indented: Vec<String> = pack.lines().map(|line| format!("      {line}\n")).collect();
    let copied = format!(
        "tests:\n  - name: copied\n    assert:\n{}",
        indented.concat().replace("${retries}", "3").replace("\"3\"", "3")
    );
    desk.write("copied.yaml", &copied);
    desk.run(&["suite", "check", "copied.yaml"]).ended(0);
    assert!(desk.run(&["suite", "pack"]).ended(0).out.contains("no_secret_leak"));
    assert!(desk.run(&["suite", "reference"]).ended(0).out.starts_with("# Suites: reference"));
    let said = desk.run(&["suite", "pack", "gracefull_degradation"]).ended(2);
    assert!(said.err.contains("did you mean `graceful_degradation`?"), "{}", said.err);
}

#[test]
fn evidence_binds_a_run_and_is_never_overwritten() {
    let (desk, _daemon) = recorded();
    desk.write("s.yaml", &suite("text: { contains: RF-111, not_contains_env: SECRET_WORD }"));
    let mut command = desk.command(&["assert", "s.yaml", "--evidence", "proof"]);
    assert_eq!(
        command.env("SECRET_WORD", "hush-hush-hush").output().unwrap().status.code(),
        Some(1)
    );
    let manifest: Value =
        serde_json::from_slice(&fs::read(desk.path().join("proof/manifest.json")).unwrap())
            .unwrap();
    let about = &manifest["suites"][0];
    assert_eq!(about["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(about["cards"][0]["agent"], "billing");
    assert_eq!(about["verdict"], "failed");
    let failures = fs::read_to_string(desk.path().join("proof/failures.jsonl")).unwrap();
    assert_eq!(failures.lines().count(), 1);
    assert!(failures.contains("RF-889") && !failures.contains("hush-hush-hush"), "{failures}");
    let mut command = desk.command(&["assert", "s.yaml", "--evidence", "proof"]);
    assert_eq!(command.env("SECRET_WORD", "x").output().unwrap().status.code(), Some(2));
    desk.write("ok.yaml", &suite("contains: RF-889"));
    desk.run(&["assert", "ok.yaml", "--evidence", "good"]).ended(0);
    assert_eq!(fs::read(desk.path().join("good/failures.jsonl")).unwrap(), b"");
    let left: Vec<_> =
        fs::read_dir(desk.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn the_world_outside_is_asked_only_when_it_is_allowed() {
    let (desk, _daemon) = recorded();
    desk.write("c.yaml", &suite("command: [sh, -c, 'grep -q RF-889']"));
    let said = desk.run(&["assert", "c.yaml"]).ended(2);
    assert!(said.out.contains("--allow-commands"), "{}", said.out);
    desk.run(&["assert", "c.yaml", "--allow-commands"]).ended(0);
    desk.write("s.yaml", &suite("command: { run: [sleep, '60'], timeout: 100ms }"));
    desk.run(&["assert", "s.yaml", "--allow-commands"]).ended(2);
    desk.write("g.yaml", &suite("golden: kept/g.txt"));
    desk.run(&["assert", "g.yaml"]).ended(2);
    desk.run(&["assert", "g.yaml", "--update-golden"]).ended(0);
    desk.run(&["assert", "g.yaml"]).ended(0);
    let kept = fs::read_to_string(desk.path().join("kept/g.txt")).unwrap();
    desk.write("kept/g.txt", &kept.replace("RF-889", "RF-1"));
    desk.run(&["assert", "g.yaml"]).ended(1);
    desk.write("o.yaml", &suite("golden: ../g.txt"));
    let said = desk.run(&["assert", "o.yaml", "--update-golden"]).ended(2);
    assert!(said.out.contains("leads out of the suite's directory"), "{}", said.out);
}

/// A service that answers everything with this body, and counts.
fn service(body: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut seen = Vec::new();
            let mut portion = [0; 4096];
            while let Ok(read @ 1..) = connection.read(&mut portion) {
                seen.extend_from_slice(&portion[..read]);
                let text = String::from_utf8_lossy(&seen);
                let Some((head, rest)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|it| {
                    it.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                });
                if rest.len() >= length.unwrap_or(0_usize) {
                    break;
                }
            }
            count.fetch_add(1, Ordering::SeqCst);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            connection.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    (at, asked)
}

#[test]
fn a_judge_is_asked_once_for_the_same_question() {
    let (desk, _daemon) = recorded();
    let verdict = json!({ "holds": true, "reason": "RF-889 is named" }).to_string();
    let (at, asked) = service(
        json!({ "choices": [{ "message": { "content": format!("```json\n{verdict}\n```") } }] })
            .to_string(),
    );
    let text = suite("judge: \"The reference is named\"");
    desk.write("none.yaml", &text);
    let said = desk.run(&["assert", "none.yaml"]).ended(0);
    assert!(said.out.contains("skipped"), "{}", said.out);
    desk.run(&["assert", "none.yaml", "--strict"]).ended(1);
    assert_eq!(asked.load(Ordering::SeqCst), 0, "never on unless configured");
    desk.write(
        "j.yaml",
        &text.replace(
            "tests:",
            &format!("judge: {{ url: '{at}/v1', model: small, key: sk-test }}\ntests:"),
        ),
    );
    for _ in 0..2 {
        let said = desk.run(&["assert", "j.yaml"]).ended(0);
        assert!(said.out.contains("small agrees") && said.out.contains("prompt "), "{}", said.out);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the second answer comes from the cache");
    desk.write(
        "d.yaml",
        &text.replace("tests:", "judge: { url: 'http://127.0.0.1:1/v1', model: other }\ntests:"),
    );
    desk.run(&["assert", "d.yaml"]).ended(2);
}

#[test]
fn a_live_service_is_asked_with_leave() {
    let (desk, _daemon) = recorded();
    let (at, asked) = service("{\"state\": \"refunded\"}".to_owned());
    desk.write("h.yaml", &suite(&format!("http: {{ url: '{at}/orders/1', expect: {{ json_path: {{ path: $.state, equals: refunded }} }} }}")));
    desk.run(&["assert", "h.yaml"]).ended(2);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    desk.run(&["assert", "h.yaml", "--allow-live"]).ended(0);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

/// ASRT-02
#[test]
fn what_is_not_there_yet_is_waited_for() {
    let (desk, daemon) = recorded();
    desk.write("w.yaml", &suite("delegated_to: { agent: billing, contains: ORD-2002 }"));
    desk.run(&["assert", "w.yaml", "--wait", "300ms"]).ended(1);
    let port = daemon.port(0);
    let later = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        send(port, "refund ORD-2002");
    });
    desk.run(&["assert", "w.yaml", "--wait", "30s"]).ended(0);
    later.join().unwrap();
    // What must not occur has to hold the whole time.
    desk.write("n.yaml", &suite("not_delegated_to: { agent: billing, contains: ORD-3003 }"));
    let later = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        send(port, "refund ORD-3003");
    });
    desk.run(&["assert", "n.yaml", "--wait", "3s"]).ended(1);
    later.join().unwrap();
    // `until:` says when the traffic is over.
    let until = suite("not_delegated_to: { agent: billing, contains: ORD-4004 }")
        .replace("tests:", "until: [{ contains: RF-889 }]\ntests:");
    desk.write("u.yaml", &until);
    desk.run(&["assert", "u.yaml", "--wait", "10m"]).ended(0);
}

#[test]
fn a_changed_suite_is_held_again() {
    let (desk, _daemon) = recorded();
    desk.write("s.yaml", &suite("contains: RF-889"));
    let out = desk.path().join("watch.out");
    let mut child = desk
        .command(&["assert", "s.yaml", "--watch"])
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let says = |words: &str| {
        eventually(words, || fs::read_to_string(&out).unwrap().contains(words).then_some(()));
    };
    says("1 of 1 test held");
    desk.write("s.yaml", &suite("contains: RF-111"));
    says("0 of 1 test held");
    desk.write("s.yaml", "tests: [");
    says("error: ");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn every_assertion_says_what_it_looked_at() {
    let (desk, _daemon) = recorded();
    desk.write("s.yaml", &suite("contains: RF-889"));
    let said = desk.run(&["assert", "s.yaml", "--explain"]).ended(0);
    assert!(said.out.contains("held      1 delegation to billing: d-"), "{}", said.out);
}

#[test]
fn a_step_of_github_actions_gets_annotations_and_a_summary() {
    let (desk, _daemon) = recorded();
    desk.write("s.yaml", &suite("contains: RF-111"));
    let mut command = desk.command(&["assert", "s.yaml", "--format", "github"]);
    let output =
        command.env("GITHUB_STEP_SUMMARY", desk.path().join("summary.md")).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.contains("::error file=s.yaml,line=5,title=t::contains: RF-111%0Aexpected"),
        "{out}"
    );
    let summary = fs::read_to_string(desk.path().join("summary.md")).unwrap();
    assert!(summary.starts_with("### s.yaml: failed"), "{summary}");
}

#[test]
fn where_a_credential_went_is_known_to_the_store_alone() {
    let (desk, _daemon) = recorded();
    desk.write("stays.yaml", &suite("secret_stays: { env: SECRET_WORD, only: [billing] }"));
    desk.write("nobody.yaml", &suite("secret_stays: { env: SECRET_WORD }"));
    desk.run(&["export", "-o", "run.a2a.jsonl"]).ended(0);
    let ended = |arguments: &[&str], secret: &str| {
        let output = desk.command(arguments).env("SECRET_WORD", secret).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(!out.contains(secret), "{out}");
        output.status.code()
    };
    // What the orchestrator sent as its bearer token; it was masked before it was written.
    let token = "tk-aaaa1111bbbb";
    assert_eq!(ended(&["assert", "stays.yaml"], token), Some(0));
    assert_eq!(ended(&["assert", "nobody.yaml"], token), Some(1));
    assert_eq!(ended(&["assert", "nobody.yaml"], "tk-another-one"), Some(0));
    assert_eq!(ended(&["assert", "stays.yaml", "-R", "run.a2a.jsonl"], token), Some(2));
}
