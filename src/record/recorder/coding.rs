//! Content codings, undone on the copy.
//!
//! A coding hides secrets from the search for them, so what is kept is inflated, under a cap. What
//! cannot be inflated is not kept: nobody could say what is in it.

use std::io::{self, Write};

use super::body::Arrival;

/// A body with its coding undone.
pub(super) struct Undone {
    pub(super) octets: Vec<u8>,
    /// When the octets before each offset had arrived.
    pub(super) arrivals: Vec<Arrival>,
    /// What went wrong, in words: `octets` is what came before it.
    pub(super) trouble: Option<String>,
}

/// Undoes the codings of a `content-encoding` field, the last one first.
pub(super) fn undo(
    encoding: &str,
    octets: Vec<u8>,
    arrivals: Vec<Arrival>,
    bytes_max: usize,
) -> Undone {
    let mut undone = Undone { octets, arrivals, trouble: None };
    for name in encoding.split(',').rev() {
        let name = name.trim().to_ascii_lowercase();
        if matches!(name.as_str(), "" | "identity") || undone.octets.is_empty() {
            continue;
        }
        undone = undo_one(&name, &undone, bytes_max);
        if undone.trouble.is_some() {
            break;
        }
    }
    undone
}

/// Undoes the compression of single gRPC messages: their prefix then says that there is none.
pub(super) fn undo_grpc(
    encoding: &str,
    octets: &[u8],
    arrivals: &[Arrival],
    bytes_max: usize,
) -> Undone {
    let mut undone = Undone { octets: Vec::new(), arrivals: Vec::new(), trouble: None };
    let mut at = 0;
    while let Some([flag, a, b, c, d]) = octets.get(at..).and_then(|rest| rest.first_chunk::<5>()) {
        let len = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
        let end = (at + 5).saturating_add(len);
        let Some(message) = octets.get(at + 5..end) else { break };
        let at_us = arrived_us(arrivals, end as u64);
        let mut plain = if *flag == 1 {
            let whole = vec![Arrival { end: message.len() as u64, at_us }];
            undo(encoding, message.to_vec(), whole, bytes_max)
        } else {
            Undone { octets: message.to_vec(), arrivals: Vec::new(), trouble: None }
        };
        undone.trouble = plain.trouble.take();
        if undone.trouble.is_some() {
            return undone;
        }
        let prefix = u32::try_from(plain.octets.len()).unwrap_or(u32::MAX).to_be_bytes();
        undone.octets.push(if *flag == 1 { 0 } else { *flag });
        undone.octets.extend(prefix);
        undone.octets.append(&mut plain.octets);
        undone.arrivals.push(Arrival { end: undone.octets.len() as u64, at_us });
        if undone.octets.len() > bytes_max {
            undone.trouble = Some(too_much(bytes_max));
            return undone;
        }
        at = end;
    }
    // Half a message at the end: if it is compressed it is not kept, for nobody can look into it.
    let rest = octets.get(at..).unwrap_or_default();
    if rest.first().is_some_and(|flag| *flag != 1) {
        undone.octets.extend_from_slice(rest);
        let at_us = arrived_us(arrivals, octets.len() as u64);
        undone.arrivals.push(Arrival { end: undone.octets.len() as u64, at_us });
    }
    undone
}

/// When the octets before this offset had arrived.
pub(super) fn arrived_us(arrivals: &[Arrival], offset: u64) -> u64 {
    let index = arrivals.partition_point(|arrival| arrival.end < offset);
    arrivals.get(index).or(arrivals.last()).map_or(0, |arrival| arrival.at_us)
}

fn undo_one(name: &str, from: &Undone, bytes_max: usize) -> Undone {
    let sink = Sink { octets: Vec::new(), bytes_max };
    match name {
        "gzip" | "x-gzip" => {
            run(flate2::write::MultiGzDecoder::new(sink), |decoder| decoder.get_ref(), from)
        }
        // RFC 9110 means zlib; some senders mean bare deflate.
        "deflate" if looks_like_zlib(&from.octets) => {
            run(flate2::write::ZlibDecoder::new(sink), |decoder| decoder.get_ref(), from)
        }
        "deflate" => {
            run(flate2::write::DeflateDecoder::new(sink), |decoder| decoder.get_ref(), from)
        }
        "br" => run(
            brotli_decompressor::DecompressorWriter::new(sink, 4096),
            |decoder| decoder.get_ref(),
            from,
        ),
        "zstd" => match zstd::stream::write::Decoder::new(sink) {
            Ok(decoder) => run(decoder, |decoder| decoder.get_ref(), from),
            Err(error) => none(format!("zstd cannot be undone: {error}")),
        },
        other => none(format!("the content coding `{other}` is not known")),
    }
}

/// Gives a decoder one arrival after the other, so that each octet that comes out has a time.
fn run<D: Write>(mut decoder: D, sink: fn(&D) -> &Sink, from: &Undone) -> Undone {
    let mut undone = Undone { octets: Vec::new(), arrivals: Vec::new(), trouble: None };
    let mut start = 0;
    for arrival in &from.arrivals {
        let end = usize::try_from(arrival.end).unwrap_or(usize::MAX);
        let piece = from.octets.get(start..end).unwrap_or_default();
        start = end;
        let written = decoder.write_all(piece).and_then(|()| decoder.flush());
        let end = sink(&decoder).octets.len() as u64;
        undone.arrivals.push(Arrival { end, at_us: arrival.at_us });
        if let Err(error) = written {
            undone.trouble = Some(format!("the content coding cannot be undone: {error}"));
            break;
        }
    }
    undone.octets.clone_from(&sink(&decoder).octets);
    undone
}

fn none(trouble: String) -> Undone {
    Undone { octets: Vec::new(), arrivals: Vec::new(), trouble: Some(trouble) }
}

fn too_much(bytes_max: usize) -> String {
    format!("it inflates to more than {bytes_max} octets")
}

fn looks_like_zlib(octets: &[u8]) -> bool {
    match octets {
        [first, second, ..] => {
            first & 0x0f == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31)
        }
        [_] | [] => true,
    }
}

/// Takes what comes out of a decoder, up to a cap.
struct Sink {
    octets: Vec<u8>,
    bytes_max: usize,
}

impl Write for Sink {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let room = self.bytes_max - self.octets.len();
        if room == 0 && !octets.is_empty() {
            return Err(io::Error::other(too_much(self.bytes_max)));
        }
        let taken = octets.get(..room.min(octets.len())).unwrap_or_default();
        self.octets.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;

    use super::*;

    const TEXT: &[u8] = b"one event\n\nanother event\n\n";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn whole(octets: &[u8]) -> Vec<Arrival> {
        vec![Arrival { end: octets.len() as u64, at_us: 7 }]
    }

    #[track_caller]
    fn check(encoding: &str, octets: &[u8]) {
        let undone = undo(encoding, octets.to_vec(), whole(octets), 1000);
        assert_eq!(undone.trouble, None, "{encoding}");
        assert_eq!(undone.octets, TEXT, "{encoding}");
    }

    #[test]
    fn every_coding_in_use_is_undone() {
        let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(TEXT).unwrap();
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(TEXT).unwrap();
        // Made once with Python's brotli; there is no encoder in the graph.
        let brotli = [&[0x8b, 0x0c, 0x80][..], TEXT, &[0x03]].concat();
        check("gzip", &gzip(TEXT));
        check("X-GZIP", &gzip(TEXT));
        check("deflate", &deflate.finish().unwrap());
        check("deflate", &zlib.finish().unwrap());
        check("zstd", &zstd::encode_all(TEXT, 1).unwrap());
        check("br", &brotli);
        check("identity", TEXT);
        check("gzip, zstd", &zstd::encode_all(gzip(TEXT).as_slice(), 1).unwrap());
    }

    #[test]
    fn an_octet_has_the_time_of_the_piece_that_brought_it() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&TEXT[..11]).unwrap();
        encoder.flush().unwrap();
        let first = encoder.get_ref().len() as u64;
        encoder.write_all(&TEXT[11..]).unwrap();
        let octets = encoder.finish().unwrap();
        let end = octets.len() as u64;
        let arrivals = vec![Arrival { end: first, at_us: 10 }, Arrival { end, at_us: 20 }];
        let undone = undo("gzip", octets, arrivals, 1000);
        assert_eq!(arrived_us(&undone.arrivals, 11), 10);
        assert_eq!(arrived_us(&undone.arrivals, TEXT.len() as u64), 20);
    }

    #[test]
    fn a_bomb_is_given_up_at_the_cap() {
        let bomb = gzip(&vec![0; 10_000_000]);
        let undone = undo("gzip", bomb.clone(), whole(&bomb), 5000);
        assert_eq!(undone.octets.len(), 5000);
        assert!(undone.trouble.unwrap().contains("more than 5000 octets"));
    }

    #[test]
    fn what_cannot_be_looked_into_is_not_kept() {
        let undone = undo("compress", b"whatever".to_vec(), whole(b"whatever"), 1000);
        assert_eq!(undone.octets, b"");
        assert_eq!(undone.trouble.unwrap(), "the content coding `compress` is not known");
    }

    #[test]
    fn single_grpc_messages_are_inflated_in_place() {
        let packed = gzip(b"a message");
        let len = u8::try_from(packed.len()).unwrap();
        let body =
            [&[0, 0, 0, 0, 2, b'h', b'i', 1, 0, 0, 0, len][..], &packed, &[1, 0, 0]].concat();
        let undone = undo_grpc("gzip", &body, &whole(&body), 1000);
        assert_eq!(undone.octets, b"\0\0\0\0\x02hi\0\0\0\0\x09a message");
    }
}
