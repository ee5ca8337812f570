//! Rules as a specification: when they are asked, in which order, and what is counted.

mod conditions;
mod counters;
mod errors;
mod invented;
mod order;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::base::rng::draw;
use crate::fault::testing::{World, brief, rules, try_rules};
use crate::fault::verdict::{Became, Effect, Made, Start};

/// What became of each rule: `name=Fired` and so on.
fn became(judgement: &Judgement) -> String {
    let notes = judgement.notes.iter().map(|note| format!("{}={:?}", note.rule, note.became));
    notes.collect::<Vec<_>>().join(" ")
}

fn has_fired(judgement: &Judgement) -> bool {
    judgement.notes.iter().any(|note| note.became == Became::Fired)
}
