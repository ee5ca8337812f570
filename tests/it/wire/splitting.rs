//! Any split of a body gives the same frames, and frames and leftover joined are the body.

use meddler::a2a::frame::{Frame, GrpcSplitter, Leftover, Payload, Splitter, SseSplitter};
use proptest::prelude::*;

use super::fixture;

const LIMIT: usize = 1 << 20;

type Split = (Vec<Frame>, Option<Leftover>);

fn in_portions(splitter: &mut dyn Splitter, portions: &[&[u8]]) -> Split {
    let mut frames = Vec::new();
    for portion in portions {
        frames.extend(splitter.push(portion));
    }
    (frames, splitter.finish())
}

fn joined((frames, leftover): &Split) -> Vec<u8> {
    let mut octets = Vec::new();
    for frame in frames {
        assert_eq!(frame.start, octets.len() as u64, "a frame starts where the last one ended");
        octets.extend_from_slice(&frame.raw);
    }
    if let Some(leftover) = leftover {
        assert_eq!(leftover.start, octets.len() as u64);
        octets.extend_from_slice(&leftover.raw);
    }
    octets
}

/// What a frame carries, in short.
fn shown(frame: &Frame) -> String {
    match &frame.payload {
        Payload::Event { data, name } => format!("{name}={}", String::from_utf8_lossy(data)),
        Payload::Silent => "-".to_owned(),
        Payload::Message { data, is_compressed } => format!("{is_compressed}:{}", data.len()),
        Payload::Oversized => format!("oversized {}", frame.raw.len()),
    }
}

/// The frames of an event stream, whole and in every two portions.
#[track_caller]
fn check(body: &str, expected: &[&str], leftover: &str) {
    let body = body.as_bytes();
    let whole = in_portions(&mut SseSplitter::new(LIMIT), &[body]);
    let frames: Vec<String> = whole.0.iter().map(shown).collect();
    assert_eq!(frames, expected, "{}", body.escape_ascii());
    let left = whole.1.as_ref().map(|left| left.raw.to_vec()).unwrap_or_default();
    assert_eq!(left.escape_ascii().to_string(), leftover.as_bytes().escape_ascii().to_string());
    assert_eq!(joined(&whole), body);
    for at in 0..=body.len() {
        let parts = in_portions(&mut SseSplitter::new(LIMIT), &[&body[..at], &body[at..]]);
        assert_eq!(parts, whole, "split at {at}: {}", body.escape_ascii());
    }
}

#[test]
fn lines_end_in_lf_cr_or_crlf() {
    check("data: a\n\ndata: b\n\n", &["=a", "=b"], "");
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["=a", "=b"], "");
    check("data: a\r\rdata: b\r\r", &["=a", "=b"], "");
    check("data: a\r\ndata: b\r\n\r\ndata: c\r\r", &["=a\nb", "=c"], "");
    check("data: a\rdata: b\n\r\ndata: c\n\n", &["=a\nb", "=c"], "");
}

#[test]
fn an_lf_after_a_lone_cr_belongs_to_that_line_end() {
    check("data: a\r\r\ndata: b\r\r\n", &["=a", "=b"], "\n");
}

#[test]
fn data_lines_are_joined_and_other_fields_passed_over() {
    check("retry: 3000\nid: 41\nevent: message\ndata:{\ndata:  1}\n\n", &["message={\n 1}"], "");
    check("data\ndata:\n\n", &["=\n"], "");
    check("datafoo: 1\ndata : 2\n\n", &["-"], "");
    check("event: a\nevent: b\ndata: 1\n\nevent: c\n\ndata: 2\n\n", &["b=1", "-", "=2"], "");
}

#[test]
fn comments_and_empty_lines_are_frames_without_an_event() {
    check(": ping\n\n:\n\n: ping\n\ndata: x\n\n:bye\n\n", &["-", "-", "-", "=x", "-"], "");
    check("\n\ndata: x\n\n", &["-", "-", "=x"], "");
}

#[test]
fn a_byte_order_mark_may_begin_the_stream_only() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["=a", "-"], "");
    check("\u{feff}\ndata: b\n\n", &["-", "=b"], "");
}

#[test]
fn an_event_without_its_empty_line_is_left_over() {
    check("data: a\n\ndata: b\n", &["=a"], "data: b\n");
    check("data: a\r\n\r", &[], "data: a\r\n\r");
    check("", &[], "");
}

#[test]
fn a_character_split_over_reads_is_one_character() {
    check("data: 世 😀\n\n", &["=世 😀"], "");
}

#[test]
fn an_event_beyond_the_limit_goes_by_in_pieces_and_the_next_is_read() {
    let long = format!("data: {}\ndata: tail\n\n", "x".repeat(40));
    let body = format!("data: a\n\n{long}data: b\n\n");
    let whole = in_portions(&mut SseSplitter::new(16), &[body.as_bytes()]);
    let frames: Vec<String> = whole.0.iter().map(shown).collect();
    let pieces = ["oversized 16", "oversized 16", "oversized 16", "oversized 11"];
    let expected: Vec<&str> = ["=a"].iter().chain(&pieces).chain(&["=b"]).copied().collect();
    assert_eq!(frames, expected);
    for at in 0..=body.len() {
        let (head, tail) = body.as_bytes().split_at(at);
        assert_eq!(in_portions(&mut SseSplitter::new(16), &[head, tail]), whole, "split at {at}");
    }
}

#[test]
fn grpc_messages_are_split_by_their_prefix() {
    let mut body = vec![0, 0, 0, 0, 10];
    body.extend([7; 10]);
    body.extend([1, 0, 0, 0, 0]);
    body.extend([0, 0, 0, 1, 44]);
    body.extend([8; 100]);
    let whole = in_portions(&mut GrpcSplitter::new(LIMIT), &[&body]);
    let frames: Vec<String> = whole.0.iter().map(shown).collect();
    assert_eq!(frames, ["false:10", "true:0"]);
    assert_eq!(whole.1.as_ref().unwrap().raw.len(), 105);
    assert_eq!(joined(&whole), body);
    for at in 0..=body.len() {
        let (head, tail) = body.split_at(at);
        assert_eq!(in_portions(&mut GrpcSplitter::new(LIMIT), &[head, tail]), whole);
    }
}

#[test]
fn a_grpc_message_beyond_the_limit_goes_by_in_pieces_and_the_next_is_read() {
    let mut body = vec![0, 0, 0, 0, 40];
    body.extend([7; 40]);
    body.extend([0, 0, 0, 0, 1, 9]);
    let whole = in_portions(&mut GrpcSplitter::new(16), &[&body]);
    let frames: Vec<String> = whole.0.iter().map(shown).collect();
    assert_eq!(frames, ["oversized 16", "oversized 16", "oversized 13", "false:1"]);
    for at in 0..=body.len() {
        let (head, tail) = body.split_at(at);
        assert_eq!(in_portions(&mut GrpcSplitter::new(16), &[head, tail]), whole);
    }
}

#[test]
fn every_recorded_stream_splits_alike_at_every_octet() {
    let mut streams = 0;
    for line in fixture::lines() {
        let Some(response) = &line.response else { continue };
        let split = |portions: &[&[u8]]| {
            let mut splitter = meddler::a2a::call::splitter(&response.headers)?;
            Some(in_portions(splitter.as_mut(), portions))
        };
        let Some(whole) = split(&[&response.body]) else { continue };
        assert_eq!(joined(&whole), response.body, "{}", line.at);
        let octets: Vec<&[u8]> = response.body.chunks(1).collect();
        assert_eq!(split(&octets), Some(whole.clone()), "{} octet by octet", line.at);
        // Streams are much alike, so each longer one is cut in two at another choice of places.
        let step = 1 + response.body.len() / 400;
        for at in (streams % step..=response.body.len()).step_by(step) {
            let (head, tail) = response.body.split_at(at);
            assert_eq!(split(&[head, tail]), Some(whole.clone()), "{} split at {at}", line.at);
        }
        streams += 1;
    }
    assert!(streams > 300, "only {streams} streams");
}

/// Octets of which event streams are made, in any order.
fn event_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: "),
        Just("data:"),
        Just("event: e"),
        Just(":"),
        Just("\n"),
        Just("\r"),
        Just("\r\n"),
        Just("x"),
        Just("é"),
        Just("\u{feff}"),
        Just("\r\r"),
        Just("\n\n"),
        Just("\r\n\r\n"),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

/// A naive reader of the standard, to compare with: whole body at once.
fn events_by_the_standard(body: &[u8]) -> Vec<String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = String::from_utf8(body.to_vec()).unwrap().replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut data, mut name) = (Vec::new(), String::new());
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else { break };
        if line.is_empty() {
            if !data.is_empty() {
                events.push(format!("{name}={}", data.join("\n")));
            }
            data.clear();
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value.to_owned()),
            "event" => value.clone_into(&mut name),
            _ => {}
        }
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_are_those_of_the_standard(body in event_stream()) {
        let split = in_portions(&mut SseSplitter::new(LIMIT), &[&body]);
        let events: Vec<String> =
            split.0.iter().filter(|frame| matches!(frame.payload, Payload::Event { .. })).map(shown).collect();
        let mut expected = events_by_the_standard(&body);
        // A CRLF whose LF never came is half a line end: what it would end is left over.
        if body.ends_with(b"\r\n\r") && expected.len() == events.len() + 1 {
            expected.pop();
        }
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn any_portions_of_events_give_the_same_frames(
        body in event_stream(),
        cuts in proptest::collection::vec(0_usize..200, 0..8),
        limit in prop_oneof![Just(LIMIT), 1_usize..24],
    ) {
        let whole = in_portions(&mut SseSplitter::new(limit), &[&body]);
        prop_assert_eq!(joined(&whole), body.clone());
        let parts = in_portions(&mut SseSplitter::new(limit), &portions(&body, cuts));
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn any_portions_of_messages_give_the_same_frames(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
        cut_off in 0_usize..8,
        cuts in proptest::collection::vec(0_usize..200, 0..8),
        limit in prop_oneof![Just(LIMIT), 1_usize..24],
    ) {
        let mut body = Vec::new();
        for message in &messages {
            body.push(0);
            body.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
            body.extend(message);
        }
        body.truncate(body.len().saturating_sub(cut_off));
        let whole = in_portions(&mut GrpcSplitter::new(limit), &[&body]);
        prop_assert_eq!(joined(&whole), body.clone());
        let parts = in_portions(&mut GrpcSplitter::new(limit), &portions(&body, cuts));
        prop_assert_eq!(parts, whole);
    }
}

fn portions(body: &[u8], mut cuts: Vec<usize>) -> Vec<&[u8]> {
    cuts.sort_unstable();
    let mut portions = Vec::new();
    let mut start = 0;
    for cut in cuts.into_iter().map(|cut| cut.min(body.len())).chain([body.len()]) {
        portions.push(&body[start..cut]);
        start = cut;
    }
    portions
}
