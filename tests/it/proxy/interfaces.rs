//! Interfaces elsewhere: other ports, other hosts, other agents; each address that is given out leads to
//! exactly what the agent wrote, and nothing else can be reached through it.

use h2::SendStream;
use http::HeaderMap;

use super::recorded::Recorded;
use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn, within};

const ASK: &str = "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test:8100\r\n\r\n";

fn response(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A card with these interfaces: binding, address, and what else it says.
fn card(interfaces: &[(&str, String, &str)]) -> String {
    let one = |(binding, url, more): &(&str, String, &str)| {
        format!("{{\"protocolBinding\":\"{binding}\",\"url\":\"{url}\"{more}}}")
    };
    let all: Vec<String> = interfaces.iter().map(one).collect();
    format!("{{\"name\":\"a\",\"supportedInterfaces\":[{}]}}", all.join(","))
}

/// The addresses of the next answer's card.
async fn addresses(client: &mut RawConn) -> Vec<String> {
    let body = client.read_until("]}").await;
    let urls = body.split("\"url\":\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    urls.map(str::to_owned).collect()
}

fn agent_at(port: u16, path: &str, more: &str) -> String {
    format!("{{ listen: \"127.0.0.1:0\", forward: \"http://localhost:{port}{path}\" {more} }}")
}

/// CARD-01
#[tokio::test]
async fn a_loopback_address_with_another_agents_port_leads_to_that_agent() {
    let (billing, shipping) = (RawAgent::start().await, RawAgent::start().await);
    let ports = [billing.addr.port(), shipping.addr.port()];
    for host in ["localhost", "127.0.0.1", "0.0.0.0"] {
        let proxy = TestProxy::with(&[agent_at(ports[0], "", ""), agent_at(ports[1], "/ship", "")]);
        let mut client = RawConn::connect(proxy.addr()).await;
        client.write(ASK).await;
        let mut upstream = billing.accept().await;
        upstream.read_head().await;
        let url = |port: u16, path: &str| format!("http://{host}:{port}{path}");
        upstream
            .write(response(&card(&[
                ("JSONRPC", url(ports[1], "/ship/rpc"), ""),
                ("JSONRPC", url(ports[1], "/other"), ""),
                ("JSONRPC", url(ports[0], "/rpc"), ""),
            ])))
            .await;
        let shipping_port = proxy.at[1].port();
        let own = format!(
            "http://proxy.test:{shipping_port}/.meddler/to/http/localhost:{}/other",
            ports[1]
        );
        let expected = [
            format!("http://proxy.test:{shipping_port}/rpc"),
            // Outside of what stands for the other agent, but on its address.
            if host == "localhost" {
                own
            } else {
                format!("http://proxy.test:8100/.meddler/to/http/localhost:{}/other", ports[1])
            },
            "http://proxy.test:8100/rpc".to_owned(),
        ];
        let found = addresses(&mut client).await;
        assert_eq!((&found[0], &found[2]), (&expected[0], &expected[2]), "{host}");
        assert!(found[1].ends_with("/other") && found[1].contains("/.meddler/to/"), "{found:?}");
    }
}

/// CARD-01
#[tokio::test]
async fn a_grpc_address_with_another_agents_port_leads_to_that_agent() {
    let (billing, shipping) = (RawAgent::start().await, Http2Agent::start().await);
    let proxy = TestProxy::with(&[
        agent_at(billing.addr.port(), "", ""),
        format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", shipping.addr),
    ]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = billing.accept().await;
    upstream.read_head().await;
    let url = format!("localhost:{}", shipping.addr.port());
    upstream.write(response(&card(&[("GRPC", url, "")]))).await;
    let expected = format!("proxy.test:{}", proxy.at[1].port());
    assert_eq!(addresses(&mut client).await, [expected]);
}

/// CARD-03
#[tokio::test]
async fn agents_that_share_a_server_are_told_apart_by_their_paths() {
    let agent = RawAgent::start().await;
    let port = agent.addr.port();
    let proxy = TestProxy::with(&[
        agent_at(port, "/agents/a", ""),
        agent_at(port, "/agents/b", ""),
        agent_at(port, "", ""),
    ]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let url = |path: &str| ("JSONRPC", format!("http://localhost:{port}{path}"), "");
    upstream
        .write(response(&card(&[url("/agents/a/rpc"), url("/agents/b/rpc"), url("/root")])))
        .await;
    let (b, root) = (proxy.at[1].port(), proxy.at[2].port());
    assert_eq!(
        addresses(&mut client).await,
        [
            "http://proxy.test:8100/rpc".to_owned(),
            format!("http://proxy.test:{b}/rpc"),
            format!("http://proxy.test:{root}/root"),
        ]
    );
}

#[tokio::test]
async fn one_path_on_two_ports_is_two_addresses_and_each_leads_to_its_port() {
    let (first, second) = (RawAgent::start().await, RawAgent::start().await);
    let ports = [first.addr.port(), second.addr.port()];
    let proxy = TestProxy::with(&[agent_at(ports[0], "", "")]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = first.accept().await;
    upstream.read_head().await;
    let url = |port: u16| format!("http://127.0.0.1:{port}/rpc");
    let written = [("JSONRPC", url(ports[0]), ""), ("HTTP+JSON", url(ports[1]), "")];
    upstream.write(response(&card(&written))).await;
    let found = addresses(&mut client).await;
    let own = format!("/.meddler/to/http/localhost:{}/rpc", ports[1]);
    assert_eq!(
        found,
        ["http://proxy.test:8100/rpc".to_owned(), format!("http://proxy.test:8100{own}")]
    );
    client.write(format!("GET {own} HTTP/1.1\r\nHost: proxy.test:8100\r\n\r\n")).await;
    let mut upstream = second.accept().await;
    assert!(upstream.read_head().await.starts_with("GET /rpc HTTP/1.1\r\n"));
}

/// CARD-13
#[tokio::test]
async fn a_port_that_no_card_names_cannot_be_reached_through_the_agents() {
    let (agent, stranger) = (RawAgent::start().await, RawAgent::start().await);
    let proxy = TestProxy::with(&[agent_at(agent.addr.port(), "", "")]);
    let mut client = RawConn::connect(proxy.addr()).await;
    let own = format!("/.meddler/to/http/127.0.0.1:{}/", stranger.addr.port());
    client.write(format!("GET {own} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
    // Nobody has seen the card yet, so it is asked for; it names no such port.
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.starts_with("GET /.well-known/agent-card.json "));
    let url = format!("http://localhost:{}/", agent.addr.port());
    upstream.write(response(&card(&[("JSONRPC", url, "")]))).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 404 "));
    assert!(stranger.is_left_alone());
    for to in [
        "http/169.254.169.254:80/latest",
        "https/edge.other.test:443/x",
        "http/a%00b:1/",
        "ftp/localhost:1/",
    ] {
        let mut client = RawConn::connect(proxy.addr()).await;
        client.write(format!("GET /.meddler/to/{to} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
        assert!(client.read_head().await.starts_with("HTTP/1.1 404 "), "{to}");
    }
}

/// CARD-13
#[tokio::test]
async fn after_a_restart_an_address_that_was_given_out_still_leads_where_it_led() {
    let (agent, other) = (RawAgent::start().await, RawAgent::start().await);
    let proxy = TestProxy::with(&[agent_at(agent.addr.port(), "", "")]);
    let mut client = RawConn::connect(proxy.addr()).await;
    let port = other.addr.port();
    client
        .write(format!("GET /.meddler/to/http/localhost:{port}/rpc HTTP/1.1\r\nHost: p\r\n\r\n"))
        .await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let urls = [agent.addr.port(), port].map(|port| format!("http://localhost:{port}/rpc"));
    let [first, second] = urls;
    upstream.write(response(&card(&[("JSONRPC", first, ""), ("HTTP+JSON", second, "")]))).await;
    assert!(other.accept().await.read_head().await.starts_with("GET /rpc HTTP/1.1\r\n"));
}

/// CARD-13
#[tokio::test]
async fn a_host_that_is_listed_gets_a_route_and_one_that_is_not_a_warning() {
    let at = Recorded::start(", also: [\"edge.test:8443\"]", "[]").await;
    let (mut client, mut upstream) = at.ask(ASK).await;
    let own = format!("http://localhost:{}/rpc", at.agent.addr.port());
    upstream
        .write(response(&card(&[
            ("JSONRPC", "https://edge.other.test/agents/42/rpc".to_owned(), ""),
            ("JSONRPC", "https://edge.test:8443/rpc".to_owned(), ",\"tenant\":\"acme\""),
            ("JSONRPC", "https://edge.test/rpc".to_owned(), ""),
            ("JSONRPC", own, ""),
            ("JSONRPC", "./rpc".to_owned(), ""),
        ])))
        .await;
    assert_eq!(
        addresses(&mut client).await,
        [
            "https://edge.other.test/agents/42/rpc",
            "http://proxy.test:8100/.meddler/to/https/edge.test:8443/rpc",
            "https://edge.test/rpc",
            "http://proxy.test:8100/rpc",
            "./rpc",
        ]
    );
    let exchange = at.exchange().await;
    let edits = exchange.edits.iter();
    let edits: Vec<_> = edits.map(|edit| (edit.kind.as_str(), edit.at.as_str())).collect();
    assert_eq!(
        edits,
        [
            ("card_bypass", "$.supportedInterfaces[0].url"),
            ("card_bypass", "$.supportedInterfaces[2].url"),
            ("card_relative", "$.supportedInterfaces[4].url"),
            ("card_address", "$.supportedInterfaces[1].url"),
            ("card_address", "$.supportedInterfaces[3].url"),
        ]
    );
}

fn ok(mut sending: SendStream<bytes::Bytes>) {
    sending.send_data(framed(b""), false).unwrap();
    let trailers: HeaderMap =
        [("grpc-status".parse().unwrap(), "0".parse().unwrap())].into_iter().collect();
    sending.send_trailers(trailers).unwrap();
}

/// A gRPC call of this method and message reaches this agent, and is answered.
async fn reaches(client: &mut Http2Client, path: &str, message: &[u8], agent: &mut Http2Agent) {
    let response = client.call(path, message).await;
    let mut arrived = agent.next().await;
    assert_eq!(arrived.head.uri.path(), path);
    assert_eq!(arrived.read().await.0, framed(message), "the message is the client's");
    ok(arrived.answer(&[("content-type", "application/grpc")]));
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    assert_eq!(read(&mut body).await.1.unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn grpc_calls_go_to_the_interface_of_their_version_and_tenant() {
    let agent = RawAgent::start().await;
    let mut old = Http2Agent::start().await;
    let mut new = Http2Agent::start().await;
    let mut acme = Http2Agent::start().await;
    let second = Http2Agent::start().await;
    let proxy = TestProxy::with(&[agent_at(agent.addr.port(), "", "")]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(ASK).await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    let at = |agent: &Http2Agent| format!("localhost:{}", agent.addr.port());
    upstream
        .write(response(&card(&[
            ("GRPC", at(&new), ",\"protocolVersion\":\"1.0\""),
            ("GRPC", at(&old), ",\"protocolVersion\":\"0.3\""),
            ("GRPC", at(&acme), ",\"protocolVersion\":\"1.0\",\"tenant\":\"acme\""),
            ("GRPC", at(&second), ",\"protocolVersion\":\"1.0\""),
        ])))
        .await;
    let ours = "proxy.test:8100".to_owned();
    let expected = [ours.clone(), ours.clone(), ours, at(&second)];
    assert_eq!(addresses(&mut client).await, expected, "the last one cannot be told apart");

    let mut client = Http2Client::connect(proxy.addr()).await;
    // GetTaskRequest { tenant = 1, id = 2 }
    let (anybody, of_acme, of_other) =
        (b"\x12\x01t", b"\x0a\x04acme\x12\x01t", b"\x0a\x01x\x12\x01t");
    reaches(&mut client, "/lf.a2a.v1.A2AService/GetTask", anybody, &mut new).await;
    reaches(&mut client, "/lf.a2a.v1.A2AService/GetTask", of_acme, &mut acme).await;
    reaches(&mut client, "/lf.a2a.v1.A2AService/GetTask", of_other, &mut new).await;
    reaches(&mut client, "/a2a.v1.A2AService/GetTask", anybody, &mut old).await;
}
