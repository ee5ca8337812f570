//! The daemon as a process: starts, serves, stops, and comes back after a crash.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use super::agent::{Agent, begin, send, silent};
use super::program::{Daemon, Desk, eventually};

fn serving(desk: &Desk) -> (Agent, Daemon) {
    let agent = Agent::start();
    let arguments =
        [&agent.url(), "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    (agent, daemon)
}

#[test]
fn serve_records_stops_cleanly_and_leaves_no_trace_of_running() {
    let desk = Desk::new();
    let (_agent, daemon) = serving(&desk);
    let answer = send(daemon.port(0), "refund ORD-1001");
    assert_eq!(
        answer["result"]["task"]["artifacts"][0]["parts"][0]["text"],
        "Echo: refund ORD-1001"
    );
    let log = daemon.log();
    assert!(log.contains("billing") && log.contains("records into"), "{log}");
    assert_eq!(daemon.stop(), 0);
    assert!(!desk.path().join("recordings/daemon.json").exists());

    let said = desk.run(&["log", "--format", "json"]).ended(0);
    let line: Value = serde_json::from_str(said.out.trim_end()).expect(&said.out);
    for (member, expected) in [
        ("agent", "billing"),
        ("operation", "SendMessage"),
        ("binding", "jsonrpc"),
        ("version", "1.0"),
        ("state", "completed"),
        ("outcome", "completed"),
        ("text", "refund ORD-1001"),
        ("task_id", "task-1"),
    ] {
        assert_eq!(line[member], expected, "{member} of {line}");
    }
}

#[test]
fn what_was_shown_survives_kill_9() {
    let desk = Desk::new();
    let (_agent, daemon) = serving(&desk);
    for n in 0..5 {
        send(daemon.port(0), &format!("message {n}"));
    }
    // A reading command asks the living daemon to flush, so all five are there already.
    assert_eq!(desk.run(&["log", "--format", "json"]).ended(0).out.lines().count(), 5);
    daemon.kill();
    assert!(desk.path().join("recordings/daemon.json").exists(), "it had no time to remove it");
    assert_eq!(desk.run(&["log", "--format", "json"]).ended(0).out.lines().count(), 5);

    let (_agent, daemon) = serving(&desk);
    send(daemon.port(0), "after the crash");
    assert_eq!(daemon.stop(), 0);
    assert_eq!(desk.run(&["log", "--format", "json"]).ended(0).out.lines().count(), 6);
}

#[test]
fn a_second_signal_stops_at_once_and_what_was_open_is_no_success() {
    let desk = Desk::new();
    let (at, asked) = silent();
    let url = format!("http://{at}");
    let daemon =
        desk.serve(&[&url, "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"]);
    let waiting = begin(daemon.port(0), "never answered");
    asked.recv().unwrap();
    daemon.terminate();
    eventually("the daemon to say that it stops", || {
        daemon.log().contains("once more to stop at once").then_some(())
    });
    assert_eq!(daemon.stop(), 0, "the second signal");
    drop(waiting);
    let said = desk.run(&["log", "--format", "json"]).ended(0);
    let line: Value = serde_json::from_str(said.out.trim_end()).expect(&said.out);
    assert_eq!(line["text"], "never answered");
    assert_eq!(line["outcome"], "open_at_stop");
}

#[test]
fn a_second_daemon_on_the_same_store_is_told_who_has_it() {
    let desk = Desk::new();
    let (agent, daemon) = serving(&desk);
    let arguments = ["serve", &agent.url(), "-l", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let said = desk.run(&arguments).ended(2);
    let pid = format!("process {}", daemon.pid());
    assert!(said.err.contains("recordings") && said.err.contains(&pid), "{}", said.err);
    assert!(said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn a_port_that_is_taken_is_an_error_with_a_hint() {
    let desk = Desk::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let said =
        desk.run(&["serve", "http://127.0.0.1:9", "-l", &at, "--admin", "127.0.0.1:0"]).ended(2);
    assert!(said.err.contains(&at) && said.err.contains("hint: "), "{}", said.err);
    let said =
        desk.run(&["serve", "http://127.0.0.1:9", "-l", "127.0.0.1:0", "--admin", &at]).ended(2);
    assert!(said.err.contains("admin") && said.err.contains(&at), "{}", said.err);
}

#[test]
fn an_admin_listener_for_other_machines_needs_a_token() {
    let desk = Desk::new();
    let said = desk.run(&["serve", "http://127.0.0.1:9", "--admin", "0.0.0.0:0"]).ended(2);
    assert!(said.err.contains("token"), "{}", said.err);
}

#[test]
fn a_daemon_with_a_token_answers_those_who_show_it() {
    let desk = Desk::new();
    let agent = Agent::start();
    desk.write(
        "meddler.yaml",
        &format!(
            "version: 1\nadmin: {{ listen: \"127.0.0.1:0\", token: t0ken }}\nremote_agents:\n  billing: {{ listen: \
             \"127.0.0.1:0\", forward: \"{}\" }}\n",
            agent.url()
        ),
    );
    let daemon = desk.serve(&[]);
    let admin = daemon.admin();
    let asked = |command: &mut Command| command.args(["--daemon", &admin]).output().unwrap();
    let refused = asked(&mut desk.command(&["agents"]));
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("token") && told.contains("MEDDLER_ADMIN_TOKEN"), "{told}");
    let listed = asked(desk.command(&["agents"]).env("MEDDLER_ADMIN_TOKEN", "t0ken"));
    assert!(listed.status.success());
    assert!(String::from_utf8(listed.stdout).unwrap().contains(&agent.url()));
}

#[test]
fn sessions_are_started_and_listed() {
    let desk = Desk::new();
    let (_agent, daemon) = serving(&desk);
    send(daemon.port(0), "in the first");
    desk.run(&["session", "start", "checkout-42"]).ended(0);
    send(daemon.port(0), "in the second");
    let said = desk.run(&["log", "--session", "checkout-42", "--format", "json"]).ended(0);
    assert!(
        said.out.contains("in the second") && !said.out.contains("in the first"),
        "{}",
        said.out
    );
    let said = desk.run(&["session", "list"]).ended(0);
    assert!(said.out.contains("run-") && said.out.contains("checkout-42"), "{}", said.out);
    let said = desk.run(&["session", "start", "no spaces"]).ended(2);
    assert!(said.err.contains("no spaces"), "{}", said.err);
}

#[test]
fn health_is_an_exit_code() {
    let desk = Desk::new();
    let (_agent, daemon) = serving(&desk);
    desk.run(&["healthcheck"]).ended(0);
    let admin = daemon.admin();
    daemon.kill();
    let said = desk.run(&["healthcheck", "--daemon", &admin]).ended(1);
    assert!(said.err.contains("nobody listens there\nhint: "), "{}", said.err);
    assert!(!said.err.contains("agent"), "it is the daemon that is looked for: {}", said.err);
}

#[test]
fn an_agent_without_forward_is_played() {
    let desk = Desk::new();
    desk.write(
        "meddler.yaml",
        "version: 1\nadmin: { listen: \"127.0.0.1:0\" }\nremote_agents:\n  shipping:\n    listen: 127.0.0.1:0\n    \
         reply: ORD-1001 is with the carrier.\nfaults:\n  - { name: lost, when: { text: lost }, inject: { error: failed \
         } }\n",
    );
    let daemon = desk.serve(&[]);
    let answer = send(daemon.port(0), "where is it?");
    assert!(answer.to_string().contains("ORD-1001 is with the carrier."), "{answer}");
    let answer = send(daemon.port(0), "lost");
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_FAILED", "{answer}");
    assert_eq!(daemon.stop(), 0);
    let said = desk.run(&["log", "--fault", "lost", "--format", "json"]).ended(0);
    let line: Value = serde_json::from_str(said.out.trim_end()).expect(&said.out);
    assert_eq!(line["faults"][0], "lost");
}

#[test]
fn no_secret_is_written_anywhere() {
    let desk = Desk::new();
    let (_agent, daemon) = serving(&desk);
    send(daemon.port(0), "please use tk-aaaa1111bbbb");
    desk.run(&["export", "-o", "whole.a2a.jsonl"]).ended(0);
    assert_eq!(daemon.stop(), 0);
    let mut looked = 0;
    let mut folders = vec![desk.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            looked += 1;
            let octets = fs::read(&path).unwrap();
            let found = octets.windows(12).any(|window| window == b"aaaa1111bbbb");
            assert!(!found, "{}", path.display());
        }
    }
    assert!(looked >= 4, "the store and the export are there");
}

#[test]
fn a_url_leaves_aside_what_the_environment_names_but_not_what_is_named_beside_it() {
    let desk = Desk::new();
    let agent = Agent::start();
    let url = agent.url();
    let said = desk.run(&["serve", &url, "-c", "meddler.yaml"]).ended(2);
    assert!(said.err.contains("a URL takes no configuration"), "{}", said.err);

    // It gets past the configuration that is not there, to a port that is taken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let mut command = desk.command(&["serve", &url, "-l", &port, "--admin", "127.0.0.1:0"]);
    let said = command.env("MEDDLER_CONFIG", "missing.yaml").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("another process has this port"), "{said}");
}

#[test]
fn a_message_to_an_agent_that_is_down_is_a_delegation() {
    let desk = Desk::new();
    // A port that was free a moment ago: nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let arguments = [
        &format!("http://{free}"),
        "-l",
        "127.0.0.1:0",
        "--name",
        "billing",
        "--admin",
        "127.0.0.1:0",
    ];
    let daemon = desk.serve(&arguments);
    let answer = send(daemon.port(0), "refund ORD-1001");
    assert_eq!(answer["status"], 502, "{answer}");

    let said = desk.run(&["log", "--format", "json"]).ended(0);
    let line: Value = serde_json::from_str(said.out.trim_end()).expect(&said.err);
    for (member, expected) in [
        ("operation", "SendMessage"),
        ("version", "1.0"),
        ("outcome", "upstream_error"),
        ("text", "refund ORD-1001"),
    ] {
        assert_eq!(line[member], expected, "{member} of {line}");
    }
}
