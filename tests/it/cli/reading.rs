//! Reading commands: one recording, from a store, a file, standard input or a daemon.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use super::agent::{Agent, ask, send};
use super::program::{Daemon, Desk};

/// A desk whose store holds two delegations, and the daemon that recorded them.
fn recorded() -> (Desk, Daemon) {
    let desk = Desk::new();
    let agent = Agent::start();
    let arguments =
        [&agent.url(), "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    send(daemon.port(0), "refund ORD-1001");
    send(daemon.port(0), "refund ORD-1002");
    (desk, daemon)
}

fn ids(lines: &str) -> Vec<String> {
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value.get("id").and_then(Value::as_str).unwrap().to_owned()
    };
    lines.lines().map(id).collect()
}

#[test]
fn a_recording_reads_the_same_from_everywhere() {
    let (desk, daemon) = recorded();
    let whole = desk.run(&["log", "--format", "json"]).ended(0).out;
    assert_eq!(ids(&whole).len(), 2);
    let admin = daemon.admin();
    let same = |from: &str| desk.run(&["log", "-R", from, "--format", "json"]).ended(0).out;
    assert_eq!(same("recordings"), whole);
    assert_eq!(same(&admin), whole, "from the daemon");
    assert_eq!(daemon.stop(), 0);

    desk.run(&["export", "-o", "a.a2a.jsonl"]).ended(0);
    desk.run(&["export", "-o", "b.a2a.jsonl.zst"]).ended(0);
    assert_eq!(same("a.a2a.jsonl"), whole);
    assert_eq!(same("b.a2a.jsonl.zst"), whole);
    let plain = fs::read(desk.path().join("a.a2a.jsonl")).unwrap();
    let packed = fs::read(desk.path().join("b.a2a.jsonl.zst")).unwrap();
    assert!(packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && packed.len() < plain.len());
    // The first line says when it was written.
    let rest = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    let printed = desk.run(&["export"]).ended(0).out;
    assert_eq!(rest(&printed), rest(std::str::from_utf8(&plain).unwrap()), "to standard output");
    let said = desk.run_with_input(&["log", "-R", "-", "--format", "json"], &plain).ended(0);
    assert_eq!(said.out, whole);

    desk.run(&["import", "a.a2a.jsonl", "--store", "copy"]).ended(0);
    assert_eq!(same("copy"), whole);
}

#[test]
fn several_recordings_are_read_as_one() {
    let (desk, daemon) = recorded();
    assert_eq!(daemon.stop(), 0);
    desk.run(&["export", "--text", "ORD-1001", "-o", "one.a2a.jsonl"]).ended(0);
    desk.run(&["export", "--text", "ORD-1002", "-o", "two.a2a.jsonl"]).ended(0);
    let count = |arguments: &[&str]| {
        let said = desk.run(&[&["log", "--format", "json"], arguments].concat()).ended(0);
        said.out.lines().count()
    };
    assert_eq!(count(&["-R", "one.a2a.jsonl"]), 1);
    assert_eq!(count(&["-R", "one.a2a.jsonl", "-R", "two.a2a.jsonl"]), 2);
    assert_eq!(count(&["-R", "one.a2a.jsonl", "-R", "recordings"]), 2, "each is in it once");
}

#[test]
fn log_is_a_table_for_people() {
    let (desk, _daemon) = recorded();
    let said = desk.run(&["log"]).ended(0);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("ID") && lines[0].ends_with("TEXT"), "{}", said.out);
    assert_eq!(lines.len(), 3, "{}", said.out);
    assert!(lines[1].starts_with("d-") && lines[1].ends_with("refund ORD-1001"), "{}", said.out);
    assert!(lines[2].contains("completed") && lines[2].ends_with("refund ORD-1002"), "newest last");
    assert!(!said.out.contains('\x1b'), "no colours where no terminal is");
    let said = desk.run(&["log", "-n", "1"]).ended(0);
    assert!(said.out.contains("ORD-1002") && !said.out.contains("ORD-1001"), "{}", said.out);
    let said = desk.run(&["log", "--agent", "shipping"]).ended(0);
    assert!(said.err.contains("nothing matches") && said.err.contains("billing"), "{}", said.err);
    let said = desk.run(&["log", "--exchanges"]).ended(0);
    assert!(said.out.contains("x-") && said.out.contains("POST /"), "{}", said.out);
    let narrow = desk.command(&["log"]).env("COLUMNS", "100").output().unwrap();
    let widest = String::from_utf8(narrow.stdout).unwrap().lines().map(|l| l.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}");
}

#[test]
fn log_follows_what_is_recorded() {
    let (desk, daemon) = recorded();
    let mut child = desk
        .command(&["log", "--follow", "-n", "1", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("ORD-1002"), "the newest one first");
    send(daemon.port(0), "refund ORD-1003");
    assert!(lines.next().unwrap().unwrap().contains("ORD-1003"), "then what is new");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn show_tells_one_delegation_in_full() {
    let (desk, _daemon) = recorded();
    let log = desk.run(&["log"]).ended(0).out;
    let short = log.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let said = desk.run(&["show", &short]).ended(0);
    for words in [
        short.as_str(),
        "billing",
        "SendMessage",
        "timeline",
        "refund ORD-1001",
        "Echo: refund ORD-1001",
        "POST / HTTP/1.1",
        "A2A-Version: 1.0",
        "HTTP/1.1 200",
        "1 secret was masked",
    ] {
        // Names of header fields may come in small letters.
        let found = said.out.contains(words) || said.out.contains(&words.to_lowercase());
        assert!(found, "`{words}` is not in:\n{}", said.out);
    }
    assert!(!said.out.contains("tk-aaaa1111bbbb"), "{}", said.out);

    let said = desk.run(&["show", &short, "--format", "json"]).ended(0);
    let value: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(value["reply"]["kind"], "task");
    assert_eq!(value["exchanges"][0]["request"]["method"], "POST");

    let said = desk.run(&["show", &short, "--format", "markdown"]).ended(0);
    assert!(said.out.contains("```mermaid\nsequenceDiagram"), "{}", said.out);

    let exchange = short.replace("d-", "x-");
    let said = desk.run(&["show", &exchange]).ended(0);
    assert!(said.out.starts_with(&exchange), "{}", said.out);
    let said = desk.run(&["show", "d-ffffffff"]).ended(2);
    assert!(said.err.contains("ffffffff") && said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let (desk, _daemon) = recorded();
    for arguments in [
        &["log", "--format", "json"][..],
        &["log"],
        &["export"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut child =
            desk.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut told = String::new();
        child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {told}");
        assert_eq!(told, "", "{arguments:?}");
    }
}

#[test]
fn a_recording_that_cannot_be_read_ends_with_2() {
    let desk = Desk::new();
    let said = desk.run(&["log"]).ended(2);
    assert!(said.err.contains("there is no recording in recordings"), "{}", said.err);
    let said = desk.run(&["log", "-R", "nowhere"]).ended(2);
    assert!(said.err.contains("cannot read the recording nowhere"), "{}", said.err);
    desk.write("x.a2a.jsonl", "{\"a2a_recording\": 1}\nnonsense\n");
    let said = desk.run(&["log", "-R", "x.a2a.jsonl"]).ended(2);
    assert!(said.err.contains("x.a2a.jsonl:2"), "{}", said.err);
    let said = desk.run(&["log", "-R", "http://127.0.0.1:9"]).ended(2);
    assert!(said.err.contains("no daemon answers at http://127.0.0.1:9"), "{}", said.err);
}

#[test]
fn the_store_of_the_configuration_is_read_when_nothing_is_named() {
    let (desk, daemon) = recorded();
    assert_eq!(daemon.stop(), 0);
    fs::rename(desk.path().join("recordings"), desk.path().join("elsewhere")).unwrap();
    desk.run(&["log"]).ended(2);
    // Whoever reads need not have the daemon's environment.
    desk.write(
        "meddler.yaml",
        "version: 1\nstore: { path: elsewhere }\nremote_agents:\n  billing: { listen: ':0', forward: 'http://a', \
         headers: { X-Key: \"${UNSET_KEY}\" } }\n",
    );
    assert_eq!(desk.run(&["log", "--format", "json"]).ended(0).out.lines().count(), 2);
    let output = desk.command(&["log"]).env("MEDDLER_RECORDING", "nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a variable goes before the configuration");
}

#[test]
fn an_empty_listing_says_why_it_is_empty() {
    let desk = Desk::new();
    let agent = Agent::start();
    let arguments =
        [&agent.url(), "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    let said = desk.run(&["log"]).ended(0);
    assert_eq!((said.out.as_str(), said.err.trim_end()), ("", "nothing is recorded yet"));

    // A card is fetched before anything is delegated.
    ask(
        daemon.port(0),
        "GET /.well-known/agent-card.json HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    );
    let said = desk.run(&["log"]).ended(0);
    assert!(said.err.contains("no delegation is recorded yet"), "{}", said.err);
    assert!(said.err.contains("`meddler log --exchanges`"), "{}", said.err);

    send(daemon.port(0), "hello");
    let said = desk.run(&["log", "--state", "failed"]).ended(0);
    assert_eq!(said.err.trim_end(), "nothing matches; recorded are delegations to billing");
    let said = desk.run(&["log", "--exchanges", "--agent", "shipping"]).ended(0);
    assert_eq!(said.err.trim_end(), "nothing matches; recorded are exchanges with billing");
}
