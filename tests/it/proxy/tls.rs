//! TLS on both sides: verified by default, and never silently not.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::http2::{Http2Client, read};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, spawn, within};

fn cert(name: &str) -> String {
    format!("{}/certs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// CARD-02
#[tokio::test]
async fn the_scheme_in_a_card_is_the_one_the_orchestrator_speaks() {
    // TLS ends at Meddler, and the agent knows nothing of it.
    let agent = RawAgent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let config = format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://localhost:{}\", listen_tls: auto }}",
        agent.addr.port()
    );
    let ca_directory = directory.path().to_owned();
    let around = Surroundings { ca_directory, ..Surroundings::default() };
    let proxy = TestProxy::within(&[config], around);
    let ca = directory.path().join("ca.pem");
    let mut tls = connect(&proxy, &ca, "localhost", "http/1.1").await.unwrap();
    let ask = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test:8443\r\n\r\n";
    tls.write_all(ask.as_bytes()).await.unwrap();
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let written = card(&format!("http://localhost:{}/a2a/ledger", agent.addr.port()));
    let length = written.len();
    upstream.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{written}")).await;
    let expected = card("https://proxy.test:8443/a2a/ledger");
    let mut came = String::new();
    while !came.ends_with("]}") {
        let mut buffer = [0; 4096];
        let count = within("a card", tls.read(&mut buffer)).await.unwrap();
        assert!(count > 0, "{came}");
        came.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    assert!(came.ends_with(&expected), "{came}");

    // The reverse: clear text to Meddler, TLS to the agent.
    let (port, task) = agent_with_card().await;
    let ca = cert("ca.pem");
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"https://localhost:{port}\", tls: {{ ca: \"{ca}\" }} }}"
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ask.replace("8443", "8100")).await;
    client.read_head().await;
    let expected = card("http://proxy.test:8100/a2a/ledger");
    assert_eq!(client.read_exactly(expected.len()).await, expected.as_bytes());
    task.abort();
}

async fn agent_with_card() -> (u16, JoinHandle<()>) {
    let chain = CertificateDer::from_pem_file(cert("agent.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(cert("agent.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(tls) = acceptor.accept(stream).await {
                spawn(serve_card(port, tls));
            }
        }
    });
    (port, task)
}

/// An agent that answers each request on a TLS connection with what it was asked, over HTTP/1.1 or 2.
async fn agent(name: &str, alpn: &[&str]) -> (u16, JoinHandle<()>) {
    let chain = CertificateDer::from_pem_file(cert(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(cert(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(tls) = acceptor.accept(stream).await else { continue };
            if tls.get_ref().1.alpn_protocol() == Some(b"h2") {
                spawn(serve_http2(tls));
            } else {
                spawn(serve_http1(tls));
            }
        }
    });
    (port, task)
}

/// Answers everything with this card.
async fn serve_card(port: u16, mut tls: tokio_rustls::server::TlsStream<TcpStream>) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = tls.read(&mut buffer).await {
        let card = card(&format!("https://localhost:{port}/a2a/ledger"));
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{card}", card.len());
        if tls.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn card(url: &str) -> String {
    format!(
        "{{\"name\":\"a\",\"supportedInterfaces\":[{{\"url\":\"{url}\",\"protocolBinding\":\"JSONRPC\"}}]}}"
    )
}

async fn serve_http1(mut tls: tokio_rustls::server::TlsStream<TcpStream>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = tls.read(&mut buffer).await {
        let line = String::from_utf8_lossy(&buffer[..count]).lines().next().unwrap().to_owned();
        if line.contains("/closing") {
            drop(tls.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf").await);
            // Without it the peer cannot know that this was all.
            if line.contains("/closing/said") {
                drop(tls.shutdown().await);
            }
            return;
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{line}", line.len());
        if tls.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn serve_http2(tls: tokio_rustls::server::TlsStream<TcpStream>) {
    let Ok(mut accepting) = h2::server::handshake(tls).await else { return };
    while let Some(Ok((request, mut respond))) = accepting.accept().await {
        let answer = http::Response::builder().header("x-seen", request.uri().to_string());
        let mut body = respond.send_response(answer.body(()).unwrap(), false).unwrap();
        body.send_data("over h2".into(), true).unwrap();
    }
}

/// What a client is told of an agent with this certificate, under this `tls:`.
async fn check(name: &str, tls: &str, expected: &str) {
    let (port, task) = agent(name, &["http/1.1"]).await;
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"https://localhost:{port}\", tls: {{ {tls} }} }}"
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET /x HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.starts_with(expected), "{name} with {tls:?}: {head}");
    if !expected.contains("200") {
        assert!(head.contains("meddler-error: tls\r\n"), "{name} with {tls:?}: {head}");
    }
    task.abort();
}

/// CAN-05
#[tokio::test]
async fn a_body_that_ends_without_close_notify_is_broken() {
    let (port, task) = agent("agent", &["http/1.1"]).await;
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"https://localhost:{port}\", tls: {{ ca: \"{}\" }} }}",
        cert("ca.pem")
    )]);
    for (path, is_whole) in [("/closing/said", true), ("/closing/unsaid", false)] {
        let mut client = RawConn::connect(proxy.addr()).await;
        client.write(format!("GET {path} HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")).await;
        let (text, _) = client.read_to_end().await;
        assert!(text.contains("4\r\nhalf\r\n"), "{path}: {text}");
        assert_eq!(text.ends_with("0\r\n\r\n"), is_whole, "{path}: {text}");
    }
    task.abort();
}

#[tokio::test]
async fn an_agents_certificate_is_verified_unless_it_is_said_otherwise() {
    let ca = format!("ca: \"{}\"", cert("ca.pem"));
    check("agent", &ca, "HTTP/1.1 200 ").await;
    check("agent", "", "HTTP/1.1 502 ").await;
    check("stranger", &ca, "HTTP/1.1 502 ").await;
    check("name", &ca, "HTTP/1.1 502 ").await;
    check("name", &format!("{ca}, server_name: other.test"), "HTTP/1.1 200 ").await;
    check("stranger", "insecure: true", "HTTP/1.1 200 ").await;
}

#[tokio::test]
async fn an_agent_that_speaks_http2_only_is_spoken_to_in_http2() {
    let (port, task) = agent("agent", &["h2"]).await;
    let ca = cert("ca.pem");
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"https://localhost:{port}/a\", tls: {{ ca: \"{ca}\" }} }}"
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("GET /x HTTP/1.1\r\nHost: p\r\nConnection: keep-alive\r\n\r\n").await;
    let head = client.read_head().await;
    assert!(head.contains(&format!("x-seen: https://localhost:{port}/a/x\r\n")), "{head}");
    assert_eq!(client.read_exactly(7 + 10).await.len(), 17);
    task.abort();
}

#[tokio::test]
async fn a_bad_file_is_an_error_at_start() {
    let agent =
        "{ listen: \"127.0.0.1:0\", forward: \"https://localhost:1\", tls: { ca: nowhere.pem } }";
    let error = TestProxy::try_within(&[agent.to_owned()], Surroundings::default()).err().unwrap();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(error.to_string(), "agent `agent0`: cannot set up TLS");
    assert_eq!(source, "cannot use nowhere.pem");
}

/// A TLS connection to a proxy, trusting only this file.
async fn connect(
    proxy: &TestProxy,
    ca: &Path,
    name: &str,
    alpn: &str,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    let tcp = TcpStream::connect(proxy.addr()).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    within("a handshake", TlsConnector::from(Arc::new(config)).connect(name, tcp)).await
}

#[tokio::test]
async fn a_port_with_its_own_authority_serves_any_name_and_both_versions_and_clear_text() {
    let agent = RawAgent::start().await;
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.pem");
    let config = format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://{}\", listen_tls: auto }}",
        agent.addr
    );
    let start = || {
        let ca_directory = directory.path().to_owned();
        TestProxy::within(
            std::slice::from_ref(&config),
            Surroundings { ca_directory, ..Surroundings::default() },
        )
    };
    let proxy = start();
    let first = std::fs::read(&ca).unwrap();
    for name in ["meddler.test", "localhost", "127.0.0.1"] {
        let mut tls = connect(&proxy, &ca, name, "http/1.1").await.unwrap();
        tls.write_all(b"GET / HTTP/1.1\r\nHost: p\r\n\r\n").await.unwrap();
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        upstream.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
        let mut buffer = [0; 15];
        tls.read_exact(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"HTTP/1.1 200 OK", "{name}");
    }
    // HTTP/2 by ALPN.
    let tls = connect(&proxy, &ca, "localhost", "h2").await.unwrap();
    let mut client = Http2Client::over(tls, proxy.addr()).await;
    let (response, _) = client.request("GET", "/", &[], true).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await;
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(read(&mut body).await.0, b"ok");
    // In the clear.
    let mut plain = RawConn::connect(proxy.addr()).await;
    plain.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
    agent.accept().await.read_head().await;
    // A restart keeps the authority, whose key is for its owner alone.
    let again = start();
    assert_eq!(std::fs::read(&ca).unwrap(), first);
    connect(&again, &ca, "localhost", "http/1.1").await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = directory.path().join("ca.key").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_port_may_have_a_given_certificate() {
    let agent = RawAgent::start().await;
    let (chain, key) = (cert("agent.pem"), cert("agent.key"));
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://{}\", listen_tls: {{ cert: \"{chain}\", key: \"{key}\" }} }}",
        agent.addr
    )]);
    let ca = cert("ca.pem");
    connect(&proxy, Path::new(&ca), "agent.test", "http/1.1").await.unwrap();
    connect(&proxy, Path::new(&ca), "other.test", "http/1.1").await.unwrap_err();
}
