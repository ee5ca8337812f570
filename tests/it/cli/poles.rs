//! Nine poles at which a pass is a bug: agents that answer, but not as agents. Recorded by a real daemon;
//! no suite passes over any of them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::agent::ask;
use super::program::Desk;

/// Suites that ask as little as a suite can ask.
const SUITES: &[(&str, &str)] = &[
    ("called", "delegated_to: POLE"),
    ("tool", "tool_called: POLE"),
    ("nothing_bad", "text: { not_contains: error }"),
    ("quiet", "no_event: canary_seen"),
    ("completed", "state: completed"),
    ("counted", "metric: { name: delegations, equals: 1 }"),
    ("pack", "pack: no_secret_leak"),
];

/// What a server answers to everything; an empty text: it closes the connection.
fn server(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                let mut portion = [0; 8192];
                if matches!(connection.read(&mut portion), Ok(1..)) {
                    // Whoever has left does not read it.
                    let written = connection.write_all(answer.as_bytes());
                    drop(written);
                }
            });
        }
    });
    port
}

fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn no_suite_passes_at_a_pole() {
    let http = |head: &'static str| format!("http://127.0.0.1:{}", server(head));
    let poles = [
        ("closed_port", format!("http://127.0.0.1:{}", closed_port())),
        (
            "not_found",
            http("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ),
        (
            "forbidden",
            http("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ),
        (
            "redirects",
            http(
                "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            ),
        ),
        ("empty_500", http("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
        ("empty_200", http("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")),
        ("empty_204", http("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")),
        (
            "bare_401",
            http("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        ),
        ("no_tls", format!("https://127.0.0.1:{}", server("no TLS here\r\n"))),
    ];
    let desk = Desk::new();
    let agents: Vec<String> = poles
        .iter()
        .map(|(name, url)| format!("  {name}: {{ listen: '127.0.0.1:0', forward: '{url}' }}\n"))
        .collect();
    desk.write(
        "meddler.yaml",
        &format!(
            "version: 1\nadmin: {{ listen: '127.0.0.1:0' }}\nremote_agents:\n{}",
            agents.concat()
        ),
    );
    let daemon = desk.serve(&[]);
    for (index, (name, _)) in poles.iter().enumerate() {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m-{name}","role":"ROLE_USER","parts":[{{"text":"hello"}}]}}}}}}"#
        );
        let request = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        ask(daemon.port(index), &request);
    }
    let mut passed = Vec::new();
    for (pole, _) in &poles {
        for (name, assertion) in SUITES {
            let text = format!(
                "tests:\n  - name: t\n    select: {{ agent: {pole} }}\n    assert:\n      - {}\n",
                assertion.replace("POLE", pole)
            );
            desk.write("s.yaml", &text);
            let said = desk.run(&["assert", "s.yaml"]);
            if said.code == 0 {
                passed.push(format!("{name} at {pole}:\n{}", said.out));
            }
        }
    }
    assert!(passed.is_empty(), "{}", passed.join("\n"));
}
