//! Other protocols on the same connection (`Upgrade`, RFC 9110, section 7.8): WebSocket, and whatever
//! else a client asks for by name and the agent agrees to. Octets pass both ways until either side ends.
//!
//! Two names are not passed on: `h2c` and `h2`. A client that asks for them, as Java's does with every
//! first request, goes on with the HTTP/1.1 that it must be content with, and its calls stay visible.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Response, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tracing::debug;

use crate::base::Side;
use crate::net::stream::Stream;
use crate::proxy::answer;
use crate::proxy::body::ResponseBody;
use crate::proxy::exchange::Connection;
use crate::proxy::headers;
use crate::proxy::passing::Carrier;
use crate::record::tap::{End, ExchangeTap, Lane};

/// What is read at once.
const PORTION: usize = 16 * 1024;

/// How long one direction may go on after the other has ended.
const CLOSING_WAIT: Duration = Duration::from_secs(30);

/// A client's wish to speak something else.
#[derive(Debug)]
pub(super) struct Wish {
    /// By which names.
    protocols: HeaderValue,
    client: OnUpgrade,
}

impl Wish {
    /// Of this request, if it has one that can be passed on.
    pub(super) fn of(parts: &mut Parts) -> Option<Self> {
        if parts.version != Version::HTTP_11 || !parts.headers.contains_key(UPGRADE) {
            return None;
        }
        let protocols = protocols(&parts.headers)?;
        let client = parts.extensions.remove::<OnUpgrade>()?;
        Some(Self { protocols, client })
    }

    /// Says it to the agent as well.
    pub(super) fn say(&self, headers: &mut HeaderMap) {
        say(headers, self.protocols.clone());
    }
}

/// Names the protocols to the next hop.
fn say(headers: &mut HeaderMap, protocols: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, protocols);
}

/// The protocols that `Upgrade` names and `Connection` nominates, without those of HTTP itself.
fn protocols(headers: &HeaderMap) -> Option<HeaderValue> {
    let tokens = |name| {
        let values = headers.get_all(name).iter();
        values.flat_map(|value: &HeaderValue| {
            value.as_bytes().split(|octet| *octet == b',').map(<[u8]>::trim_ascii)
        })
    };
    if !tokens(CONNECTION).any(|token| token.eq_ignore_ascii_case(b"upgrade")) {
        return None;
    }
    let is_http = |token: &&[u8]| {
        [&b"h2c"[..], b"h2"].iter().any(|name| token.eq_ignore_ascii_case(name)) || token.is_empty()
    };
    let named: Vec<&[u8]> = tokens(UPGRADE).filter(|token| !is_http(token)).collect();
    if named.is_empty() {
        return None;
    }
    HeaderValue::from_bytes(&named.join(&b", "[..])).ok()
}

/// Passes `Upgrade` on where it belongs to the answer: a 426 must say what to upgrade to.
pub(super) fn keep_demand(from: &HeaderMap, to: &mut HeaderMap) {
    if let Some(protocols) = from.get(UPGRADE) {
        say(to, protocols.clone());
    }
}

/// The agent has agreed: answers the client, and lets octets pass from then on.
pub(super) fn pass(
    conn: &Arc<Connection>,
    wish: Wish,
    response: Response<Incoming>,
    carrier: Carrier,
    tap: Option<ExchangeTap>,
) -> Response<ResponseBody> {
    let (mut head, _) = response.into_parts();
    if let Some(tap) = &tap {
        tap.head(Lane::Response, head.version, head.status, &head.headers);
    }
    let agreed = head.headers.get(UPGRADE).cloned().unwrap_or(wish.protocols);
    headers::strip(&mut head.headers, Version::HTTP_11);
    say(&mut head.headers, agreed);
    let (counted, tasks) = (Arc::clone(conn), conn.core.tasks.clone());
    drop(conn.core.tasks.spawn(async move {
        // The connection counts as one of the client's for as long as it is used.
        let conn = counted;
        // Cancel safe: dropping the streams closes them.
        let end = tokio::select! {
            end = both_ways(carrier, wish.client, tap.as_ref()) => end,
            () = tasks.cut() => End::Stopped,
        };
        debug!(agent = %conn.agent.name, ?end, "the upgraded connection has ended");
        if let Some(tap) = &tap {
            tap.end(Lane::Response, end);
        }
    }));
    let mut answer = answer::whole(head.status, HeaderMap::new(), Bytes::new(), None);
    *answer.headers_mut() = head.headers;
    *answer.extensions_mut() = head.extensions;
    answer
}

async fn both_ways(carrier: Carrier, client: OnUpgrade, tap: Option<&ExchangeTap>) -> End {
    let Some((agent, ahead)) = upgraded(carrier).await else { return End::Cut(Side::Upstream) };
    let Ok(client) = client.await else { return End::Cut(Side::Downstream) };
    let (from_client, to_client) = tokio::io::split(TokioIo::new(client));
    let (from_agent, to_agent) = tokio::io::split(agent);
    let up =
        Direction { lane: Lane::Request, reads: Side::Downstream, writes: Side::Upstream, tap };
    let down =
        Direction { lane: Lane::Response, reads: Side::Upstream, writes: Side::Downstream, tap };
    let mut up = pin!(up.copy(from_client, to_agent, Bytes::new()));
    let mut down = pin!(down.copy(from_agent, to_client, ahead));
    // An end in one direction leaves the other its time; a break is the end of both. Cancel safe: the
    // direction that is not chosen is polled on.
    let rest = tokio::select! {
        ended = &mut up => match ended {
            Ok(()) => tokio::time::timeout(CLOSING_WAIT, down).await,
            Err(side) => return End::Cut(side),
        },
        ended = &mut down => match ended {
            Ok(()) => tokio::time::timeout(CLOSING_WAIT, up).await,
            Err(side) => return End::Cut(side),
        },
    };
    match rest {
        Ok(Ok(())) | Err(_) => End::Complete,
        Ok(Err(side)) => End::Cut(side),
    }
}

/// The agent's connection, and the octets that came with its 101.
async fn upgraded(carrier: Carrier) -> Option<(Stream, Bytes)> {
    match carrier {
        Carrier::Http1 { connection, .. } => connection.into_upgraded().await,
        Carrier::Http2 { .. } | Carrier::Gone => None,
    }
}

/// One of the two directions.
struct Direction<'a> {
    lane: Lane,
    reads: Side,
    writes: Side,
    tap: Option<&'a ExchangeTap>,
}

impl Direction<'_> {
    /// Copies it to its end, `ahead` first, and ends it on the other side. An error is that of this side.
    async fn copy(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        ahead: Bytes,
    ) -> Result<(), Side> {
        let reads = |_: io::Error| self.reads;
        let writes = |_: io::Error| self.writes;
        let mut octets = ahead;
        let mut portion = BytesMut::new();
        loop {
            if !octets.is_empty() {
                self.note(&octets).await;
                to.write_all(&octets).await.map_err(writes)?;
                to.flush().await.map_err(writes)?;
            }
            portion.reserve(PORTION);
            if from.read_buf(&mut portion).await.map_err(reads)? == 0 {
                return to.shutdown().await.map_err(writes);
            }
            octets = portion.split().freeze();
        }
    }

    async fn note(&self, octets: &Bytes) {
        if let Some(tap) = self.tap {
            std::future::poll_fn(|cx| tap.poll_ready(cx)).await;
            tap.data(self.lane, octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_passed_on_unless_it_is_http() {
        for (connection, upgrade, expected) in [
            ("keep-alive, Upgrade", "websocket", Some("websocket")),
            ("upgrade", "a/1, b", Some("a/1, b")),
            ("Upgrade, HTTP2-Settings", "h2c", None),
            ("upgrade", "h2c, websocket", Some("websocket")),
            ("keep-alive", "websocket", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONNECTION, connection.parse().unwrap());
            headers.insert(UPGRADE, upgrade.parse().unwrap());
            let actual = protocols(&headers);
            let actual = actual.as_ref().map(|value| value.to_str().unwrap());
            assert_eq!(actual, expected, "{connection} / {upgrade}");
        }
    }
}
