//! The recorded traffic of the official SDKs, as a recording, held against one suite: what a suite says
//! means the same in both versions and on all three bindings.

use std::sync::LazyLock;

use http::HeaderMap;
use jiff::SignedDuration;
use meddler::assertion::report::FormatRow;
use meddler::assertion::{Options, Status, Style, Suite, Verdict, evaluate};
use meddler::record::exchange::{
    EventMark, Exchange, Outcome, Payload, RecordedRequest, RecordedResponse, Timings,
};
use meddler::record::query::Recording;

use super::world::{at, delegation, exchange, instance, now};
use crate::wire::fixture::{Line, lines};

fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}

/// A recorded call as the recorder would keep it. Each event of a stream arrives 10 ms after the one
/// before.
fn recorded(number: usize, line: &Line) -> Exchange {
    let call = line.call();
    let answer = line.answer(&call);
    let mut ids = call.ids.clone();
    if let Some(answer) = &answer {
        ids.context_id = ids.context_id.or(answer.ids.context_id.clone());
        ids.task_id = ids.task_id.or(answer.ids.task_id.clone());
    }
    let marks: Vec<EventMark> = answer
        .iter()
        .flat_map(|answer| &answer.events)
        .zip(1_u64..)
        .map(|(event, n)| EventMark { at_us: n * 10_000, start: event.start, len: event.len })
        .collect();
    let response = line.response.as_ref().map(|answered| RecordedResponse {
        status: answered.status.as_u16(),
        headers: fields(&answered.headers),
        body: Payload {
            kept: answered.body.clone(),
            bytes: answered.body.len() as u64,
            ..Payload::default()
        },
        trailers: answered.trailers.as_ref().map(fields).unwrap_or_default(),
        events: marks.clone(),
        ..RecordedResponse::default()
    });
    let outcome = match &answer {
        Some(answer) if answer.error.is_some() => Outcome::Error,
        // Some clients leave a stream once they have what they asked for.
        Some(answer) if line.is_complete || !answer.events.is_empty() => Outcome::Completed,
        Some(_) | None => Outcome::CutByAgent,
    };
    let started = at("2026-11-30T12:00:00Z")
        + SignedDuration::from_millis(i64::try_from(number).unwrap() * 100);
    Exchange {
        id: format!("01930000-0000-7000-8000-{number:012x}").parse().unwrap(),
        agent: line.at.split(':').next().unwrap().trim_end_matches(".jsonl").to_owned(),
        session: "sdks".to_owned(),
        instance: instance(),
        binding: call.binding,
        version: call.version,
        declared_version: call.declared.clone(),
        operation: call.operation,
        wire_name: call.wire_name.clone(),
        ids,
        started,
        timings: Timings {
            first_event_us: marks.first().map(|mark| mark.at_us),
            end_us: Some(marks.last().map_or(50_000, |mark| mark.at_us + 5_000)),
            ..Timings::default()
        },
        request: RecordedRequest {
            method: line.request.method.to_string(),
            target: line.request.uri.to_string(),
            headers: fields(&line.request.headers),
            body: Payload { kept: line.request.body.clone(), ..Payload::default() },
            ..RecordedRequest::default()
        },
        response,
        outcome,
        ..exchange(&delegation(1, "", ""))
    }
}

/// All of them, read once.
static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    Recording::of_exchanges(lines().iter().enumerate().map(|(n, line)| recorded(n, line)).collect())
});

/// The same for the lint: a call that its client left is told apart from one that ended.
pub(super) fn linted() -> Vec<Exchange> {
    let all = lines();
    let exchange = |(number, line): (usize, &Line)| {
        let left = !line.is_complete;
        let exchange = recorded(number, line);
        let outcome = if left { Outcome::CutByClient } else { exchange.outcome };
        Exchange { outcome, ..exchange }
    };
    all.iter().enumerate().map(exchange).collect()
}

/// The names of the clients and bindings that were recorded.
fn agents() -> Vec<String> {
    let mut agents = RECORDING.agents();
    agents.retain(|agent| !agent.contains("push"));
    assert!(agents.len() >= 15, "{agents:?}");
    agents
}

fn suite(text: &str, agent: &str) -> Suite {
    let variables = |name: &str| (name == "AGENT").then(|| agent.to_owned());
    Suite::parse("sdks.yaml", text, &variables).unwrap_or_else(|error| panic!("{error}"))
}

fn options() -> Options {
    Options { now: now(), session: Some("any".to_owned()), ..Options::default() }
}

const SUITE: &str = include_str!("../../../fixtures/suites/sdks/sdks.yaml");

#[test]
fn one_suite_holds_over_every_version_and_binding() {
    let mut failed = String::new();
    for agent in agents() {
        let report = evaluate(&suite(SUITE, &agent), &*RECORDING, &options()).unwrap();
        if report.verdict != Verdict::Held {
            let mut text = Vec::new();
            FormatRow::named("text").unwrap().write(&report, Style::Plain, &mut text).unwrap();
            failed.extend(["=== ", &agent, "\n", &String::from_utf8(text).unwrap(), "\n"]);
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn one_changed_expectation_fails_and_names_the_exchange() {
    let changed = SUITE.replace("\"Echo: hello 世界\"", "\"Echo: hello\"");
    for agent in agents() {
        let report = evaluate(&suite(&changed, &agent), &*RECORDING, &options()).unwrap();
        assert_eq!(report.verdict, Verdict::Failed, "{agent}");
        assert_eq!(report.totals.assertions.failed, 1, "{agent}");
        let finding = &report.tests[0].assertions[1].findings[0];
        let proof = &finding.evidence[0];
        assert_eq!(proof.agent, agent);
        let shown = RECORDING.delegation(&proof.show).unwrap();
        assert_eq!(shown.text, "hello 世界");
        assert_eq!(shown.exchanges, proof.exchanges);
    }
}

#[test]
fn without_its_exchanges_no_test_passes() {
    let empty = Recording::of_exchanges(Vec::new());
    for agent in agents() {
        let options = Options { configured: vec![agent.clone()], ..options() };
        let report = evaluate(&suite(SUITE, &agent), &empty, &options).unwrap();
        assert!(report.tests.iter().all(|test| test.status == Status::Vacuous), "{report:?}");
    }
}
