//! Ids and tasks that Meddler makes up.

use super::*;

#[test]
fn a_conversation_that_begins_with_the_fault_is_counted_from_there() {
    let rules = rules(json!([{ "name": "r", "inject": "error", "first": 2, "per": "context" }]));
    let first = rules.judge(&World::send("hi").facts());
    let Some(Effect::Answer { with: Made::Reply(crate::a2a::model::Reply::Task(task)), .. }) =
        first.effects.first()
    else {
        panic!("{first:?}");
    };
    let again = World::send("hi").context(task.context_id.as_ref().unwrap());
    assert!(has_fired(&rules.judge(&again.facts())), "the second in this conversation");
    assert!(!has_fired(&rules.judge(&again.facts())), "the third");
    assert!(has_fired(&rules.judge(&World::send("hi").facts())), "another one begins anew");
}

#[test]
fn a_task_that_was_invented_is_answered_for() {
    let rules = rules(json!([
        { "name": "r", "inject": { "custom": { "state": "working", "text": "a moment" } } },
        { "name": "slow polls", "when": { "operation": "GetTask" }, "inject": { "delay": "1s" } },
        { "name": "bad polls", "when": { "operation": "GetTask" }, "inject": "hostile" },
    ]));
    let first = rules.judge(&World::send("hi").facts());
    let Some(Effect::Answer { with: Made::Reply(crate::a2a::model::Reply::Task(task)), .. }) =
        first.effects.first()
    else {
        panic!("{first:?}");
    };
    let new = RuleSet::default().inheriting(&rules);
    assert!(new.needs("billing").body, "the id of the task is in the body");
    assert!(!new.needs("shipping").body && !new.is_empty());

    let ask = |operation| {
        let judgement = rules.judge(&World::of(operation).task(&task.id).facts());
        (became(&judgement), brief(&judgement))
    };
    assert_eq!(
        ask(Operation::GetTask),
        (
            "slow polls=Fired bad polls=NotApplicable r=Fired".to_owned(),
            r#"wait 1s at Request; task(working: ["a moment"])"#.to_owned()
        )
    );
    assert_eq!(ask(Operation::SubscribeToTask).1, r#"stream[task(working: ["a moment"])]"#);
    assert_eq!(ask(Operation::CancelTask).1, r#"task(canceled: ["a moment"])"#);
    assert!(ask(Operation::CancelTask).1.starts_with("error(TaskNotCancelableError"));
    assert!(ask(Operation::SubscribeToTask).1.starts_with("error(UnsupportedOperationError"));

    let other = rules.judge(&World::of(Operation::CancelTask).task("of the agent").facts());
    assert_eq!(other, Judgement::default());
    let mut elsewhere = World::of(Operation::CancelTask).task(&task.id);
    elsewhere.agent = "shipping".to_owned();
    assert_eq!(rules.judge(&elsewhere.facts()), Judgement::default());
}

#[test]
fn the_tasks_of_an_invented_conversation_are_listed() {
    let rules = rules(json!([{ "name": "r", "inject": "error" }]));
    let first = rules.judge(&World::send("hi").facts());
    let Some(Effect::Answer { with: Made::Reply(crate::a2a::model::Reply::Task(task)), .. }) =
        first.effects.first()
    else {
        panic!("{first:?}");
    };
    let list = |context: Option<&str>| {
        let mut world = World::of(Operation::ListTasks);
        let wanted = crate::a2a::model::ListTasks {
            context_id: context.map(str::to_owned),
            ..Default::default()
        };
        world.call.request = Some(crate::a2a::model::Request::ListTasks(wanted));
        rules.judge(&world.facts())
    };
    let own = list(task.context_id.as_deref());
    let Some(Effect::Answer { with: Made::Reply(crate::a2a::model::Reply::Tasks(page)), .. }) =
        own.effects.first()
    else {
        panic!("{own:?}");
    };
    assert_eq!(page.tasks.as_slice(), std::slice::from_ref(task));
    assert_eq!(list(None), Judgement::default());
    assert_eq!(list(Some("of the agent")), Judgement::default());
}

#[test]
fn ids_of_a_continued_task_are_kept() {
    let rules = rules(json!([{ "name": "r", "inject": "error" }]));
    let world = World::send("hi").context("c-1").task("t-1");
    let judgement = rules.judge(&world.facts());
    let Some(Effect::Answer { with: Made::Reply(crate::a2a::model::Reply::Task(task)), .. }) =
        judgement.effects.first()
    else {
        panic!("{judgement:?}");
    };
    assert_eq!((task.id.as_str(), task.context_id.as_deref()), ("t-1", Some("c-1")));
    let poll = rules.judge(&World::of(Operation::GetTask).task("t-1").facts());
    assert_eq!(poll, Judgement::default(), "the agent knows this task");
}

#[test]
fn late_in_a_stream_the_ids_are_the_streams_own() {
    let rules = rules(json!([{ "name": "r", "when": { "event": 2 }, "inject": "error" }]));
    let judgement = rules.judge(&World::of(Operation::SendStreamingMessage).facts());
    let Some(Effect::Answer { with: Made::Stream { events, .. }, from, .. }) =
        judgement.effects.first()
    else {
        panic!("{judgement:?}");
    };
    assert_eq!(*from, Start::Event(2));
    assert_eq!((events[0].task_id(), events[0].context_id()), (Some(""), Some("")));
}
