//! Content codings, undone under a cap before an answer can be edited. What is delivered then has none.

use std::io::{self, Read};

use http::header::{CONTENT_ENCODING, HeaderMap};

/// Undoes the codings that `headers` name. `None`: one is unknown, broken, or inflates past `max`.
pub(in crate::proxy) fn undo(headers: &HeaderMap, body: &[u8], max: usize) -> Option<Vec<u8>> {
    let mut names = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        names.extend(value.to_str().ok()?.split(',').map(|name| name.trim().to_ascii_lowercase()));
    }
    let mut plain = body.to_vec();
    for name in names.iter().rev() {
        plain = inflate(name, &plain, max)?;
    }
    Some(plain)
}

/// Undoes one coding, by its name.
pub(in crate::proxy) fn inflate(name: &str, octets: &[u8], max: usize) -> Option<Vec<u8>> {
    match name {
        "" | "identity" => Some(octets.to_vec()),
        "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(octets), max),
        // RFC 9110 means zlib; some senders mean bare deflate.
        "deflate" => read(flate2::read::ZlibDecoder::new(octets), max)
            .or_else(|| read(flate2::read::DeflateDecoder::new(octets), max)),
        "br" => read(brotli_decompressor::Decompressor::new(octets, 4096), max),
        "zstd" => read(zstd::stream::read::Decoder::new(octets).ok()?, max),
        _ => None,
    }
}

fn read(decoder: impl Read, max: usize) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let cap = u64::try_from(max).unwrap_or(u64::MAX);
    let count: io::Result<usize> = decoder.take(cap.saturating_add(1)).read_to_end(&mut plain);
    count.ok().filter(|count| *count <= max).map(|_| plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(octets: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn codings_are_undone_last_first_and_under_a_cap() {
        let body = gzip(&gzip(b"a card"));
        let headers = [(CONTENT_ENCODING, "gzip, GZIP".parse().unwrap())].into_iter().collect();
        assert_eq!(undo(&headers, &body, 100).as_deref(), Some(&b"a card"[..]));
        assert_eq!(undo(&headers, &body, 5), None, "a bomb is not defused by reading it");
        assert_eq!(inflate("x-foo", b"", 5), None);
        assert_eq!(inflate("gzip", b"no gzip", 100), None);
    }
}
