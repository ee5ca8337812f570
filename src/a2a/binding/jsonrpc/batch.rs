//! JSON-RPC batches: several calls in one array, and their answers in another, in any order.
//!
//! A2A has none, and its servers refuse them; but a peer may send one, and what is asked in it must not
//! go unseen. Each member is read as the call it is; the batch itself has no operation, so no rule that
//! names one applies to it.

use http::StatusCode;
use serde_json::value::RawValue;

use super::envelope::Envelope;
use super::{read_envelope, read_outcome};
use crate::a2a::binding::shared::json;
use crate::a2a::call::{Answer, Call};
use crate::a2a::problem::Problem;

/// How many members of a batch are read.
const MEMBERS_MAX: usize = 100;

/// How many of their names stand in the name of the batch.
const NAMES_MAX: usize = 8;

/// Whether a text is to be read as a batch.
pub(super) fn is_one(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

/// Reads the members of a batch into a call.
pub(super) fn read_call(text: &str, call: &mut Call) {
    let items = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(items) => items,
        Err(error) => {
            call.problems.push(Problem::new("invalid_json", "$", error.to_string()));
            return;
        }
    };
    let read = items.len().min(MEMBERS_MAX);
    let told =
        format!("a batch of {}, {read} read: rules do not apply to its members", items.len());
    call.problems.push(Problem::new("batch", "$", told));
    for (index, item) in items.iter().take(MEMBERS_MAX).enumerate() {
        let at = format!("$[{index}]");
        let mut member =
            Call { binding: call.binding, declared: call.declared.clone(), ..Call::default() };
        let envelope = Envelope::read(item.get(), "$", &mut member.problems);
        if let Some(mut envelope) = envelope {
            read_envelope(&mut envelope, &mut member);
        }
        json::rebase(&mut member.problems, &at);
        call.problems.extend(member.problems.iter().cloned());
        call.batch.push(member);
    }
    call.wire_name = name(&call.batch);
}

/// Reads an array of answers; each finds its call by its id.
pub(super) fn read_answer(
    text: &str,
    call: &Call,
    status: StatusCode,
    answer: &mut Answer,
    problems: &mut Vec<Problem>,
) {
    let items = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(items) => items,
        Err(error) => {
            problems.push(Problem::new("invalid_json", "$", error.to_string()));
            return;
        }
    };
    for (index, item) in items.iter().take(MEMBERS_MAX).enumerate() {
        let at = format!("$[{index}]");
        let mut found = Vec::new();
        let envelope = Envelope::read(item.get(), "$", &mut found);
        if let Some(mut envelope) = envelope {
            let is_open = |place: usize| answer.batch.iter().all(|(known, _)| *known != place);
            let asked = call.batch.iter().enumerate();
            let mut fitting =
                asked.filter(|(place, member)| is_open(*place) && envelope.answers(member));
            if let Some((place, member)) = fitting.next() {
                let mut one = Answer::default();
                read_outcome(&mut envelope, member, status, &mut one, &mut found);
                one.problems.clone_from(&found);
                if answer.error.is_none() {
                    answer.error.clone_from(&one.error);
                }
                answer.batch.push((place, one));
            } else {
                let text = "no call of the batch that still waits has this id";
                found.push(Problem::new("wrong_id", "$.id", text));
            }
        }
        json::rebase(&mut found, &at);
        problems.append(&mut found);
    }
}

/// `[tasks/get, tasks/cancel]`.
fn name(members: &[Call]) -> String {
    let names: Vec<&str> = members
        .iter()
        .take(NAMES_MAX)
        .map(|member| if member.wire_name.is_empty() { "?" } else { &member.wire_name })
        .collect();
    let more = if members.len() > NAMES_MAX { ", …" } else { "" };
    format!("[{}{more}]", names.join(", "))
}
