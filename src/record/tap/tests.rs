//! The tap with paused time: what it keeps, and how long it waits.

use std::future::poll_fn;
use std::time::Duration;

use super::*;

fn limits(queue_bytes: usize) -> Limits {
    Limits { queue_bytes, ..Limits::default() }
}

fn start(id: u8) -> Start {
    Start {
        id: ExchangeId::from_bytes([id; 16]),
        started: Timestamp::UNIX_EPOCH,
        at: Instant::now(),
        agent: "billing".into(),
        session: None,
        orchestrator: "test".into(),
        upstream: None,
        method: http::Method::POST,
        target: "/".parse().unwrap(),
        base: None,
        version: Version::HTTP_11,
        headers: HeaderMap::new(),
    }
}

fn ready(tap: &ExchangeTap) -> impl Future<Output = ()> {
    poll_fn(|cx| tap.poll_ready(cx))
}

/// What the recorder finds: octets and gaps of the request.
fn found(intake: &Intake) -> String {
    let mut found = Vec::new();
    for open in intake.take() {
        let taken = open.take();
        let mut copied = taken.copied.as_slice();
        for seen in taken.news {
            found.push(match seen {
                Seen::Copied { len, .. } => {
                    let (piece, rest) = copied.split_at(len);
                    copied = rest;
                    String::from_utf8(piece.to_vec()).unwrap()
                }
                Seen::Shared { octets, .. } => format!("{} shared", octets.len()),
                Seen::Gap { bytes, .. } => format!("gap of {bytes}"),
                Seen::End { end, .. } => format!("{end:?}"),
                Seen::Dropped { at_us } => format!("dropped after {at_us} us"),
                other @ (Seen::Head { .. }
                | Seen::Trailers(..)
                | Seen::Fault(_)
                | Seen::MayChange
                | Seen::Stays
                | Seen::Upstream(_)
                | Seen::Edit(_)
                | Seen::Task(_)
                | Seen::Problem(_)) => format!("{other:?}"),
            });
        }
        intake.release(taken.held);
    }
    found.join(", ")
}

#[test]
fn a_tap_that_is_off_takes_anything_and_keeps_nothing() {
    let tap = Tap::off();
    let exchange = tap.begin(start(1));
    exchange.data(Lane::Request, &Bytes::from_static(b"lost"));
    exchange.end(Lane::Request, End::Complete);
    assert!(!tap.is_on());
    assert_eq!(format!("{exchange:?}"), "ExchangeTap(off)");
}

#[tokio::test(start_paused = true)]
async fn pieces_come_in_the_order_they_passed() {
    let (tap, intake) = Tap::new(&limits(1_000_000), WhenFull::Wait);
    let exchange = tap.begin(start(1));
    exchange.data(Lane::Request, &Bytes::from_static(b"one"));
    exchange.data(Lane::Request, &Bytes::from(vec![0; 20_000]));
    exchange.data(Lane::Request, &Bytes::from_static(b"two"));
    assert_eq!(found(&intake), "one, 20000 shared, two");
    exchange.end(Lane::Request, End::Complete);
    let clone = exchange.clone();
    drop(exchange);
    assert_eq!(found(&intake), "Complete");
    tokio::time::advance(Duration::from_millis(3)).await;
    drop(clone);
    assert_eq!(found(&intake), "dropped after 3000 us");
    assert_eq!(found(&intake), "");
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_room_for_is_counted() {
    let (tap, intake) = Tap::new(&limits(200), WhenFull::Drop);
    let exchange = tap.begin(start(1));
    for _ in 0..5 {
        ready(&exchange).await;
        exchange.data(Lane::Request, &Bytes::from_static(b"12345678"));
    }
    assert_eq!(found(&intake), "12345678, 12345678, gap of 24");
    assert_eq!(intake.lost(), Lost { bytes: 24, exchanges: 0 });
    exchange.data(Lane::Request, &Bytes::from_static(b"again"));
    assert_eq!(found(&intake), "again");
}

#[tokio::test(start_paused = true)]
async fn an_exchange_waits_for_room_within_its_bound_and_no_longer() {
    let (tap, intake) = Tap::new(&limits(100), WhenFull::Wait);
    let exchange = tap.begin(start(1));
    exchange.data(Lane::Request, &Bytes::from_static(b"12345678"));
    let begun = Instant::now();
    ready(&exchange).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(250));
    ready(&exchange).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(250), "the bound is for all waits together");
    exchange.data(Lane::Request, &Bytes::from_static(b"lost"));
    assert_eq!(found(&intake), "12345678, gap of 4");
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_when_there_is_room() {
    let (tap, intake) = Tap::new(&limits(100), WhenFull::Wait);
    let exchange = tap.begin(start(1));
    exchange.data(Lane::Request, &Bytes::from_static(b"12345678"));
    let begun = Instant::now();
    let make_room = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        found(&intake)
    };
    let ((), first, ()) = tokio::join!(ready(&exchange), make_room, ready(&exchange));
    assert_eq!(first, "12345678");
    assert_eq!(begun.elapsed(), Duration::from_millis(100));
    exchange.data(Lane::Request, &Bytes::from(vec![b'x'; 100]));
    ready(&exchange).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(250), "100 ms of the bound were used up");
}

#[tokio::test(start_paused = true)]
async fn a_stopped_recorder_lets_everybody_go() {
    let (tap, intake) = Tap::new(&limits(100), WhenFull::Wait);
    let exchange = tap.begin(start(1));
    exchange.data(Lane::Request, &Bytes::from_static(b"12345678"));
    let begun = Instant::now();
    let stop = async { intake.close() };
    tokio::join!(ready(&exchange), stop);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(format!("{:?}", tap.begin(start(2))), "ExchangeTap(off)");
}

#[tokio::test(start_paused = true)]
async fn heads_without_end_lose_whole_exchanges_and_are_counted() {
    let (tap, intake) = Tap::new(&limits(1000), WhenFull::Wait);
    let open: Vec<ExchangeTap> = (0..100).map(|id| tap.begin(start(id))).collect();
    let lost = open.iter().filter(|it| format!("{it:?}").ends_with("(off)")).count() as u64;
    assert!(lost > 50, "{lost} are lost");
    assert_eq!(intake.lost(), Lost { bytes: 0, exchanges: lost });
}
