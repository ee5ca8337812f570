//! Octets in, octets out, over raw HTTP/1.1 sockets.

use crate::support::proxies::TestProxy;
use crate::support::raw::{RawAgent, RawConn};

/// Sends `request` through a proxy and checks what reaches the agent, then what comes back.
/// `AGENT` and `PROXY` stand for the two addresses.
async fn check(request: &str, at_agent: &str, answer: &str, at_client: &str) {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let fill = |text: &str| {
        text.replace("AGENT", &agent.addr.to_string()).replace("PROXY", &proxy.addr().to_string())
    };
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(fill(request)).await;
    let mut upstream = agent.accept().await;
    let expected = fill(at_agent);
    let came = upstream.read_exactly(expected.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), expected, "what reached the agent");
    upstream.write(answer).await;
    let came = client.read_exactly(at_client.len()).await;
    assert_eq!(String::from_utf8(came).unwrap(), at_client, "what reached the client");
    assert!(upstream.is_quiet(), "nothing more is sent to the agent");
    assert!(client.is_quiet(), "nothing more is sent to the client");
}

#[tokio::test]
async fn a_request_and_its_answer_pass_octet_for_octet() {
    check(
        "POST /a2a/x?y=%7E&z HTTP/1.1\r\nHost: PROXY\r\nContent-Type: application/json\r\n\
         x-Odd-CASE: a  b\r\nX-Twice: 1\r\nX-Twice: 2\r\nConnection: keep-alive\r\n\
         content-length: 13\r\n\r\n{\"a\":  1.0 }\n",
        "POST /a2a/x?y=%7E&z HTTP/1.1\r\nHost: AGENT\r\nContent-Type: application/json\r\n\
         x-Odd-CASE: a  b\r\nX-Twice: 1\r\nX-Twice: 2\r\nConnection: keep-alive\r\n\
         content-length: 13\r\n\r\n{\"a\":  1.0 }\n",
        "HTTP/1.1 299 All Right Then\r\nServer: Agent/1\r\nset-Cookie: a=1\r\nset-Cookie: b=2\r\n\
         Content-Length: 7\r\nX-Last: é\r\n\r\n{\"b\":2}",
        "HTTP/1.1 299 All Right Then\r\nServer: Agent/1\r\nset-Cookie: a=1\r\nset-Cookie: b=2\r\n\
         Content-Length: 7\r\nX-Last: é\r\n\r\n{\"b\":2}",
    )
    .await;
}

#[tokio::test]
async fn nothing_is_added_to_a_bare_message() {
    check(
        "GET /tasks/1 HTTP/1.1\r\nHost: PROXY\r\n\r\n",
        "GET /tasks/1 HTTP/1.1\r\nHost: AGENT\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn chunks_stay_chunks() {
    check(
        "POST / HTTP/1.1\r\nHost: PROXY\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: AGENT\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n",
    )
    .await;
}

/// HTTP-08
#[tokio::test]
async fn trailers_pass_to_a_client_that_asks_for_them() {
    check(
        "GET / HTTP/1.1\r\nHost: PROXY\r\nTE: trailers\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: AGENT\r\nTE: trailers\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTrailer: Digest\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\
         Digest: sha-256=abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTrailer: Digest\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\
         digest: sha-256=abc\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn fields_of_one_connection_stay_on_it() {
    check(
        "GET / HTTP/1.1\r\nHost: PROXY\r\nConnection: keep-alive, X-Debug\r\nX-Debug: 1\r\n\
         Keep-Alive: timeout=5\r\nProxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\n\
         HTTP2-Settings: AAMAAABk\r\nA2A-Version: 1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: AGENT\r\nA2A-Version: 1.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: X-Up\r\nX-Up: a\r\nKeep-Alive: timeout=5\r\nX: 1\r\n\
         Content-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn an_answer_to_head_keeps_its_length_and_has_no_body() {
    check(
        "HEAD /x HTTP/1.1\r\nHost: PROXY\r\n\r\n",
        "HEAD /x HTTP/1.1\r\nHost: AGENT\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 812\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 812\r\n\r\n",
    )
    .await;
    check(
        "DELETE /x HTTP/1.1\r\nHost: PROXY\r\n\r\n",
        "DELETE /x HTTP/1.1\r\nHost: AGENT\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_cannot_have_a_body_keeps_its_length() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    let mut upstream = None;
    for answer in [
        "HTTP/1.1 304 Not Modified\r\nETag: \"v7\"\r\nContent-Length: 812\r\nX: 1\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nX: 1\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
    ] {
        client.write("GET / HTTP/1.1\r\nHost: p\r\n\r\n").await;
        let mut conn = match upstream.take() {
            Some(conn) => conn,
            None => agent.accept().await,
        };
        conn.read_head().await;
        conn.write(answer).await;
        assert_eq!(client.read_head().await, answer);
        upstream = Some(conn);
    }
}

/// HTTP-06
#[tokio::test]
async fn an_absolute_address_is_taken_for_its_path() {
    check(
        "GET http://agent.test:9000/rpc HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET /rpc HTTP/1.1\r\nHost: AGENT\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn many_and_large_header_fields_pass() {
    use std::fmt::Write;

    let mut fields = String::new();
    for number in 0..120 {
        write!(fields, "x-{number}: {number}\r\n").unwrap();
    }
    let token = "t".repeat(60_000);
    check(
        &format!("GET / HTTP/1.1\r\nHost: PROXY\r\nAuthorization: Bearer {token}\r\n{fields}\r\n"),
        &format!("GET / HTTP/1.1\r\nHost: AGENT\r\nAuthorization: Bearer {token}\r\n{fields}\r\n"),
        &format!("HTTP/1.1 200 OK\r\n{fields}X: {token}\r\nContent-Length: 0\r\n\r\n"),
        &format!("HTTP/1.1 200 OK\r\n{fields}X: {token}\r\nContent-Length: 0\r\n\r\n"),
    )
    .await;
}

#[tokio::test]
async fn a_length_beside_a_transfer_coding_does_not_cost_the_answer() {
    check(
        "GET / HTTP/1.1\r\nHost: PROXY\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: AGENT\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn a_question_about_the_whole_server_is_passed_on_as_one() {
    let agent = RawAgent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}/a2a\" }}", agent.addr);
    let proxy = TestProxy::with(&[config]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write("OPTIONS * HTTP/1.1\r\nHost: p\r\n\r\n").await;
    let head = agent.accept().await.read_head().await;
    assert!(head.starts_with("OPTIONS * HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_path_that_grows_too_long_below_forward_is_refused_and_not_sent_elsewhere() {
    let agent = RawAgent::start().await;
    let config = format!("{{ listen: \"127.0.0.1:0\", forward: \"http://{}/a2a\" }}", agent.addr);
    let proxy = TestProxy::with(&[config]);
    let mut client = RawConn::connect(proxy.addr()).await;
    let path = "x".repeat(65_532);
    client.write(format!("GET /{path} HTTP/1.1\r\nHost: p\r\n\r\n")).await;
    assert!(client.read_head().await.starts_with("HTTP/1.1 414 "));
    assert!(agent.is_left_alone());
}

/// What a request is answered with that never reaches the agent.
async fn check_refused(request: &str, status_line: &str) {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::before(agent.addr);
    let mut client = RawConn::connect(proxy.addr()).await;
    client.write(request).await;
    let head = client.read_head().await;
    assert!(head.starts_with(status_line), "{request:?} got {head:?}");
    assert!(agent.is_left_alone(), "{request:?} reached the agent");
}

/// HTTP-06
#[tokio::test]
async fn a_request_must_name_one_host() {
    check_refused("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ").await;
    check_refused("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "HTTP/1.1 400 ").await;
    check_refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "HTTP/1.1 400 ").await;
}

#[tokio::test]
async fn connect_and_unknown_own_paths_are_refused() {
    check_refused("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "HTTP/1.1 405 ").await;
    check_refused("GET /.meddler/x HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 ").await;
    check_refused(
        "GET /.meddler/to/http/169.254.169.254/latest HTTP/1.1\r\nHost: a\r\n\r\n",
        "HTTP/1.1 404 ",
    )
    .await;
}

#[tokio::test]
async fn credentials_of_the_configuration_go_to_the_agent_in_place_of_the_callers() {
    let agent = RawAgent::start().await;
    let proxy = TestProxy::with(&[format!(
        "{{ listen: \"127.0.0.1:0\", forward: \"http://{}/a2a\", headers: {{ Authorization: Bearer real }} }}",
        agent.addr
    )]);
    let mut client = RawConn::connect(proxy.addr()).await;
    client
        .write(
            "POST / HTTP/1.1\r\nHost: p\r\nAuthorization: Bearer mine\r\nContent-Length: 0\r\n\r\n",
        )
        .await;
    let head = agent.accept().await.read_head().await;
    let expected = format!(
        "POST /a2a HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer real\r\nContent-Length: 0\r\n\r\n",
        agent.addr
    );
    assert_eq!(head, expected);
}
