//! One HTTP request, one connection, no redirects: for `http` assertions and for judges.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use url::Url;

use crate::assertion::outside::{HttpAnswer, HttpCall};
use crate::net::addr::{Authority, Scheme};
use crate::net::dial::{Connect, Destination, Dialer, OwnAddresses, Port};
use crate::net::tls::{Alpn, ClientTlsConfig};

/// Octets of an answer that are read.
const BODY_MAX: usize = 4 * 1024 * 1024;

/// Makes the request; blocks until it is answered or its time is over.
pub(super) fn ask(call: &HttpCall) -> Result<HttpAnswer, String> {
    let work = async {
        match tokio::time::timeout(call.timeout, exchange(call)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", call.timeout.as_secs_f64())),
        }
    };
    let answer = super::super::block_on(work).map_err(|failure| failure.to_string())?;
    // Only the origin: an address may carry a key.
    answer.map_err(|why| format!("{} cannot be asked: {why}", origin(&call.url)))
}

fn origin(url: &str) -> String {
    Url::parse(url).map_or("the address".to_owned(), |url| url.origin().ascii_serialization())
}

async fn exchange(call: &HttpCall) -> Result<HttpAnswer, String> {
    let url = Url::parse(&call.url).map_err(|error| error.to_string())?;
    let request = request(call, &url)?;
    let own = Arc::new(OwnAddresses::default());
    let connect: Duration = call.timeout;
    let dialer = Dialer::new(ClientTlsConfig::default(), connect, own, Port(0));
    let destination = destination(&url).ok_or("it is no http or https address")?;
    let connected =
        dialer.connect(&destination, Alpn::Http1).await.map_err(|trouble| trouble.to_string())?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(connected.stream))
        .await
        .map_err(|error| error.to_string())?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        Ok(HttpAnswer { status, body: String::from_utf8_lossy(&body).into_owned() })
    };
    tokio::pin!(answer);
    // The connection is driven here and not on a task of its own: it ends with the answer.
    tokio::select! {
        answer = &mut answer => answer,
        ended = connection => {
            ended.map_err(|error| error.to_string())?;
            answer.await
        }
    }
}

fn destination(url: &Url) -> Option<Destination> {
    let scheme = Scheme::parse(url.scheme())?;
    let host = url.host_str()?;
    let port = url.port_or_known_default()?;
    let authority = Authority::parse(&format!("{host}:{port}"), scheme.default_port())?;
    Some(Destination { scheme, authority })
}

fn request(call: &HttpCall, url: &Url) -> Result<Request<Full<Bytes>>, String> {
    let method = Method::from_bytes(call.method.as_bytes()).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut request = Request::builder().method(method).uri(target).header(header::HOST, host);
    for (name, value) in &call.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(call.body.clone().into())).map_err(|error| error.to_string())
}
