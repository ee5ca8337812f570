//! Agent cards: every address that leads to the agent becomes one of this port, and nothing else moves.

use std::io::Write;

use http::HeaderMap;

use crate::support::http2::{Http2Agent, Http2Client, framed, read};
use crate::support::proxies::{Surroundings, TestProxy};
use crate::support::raw::{RawAgent, RawConn, within};

/// A proxy whose agent is at a name that is dialled as loopback.
async fn begin(path: &str, more: &str) -> (RawAgent, TestProxy, RawConn) {
    let agent = RawAgent::start().await;
    let port = agent.addr.port();
    let forward = format!("forward: \"http://localhost:{port}{path}\"");
    let proxy = TestProxy::with(&[format!("{{ listen: \"127.0.0.1:0\", {forward} {more} }}")]);
    let client = RawConn::connect(proxy.addr()).await;
    (agent, proxy, client)
}

fn json(card: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{card}",
        card.len()
    )
}

async fn ask(client: &mut RawConn, path: &str, fields: &str) {
    client.write(format!("GET {path} HTTP/1.1\r\nHost: proxy.test:8100\r\n{fields}\r\n")).await;
}

/// The body of the next answer and its head.
async fn answer(client: &mut RawConn) -> (String, String) {
    let head = client.read_head().await;
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned)
        })
        .unwrap_or_else(|| "0".to_owned());
    let body = client.read_exactly(length.trim().parse().unwrap()).await;
    (head, String::from_utf8(body).unwrap())
}

/// A card with one address, and what it is delivered as. `PORT` stands for the agent's.
async fn check(path: &str, more: &str, url: &str, delivered: &str) {
    let (agent, _proxy, mut client) = begin(path, more).await;
    let card = |url: &str| {
        let url = url.replace("PORT", &agent.addr.port().to_string());
        format!(
            "{{ \"name\":\"billing\", \"n\": 1.0e2,\n \"url\": \"{url}\", \"preferredTransport\":\"JSONRPC\"}}"
        )
    };
    ask(&mut client, "/.well-known/agent-card.json", "").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write(json(&card(url))).await;
    let (head, body) = answer(&mut client).await;
    assert_eq!(body, card(delivered), "forward {path:?}, written {url:?}");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
}

/// CARD-01
#[tokio::test]
async fn a_bind_address_becomes_the_address_that_was_asked() {
    for host in ["0.0.0.0:PORT", "localhost:PORT", "127.0.0.1:PORT", "[::]:PORT", "localhost:8000"]
    {
        check("", "", &format!("http://{host}/"), "http://proxy.test:8100/").await;
    }
}

/// CARD-12
#[tokio::test]
async fn the_last_slash_stays_as_it_was() {
    check("", "", "http://localhost:PORT/rpc/", "http://proxy.test:8100/rpc/").await;
    check("", "", "http://localhost:PORT/rpc", "http://proxy.test:8100/rpc").await;
    check("", "", "http://localhost:PORT", "http://proxy.test:8100").await;
    check("", "", "http://localhost:PORT/rpc?agent=7", "http://proxy.test:8100/rpc?agent=7").await;
}

/// CARD-03
#[tokio::test]
async fn a_base_path_is_not_doubled_and_what_lies_outside_gets_a_path_of_its_own() {
    let base = "/svc/billing";
    check(base, "", "http://localhost:PORT/svc/billing", "http://proxy.test:8100").await;
    check(base, "", "http://localhost:PORT/svc/billing/rest", "http://proxy.test:8100/rest").await;
    let other = "http://proxy.test:8100/.meddler/to/http/localhost:PORT/other";
    check(base, "", "http://localhost:PORT/other", other).await;
    let slash = "http://proxy.test:8100/.meddler/to/http/localhost:PORT/svc/billing/";
    check(base, "", "http://localhost:PORT/svc/billing/", slash).await;
    check("/svc/", "", "http://localhost:PORT/svc/", "http://proxy.test:8100/").await;
}

/// CARD-13, CARD-17
#[tokio::test]
async fn a_host_that_is_not_the_agents_stays() {
    for url in [
        "https://edge.other.test/agents/42/rpc",
        "http://169.254.169.254/latest/",
        "/a2a/v1",
        "a2a/v1",
        "//agent.test:9000/rpc",
        "?agent=7",
        "",
        "http://proxy.test:8100/already",
    ] {
        check("", "", url, url).await;
    }
    let also = ", also: [edge.other.test]";
    let delivered = "http://proxy.test:8100/.meddler/to/https/edge.other.test:443/agents/42/rpc";
    check("", also, "https://edge.other.test/agents/42/rpc", delivered).await;
}

/// CARD-03
#[tokio::test]
async fn an_advertised_address_goes_before_the_one_that_was_asked() {
    let more = ", advertise: \"https://meddler.test/base/\"";
    check("", more, "http://localhost:PORT/rpc", "https://meddler.test/base/rpc").await;
}

/// CARD-03
#[tokio::test]
async fn a_path_of_its_own_leads_to_what_the_agent_wrote() {
    let (agent, _proxy, mut client) = begin("/svc", "").await;
    let port = agent.addr.port();
    ask(&mut client, &format!("/.meddler/to/http/localhost:{port}/other/x?y=1"), "").await;
    let head = agent.accept().await.read_head().await;
    assert_eq!(head, format!("GET /other/x?y=1 HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
}

/// CARD-03
#[tokio::test]
async fn behind_a_proxy_with_a_prefix_every_address_gets_that_prefix_once() {
    let more = ", advertise: \"http://proxy.test:8100/invoices\"";
    for (path, delivered) in [
        ("/svc/billing/rest", "/invoices/rest"),
        ("/other", "/invoices/.meddler/to/http/localhost:PORT/other"),
    ] {
        let url = format!("http://localhost:PORT{path}");
        check("/svc/billing", more, &url, &format!("http://proxy.test:8100{delivered}")).await;
    }
}

/// CARD-04
#[tokio::test]
async fn a_card_of_any_shape_is_rewritten_in_all_its_places() {
    let of_1_0 = |url: &str| {
        format!(
            "\"supportedInterfaces\":[{{\"url\":\"{url}\",\"protocolBinding\":\"JSONRPC\",\"protocolVersion\":\"1.0\"}},\
             {{\"url\":\"{url}\",\"protocolBinding\":\"HTTP+JSON\",\"protocolVersion\":\"1.0\"}}]"
        )
    };
    let of_0_3 = |url: &str| format!("\"url\":\"{url}\",\"x\":[1.10, 1E2]");
    let mixed = |url: &str| {
        format!(
            "{},\"additionalInterfaces\":[{{\"transport\":\"JSONRPC\",\"url\":\"{url}\"}}],{}",
            of_0_3(url),
            of_1_0(url)
        )
    };
    let shapes: [&dyn Fn(&str) -> String; 3] = [&of_1_0, &of_0_3, &mixed];
    for shape in shapes {
        let (agent, _proxy, mut client) = begin("", "").await;
        let card = |url: &str| format!("{{\"name\": \"a\",{},\"skills\":[ ]}}", shape(url));
        ask(&mut client, "/.well-known/agent-card.json", "").await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        upstream.write(json(&card(&format!("http://localhost:{}/rpc", agent.addr.port())))).await;
        assert_eq!(answer(&mut client).await.1, card("http://proxy.test:8100/rpc"));
    }
}

/// CARD-09
#[tokio::test]
async fn a_grpc_address_keeps_its_form() {
    let also = ", also: [agent.test, \"[2001:db8::7]\"]";
    for (written, delivered) in [
        ("agent.test:50051", "proxy.test:8100"),
        ("agent.test", "proxy.test:8100"),
        ("http://agent.test:50051", "http://proxy.test:8100"),
        ("https://agent.test:443", "http://proxy.test:8100"),
        ("grpc://agent.test:50051", "grpc://proxy.test:8100"),
        ("grpcs://agent.test", "grpc://proxy.test:8100"),
        ("dns:///agent.test:50051", "dns:///proxy.test:8100"),
        ("dns:agent.test:50051", "dns:proxy.test:8100"),
        ("[2001:db8::7]:50051", "proxy.test:8100"),
        ("agent.test:50051/", "proxy.test:8100/"),
        ("unix:///run/agent.sock", "unix:///run/agent.sock"),
        ("xds:///agent", "xds:///agent"),
    ] {
        let (agent, _proxy, mut client) = begin("", also).await;
        let card = |url: &str| {
            format!(
                "{{\"name\":\"a\",\"supportedInterfaces\":[{{\"protocolBinding\":\"GRPC\",\"url\":\"{url}\"}}]}}"
            )
        };
        ask(&mut client, "/.well-known/agent-card.json", "").await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        upstream.write(json(&card(written))).await;
        assert_eq!(answer(&mut client).await.1, card(delivered), "{written}");
    }
}

/// CARD-17
#[tokio::test]
async fn a_card_without_an_address_passes_as_it_is() {
    for card in ["{\"name\":\"a\",\"skills\":[]}", "{}", "[]", "null", "7", ""] {
        let (agent, _proxy, mut client) = begin("/team", "").await;
        ask(&mut client, "/.well-known/agent-card.json", "").await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        upstream.write(json(card)).await;
        let (head, body) = answer(&mut client).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{card}: {head}");
        assert_eq!(body, card);
    }
}

/// CARD-20
#[tokio::test]
async fn a_card_at_a_path_of_its_own_is_rewritten_where_the_configuration_names_it() {
    for (card, asked, delivered) in [
        ("", "/custom/card.json?v=2", false),
        (", card: \"/svc/custom/card.json?v=2\"", "/custom/card.json?v=2", true),
        (", card: \"/svc/custom/card.json\"", "/custom/card.json?v=2", false),
    ] {
        let (agent, _proxy, mut client) = begin("/svc", card).await;
        let url = format!("http://localhost:{}/svc/rpc", agent.addr.port());
        ask(&mut client, asked, "").await;
        let mut upstream = agent.accept().await;
        assert!(upstream.read_head().await.starts_with("GET /svc/custom/card.json?v=2 "));
        upstream.write(json(&format!("{{\"name\":\"a\",\"url\":\"{url}\"}}"))).await;
        let expected = if delivered { "http://proxy.test:8100/rpc" } else { &url };
        let body = answer(&mut client).await.1;
        assert_eq!(body, format!("{{\"name\":\"a\",\"url\":\"{expected}\"}}"), "{card}");
    }
}

/// CARD-04, CARD-09
#[tokio::test]
async fn both_shapes_and_every_form_are_rewritten_in_one_card() {
    let (agent, _proxy, mut client) = begin("", "").await;
    let port = agent.addr.port();
    let card = |http: &str, grpc: &str, dns: &str, grpcs: &str| {
        format!(
            "{{\"name\":\"a\",\"url\":\"{http}/\",\"additionalInterfaces\":[{{\"url\":\"{http}/\",\"transport\":\"JSONRPC\"}},\
             {{\"url\":\"{grpc}\",\"transport\":\"GRPC\"}}],\"x\":{{\"url\":\"{http}/\"}},\
             \"supportedInterfaces\":[{{\"url\":\"{http}/v1\",\"protocolBinding\":\"JSONRPC\",\"tenant\":\"t\"}},\
             {{\"url\":\"{dns}\",\"protocolBinding\":\"GRPC\"}},{{\"url\":\"{grpcs}\",\"protocolBinding\":\"GRPC\"}}],\
             \"documentationUrl\":\"http://localhost:1/docs\"}}"
        )
    };
    let original = card(
        &format!("http://localhost:{port}"),
        "localhost:50051",
        "dns:///localhost:50051",
        "grpc://127.0.0.1:50051",
    );
    ask(&mut client, "/.well-known/agent.json", "").await;
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.starts_with("GET /.well-known/agent.json "));
    upstream.write(json(&original)).await;
    let delivered = card(
        "http://proxy.test:8100",
        "proxy.test:8100",
        "dns:///proxy.test:8100",
        "grpc://proxy.test:8100",
    )
    .replace(
        "\"x\":{\"url\":\"http://proxy.test:8100/\"}",
        &format!("\"x\":{{\"url\":\"http://localhost:{port}/\"}}"),
    );
    assert_eq!(answer(&mut client).await.1, delivered);
}

/// CARD-06
#[tokio::test]
async fn a_card_at_the_origin_is_found_when_the_base_path_has_none() {
    let (agent, _proxy, mut client) = begin("/a2a", "").await;
    let port = agent.addr.port();
    ask(&mut client, "/.well-known/agent-card.json", "").await;
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.starts_with("GET /a2a/.well-known/agent-card.json "));
    upstream.write("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno").await;
    assert!(upstream.read_head().await.starts_with("GET /.well-known/agent-card.json "));
    upstream
        .write(json(&format!("{{\"name\":\"a\",\"url\":\"http://localhost:{port}/a2a\"}}")))
        .await;
    assert_eq!(answer(&mut client).await.1, "{\"name\":\"a\",\"url\":\"http://proxy.test:8100\"}");
    // When the origin has none either, the client gets the answer to what it asked.
    ask(&mut client, "/.well-known/agent-card.json", "").await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 404 Not Found\r\nX: below\r\nContent-Length: 2\r\n\r\nno").await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 404 Not Found\r\nX: origin\r\nContent-Length: 3\r\n\r\nno!").await;
    let (head, body) = answer(&mut client).await;
    assert!(head.contains("X: below\r\n") && body == "no", "{head}{body}");
    // Another failure is the agent's word, and stays.
    ask(&mut client, "/.well-known/agent-card.json", "").await;
    upstream.read_head().await;
    upstream.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n").await;
    assert!(answer(&mut client).await.0.starts_with("HTTP/1.1 401 "));
}

/// CARD-08, CARD-20
#[tokio::test]
async fn the_two_well_known_names_are_never_swapped() {
    let (agent, _proxy, mut client) = begin("", "").await;
    ask(&mut client, "/.well-known/agent.json/", "").await;
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.starts_with("GET /.well-known/agent.json/ "));
    upstream.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    assert!(answer(&mut client).await.0.starts_with("HTTP/1.1 404 "));
    assert!(upstream.is_quiet() && agent.is_left_alone());
}

/// CARD-15
#[tokio::test]
async fn length_coding_and_validators_are_those_of_what_is_delivered() {
    let (agent, _proxy, mut client) = begin("", "").await;
    let card = format!("{{\"name\":\"a\",\"url\":\"http://localhost:{}/\"}}", agent.addr.port());
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(card.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let fields = "ETag: \"v7\"\r\nCache-Control: max-age=3600\r\nVary: Accept-Encoding\r\n";
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n{fields}\r\n",
        packed.len()
    );
    let whole = [head.as_bytes(), &packed].concat();
    let delivered = "{\"name\":\"a\",\"url\":\"http://proxy.test:8100/\"}";

    ask(&mut client, "/.well-known/agent-card.json", "Accept-Encoding: gzip\r\n").await;
    let mut upstream = agent.accept().await;
    assert!(upstream.read_head().await.contains("Accept-Encoding: gzip\r\n"));
    upstream.write(&whole).await;
    let (head, body) = answer(&mut client).await;
    assert_eq!(body, delivered);
    assert!(!head.contains("gzip") && !head.contains("\"v7\""), "{head}");
    assert!(head.contains("Cache-Control: max-age=3600\r\n"), "{head}");
    let etag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap().to_owned();

    // The client's condition names our card, which the agent knows nothing of.
    let condition = format!("If-None-Match: {etag}\r\n");
    ask(&mut client, "/.well-known/agent-card.json", &condition).await;
    assert!(!upstream.read_head().await.contains("If-None-Match"));
    upstream.write(&whole).await;
    let head = client.read_head().await;
    assert!(head.starts_with("HTTP/1.1 304 "), "{head}");
    assert!(head.contains(&format!("ETag: {etag}\r\n")), "{head}");
    // One that holds the agent's own gets the rewritten one.
    ask(&mut client, "/.well-known/agent-card.json", "If-None-Match: \"v7\"\r\n").await;
    upstream.read_head().await;
    upstream.write(&whole).await;
    assert_eq!(answer(&mut client).await.1, delivered);

    // HEAD tells of the rewritten card.
    client
        .write("HEAD /.well-known/agent-card.json HTTP/1.1\r\nHost: proxy.test:8100\r\n\r\n")
        .await;
    assert!(upstream.read_head().await.starts_with("HEAD "));
    let head = String::from_utf8(whole[..whole.len() - packed.len()].to_vec()).unwrap();
    upstream.write(&head).await;
    let mut second = upstream;
    assert!(second.read_head().await.starts_with("GET "));
    second.write(&whole).await;
    let head = client.read_head().await;
    assert!(head.contains(&format!("Content-Length: {}\r\n", delivered.len())), "{head}");
    assert!(head.contains(&format!("ETag: {etag}\r\n")), "{head}");
    assert!(client.is_quiet());
}

#[tokio::test]
async fn an_extended_card_is_rewritten_on_json_rpc() {
    for method in ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"] {
        // Nothing is held until the method is known: that is for webhooks.
        let (agent, _proxy, mut client) = begin("", ", push: pass").await;
        let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"{method}\"}}");
        let head = format!(
            "POST / HTTP/1.1\r\nHost: proxy.test:8100\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            call.len()
        );
        // In two pieces, so that the name is cut.
        let (first, second) = call.split_at(call.len() - 8);
        client.write(format!("{head}{first}")).await;
        let mut upstream = agent.accept().await;
        upstream.read_until(first).await;
        client.write(second).await;
        upstream.read_until(second).await;
        let card = |at: &str| {
            format!(
                "{{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{{\"url\":\"http://{at}/\",\"name\":\"a\"}}}}"
            )
        };
        upstream.write(json(&card(&format!("localhost:{}", agent.addr.port())))).await;
        assert_eq!(answer(&mut client).await.1, card("proxy.test:8100"), "{method}");
    }
}

#[tokio::test]
async fn an_extended_card_is_rewritten_on_http_json() {
    for path in ["/extendedAgentCard", "/v1/card", "/tenant/extendedAgentCard"] {
        let (agent, _proxy, mut client) = begin("", "").await;
        ask(&mut client, path, "").await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        let url = format!("{{\"name\":\"a\",\"url\":\"http://localhost:{}/\"}}", agent.addr.port());
        upstream.write(json(&url)).await;
        assert_eq!(
            answer(&mut client).await.1,
            "{\"name\":\"a\",\"url\":\"http://proxy.test:8100/\"}",
            "{path}"
        );
    }
}

#[tokio::test]
async fn an_extended_card_is_rewritten_on_grpc() {
    let mut agent = Http2Agent::start().await;
    let forward = format!("{{ listen: \"127.0.0.1:0\", forward: \"grpc://{}\" }}", agent.addr);
    let proxy = TestProxy::with(&[forward]);
    let mut client = Http2Client::connect(proxy.addr()).await;
    let response = client.call("/lf.a2a.v1.A2AService/GetExtendedAgentCard", b"").await;
    let mut arrived = agent.next().await;
    let mut sending = arrived.answer(&[("content-type", "application/grpc")]);
    // AgentCard { supported_interfaces = 3 { url = 1, protocol_binding = 2 } }
    let card = |url: &str| {
        let field = |tag: u8, text: &str| {
            [&[tag, u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
        };
        let interface = [field(0x0a, url), field(0x12, "GRPC")].concat();
        let mut card = field(0x0a, "billing");
        card.extend([0x1a, u8::try_from(interface.len()).unwrap()]);
        card.extend(interface);
        card
    };
    sending.send_data(framed(&card(&agent.addr.to_string())), false).unwrap();
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    sending.send_trailers(trailers).unwrap();
    let (_, mut body) = within("an answer", response).await.unwrap().into_parts();
    let (octets, trailers) = read(&mut body).await;
    assert_eq!(octets, framed(&card(&proxy.addr().to_string())));
    assert_eq!(trailers.unwrap()["grpc-status"], "0");
}

#[tokio::test]
async fn what_only_looks_like_a_card_request_passes_untouched() {
    let (agent, _proxy, mut client) = begin("", "").await;
    let url = format!("{{\"name\":\"a\",\"url\":\"http://localhost:{}/\"}}", agent.addr.port());
    ask(&mut client, "/tasks/agent-card.json", "").await;
    let mut upstream = agent.accept().await;
    upstream.read_head().await;
    upstream.write(json(&url)).await;
    assert_eq!(answer(&mut client).await.1, url);
    // A card that is none passes as it is.
    ask(&mut client, "/.well-known/agent-card.json", "").await;
    upstream.read_head().await;
    upstream.write(json("{\"url\": 5, <no json")).await;
    assert_eq!(answer(&mut client).await.1, "{\"url\": 5, <no json");
}

/// CARD-12
#[tokio::test]
async fn a_redirect_on_the_agents_own_address_stays_with_the_proxy() {
    for (location, expected) in [
        ("http://localhost:PORT/v2/rpc", "http://proxy.test:8100/v2/rpc"),
        ("/v2/rpc", "/v2/rpc"),
        ("//localhost:PORT/v2/rpc", "http://proxy.test:8100/v2/rpc"),
        ("https://login.other.test/", "https://login.other.test/"),
        ("https://localhost:PORT/rpc", "https://localhost:PORT/rpc"),
    ] {
        let (agent, _proxy, mut client) = begin("", "").await;
        let fill = |text: &str| text.replace("PORT", &agent.addr.port().to_string());
        ask(&mut client, "/rpc", "").await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        let answer = |at: String| {
            format!(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: {at}\r\nContent-Length: 0\r\n\r\n"
            )
        };
        upstream.write(answer(fill(location))).await;
        assert_eq!(client.read_head().await, answer(fill(expected)));
    }
}

#[tokio::test]
async fn a_redirect_from_another_address_of_the_agent_stays_at_that_address() {
    for (location, expected) in [
        ("/rpc/", "/.meddler/to/http/127.0.0.1:PORT/rpc/"),
        (
            "http://127.0.0.1:PORT/rpc/",
            "http://proxy.test:8100/.meddler/to/http/127.0.0.1:PORT/rpc/",
        ),
        ("http://localhost:PORT/rpc/", "http://proxy.test:8100/rpc/"),
    ] {
        let (agent, _proxy, mut client) = begin("", ", also: [127.0.0.1]").await;
        let fill = |text: &str| text.replace("PORT", &agent.addr.port().to_string());
        ask(&mut client, &fill("/.meddler/to/http/127.0.0.1:PORT/rpc"), "").await;
        let mut upstream = agent.accept().await;
        assert!(upstream.read_head().await.starts_with("GET /rpc HTTP/1.1\r\n"));
        let answer =
            |at: String| format!("HTTP/1.1 307 T\r\nLocation: {at}\r\nContent-Length: 0\r\n\r\n");
        upstream.write(answer(fill(location))).await;
        assert_eq!(client.read_head().await, answer(fill(expected)));
    }
}

/// CARD-08
#[tokio::test]
async fn a_rule_for_card_discovery_knows_both_names() {
    for name in ["agent.json", "agent-card.json"] {
        let around = Surroundings {
            faults: "[{ name: gone, when: { operation: AgentCard }, inject: { error: { status: 503 } } }]",
            ..Surroundings::default()
        };
        let agent = RawAgent::start().await;
        let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}\" }}", agent.addr);
        let proxy = TestProxy::within(&[config], around);
        let mut client = RawConn::connect(proxy.addr()).await;
        ask(&mut client, &format!("/.well-known/{name}"), "").await;
        let head = client.read_head().await;
        assert!(
            head.starts_with("HTTP/1.1 503 ") && head.contains("meddler-fault: gone"),
            "{head}"
        );
        assert!(agent.is_left_alone());
    }
}

/// CARD-12
#[tokio::test]
async fn the_wrong_slash_is_redirected_to_what_leads_to_the_right_one() {
    for (forward, location, delivered) in [
        ("/agent/rpc", "/agent/rpc/", "/.meddler/to/http/localhost:PORT/agent/rpc/"),
        ("/agent/rpc/", "/agent/rpc", "/.meddler/to/http/localhost:PORT/agent/rpc"),
        ("/agent", "/agent/rpc/", "/rpc/"),
        ("/agent/rpc", "rpc/", "/.meddler/to/http/localhost:PORT/agent/rpc/"),
    ] {
        let (agent, _proxy, mut client) = begin(forward, "").await;
        let asked = if forward == "/agent" { "/rpc" } else { "/" };
        client
            .write(format!(
                "POST {asked} HTTP/1.1\r\nHost: proxy.test:8100\r\nContent-Length: 0\r\n\r\n"
            ))
            .await;
        let mut upstream = agent.accept().await;
        upstream.read_head().await;
        let head = |at: &str| {
            let at = at.replace("PORT", &agent.addr.port().to_string());
            format!(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: {at}\r\nContent-Length: 0\r\n\r\n"
            )
        };
        upstream.write(head(location)).await;
        assert_eq!(client.read_head().await, head(delivered), "{forward}");
        // Where it leads is where the agent wanted the client to go.
        let next = delivered.replace("PORT", &agent.addr.port().to_string());
        client
            .write(format!(
                "POST {next} HTTP/1.1\r\nHost: proxy.test:8100\r\nContent-Length: 0\r\n\r\n"
            ))
            .await;
        let wanted = if location.starts_with('/') { location } else { "/agent/rpc/" };
        assert!(upstream.read_head().await.starts_with(&format!("POST {wanted} HTTP/1.1\r\n")));
    }
}
