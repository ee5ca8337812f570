//! What is counted, in which scope, and that it is exact.

use super::*;

/// Which of a run of sends fire.
#[track_caller]
fn check_run(rule: &Value, worlds: &[World], expected: &str) {
    let mut rule = rule.clone();
    rule["name"] = json!("r");
    rule["inject"] = json!("error");
    let rules = rules(json!([rule]));
    let fired: String = worlds
        .iter()
        .map(|world| if has_fired(&rules.judge(&world.facts())) { 'x' } else { '.' })
        .collect();
    assert_eq!(fired, expected, "{rule}");
}

#[test]
fn counters_choose_among_the_eligible() {
    let sends = vec![World::send("hi"); 8];
    check_run(&json!({}), &sends, "xxxxxxxx");
    check_run(&json!({ "nth": 3 }), &sends, "..x.....");
    check_run(&json!({ "every": 3 }), &sends, "..x..x..");
    check_run(&json!({ "first": 2 }), &sends, "xx......");
    check_run(&json!({ "after": 5 }), &sends, ".....xxx");
    check_run(&json!({ "times": 2 }), &sends, "xx......");
    check_run(&json!({ "every": 2, "times": 2 }), &sends, ".x.x....");
    let mixed: Vec<World> = ["a", "b", "a", "a", "b", "a"].map(World::send).into();
    check_run(&json!({ "when": { "text": "a" }, "nth": 2 }), &mixed, "..x...");
}

#[test]
fn counters_count_in_their_scope() {
    let of = |agent: &str, context: &str, session: &str| {
        let mut world = World::send("hi").context(context).task(context);
        world.agent = agent.to_owned();
        world.session = session.to_owned();
        world
    };
    let run = [
        of("a", "1", "s"),
        of("b", "1", "s"),
        of("a", "2", "t"),
        of("a", "1", "t"),
        of("b", "2", "s"),
        of("a", "2", "s"),
    ];
    check_run(&json!({ "first": 1 }), &run, "xx....");
    check_run(&json!({ "first": 1, "per": "agent" }), &run, "xx....");
    check_run(&json!({ "first": 1, "per": "context" }), &run, "xxx.x.");
    check_run(&json!({ "times": 1, "per": "task" }), &run, "xxx.x.");
    check_run(&json!({ "first": 1, "per": "session" }), &run, "x.x...");
    check_run(&json!({ "first": 1, "per": "orchestrator" }), &run, "x.....");
    check_run(&json!({ "first": 1, "per": "rule" }), &run, "x.....");
}

#[test]
fn what_did_not_fire_does_not_use_up_times() {
    let rules = rules(json!([
        { "name": "first", "inject": "empty", "nth": 1 },
        { "name": "second", "inject": "error", "times": 1 },
    ]));
    let told = || became(&rules.judge(&World::send("hi").facts()));
    assert_eq!(told(), "first=Fired second=Shadowed");
    assert_eq!(told(), "first=Passed second=Fired");
    assert_eq!(told(), "first=Passed second=Passed");
    let totals = rules.summary()[1].totals;
    assert_eq!((totals.eligible, totals.fired, totals.passed, totals.shadowed), (3, 1, 1, 1));
}

#[test]
fn a_draw_depends_on_seed_rule_and_count_alone() {
    let rules = rules(json!([
        { "name": "r", "inject": "error", "probability": 0.3, "seed": 7, "per": "context" },
    ]));
    for context in ["a", "b"] {
        for n in 1..=50 {
            let judgement = rules.judge(&World::send("hi").context(context).facts());
            let note = &judgement.notes[0];
            let number = draw(7, "r", n);
            assert_eq!((note.n, note.seed, note.draw), (n, 7, Some(number)));
            assert_eq!(note.became == Became::Fired, number < 0.3);
        }
    }
}

#[test]
fn probability_0_never_fires_and_1_always_does() {
    let sends = vec![World::send("hi"); 50];
    check_run(&json!({ "probability": 0 }), &sends, &".".repeat(50));
    check_run(&json!({ "probability": 1 }), &sends, &"x".repeat(50));
}

#[test]
fn exactly_as_many_fire_as_were_asked_for_when_all_come_at_once() {
    let rules = Arc::new(rules(json!([
        { "name": "r", "inject": "error", "first": 2, "per": "context" },
        { "name": "delays", "inject": { "delay": "1s" }, "times": 7 },
    ])));
    let canaries = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let rules = Arc::clone(&rules);
                scope.spawn(move || {
                    let mut ids = Vec::new();
                    for n in 0..125 {
                        let context = ((thread * 125 + n) % 50).to_string();
                        let world = World::send("hi").context(&context);
                        for effect in rules.judge(&world.facts()).effects {
                            if let Effect::Answer { with, .. } = effect {
                                ids.push(format!("{with:?}"));
                            }
                        }
                    }
                    ids
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let summary = rules.summary();
    assert_eq!((summary[0].totals.eligible, summary[0].totals.fired), (1000, 100));
    assert_eq!(summary[1].totals.fired, 7);
    assert_eq!(canaries.iter().collect::<HashSet<_>>().len(), 100, "ids are never given twice");
}

/// The numbers drawn do not depend on who comes first, so a parallel run fires on the same counts.
#[test]
fn a_parallel_run_repeats_itself_and_the_run_in_order() {
    let fired = |threads: usize| {
        let rules = rules(json!([
            { "name": "r", "inject": { "error": 503 }, "probability": 0.3, "seed": 7 },
        ]));
        let each = 1000 / threads;
        let mut fired: Vec<u64> = std::thread::scope(|scope| {
            let run = || {
                let world = World::send("hi");
                let judgements = (0..each).map(|_| rules.judge(&world.facts()));
                judgements.filter(has_fired).map(|judged| judged.notes[0].n).collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        fired.sort_unstable();
        fired
    };
    let in_order = fired(1);
    assert!((250..350).contains(&in_order.len()), "{}", in_order.len());
    assert_eq!(fired(1), in_order);
    assert_eq!(fired(8), in_order);
}

#[test]
fn two_of_fifty_at_once_fail_when_two_were_asked_for() {
    let rules = rules(json!([{ "name": "r", "inject": { "error": 503 }, "times": 2 }]));
    let failed: usize = std::thread::scope(|scope| {
        let run = || usize::from(has_fired(&rules.judge(&World::send("hi").facts())));
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(failed, 2);
}

/// What a rule's `nth every first after times` say of one exchange, told naively.
fn naive(rule: &BTreeMap<&str, u64>, n: u64, fired: u64) -> bool {
    rule.iter().all(|(key, value)| match *key {
        "nth" => n == *value,
        "every" => n.is_multiple_of(*value),
        "first" => n <= *value,
        "after" => n > *value,
        "times" => fired < *value,
        other => panic!("{other}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn counters_do_what_a_naive_model_does(
        keys in proptest::sample::subsequence(vec!["every", "first", "after", "times"], 0..=4),
        values in proptest::collection::vec(1_u64..6, 4),
        contexts in proptest::collection::vec(0_u8..4, 0..60),
    ) {
        let rule: BTreeMap<&str, u64> = keys.into_iter().zip(values).collect();
        let mut config = json!(rule);
        config["name"] = json!("r");
        config["inject"] = json!("error");
        config["per"] = json!("context");
        // A combination that can never fire is refused, which another test shows.
        let Ok(rules) = try_rules(json!([config])) else { return Ok(()) };
        let mut seen: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
        for context in contexts {
            let (n, fired) = seen.entry(context).or_default();
            *n += 1;
            let expected = naive(&rule, *n, *fired);
            *fired += u64::from(expected);
            let world = World::send("hi").context(&context.to_string());
            let judgement = rules.judge(&world.facts());
            prop_assert_eq!(has_fired(&judgement), expected, "{:?} n {}", rule, n);
            prop_assert_eq!(judgement.notes[0].n, *n);
        }
    }
}
