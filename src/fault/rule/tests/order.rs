//! Which rule has the answer, and what one rule does.

use super::*;

#[test]
fn the_first_rule_that_fires_has_the_answer_and_delays_add_up() {
    let rules = rules(json!([
        { "name": "slow", "inject": { "delay": "1s" } },
        { "name": "never", "inject": "error", "probability": 0.0 },
        { "name": "first", "inject": { "error": "rejected" } },
        { "name": "second", "inject": "empty" },
        { "name": "slower", "inject": { "delay": { "fixed": "2s", "at": "first_byte" } } },
        { "name": "list", "inject": { "empty": "stream" } },
    ]));
    let judgement = rules.judge(&World::send("hi").facts());
    assert_eq!(
        became(&judgement),
        "slow=Fired never=Passed first=Fired second=Shadowed slower=Fired list=NotApplicable"
    );
    assert_eq!(judgement.notes[3].text, "rule `first` has the answer");
    assert_eq!(judgement.effects.len(), 3);
    let Effect::Answer { note, mark, .. } = &judgement.effects[1] else { panic!("{judgement:?}") };
    assert_eq!((*note, *mark), (2, true));
}

#[test]
fn an_edit_of_the_answer_and_a_fault_late_in_the_stream_go_together() {
    let late = json!({ "name": "late", "when": { "event": 3 }, "inject": "error" });
    let edit = json!({ "name": "edit", "inject": "hostile" });
    let whole = json!({ "name": "whole", "inject": "empty" });
    let told = |list: &[&Value]| {
        let world = World::of(Operation::SendStreamingMessage);
        became(&rules(json!(list)).judge(&world.facts()))
    };
    assert_eq!(told(&[&edit, &late]), "edit=Fired late=Fired");
    assert_eq!(told(&[&late, &whole]), "late=Fired whole=Shadowed");
    assert_eq!(told(&[&whole, &edit, &late]), "whole=Fired edit=Shadowed late=Shadowed");
}

#[test]
fn rules_of_a_session_come_before_the_others() {
    let rules = rules(json!([
        { "name": "all", "inject": "error" },
        { "name": "mine", "when": { "session": "run" }, "inject": "empty" },
    ]));
    let judgement = rules.judge(&World::send("hi").facts());
    assert_eq!(became(&judgement), "mine=Fired all=Shadowed");
    let listed: Vec<String> = rules.summary().into_iter().map(|rule| rule.name).collect();
    assert_eq!(listed, ["all", "mine"], "the list keeps the order written");
}

#[test]
fn faults_of_one_rule_compose() {
    let rules = rules(json!([
        { "name": "r", "inject": [{ "delay": "1s" }, { "error": { "message": "no" } }] },
    ]));
    let judgement = rules.judge(&World::send("hi").facts());
    assert_eq!(brief(&judgement), r#"wait 1s at Request; task(failed: ["no"])"#);
    assert_eq!(judgement.notes[0].kind, "error");
    assert_eq!(
        judgement.notes[0].text,
        "waits 1s before the request goes on; answers with a task in state failed"
    );
}

#[test]
fn the_same_seed_and_traffic_give_the_same_judgements() {
    let config = json!([
        { "name": "slow", "inject": { "delay": { "range": ["1s", "9s"] } }, "probability": 0.5 },
        { "name": "bad", "inject": "hostile", "probability": 0.5, "times": 20 },
        { "name": "fail", "inject": "error" },
    ]);
    let run = |seed: u64| {
        let list = serde_json::from_value(config.clone()).unwrap();
        let options = RuleSetOptions { seed, ..RuleSetOptions::default() };
        let rules = RuleSet::with(list, options).unwrap();
        let world = World::send("hi");
        (0..60).map(|_| rules.judge(&world.facts())).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_reload_keeps_the_counters_of_rules_that_did_not_change() {
    let load = |times: u64| {
        rules(json!([
            { "name": "same", "inject": "error", "times": 2 },
            { "name": "changed", "inject": { "delay": "1s" }, "times": times },
        ]))
    };
    let old = load(1);
    let told = |rules: &RuleSet| became(&rules.judge(&World::send("hi").facts()));
    assert_eq!(told(&old), "same=Fired changed=Fired");
    let new = load(5).inheriting(&old);
    assert_eq!(told(&new), "same=Fired changed=Fired");
    assert_eq!(told(&new), "same=Passed changed=Fired");
}

#[test]
fn the_short_form_is_a_rule_for_messages() {
    let rules = RuleSet::new(vec![RuleConfig::of_fuzz("billing", json!("error"))]).unwrap();
    assert_eq!(became(&rules.judge(&World::send("hi").facts())), "fuzz billing=Fired");
    assert_eq!(became(&rules.judge(&World::of(Operation::GetTask).facts())), "");
}

#[test]
fn unmarked_answers_say_nothing() {
    let rules = rules(json!([{ "name": "r", "inject": "error", "mark": false }]));
    let judgement = rules.judge(&World::send("hi").facts());
    assert!(matches!(judgement.effects.as_slice(), [Effect::Answer { mark: false, .. }]));
}
