//! `meddler agents`: what leads where, and what leads around Meddler.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use super::program::Desk;

/// An agent that answers everything with its card. Ends with the process.
fn agent() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut buffer = [0; 4096];
            while matches!(connection.read(&mut buffer), Ok(1..)) {
                let card = format!(
                    "{{\"name\":\"a\",\"supportedInterfaces\":[\
                     {{\"url\":\"http://localhost:{port}/rpc\",\"protocolBinding\":\"JSONRPC\",\"protocolVersion\":\"1.0\"}},\
                     {{\"url\":\"localhost:50051\",\"protocolBinding\":\"GRPC\",\"protocolVersion\":\"1.0\",\"tenant\":\"acme\"}},\
                     {{\"url\":\"https://edge.other.test/x\",\"protocolBinding\":\"HTTP+JSON\"}}]}}"
                );
                let answer =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len());
                if connection.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    port
}

/// CARD-13
#[test]
fn agents_tells_what_leads_where_and_warns_of_what_leads_around() {
    let desk = Desk::new();
    let port = agent();
    let daemon = desk.serve(&[
        &format!("http://localhost:{port}"),
        "-l",
        "127.0.0.1:0",
        "--name",
        "billing",
        "--admin",
        "127.0.0.1:0",
    ]);
    let admin = daemon.admin();
    let said = desk.run(&["agents", "--daemon", &admin]).ended(0);
    let ours = format!("127.0.0.1:{}", daemon.port(0));
    let rows: Vec<Vec<&str>> =
        said.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[1],
        ["billing", &format!("http://{ours}"), &format!("http://localhost:{port}/")]
    );
    assert_eq!(rows[3][..3], ["CARD", "OF", "BINDING"]);
    let rpc = (format!("http://{ours}/rpc"), format!("http://localhost:{port}/rpc"));
    assert_eq!(rows[4], ["billing", "JSONRPC", "1.0", "-", "through", &rpc.0, &rpc.1]);
    assert_eq!(rows[5], ["billing", "GRPC", "1.0", "acme", "through", &ours, "localhost:50051"]);
    let around = ["billing", "HTTP+JSON", "-", "-", "around", "https://edge.other.test/x", "-"];
    assert_eq!(rows[6], around);
    assert!(
        said.err.contains(
            "warning: billing: `https://edge.other.test/x` ($.supportedInterfaces[2].url)"
        ) && said.err.contains("`also:`"),
        "{}",
        said.err
    );

    let said = desk.run(&["agents", "--daemon", &admin, "--format", "json"]).ended(0);
    let agent: Value = serde_json::from_str(said.out.trim()).unwrap();
    assert_eq!(agent["interfaces"][1]["tenant"], "acme");
    assert!(agent["interfaces"][1].get("bypass").is_none());
    assert!(agent["interfaces"][2]["bypass"].as_str().unwrap().contains("also:"));
    // Asking for a card on its own account is no traffic.
    let said = desk.run(&["export"]).ended(0);
    assert!(said.out.contains("a2a_recording"), "{}", said.out);
    assert!(!said.out.contains("\"type\":\"exchange\""), "{}", said.out);
}
