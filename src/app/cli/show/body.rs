//! A recorded body as a person wants to see it: JSON indented, text as text, the rest in hex.

use crate::record::exchange::Payload;

/// Octets of a binary body that are shown.
const HEX_MAX: usize = 256;
const HEX_ROW: usize = 16;

/// Appends an empty line and the body, and says what is missing of it.
pub(super) fn write(text: &mut String, body: &Payload, headers: &[(String, String)]) {
    if body.bytes == 0 && body.kept.is_empty() {
        return;
    }
    text.push('\n');
    let readable = std::str::from_utf8(&body.kept).ok().filter(|_| !is_binary(headers));
    match readable {
        Some(plain) => match serde_json::from_str::<serde_json::Value>(plain) {
            Ok(value) => text.push_str(&serde_json::to_string_pretty(&value).unwrap_or_default()),
            Err(_) => text.push_str(plain),
        },
        None => text.push_str(&hex(&body.kept)),
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let mut say = |what: String| {
        text.extend(["(", &what, ")\n"]);
    };
    if !body.encoding.is_empty() {
        say(format!("{} octets on the wire, encoded as {}", body.bytes, body.encoding));
    }
    if body.truncated {
        say(format!("{} of {} octets were kept", body.kept.len(), body.bytes));
    }
    if body.gap > 0 {
        say(format!("{} octets were lost, the recorder did not keep up", body.gap));
    }
}

/// Whether a body with these header fields is no text.
pub(super) fn is_binary(headers: &[(String, String)]) -> bool {
    let kind = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    kind.is_some_and(|(_, kind)| {
        let kind = kind.to_ascii_lowercase();
        kind.starts_with("application/grpc") || kind.starts_with("application/octet-stream")
    })
}

fn hex(octets: &[u8]) -> String {
    let row = |(row, chunk): (usize, &[u8])| {
        let at = row * HEX_ROW;
        let digits: Vec<String> = chunk.iter().map(|octet| format!("{octet:02x}")).collect();
        let shown = chunk.iter().map(|octet| match octet {
            0x20..=0x7e => char::from(*octet),
            _ => '.',
        });
        format!("{at:06x}  {:<47}  {}", digits.join(" "), shown.collect::<String>())
    };
    let mut rows: Vec<String> =
        octets.chunks(HEX_ROW).take(HEX_MAX / HEX_ROW).enumerate().map(row).collect();
    if octets.len() > HEX_MAX {
        rows.push(format!("... {} more octets", octets.len() - HEX_MAX));
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[track_caller]
    fn check(octets: &'static [u8], kind: &str, expected: &str) {
        let body = Payload {
            kept: Bytes::from_static(octets),
            bytes: octets.len() as u64,
            ..Payload::default()
        };
        let mut text = String::new();
        write(&mut text, &body, &[("Content-Type".to_owned(), kind.to_owned())]);
        assert_eq!(text, expected);
    }

    #[test]
    fn json_is_indented_and_text_is_left_alone() {
        check(b"{\"a\":[1]}", "application/json", "\n{\n  \"a\": [\n    1\n  ]\n}\n");
        check(b"data: {}\n\n", "text/event-stream", "\ndata: {}\n\n");
        check(b"", "application/json", "");
    }

    #[test]
    fn what_is_no_text_is_shown_in_hex() {
        check(
            b"\x00\x00\x00\x00\x05hello",
            "application/grpc+proto",
            "\n000000  00 00 00 00 05 68 65 6c 6c 6f                    .....hello\n",
        );
    }

    #[test]
    fn what_was_not_kept_is_told() {
        let body = Payload {
            kept: Bytes::from_static(b"abc"),
            bytes: 10,
            truncated: true,
            gap: 2,
            ..Payload::default()
        };
        let mut text = String::new();
        write(&mut text, &body, &[]);
        assert_eq!(
            text,
            "\nabc\n(3 of 10 octets were kept)\n(2 octets were lost, the recorder did not keep up)\n"
        );
    }
}
