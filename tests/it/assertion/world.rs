//! A small recording, literal: what the suites of `fixtures/suites` and the tables here are held against.
//!
//! Two sessions. In `run-1` billing was asked once, a day earlier. In `run-2` an orchestrator asked billing
//! about an order (completed), then shipping over gRPC (input required, then completed in the same
//! conversation), then refunds, where a fault rule answered.

use std::sync::Arc;

use jiff::Timestamp;
use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::Ids;
use meddler::a2a::model::Operation;
use meddler::assertion::{CheckResult, Finding, Lists, Options, Report, Suite, evaluate};
use meddler::base::id::{ExchangeId, InstanceId};
use meddler::record::delegation::Delegation;
use meddler::record::exchange::{
    Exchange, FaultRecord, FaultVerdict, Outcome, RecordedRequest, RecordedResponse, Timings,
};
use meddler::record::store::SessionRecord;
use serde_json::{Value, json};

/// The id that ends in this number.
pub(super) fn id(number: u8) -> ExchangeId {
    let mut bytes = [0x01, 0x93, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0];
    bytes[15] = number;
    ExchangeId::from_bytes(bytes)
}

pub(super) fn instance() -> InstanceId {
    InstanceId::from_bytes([7; 16])
}

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The time of every evaluation.
pub(super) fn now() -> Timestamp {
    at("2026-11-30T12:10:00Z")
}

/// A delegation that says nothing yet.
pub(super) fn delegation(number: u8, agent: &str, text: &str) -> Delegation {
    Delegation {
        id: id(number),
        session: "run-2".to_owned(),
        instance: instance(),
        agent: agent.to_owned(),
        orchestrator: "planner".to_owned(),
        started: at(&format!("2026-11-30T12:00:{number:02}Z")),
        binding: Some(Binding::JsonRpc),
        version: Some(ProtocolVersion::V1_0),
        operation: Operation::SendMessage,
        message_id: Some(format!("m-{number}")),
        context_id: Some("ctx-1".to_owned()),
        task_id: Some(format!("t-{number}")),
        text: text.to_owned(),
        state: None,
        states: Vec::new(),
        outcome: Outcome::Working,
        faults: Vec::new(),
        retry_of: None,
        parent: None,
        duration_ms: Some(100.0 * f64::from(number)),
        first_event_ms: None,
        exchanges: vec![id(number)],
        message: None,
        reply: None,
        reply_text: String::new(),
        events: Vec::new(),
        skill: None,
    }
}

/// The same, ended in this way.
pub(super) fn ended(delegation: Delegation, states: &[&str], outcome: Outcome) -> Delegation {
    let states: Vec<String> = states.iter().map(|state| (*state).to_owned()).collect();
    Delegation { state: states.last().cloned(), states, outcome, ..delegation }
}

/// The same, with a task as the reply.
pub(super) fn replied(delegation: Delegation, text: &str, artifacts: &Value) -> Delegation {
    let reply = json!({
        "kind": "task",
        "id": delegation.task_id,
        "contextId": delegation.context_id,
        "status": { "state": delegation.state, "message": { "role": "agent", "parts": [{ "kind": "text", "text": text }] } },
        "artifacts": artifacts,
    });
    Delegation { reply: Some(reply), reply_text: text.to_owned(), ..delegation }
}

/// The delegations of the small recording.
pub(super) fn delegations() -> Vec<Delegation> {
    let yesterday = Delegation {
        session: "run-1".to_owned(),
        started: at("2026-11-29T12:00:00Z"),
        ..ended(delegation(1, "billing", "Refund ORD-0001"), &["completed"], Outcome::Completed)
    };
    let refund = replied(
        ended(
            delegation(2, "billing", "Please refund ORD-1001"),
            &["submitted", "working", "completed"],
            Outcome::Completed,
        ),
        "Refunded, the reference is RF-889.",
        &json!([{
            "artifactId": "a-1",
            "name": "receipt",
            "parts": [
                { "kind": "data", "data": { "amount": 49.5, "currency": "EUR", "paid": true, "items": 2 }, "mediaType": "application/json" },
                { "kind": "file", "filename": "receipt.pdf", "mediaType": "application/pdf", "raw": "JVBERg==" },
            ],
        }]),
    );
    let which = Delegation {
        binding: Some(Binding::Grpc),
        operation: Operation::SendStreamingMessage,
        first_event_ms: Some(40.0),
        context_id: Some("ctx-2".to_owned()),
        skill: Some("track".to_owned()),
        events: vec![json!({ "kind": "status_update", "status": { "state": "input_required" } })],
        ..replied(
            ended(
                delegation(3, "shipping", "Where is my parcel?"),
                &["working", "input_required"],
                Outcome::InputRequired,
            ),
            "Which order?",
            &json!([]),
        )
    };
    let parcel = Delegation {
        binding: Some(Binding::Grpc),
        context_id: Some("ctx-2".to_owned()),
        ..replied(
            ended(
                delegation(4, "shipping", "ORD-1001, ref RF-889"),
                &["completed"],
                Outcome::Completed,
            ),
            "It is with the carrier.",
            &json!([]),
        )
    };
    let refused = Delegation {
        faults: vec!["refunds fail".to_owned()],
        context_id: None,
        ..replied(
            ended(
                delegation(5, "refunds", "Refund ORD-1002"),
                &["failed"],
                Outcome::AnsweredByFault,
            ),
            "The service is down.",
            &json!([]),
        )
    };
    vec![yesterday, refund, which, parcel, refused]
}

/// The small recording: sessions, delegations and one exchange for each.
pub(super) fn recording() -> Lists {
    lists(delegations())
}

/// A recording of these delegations.
pub(super) fn lists(delegations: Vec<Delegation>) -> Lists {
    let delegations: Vec<Arc<Delegation>> = delegations.into_iter().map(Arc::new).collect();
    let exchanges = delegations.iter().map(|delegation| Arc::new(exchange(delegation))).collect();
    let session = |name: &str, started: &str| SessionRecord {
        name: name.to_owned(),
        instance: instance(),
        started: at(started),
    };
    Lists {
        exchanges,
        delegations,
        sessions: vec![
            session("run-1", "2026-11-29T11:59:00Z"),
            session("run-2", "2026-11-30T11:59:00Z"),
            session("run-3", "2026-11-30T12:09:00Z"),
        ],
        ..Lists::default()
    }
}

/// The exchange that a delegation began with.
pub(super) fn exchange(delegation: &Delegation) -> Exchange {
    let is_injected = delegation.outcome == Outcome::AnsweredByFault;
    let response = RecordedResponse { status: 200, ..RecordedResponse::default() };
    let fault = |rule: &String| FaultRecord {
        rule: rule.clone(),
        kind: "error".to_owned(),
        verdict: FaultVerdict::Fired,
        n: 1,
        seed: 7,
        draw: None,
        canary: None,
        note: String::new(),
    };
    Exchange {
        id: delegation.id,
        session: delegation.session.clone(),
        instance: delegation.instance,
        agent: delegation.agent.clone(),
        orchestrator: delegation.orchestrator.clone(),
        binding: delegation.binding,
        version: delegation.version,
        declared_version: None,
        operation: delegation.operation,
        wire_name: delegation.operation.to_string(),
        ids: Ids::default(),
        started: delegation.started,
        timings: Timings { end_us: Some(250_000), ..Timings::default() },
        request: RecordedRequest::default(),
        response: (!is_injected).then(|| response.clone()),
        delivered: is_injected.then_some(response),
        upstream: None,
        faults: delegation.faults.iter().map(fault).collect(),
        edits: Vec::new(),
        problems: Vec::new(),
        redactions: Vec::new(),
        outcome: delegation.outcome,
        upstream_error: None,
    }
}

/// The environment of the tests.
pub(super) fn variables(name: &str) -> Option<String> {
    match name {
        "BILLING_TOKEN" => Some("tok-123456".to_owned()),
        "ORDER" => Some("ORD-1001".to_owned()),
        _ => None,
    }
}

/// Evaluates a suite that is expected to be read.
#[track_caller]
pub(super) fn run(text: &str, source: &Lists) -> Report {
    let suite = match Suite::parse("suite.yaml", text, &variables) {
        Ok(suite) => suite,
        Err(error) => panic!("{error}\n--- in ---\n{text}"),
    };
    let options = Options { now: now(), ..Options::default() };
    evaluate(&suite, source, &options).unwrap()
}

/// The result of one assertion over a recording, all ends allowed.
#[track_caller]
pub(super) fn judge(assertion: &str, source: &Lists) -> CheckResult {
    let text = format!(
        "version: 1\ntests:\n  - name: the test\n    allow_failed: true\n    assert:\n      - {assertion}\n"
    );
    let report = run(&text, source);
    report.tests.into_iter().next().unwrap().assertions.into_iter().next().unwrap()
}

/// `held`, or each finding on a line.
pub(super) fn shown(result: &CheckResult) -> String {
    let line = |finding: &Finding| {
        format!("{}: {} / {}", finding.status.as_str(), finding.expected, finding.actual)
    };
    let lines: Vec<String> = result.findings.iter().map(line).collect();
    if lines.is_empty() { "held".to_owned() } else { lines.join("\n") }
}
