//! What `when` looks at, and what must be read for it.

use super::*;

/// Whether a rule with this `when` holds for a call, `?` when it cannot be said.
#[track_caller]
fn check_when(when: &Value, world: &World, expected: &str) {
    let rules = rules(json!([{ "name": "r", "when": when, "inject": { "delay": "1s" } }]));
    let judgement = rules.judge(&world.facts());
    let actual = match judgement.notes.as_slice() {
        [] => "no",
        [note] if note.became == Became::Fired => "yes",
        [note] if note.became == Became::NotApplicable => "?",
        notes => panic!("{notes:?}"),
    };
    assert_eq!(actual, expected, "when: {when} for {world:?}");
}

#[test]
fn without_an_operation_a_rule_is_for_messages() {
    for operation in Operation::all() {
        let expected = if operation.is_send() { "yes" } else { "no" };
        check_when(&json!({}), &World::of(operation), expected);
    }
    check_when(&json!({ "operation": "tasks/get" }), &World::of(Operation::GetTask), "yes");
    check_when(&json!({ "operation": ["GetTask"] }), &World::of(Operation::SendMessage), "no");
}

#[test]
fn an_empty_card_is_for_cards() {
    let rules = rules(json!([{ "name": "r", "inject": { "empty": "card" } }]));
    assert!(has_fired(&rules.judge(&World::of(Operation::AgentCard).facts())));
    assert!(!has_fired(&rules.judge(&World::send("hi").facts())));
}

#[test]
fn conditions_look_at_the_call() {
    let mut world = World::send("A Refund, please").context("c-1").task("t-1");
    world.call.ids.tenant = Some("acme".to_owned());
    world.session = "test-1".to_owned();
    world.headers.append("x-team", "blue".parse().unwrap());
    world.headers.append("x-team", "red".parse().unwrap());
    for (when, expected) in [
        (json!({ "text": "(?i)refund" }), "yes"),
        (json!({ "text": "refund" }), "no"),
        (json!({ "binding": "JSONRPC" }), "yes"),
        (json!({ "binding": ["grpc", "http+json"] }), "no"),
        (json!({ "version": 1.0 }), "yes"),
        (json!({ "version": "0.3" }), "no"),
        (json!({ "context": "c-1" }), "yes"),
        (json!({ "context": "c-2" }), "no"),
        (json!({ "task": "t-*" }), "yes"),
        (json!({ "tenant": ["other", "acme"] }), "yes"),
        (json!({ "session": "test-?" }), "yes"),
        (json!({ "session": "other" }), "no"),
        (json!({ "orchestrator": "10.0.0.*" }), "yes"),
        (json!({ "header": { "X-Team": "^red$" } }), "yes"),
        (json!({ "header": { "x-team": "green" } }), "no"),
        (json!({ "header": { "x-other": ".*" } }), "no"),
        (json!({ "streaming": false }), "yes"),
        (json!({ "streaming": true }), "no"),
        (json!({ "event": 2 }), "no"),
        (json!({ "text": "(?i)refund", "context": "c-2" }), "no"),
    ] {
        check_when(&when, &world, expected);
    }
    world.call.binding = Some(Binding::Grpc);
    world.call.version = Some(ProtocolVersion::V0_3);
    world.call.operation = Operation::SendStreamingMessage;
    check_when(&json!({ "binding": "grpc", "version": 0.3, "streaming": true }), &world, "yes");
    check_when(&json!({ "event": 2 }), &world, "yes");
}

#[test]
fn what_has_not_been_read_is_not_decided_and_not_counted() {
    let mut unread = World::of(Operation::SendMessage);
    unread.body_is_read = false;
    for key in ["text", "context", "task", "tenant"] {
        check_when(&json!({ (key): "x" }), &unread, "?");
    }
    check_when(&json!({ "text": "x", "streaming": true }), &unread, "no");
    let mut unnamed = World::of(Operation::Unknown);
    unnamed.body_is_read = false;
    unnamed.call.wire_name.clear();
    unnamed.call.version = None;
    let mut peeked = World::of(Operation::SendMessage);
    peeked.body_is_read = false;
    peeked.call.wire_name.clear();
    check_when(&json!({ "version": "1.0" }), &peeked, "yes");
    check_when(&json!({}), &unnamed, "?");
    check_when(&json!({ "operation": "GetTask" }), &unnamed, "?");
    check_when(&json!({ "version": "1.0" }), &unnamed, "?");

    let mut stranger = unnamed.clone();
    stranger.call.binding = None;
    check_when(&json!({}), &stranger, "no");

    let rules = rules(json!([{ "name": "r", "when": { "text": "x" }, "inject": "error" }]));
    let judgement = rules.judge(&unread.facts());
    assert_eq!(
        brief(&judgement),
        "NotApplicable: too much to read ahead: `text` could not be asked"
    );
    let totals = rules.summary()[0].totals;
    assert_eq!((totals.eligible, totals.not_applicable), (0, 1));
}

/// What a rule says it needs is enough for it to be asked.
#[test]
fn needs_agree_with_what_is_asked() {
    for (when, operation, body) in [
        (json!({}), true, false),
        (json!({ "operation": "GetTask" }), true, false),
        (json!({ "binding": "grpc", "header": { "a": "b" }, "version": "1.0" }), true, false),
        (json!({ "streaming": true, "session": "s", "orchestrator": "o" }), true, false),
        (json!({ "event": 3 }), true, false),
        (json!({ "text": "x" }), true, true),
        (json!({ "context": "x" }), true, true),
        (json!({ "task": "x" }), true, true),
        (json!({ "tenant": "x" }), true, true),
    ] {
        let rules = rules(json!([{ "name": "r", "when": when, "inject": { "delay": "1s" } }]));
        let needs = rules.needs("billing");
        assert_eq!(needs, Needs { operation, body }, "{when}");
        let mut world = World::send("x").context("x").task("x");
        world.body_is_read = needs.body;
        if !needs.body {
            world.call.request = None;
            world.call.ids = crate::a2a::call::Ids::default();
        }
        let judgement = rules.judge(&world.facts());
        let skipped = judgement.notes.iter().any(|note| note.became == Became::NotApplicable);
        assert!(!skipped, "{when} with {needs:?}: {judgement:?}");
    }
}

#[test]
fn needs_are_those_of_the_rules_that_can_concern_the_agent() {
    let rules = rules(json!([
        { "agent": "billing", "inject": { "error": 503 } },
        { "agent": ["ship*"], "when": { "text": "x" }, "inject": { "error": 503 } },
        { "agent": "mail", "inject": { "error": 503 }, "per": "context" },
        { "agent": "off", "when": { "text": "x" }, "inject": "error", "enabled": false },
    ]));
    for (agent, operation, body) in [
        ("billing", true, false),
        ("shipping", true, true),
        ("mail", true, true),
        ("off", false, false),
        ("other", false, false),
    ] {
        assert_eq!(rules.needs(agent), Needs { operation, body }, "{agent}");
    }
    assert_eq!(RuleSet::default().needs("billing"), Needs::default());
    assert!(RuleSet::default().is_empty());
}

/// An answer of Meddler's carries the request's own ids, so a fault that names them looks at the body.
#[test]
fn faults_that_name_the_task_need_the_body() {
    for (inject, when, body) in [
        (json!("error"), json!({}), true),
        (json!("empty"), json!({}), true),
        (json!({ "custom": "hi" }), json!({}), true),
        (json!({ "hostile": { "answer": "made" } }), json!({}), true),
        (json!("error"), json!({ "event": 1 }), true),
        (json!("error"), json!({ "event": 2 }), false),
        (json!({ "error": "TaskNotFoundError" }), json!({}), false),
        (json!({ "error": 503 }), json!({}), false),
        (json!({ "empty": "body" }), json!({}), false),
        (json!("hostile"), json!({}), false),
        (json!({ "custom": { "raw": {} } }), json!({}), false),
        (json!([{ "delay": "1s" }, { "error": 503 }]), json!({}), false),
    ] {
        let rules = rules(json!([{ "inject": inject, "when": when }]));
        assert_eq!(rules.needs("billing"), Needs { operation: true, body }, "{inject} {when}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Needs of a set are what its rules need together, and reading that much lets each be asked.
    #[test]
    fn no_rule_goes_unasked_when_its_needs_were_met(
        keys in proptest::collection::vec(
            proptest::sample::subsequence(
                vec!["text", "context", "task", "tenant", "session", "orchestrator", "version"],
                0..=3,
            ),
            1..6,
        ),
    ) {
        let list: Vec<Value> = keys
            .iter()
            .map(|keys| {
                let when: serde_json::Map<String, Value> = keys
                    .iter()
                    .map(|key| {
                        let value = if *key == "version" { "1.0" } else { "x" };
                        ((*key).to_owned(), json!(value))
                    })
                    .collect();
                json!({ "when": when, "inject": { "delay": "1s" } })
            })
            .collect();
        let rules = rules(json!(list));
        let needs = rules.needs("billing");
        let mut world = if needs.body { World::send("x") } else { World::of(Operation::SendMessage) };
        world.body_is_read = needs.body;
        let judgement = rules.judge(&world.facts());
        for note in &judgement.notes {
            prop_assert_ne!(note.became, Became::NotApplicable, "{:?}", note);
        }
    }
}
