//! The store against the simplest thing that could be one: a list.

use meddler::record::store::select::{Order, Select};
use meddler::record::store::{Entry, Store, conformance, sample};
use proptest::prelude::*;

use super::support::{Place, scan, texts};

/// What is done to a store.
#[derive(Clone, Debug)]
enum Step {
    Exchanges(u64),
    Session,
    Event,
    Gap,
    PutState(u8),
    Flush,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_u64..12).prop_map(Step::Exchanges),
        1 => Just(Step::Session),
        1 => Just(Step::Event),
        1 => Just(Step::Gap),
        1 => (0_u8..4).prop_map(Step::PutState),
        2 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whatever_is_done_the_store_holds_what_a_list_would_hold(steps in steps()) {
        let place = Place::new();
        let mut store = place.writer_of_small_segments();
        let mut model: Vec<Entry> = Vec::new();
        let mut state = [None; 4];
        let mut number = 0;
        for step in steps {
            let mut new = Vec::new();
            match step {
                Step::Exchanges(count) => {
                    new.extend((number..number + count).map(sample::entry));
                    number += count;
                }
                Step::Session => new.push(Entry::Session(sample::session(number))),
                Step::Event => new.push(Entry::Event(sample::event(number))),
                Step::Gap => new.push(Entry::Gap(sample::gap(number))),
                Step::PutState(key) => {
                    let value = u8::try_from(number % 200).unwrap();
                    state[usize::from(key)] = Some(value);
                    store.state().unwrap().put("space", &[key], &[value]).unwrap();
                }
                Step::Flush => store.flush().unwrap(),
                Step::Reopen => {
                    drop(store);
                    store = place.writer_of_small_segments();
                    prop_assert_eq!(store.opening().torn_bytes, 0);
                }
            }
            number += 1;
            store.append(&new).unwrap();
            model.append(&mut new);
        }
        store.flush().unwrap();

        let (found, scanned) = scan(&store);
        prop_assert_eq!(found, texts(&model));
        prop_assert_eq!(scanned.entries, model.len() as u64);
        prop_assert_eq!((scanned.damaged_bytes, scanned.unfinished_bytes), (0, 0));
        prop_assert_eq!(scan(&place.reader()).0, texts(&model));
        for (key, value) in (0..).zip(state) {
            let kept = store.state().unwrap().get("space", &[key]).unwrap();
            prop_assert_eq!(kept, value.map(|value| vec![value]));
        }

        let ids: Vec<_> = model.iter().filter_map(|entry| match entry {
            Entry::Exchange(exchange) => Some(exchange.get().id),
            Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => None,
        }).collect();
        prop_assert_eq!(&conformance::selected(&store, &Select::default()).unwrap(), &ids);
        for id in &ids {
            prop_assert_eq!(store.exchange(*id).unwrap().unwrap().get().id, *id);
        }
        let agents = vec!["agent-2".to_owned()];
        let select = Select { agents, order: Order::NewestFirst, ..Select::default() };
        let of_agent: Vec<_> = model.iter().rev().filter_map(|entry| match entry {
            Entry::Exchange(exchange) if exchange.get().agent == "agent-2" => Some(exchange.get().id),
            Entry::Exchange(_) | Entry::Session(_) | Entry::Event(_) | Entry::Gap(_) => None,
        }).collect();
        prop_assert_eq!(conformance::selected(&store, &select).unwrap(), of_agent);
    }
}
