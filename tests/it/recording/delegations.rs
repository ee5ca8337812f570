//! Who belongs to whom, which session it is in, and how it is found again.

use std::sync::Arc;

use meddler::a2a::model::TaskState;
use meddler::record::delegation::{Delegation, Grouper};
use meddler::record::exchange::{EditRecord, FaultRecord, FaultVerdict, Outcome};
use meddler::record::query::{Filter, QueryError, Recording};
use meddler::record::tap::{End, Lane};

use super::wire::{Bench, Wire, fields, report};

fn task(state: &str) -> String {
    format!(r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}"#)
}

fn sent_task(id: &str, state: &str) -> Wire {
    Wire::send(id, "hello", &format!(r#"{{"task":{}}}"#, task(state)))
}

fn poll(state: &str) -> Wire {
    Wire::rpc(
        r#"{"jsonrpc":"2.0","id":2,"method":"GetTask","params":{"id":"t1"}}"#,
        &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{}}}"#, task(state)),
    )
}

fn list() -> Wire {
    Wire::rpc(
        r#"{"jsonrpc":"2.0","id":3,"method":"ListTasks","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{"tasks":[],"nextPageToken":"","pageSize":1,"totalSize":0}}"#,
    )
}

async fn grouped(wires: &[(&str, Wire)]) -> Recording {
    let bench = Bench::new();
    for (agent, wire) in wires {
        bench.play(agent, wire);
    }
    bench.recording().await
}

/// `first+second+... state outcome` of each delegation, exchanges by their number.
fn listed(recording: &Recording) -> Vec<String> {
    let exchanges = recording.exchanges(&Filter::default());
    let number = |id| exchanges.iter().position(|exchange| exchange.id == id).unwrap().to_string();
    let line = |delegation: &Arc<Delegation>| {
        let numbers: Vec<String> = delegation.exchanges.iter().map(|id| number(*id)).collect();
        format!("{} [{}] {:?}", numbers.join("+"), delegation.states.join(" "), delegation.outcome)
    };
    recording.delegations(&Filter::default()).iter().map(line).collect()
}

/// RPC-09
#[tokio::test]
async fn a_poll_belongs_to_the_latest_message_of_its_task_and_agent() {
    let recording = grouped(&[
        ("billing", sent_task("m1", "WORKING")),
        ("shipping", sent_task("m2", "WORKING")),
        ("billing", poll("INPUT_REQUIRED")),
        ("billing", sent_task("m3", "WORKING")),
        ("billing", poll("COMPLETED")),
        ("billing", list()),
    ])
    .await;
    assert_eq!(
        listed(&recording),
        [
            "0+2 [working input_required] InputRequired",
            "1 [working] Working",
            "3+4 [working completed] Completed",
        ]
    );
}

#[tokio::test]
async fn the_same_message_again_is_a_retry() {
    let recording = grouped(&[
        ("billing", sent_task("m1", "FAILED")),
        ("shipping", sent_task("m1", "COMPLETED")),
        ("billing", sent_task("m1", "COMPLETED")),
    ])
    .await;
    let delegations = recording.delegations(&Filter::default());
    assert_eq!(delegations[0].retry_of, None);
    assert_eq!(delegations[1].retry_of, None);
    assert_eq!(delegations[2].retry_of, Some(delegations[0].id));
}

#[tokio::test]
async fn a_call_within_a_trace_has_the_delegation_to_its_caller_as_parent() {
    let bench = Bench::new();
    let mut wire = sent_task("m1", "COMPLETED");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    wire.headers.extend(fields(&[("traceparent", trace)]));
    bench.play("billing", &wire);
    let mut start = bench.start("ledger", &wire);
    start.orchestrator = "billing".into();
    report(&bench.tap.begin(start), &wire);
    let recording = bench.recording().await;
    let delegations = recording.delegations(&Filter::default());
    assert_eq!(delegations[0].parent, None);
    assert_eq!(delegations[1].parent, Some(delegations[0].id));
}

#[tokio::test]
async fn an_exchange_that_ends_late_still_stands_where_it_began() {
    let bench = Bench::new();
    for (agent, wire) in [("billing", sent_task("m1", "WORKING")), ("billing", poll("COMPLETED"))] {
        bench.play(agent, &wire);
    }
    let recording = bench.recording().await;
    let exchanges = recording.exchanges(&Filter::default());
    let mut grouper = Grouper::default();
    assert_eq!(grouper.push(&exchanges[1]), []);
    assert_eq!(grouper.push(&exchanges[0]), [exchanges[0].id]);
    let delegation = grouper.delegation(exchanges[0].id).unwrap();
    assert_eq!(delegation.exchanges, [exchanges[0].id, exchanges[1].id]);
    assert_eq!(delegation.outcome, Outcome::Completed);
    assert_eq!(grouper.delegation_id(exchanges[1].id), Some(exchanges[0].id));
}

#[tokio::test]
async fn an_answer_of_a_rule_is_told_apart_from_the_agents() {
    let bench = Bench::new();
    let wire = sent_task("m1", "FAILED");
    let tap = bench.tap.begin(bench.start("billing", &wire));
    tap.data(Lane::Request, &wire.body);
    tap.end(Lane::Request, End::Complete);
    tap.fault(FaultRecord {
        rule: "refunds fail".to_owned(),
        kind: "error".to_owned(),
        verdict: FaultVerdict::Fired,
        n: 1,
        seed: 7,
        draw: Some(0.25),
        canary: None,
        note: String::new(),
    });
    let answer = wire.answer.as_ref().unwrap();
    tap.head(Lane::Delivered, wire.version, answer.status, &answer.headers);
    tap.data(Lane::Delivered, &answer.pieces[0]);
    tap.end(Lane::Delivered, End::Complete);
    drop(tap);
    bench.play("billing", &poll("FAILED"));
    let recording = bench.recording().await;
    assert_eq!(listed(&recording), ["0+1 [failed] AnsweredByFault"]);
    let filter = Filter { fault: Some("refunds fail".to_owned()), ..Filter::default() };
    assert_eq!(recording.delegations(&filter).len(), 1);
    assert_eq!(recording.exchanges(&filter).len(), 1);
}

#[tokio::test]
async fn a_401_of_a_played_agent_is_no_delegation_and_one_of_a_real_agent_is() {
    let bench = Bench::new();
    for is_played in [true, false] {
        let mut wire = sent_task("m1", "FAILED");
        wire.answer().status = http::StatusCode::UNAUTHORIZED;
        wire.answer().pieces = vec!["no".into()];
        let mut start = bench.start("billing", &wire);
        if is_played {
            start.upstream = None;
        }
        report(&bench.tap.begin(start), &wire);
    }
    assert_eq!(listed(&bench.recording().await), ["1 [] Error"]);
}

#[tokio::test]
async fn an_exchange_is_in_the_session_of_its_baggage_task_or_time() {
    let bench = Bench::new();
    let first = bench.recorder.session();
    assert_eq!(first, "run-20261130T120000.000Z");
    let play = |wire: &Wire, session: Option<&str>| {
        let mut start = bench.start("billing", wire);
        start.session = session.map(str::to_owned);
        report(&bench.tap.begin(start), wire);
    };
    play(&list(), None);
    play(&sent_task("m1", "WORKING"), Some("nightly"));
    // While a stream of another session goes on, its task is known.
    let mut open = sent_task("m2", "WORKING");
    open.body = String::from_utf8(open.body.to_vec()).unwrap().replace("t1", "t2").into();
    let mut start = bench.start("shipping", &open);
    start.session = Some("weekly".to_owned());
    let tap = bench.tap.begin(start);
    let end = open.answer.as_mut().map(|answer| std::mem::replace(&mut answer.end, End::Stopped));
    tap.data(Lane::Request, &open.body);
    tap.end(Lane::Request, End::Complete);
    let answer = open.answer.clone().unwrap();
    tap.head(Lane::Response, open.version, answer.status, &answer.headers);
    tap.data(Lane::Response, &answer.pieces[0]);
    bench.recorder.flush().await.unwrap();
    bench.play("shipping", &poll("COMPLETED"));
    bench.recorder.session_start("manual").unwrap();
    play(&poll("COMPLETED"), None);
    play(&list(), None);
    assert_eq!(bench.recorder.session_stop(), first);
    play(&list(), None);
    tap.end(Lane::Response, end.unwrap());
    drop(tap);
    assert!(bench.recorder.session_start("not a name").is_err());

    let recording = bench.recording().await;
    let sessions: Vec<String> =
        recording.exchanges(&Filter::default()).iter().map(|it| it.session.clone()).collect();
    assert_eq!(sessions, [&first, "nightly", "weekly", "weekly", "nightly", "manual", &first]);
    let mut names: Vec<&str> =
        recording.sessions().iter().map(|session| session.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["manual", "nightly", &first, "weekly"]);
}

#[tokio::test]
async fn the_last_session_is_the_newest_that_has_exchanges() {
    let bench = Bench::new();
    bench.play("billing", &list());
    bench.recorder.session_start("empty").unwrap();
    let recording = bench.recording().await;
    let last = Filter { session: Some("last".to_owned()), ..Filter::default() };
    assert_eq!(recording.exchanges(&last).len(), 1);
    assert_eq!(Recording::of_exchanges(Vec::new()).exchanges(&last), []);
}

#[tokio::test]
async fn filters_narrow_and_the_newest_are_kept() {
    let recording = grouped(&[
        (
            "billing",
            Wire::send(
                "m1",
                "Refund ORD-1001",
                r#"{"message":{"messageId":"a","role":"ROLE_AGENT","parts":[{"text":"done"}]}}"#,
            ),
        ),
        ("shipping", sent_task("m2", "WORKING")),
        ("shipping", poll("COMPLETED")),
    ])
    .await;
    let count =
        |filter: Filter| (recording.exchanges(&filter).len(), recording.delegations(&filter).len());
    let all = Filter::default;
    assert_eq!(count(all()), (3, 2));
    assert_eq!(count(Filter { agents: vec!["shipping".to_owned()], ..all() }), (2, 1));
    assert_eq!(count(Filter { text: Some("refund".to_owned()), ..all() }), (1, 1));
    assert_eq!(count(Filter { text: Some("DONE".to_owned()), ..all() }), (1, 1));
    assert_eq!(count(Filter { states: vec![TaskState::Completed], ..all() }), (1, 1));
    assert_eq!(count(Filter { states: vec![TaskState::Working], ..all() }), (1, 0));
    assert_eq!(count(Filter { task: Some("t1".to_owned()), ..all() }), (2, 1));
    assert_eq!(count(Filter { limit: Some(1), ..all() }), (1, 1));
    let newest = recording.exchanges(&Filter { limit: Some(1), ..all() });
    assert_eq!(newest[0].operation.as_str(), "GetTask");
    let since = Some(newest[0].started);
    assert_eq!(count(Filter { since, ..all() }), (1, 0));
    assert_eq!(count(Filter { until: since, ..all() }), (2, 2));
    assert_eq!(recording.agents(), ["billing", "shipping"]);
}

#[tokio::test]
async fn exchanges_and_delegations_are_found_by_any_unique_ending_of_their_ids() {
    let recording = grouped(&[
        ("billing", sent_task("m1", "WORKING")),
        ("billing", poll("COMPLETED")),
        ("x", list()),
    ])
    .await;
    let exchanges = recording.exchanges(&Filter::default());
    let short = recording.short('x', exchanges[1].id);
    assert!(short.starts_with("x-") && short.len() >= 10, "{short}");
    assert_eq!(recording.exchange(&short).unwrap().id, exchanges[1].id);
    assert_eq!(recording.delegation(&short).unwrap().id, exchanges[0].id);
    assert_eq!(recording.exchange(&exchanges[1].id.to_string()).unwrap().id, exchanges[1].id);
    let list = recording.short('x', exchanges[2].id);
    assert!(matches!(recording.delegation(&list), Err(QueryError::NotFound(_))));
    assert!(matches!(recording.exchange("x-zzz"), Err(QueryError::NotFound(_))));
    // The first digits of an id are its time, the same for all three.
    let ends: Vec<String> = exchanges.iter().map(|it| it.id.hex()[31..].to_owned()).collect();
    let shared = ends.iter().find(|end| ends.iter().filter(|it| it == end).count() > 1);
    if let Some(shared) = shared {
        let error = recording.exchange(shared).unwrap_err().to_string();
        assert!(error.contains("is ambiguous: x-"), "{error}");
    }
}

#[tokio::test]
async fn what_was_edited_is_recorded_beside_what_came() {
    let bench = Bench::new();
    let wire = sent_task("m1", "COMPLETED");
    let tap = bench.tap.begin(bench.start("billing", &wire));
    let edit = EditRecord {
        kind: "location".to_owned(),
        at: "location".to_owned(),
        from: "http://agent.test/a".to_owned(),
        to: "http://meddler.test/a".to_owned(),
    };
    tap.edit(edit.clone());
    report(&tap, &wire);
    drop(tap);
    assert_eq!(bench.recording().await.exchanges(&Filter::default())[0].edits, [edit]);
}
