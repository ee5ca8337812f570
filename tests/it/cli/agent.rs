//! A remote agent on a raw socket, and an orchestrator that calls it: one thread, one answer each.
#![expect(clippy::indexing_slicing, reason = "a test that meets something else has failed")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use serde_json::{Value, json};

/// Answers every JSON-RPC call with a completed task that echoes the message. Ends with the process.
pub(super) struct Agent {
    at: SocketAddr,
}

impl Agent {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || {
            let tasks = Arc::new(AtomicUsize::new(0));
            for connection in listener.incoming() {
                let tasks = Arc::clone(&tasks);
                thread::spawn(move || serve(connection.unwrap(), &tasks));
            }
        });
        Self { at }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.at)
    }
}

/// Takes requests and never answers. Says when it has one. Ends with the process.
pub(super) fn silent() -> (SocketAddr, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut held = Vec::new();
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            if read_message(&mut connection).is_some() && sender.send(()).is_err() {
                return;
            }
            held.push(connection);
        }
    });
    (at, receiver)
}

fn serve(mut connection: TcpStream, tasks: &AtomicUsize) {
    while let Some((_, body)) = read_message(&mut connection) {
        let call: Value = serde_json::from_slice(&body).unwrap_or_default();
        let said = call["params"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
        let n = tasks.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = json!({
            "jsonrpc": "2.0",
            "id": call["id"],
            "result": {"task": {
                "id": format!("task-{n}"),
                "contextId": format!("context-{n}"),
                "status": {"state": "TASK_STATE_COMPLETED"},
                "artifacts": [{"artifactId": "a", "parts": [{"text": format!("Echo: {said}")}]}],
            }},
        })
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        if connection.write_all(format!("{head}{answer}").as_bytes()).is_err() {
            return;
        }
    }
}

/// Sends a message to the agent behind this port, as an orchestrator of version 1.0; the answer's body.
pub(super) fn send(port: u16, said: &str) -> Value {
    let mut connection = begin(port, said);
    let (_, body) = read_message(&mut connection).expect("an answer");
    connection.shutdown(Shutdown::Both).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Sends the message, and leaves the answer on the way.
pub(super) fn begin(port: u16, said: &str) -> TcpStream {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 7,
        "method": "SendMessage",
        "params": {"message": {
            "messageId": format!("m-{said}"),
            "role": "ROLE_USER",
            "parts": [{"text": said}],
        }},
    })
    .to_string();
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nA2A-Version: 1.0\r\nAuthorization: Bearer tk-aaaa1111bbbb\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        call.len()
    );
    connection.write_all(format!("{head}{call}").as_bytes()).unwrap();
    connection
}

/// Sends a request as it is written here, and reads the answer: its head and its body.
pub(super) fn ask(port: u16, request: &str) -> (String, Vec<u8>) {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    let mut octets = Vec::new();
    connection.read_to_end(&mut octets).unwrap();
    let end = octets.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&octets[..end]).into_owned(), octets[end + 4..].to_vec())
}

/// One HTTP/1.1 message with a length: its head and its body. `None` at the end of the connection.
fn read_message(connection: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut octets = Vec::new();
    let mut portion = [0; 4096];
    loop {
        if let Some(end) = octets.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&octets[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let whole = end + 4 + length.unwrap_or(0_usize);
            if octets.len() >= whole {
                return Some((head, octets[end + 4..whole].to_vec()));
            }
        }
        match connection.read(&mut portion) {
            Ok(0) | Err(_) => return None,
            Ok(count) => octets.extend_from_slice(&portion[..count]),
        }
    }
}
