//! Each kind of assertion: when it holds, what it says when it does not, and that it never passes over
//! nothing.

use meddler::record::delegation::Delegation;
use meddler::record::exchange::Outcome;

use super::world::{delegation, ended, judge, lists, recording, shown};

/// Holds one assertion against the session `run-2` of the small recording.
#[track_caller]
fn check(assertion: &str, expected: &str) {
    assert_eq!(shown(&judge(assertion, &recording())), expected, "{assertion}");
}

#[test]
fn delegated_to_looks_at_agent_and_message() {
    check("delegated_to: billing", "held");
    check("delegated_to: { agent: billing, contains: \"ORD-1001\", count: { lte: 1 } }", "held");
    check("delegated_to: { agent: billing, contains: \"${ORDER}\" }", "held");
    check(
        "delegated_to: { agent: shipping, regex: \"(?i)PARCEL\", binding: GRPC, operation: message/stream }",
        "held",
    );
    check("delegated_to: { agent: shipping, skill: track, version: \"1.0\" }", "held");
    check(
        "delegated_to: { agent: billing, contains: \"ORD-9999\" }",
        "failed: a delegation to billing whose message contains \"ORD-9999\" / there is none",
    );
    check(
        "delegated_to: { agent: billing, version: \"0.3\" }",
        "failed: a delegation to billing in version 0.3 / there is none",
    );
    check(
        "delegated_to: { agent: shipping, count: 1 }",
        "failed: exactly 1 delegations to shipping / there are 2",
    );
    check(
        "{ delegated_to: billing, on: { agent: shipping } }",
        "failed: a delegation to billing / there is none",
    );
}

#[test]
fn not_delegated_to_holds_when_nothing_matches_and_names_what_does() {
    check("not_delegated_to: { agent: billing, contains: \"ORD-9999\" }", "held");
    check("not_delegated_to: shipping", "failed: no delegation to shipping / there are 2");
    let result = judge("not_delegated_to: billing", &recording());
    let proof = &result.findings[0].evidence[0];
    assert_eq!(proof.show, "d-00000002");
    assert_eq!(proof.found, "\"Please refund ORD-1001\"");
}

#[test]
fn an_agent_nobody_knows_is_a_mistake_of_the_suite() {
    let unknown = "`biling` is neither recorded nor configured; did you mean `billing`?";
    for assertion in [
        "delegated_to: biling",
        "not_delegated_to: biling",
        "tool_called: biling",
        "tool_not_called: biling",
        "tool_sequence: [billing, biling]",
        "not: { delegated_to: biling }",
        "any: [{ delegated_to: billing }, { delegated_to: biling }]",
        "{ state: completed, on: { agent: biling } }",
    ] {
        check(assertion, &format!("error: an agent that exists / {unknown}"));
    }
}

#[test]
fn a_delegation_is_a_tool_call_named_after_its_agent() {
    check("tool_called: billing", "held");
    check(
        "tool_called: { name: billing, args: { message: \"ORD-1001\" }, result: { contains: RF-889 } }",
        "held",
    );
    check(
        "tool_called: { name: billing, args: { message: { equals: refund } } }",
        "failed: a delegation to billing whose message equals \"refund\" / there is none",
    );
    check(
        "tool_called: { name: billing, result: sorry }",
        "failed: a delegation to billing whose reply contains \"sorry\" / there is none",
    );
    check("tool_not_called: { name: shipping, args: { message: delete } }", "held");
    check("tool_not_called: shipping", "failed: no delegation to shipping / there are 2");
}

#[test]
fn tools_are_called_in_order() {
    check("tool_sequence: [billing, shipping, refunds]", "held");
    check("tool_sequence: [billing, refunds]", "held");
    check("tool_sequence: { tools: [billing, shipping, shipping, refunds], mode: exact }", "held");
    check("tool_sequence: { tools: [refunds, billing], mode: any_order }", "held");
    check(
        "tool_sequence: [shipping, billing]",
        "failed: calls in this order: shipping, billing / billing, shipping, shipping, refunds: \
         no call of billing (number 2) after the ones before it",
    );
    check(
        "tool_sequence: { tools: [billing, shipping], mode: exact }",
        "failed: exactly these calls: billing, shipping / billing, shipping, shipping, refunds: \
         not exactly these",
    );
    check(
        "tool_sequence: { tools: [billing, billing], mode: any_order }",
        "failed: these calls in any order: billing, billing / billing, shipping, shipping, refunds: \
         no call of billing is left for it",
    );
}

#[test]
fn a_picky_tool_gets_its_own_call_in_any_order() {
    // The plain `shipping` may be either call, the other one only the second.
    let tools = "[shipping, { name: shipping, args: { message: parcel } }]";
    check(&format!("tool_sequence: {{ tools: {tools}, mode: any_order }}"), "held");
    let tools = "[{ name: shipping, args: { message: RF-889 } }, { name: shipping, args: { message: RF-889 } }]";
    check(&format!("tool_sequence: {{ tools: {tools}, mode: any_order, args: ignore }}"), "held");
    check(
        &format!("tool_sequence: {{ tools: {tools}, mode: any_order }}"),
        "failed: these calls in any order: shipping, shipping / billing, shipping, shipping, refunds: \
         no call of shipping is left for it",
    );
}

#[test]
fn text_must_occur_somewhere_and_must_not_occur_anywhere() {
    check("contains: RF-889", "held");
    check("contains: [reference, RF-889]", "held");
    check("regex: \"RF-[0-9]{3}\"", "held");
    check("text: { contains: \"REFERENCE\", case_sensitive: false }", "held");
    check("text: { matches: \"REFERENCE\", case_sensitive: false }", "held");
    check("text: { equals: \"Which order?\", on: { agent: shipping, delegation: first } }", "held");
    check(
        "text: { not_contains: [\"BEGIN PRIVATE KEY\"], not_contains_env: BILLING_TOKEN }",
        "held",
    );
    check(
        "{ contains: carrier, on: { agent: billing } }",
        "failed: reply text contains \"carrier\" / \"Refunded, the reference is RF-889.\"",
    );
    check(
        "contains: [reference, carrier]",
        "failed: reply text contains \"reference\" and \"carrier\" / none of 4 delegations to billing, refunds, shipping",
    );
    check(
        "text: { not_contains: order, case_sensitive: false }",
        "failed: reply text does not contain \"order\" / d-00000003 to shipping: \"order\" is in \"Which order?\"",
    );
    check(
        "{ text: { contains: carrier }, on: { delegation: every, agent: shipping } }",
        "failed: reply text contains \"carrier\" / d-00000003 to shipping: \"Which order?\"",
    );
}

#[test]
fn a_secret_in_a_reply_is_named_and_not_shown() {
    let leak = Delegation {
        reply_text: "the token is tok-123456".to_owned(),
        ..ended(delegation(2, "billing", "hello"), &["completed"], Outcome::Completed)
    };
    let source = lists(vec![leak]);
    for assertion in [
        "text: { not_contains_env: BILLING_TOKEN }",
        "text: { contains: nothing, not_contains_env: BILLING_TOKEN }",
        "text: { not_contains: \"${BILLING_TOKEN}\" , not_contains_env: BILLING_TOKEN }",
    ] {
        let result = judge(assertion, &source);
        let report = format!("{} {:?}", shown(&result), result);
        assert!(report.contains("the value of BILLING_TOKEN is in it (not shown)"), "{report}");
        assert!(!report.contains("tok-123456"), "{report}");
    }
}

#[test]
fn a_path_finds_what_stands_in_the_canonical_reply() {
    check(
        "json_path: { path: \"$.status.state\", equals: completed, on: { agent: billing, delegation: last } }",
        "held",
    );
    check(
        "json_path: { path: \"$.status.state\", equals: TASK_STATE_COMPLETED, on: { agent: billing } }",
        "held",
    );
    check("json_path: { path: /status/state, equals: completed }", "held");
    check("json_path: { path: \"$.status.message.role\", equals: ROLE_AGENT }", "held");
    check(
        "json_path: { path: \"$.artifacts[*].parts[?@.kind == 'data'].data.amount\", equals: 49.5 }",
        "held",
    );
    check(
        "json_path: { path: \"$.artifacts[*].parts[?@.kind == 'data'].data.items\", equals: 2.0 }",
        "held",
    );
    check(
        "json_path: { path: \"$.artifacts[*].parts[*].kind\", count: 2, contains: file }",
        "held",
    );
    check("json_path: { path: \"$.artifacts[0].name\", matches: \"^rec\" }", "held");
    check(
        "json_path: { path: \"$.artifacts[0].parts[0].data.amount\", gt: 49, lte: 49.5 }",
        "held",
    );
    check(
        "json_path: { path: \"$.artifacts[0].parts[0].data\", equals: { currency: EUR, amount: 49.5, items: 2, paid: true } }",
        "held",
    );
    check("json_path: { path: \"$.artifacts[0].metadata\", exists: false }", "held");
    check(
        "{ json_path: { path: \"$.status.state\", equals: completed }, on_turn: last, on: { agent: billing } }",
        "held",
    );
    check(
        "json_path: { path: \"$.status.state\", equals: failed, on: { agent: billing } }",
        "failed: $.status.state equals \"failed\" / $['status']['state'] is \"completed\"",
    );
    check(
        "json_path: { path: /nowhere, equals: 1, on: { agent: billing } }",
        "failed: /nowhere equals 1 / nothing is there",
    );
    check(
        "json_path: { path: \"$.artifacts[*]\", count: { gte: 1 }, on: { agent: shipping, delegation: last } }",
        "failed: $.artifacts[*] occurs at least 1 times / nothing is there",
    );
    check(
        "json_path: { path: \"$.artifacts[0].parts[0].data.paid\", gte: 0, on: { agent: billing } }",
        "failed: $.artifacts[0].parts[0].data.paid is at least 0 / $['artifacts'][0]['parts'][0]['data']['paid'] is true",
    );
    check(
        "json_path: { path: \"$.artifacts\", exists: false }",
        "failed: $.artifacts does not exist / none of 4 delegations to billing, refunds, shipping",
    );
}

#[test]
fn equals_over_several_places_is_true_of_each() {
    check(
        "json_path: { path: \"$.artifacts[*].parts[*].kind\", equals: data, on: { agent: billing } }",
        "failed: $.artifacts[*].parts[*].kind equals \"data\" / $['artifacts'][0]['parts'][1]['kind'] is \"file\"",
    );
}

#[test]
fn on_events_sees_the_list_of_events() {
    check(
        "{ json_path: { path: \"$[0].status.state\", equals: input-required }, on: { agent: shipping, sees: events } }",
        "held",
    );
    check("{ json_path: { path: \"$[*]\", count: 1 }, on: events }", "held");
    check("{ contains: status_update, on: events }", "held");
}

#[test]
fn state_takes_every_spelling_and_outcomes() {
    check("state: completed", "held");
    check("{ state: TASK_STATE_INPUT_REQUIRED, on: { agent: shipping } }", "held");
    check("{ state: input-required, on: { agent: shipping } }", "held");
    check(
        "state: { equals: [completed, input_required], on: { agent: shipping, delegation: every } }",
        "held",
    );
    check("{ state: answered_by_fault, on: { agent: refunds } }", "held");
    check(
        "state: { equals: completed, on: { agent: shipping, delegation: every } }",
        "failed: state completed / d-00000003 to shipping: state input_required, outcome input_required",
    );
    check(
        "{ state: canceled, on: { agent: billing } }",
        "failed: state canceled / state completed, outcome completed",
    );
}

#[test]
fn states_are_the_sequence_that_was_seen() {
    check("states: { equals: [TASK_STATE_SUBMITTED, working, working, completed] }", "held");
    check("states: { contains_in_order: [submitted, completed] }", "held");
    check(
        "states: { contains_in_order: [completed, working], on: { agent: billing } }",
        "failed: states contain in order completed, working / submitted, working, completed",
    );
    check(
        "states: { equals: [working, completed], on: { agent: billing } }",
        "failed: states are working, completed / submitted, working, completed",
    );
}

#[test]
fn metrics_are_counted_over_the_selection() {
    check("metric: { name: delegations, equals: 4 }", "held");
    check("metric: { name: exchanges, gte: 4 }", "held");
    check("metric: { name: a2a_tasks, equals: 4 }", "held");
    check("metric: { name: a2a_requests, equals: 4 }", "held");
    check("metric: { name: turns, equals: 2 }", "held");
    check("metric: { name: retries, equals: 0 }", "held");
    check("metric: { name: faults_injected, equals: 1 }", "held");
    check("metric: { name: stream_events, equals: 1 }", "held");
    check(
        "metric: { name: delegations, lte: 1, on: { agent: shipping } }",
        "failed: delegations at most 1 / 2",
    );
    check("metric: { name: delegation_latency_ms, lte: 500 }", "held");
    check("metric: { name: delegation_latency_ms_p50, equals: 350 }", "held");
    check("metric: { name: delegation_latency_ms_max, equals: 500 }", "held");
    check(
        "metric: { name: delegation_latency_ms, lt: 400 }",
        "failed: delegation_latency_ms less than 400 / 2 of 4 are not, the first is 400.000",
    );
    check(
        "metric: { name: delegation_latency_ms_p95, lte: 100 }",
        "failed: delegation_latency_ms_p95 at most 100 / 485.000",
    );
    check("metric: { name: time_to_first_event_ms, lte: 40 }", "held");
    check(
        "metric: { name: time_to_first_event_ms, lte: 40, on: { agent: billing } }",
        "vacuous: time_to_first_event_ms at most 40 / nothing to measure: of 1 delegation, 0 ended in an error and 1 had not a stream",
    );
    check(
        "metric: { name: a2a_skills, gte: 1 }",
        "vacuous: a2a_skills at least 1 / no card was fetched within the selection",
    );
}

#[test]
fn latencies_leave_errors_out_and_all_errors_are_no_pass() {
    let fast = ended(delegation(2, "billing", "x"), &["completed"], Outcome::Completed);
    let broken = Delegation {
        duration_ms: Some(90_000.0),
        ..ended(delegation(3, "billing", "y"), &[], Outcome::UpstreamError)
    };
    let source = lists(vec![fast, broken.clone()]);
    for assertion in ["max_seconds: 1", "latency: { p99_seconds: 1 }"] {
        assert_eq!(shown(&judge(assertion, &source)), "held", "{assertion}");
    }
    let source = lists(vec![broken]);
    let nothing =
        "nothing to measure: of 1 delegation, 1 ended in an error and 0 had not a duration";
    for (assertion, expected) in [
        ("max_seconds: 1", "every turn takes at most 1 s"),
        ("latency: { p99_seconds: 1 }", "p99_seconds at most 1"),
        ("metric: { name: delegation_latency_ms, lte: 1 }", "delegation_latency_ms at most 1"),
    ] {
        let actual = shown(&judge(assertion, &source));
        assert_eq!(actual, format!("vacuous: {expected} / {nothing}"), "{assertion}");
    }
}

#[test]
fn seconds_are_limits_for_every_turn() {
    check("max_seconds: 0.5", "held");
    check(
        "max_seconds: 0.4",
        "failed: every turn takes at most 0.4 s / 1 of 4 took longer, the slowest 0.500 s",
    );
    check("max_first_event_seconds: 0.04", "held");
    check(
        "max_first_event_seconds: 0.01",
        "failed: the first event of every stream takes at most 0.01 s / 1 of 1 took longer, the slowest 0.040 s",
    );
    check("latency: { p50_seconds: 0.35, p95_seconds: 0.5 }", "held");
    check("latency: { p50_seconds: 0.3 }", "failed: p50_seconds at most 0.3 / 0.350 over 4 turns");
}

#[test]
fn turns_are_messages_in_one_conversation() {
    check("turns: { lte: 2 }", "held");
    check("{ turns: 2, on: { agent: shipping } }", "held");
    check(
        "turns: { lte: 1 }",
        "failed: at most 1 turns in a conversation / 1 of 3 conversations do not, the first has 2",
    );
}

#[test]
fn events_are_derived_from_what_was_recorded() {
    check("event: task_input_required", "held");
    check("event: { name: delegated, count: 4 }", "held");
    check("event: { name: delegated, count: 2, where: { agent: shipping } }", "held");
    check("event: { name: fault_injected, where: { rule: refunds fail, kind: error } }", "held");
    check("event: { name: transport, count: 3 }", "held");
    check("no_event: upstream_error", "held");
    check("no_event: { name: transport, where: { version: { matches: \"^0\" } } }", "held");
    check("event: task_canceled", "failed: an event task_canceled / there is none");
    check(
        "event: { name: fault_injected, where: { rule: other } }",
        "failed: an event fault_injected where rule equals \"other\" / there is none",
    );
    check("no_event: task_failed", "failed: no event task_failed / 1 event");
    check(
        "no_event: { name: transport, where: { binding: grpc } }",
        "failed: no event transport where binding equals \"grpc\" / 1 event",
    );
}

#[test]
fn logic_turns_only_a_plain_no_into_a_yes() {
    check("not: { contains: sorry }", "held");
    check("not: { delegated_to: { agent: billing, contains: nothing } }", "held");
    check("all: [{ contains: RF-889 }, { state: completed }]", "held");
    check("any: [{ contains: sorry }, { contains: RF-889 }]", "held");
    check("not: [{ contains: RF-889 }, { contains: sorry }]", "held");
    check("not: { contains: RF-889 }", "failed: not contains: RF-889 / it holds");
    check(
        "any: [{ contains: sorry }, { contains: never }]",
        "failed: one of 2 alternatives / none holds",
    );
    check(
        "all: [{ contains: RF-889 }, { contains: sorry, on: { agent: billing } }]",
        "failed: reply text contains \"sorry\" / \"Refunded, the reference is RF-889.\"",
    );
    // Nothing to look at stays nothing, whichever way it is asked.
    let nothing = "nothing to look at: no delegation is left here";
    for assertion in ["contains: x", "not: { contains: x }", "state: completed", "turns: 1"] {
        let on = "on: { agent: billing, delegation: 7 }";
        let result = judge(&format!("{{ {assertion}, {on} }}"), &recording());
        assert!(shown(&result).starts_with("vacuous: "), "{assertion}: {}", shown(&result));
        assert!(shown(&result).ends_with(nothing), "{assertion}: {}", shown(&result));
    }
}

#[test]
fn what_was_injected_is_seen_or_not_as_asked() {
    check("metric: { name: delegations, equals: 3, injected: exclude }", "held");
    check("{ metric: { name: delegations, equals: 1 }, on: { injected: only } }", "held");
    check(
        "{ contains: down, injected: exclude }",
        "failed: reply text contains \"down\" / none of 3 delegations to billing, shipping",
    );
}

#[test]
fn one_turn_or_one_delegation_can_be_looked_at() {
    check("{ contains: carrier, on: { agent: shipping, turn: last } }", "held");
    check("{ contains: \"Which\", on: { agent: shipping, turn: 1 } }", "held");
    check("{ contains: carrier, on: { delegation: 3 } }", "held");
    check(
        "{ contains: \"Which\", on: { delegation: last } }",
        "failed: reply text contains \"Which\" / \"The service is down.\"",
    );
    check("{ metric: { name: delegations, equals: 3 }, on: { turn: first } }", "held");
}
