//! What a new connection speaks, told from its first octets: one port serves all.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::net::stream::{Socket, read_some};

/// What the first octets say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// A TLS handshake.
    Tls,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// HTTP/1, or what a server for it will refuse.
    Http1,
}

const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const TLS_HANDSHAKE: u8 = 0x16;

/// Reads just enough to tell, and puts it back. An error: nothing came in time, or the peer left.
pub async fn sniff(socket: &mut Socket, timeout: Duration) -> io::Result<Spoken> {
    let mut seen = BytesMut::new();
    let spoken = tokio::time::timeout(timeout, async {
        loop {
            if let Some(spoken) = tell(&seen) {
                return Ok(spoken);
            }
            let more = read_some(socket, HTTP2_PREFACE.len() - seen.len()).await?;
            if more.is_empty() {
                if seen.is_empty() {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                }
                return Ok(Spoken::Http1);
            }
            seen.extend_from_slice(&more);
        }
    });
    let spoken = spoken.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    socket.unread(Bytes::from(seen));
    Ok(spoken)
}

/// `None`: more octets are needed.
fn tell(seen: &[u8]) -> Option<Spoken> {
    match seen.first() {
        None => None,
        Some(&TLS_HANDSHAKE) => Some(Spoken::Tls),
        Some(_) if seen.starts_with(HTTP2_PREFACE) => Some(Spoken::Http2),
        Some(_) if HTTP2_PREFACE.starts_with(seen) => None,
        Some(_) => Some(Spoken::Http1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_awaited_whole_and_a_method_is_not() {
        for cut in 1..HTTP2_PREFACE.len() {
            assert_eq!(tell(&HTTP2_PREFACE[..cut]), None, "after {cut} octets");
        }
        assert_eq!(tell(HTTP2_PREFACE), Some(Spoken::Http2));
        assert_eq!(tell(b"POST / HT"), Some(Spoken::Http1));
        assert_eq!(tell(b"PRI * HTTP/1.1\r\n"), Some(Spoken::Http1));
        assert_eq!(tell(b"\x16\x03\x01"), Some(Spoken::Tls));
    }
}
