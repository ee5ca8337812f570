//! The admin interface over HTTP: what its routes answer, and whom they refuse.

use serde_json::Value;

use super::agent::{Agent, ask, send};
use super::program::{Daemon, Desk};

fn recorded() -> (Desk, Daemon, u16) {
    let desk = Desk::new();
    let agent = Agent::start();
    let arguments =
        [&agent.url(), "-l", "127.0.0.1:0", "--name", "billing", "--admin", "127.0.0.1:0"];
    let daemon = desk.serve(&arguments);
    for said in ["one", "two", "three"] {
        send(daemon.port(0), said);
    }
    let port = daemon.admin().rsplit(':').next().unwrap().parse().unwrap();
    (desk, daemon, port)
}

fn get(port: u16, path: &str) -> (String, Value) {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    let (head, body) = ask(port, &request);
    (head, serde_json::from_slice(&body).unwrap_or_default())
}

#[track_caller]
fn check(port: u16, path: &str, status: &str) -> Value {
    let (head, value) = get(port, path);
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {head}\n{value}");
    value
}

fn texts(listing: &Value) -> Vec<&str> {
    let all = listing.as_array().unwrap().iter();
    all.map(|line| line.get("text").and_then(Value::as_str).unwrap_or_default()).collect()
}

#[test]
fn delegations_are_filtered_and_paged() {
    let (_desk, _daemon, port) = recorded();
    assert_eq!(texts(&check(port, "/delegations", "200")), ["one", "two", "three"]);
    assert_eq!(texts(&check(port, "/delegations?text=TWO&agent=billing", "200")), ["two"]);
    assert_eq!(texts(&check(port, "/delegations?agent=shipping", "200")), [""; 0]);
    let (head, page) = get(port, "/delegations?limit=1&offset=1");
    assert_eq!(texts(&page), ["two"], "the newest but one");
    assert!(head.to_lowercase().contains("x-total-count: 3"), "{head}");
    let problem = check(port, "/delegations?agnet=billing", "400");
    assert_eq!(problem.pointer("/detail").unwrap(), "unknown parameter `agnet`");
}

#[test]
fn one_delegation_and_one_exchange_are_told_in_full() {
    let (_desk, _daemon, port) = recorded();
    let listing = check(port, "/delegations", "200");
    let id = listing.pointer("/0/id").and_then(Value::as_str).unwrap();
    let whole = check(port, &format!("/delegations/{id}"), "200");
    assert_eq!(whole.pointer("/reply/status/state").unwrap(), "completed");
    assert_eq!(whole.pointer("/reply_text").unwrap(), "Echo: one");
    let exchange = check(port, &format!("/exchanges/{id}"), "200");
    assert_eq!(exchange.pointer("/request/method").unwrap(), "POST");
    let all = check(port, "/exchanges?operation=message/send", "200");
    assert_eq!(all.as_array().unwrap().len(), 3);
    check(port, "/exchanges/x-ffffffff", "404");
    check(port, "/nowhere", "404");
}

#[test]
fn the_daemon_tells_who_it_is_and_how_it_is() {
    let (_desk, daemon, port) = recorded();
    let version = check(port, "/version", "200");
    assert_eq!(version.pointer("/pid").unwrap(), daemon.pid());
    assert_eq!(version.pointer("/agents/0/name").unwrap(), "billing");
    assert_eq!(check(port, "/agents", "200").pointer("/0/name").unwrap(), "billing");
    check(port, "/healthz", "200");
    check(port, "/readyz", "200");
    assert_eq!(check(port, "/sessions", "200").as_array().unwrap().len(), 1);
    check(port, "/flush", "405");
}

#[test]
fn an_export_is_a_recording() {
    let (desk, _daemon, port) = recorded();
    let request = format!("GET /export HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let (head, body) = ask(port, &request);
    assert!(head.to_lowercase().contains("content-type: application/jsonl"), "{head}");
    let said = desk.run_with_input(&["log", "-R", "-", "--format", "json"], &body).ended(0);
    assert_eq!(said.out.lines().count(), 3);
}

#[test]
fn pages_of_other_origins_and_rebound_names_are_refused() {
    let (_desk, _daemon, port) = recorded();
    for (host, origin, status) in [
        (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"), "200"),
        (format!("127.0.0.1:{port}"), "http://evil.test".to_owned(), "403"),
        (format!("evil.test:{port}"), format!("http://evil.test:{port}"), "403"),
    ] {
        let (head, _) = ask(
            port,
            &format!(
                "GET /delegations HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
            ),
        );
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{host} {origin}: {head}");
    }
}
