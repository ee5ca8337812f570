//! How an orchestrator insists after a failure.

use std::sync::Arc;

use jiff::SignedDuration;

use crate::record::delegation::Delegation;
use crate::record::exchange::Outcome;

use super::super::compare::Bounds;
use super::super::ends::is_bad_end;
use super::super::finding::Finding;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};

/// After a failure the same message is sent again so often, and not sooner than this.
#[derive(Debug)]
pub(super) struct Retries {
    bounds: Bounds,
    pause_seconds: Option<f64>,
}

/// A failed delegation and those that tried it again.
type Attempts<'v> = Vec<&'v Arc<Delegation>>;

impl Named for Retries {
    const NAME: &'static str = "retries";
    const SUMMARY: &'static str = "after a failure the same message (by id or text) goes to the same agent again so often, each time after a pause";
    const EXAMPLES: &'static [&'static str] = &[
        "retries: { lte: 2 }",
        "retries: { lte: 3, backoff: { min_seconds: 0.5 } }",
        "retries: 0",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Yaml::Number(_) = body.value {
            let bounds = Bounds::exactly(reader.count(body)?);
            return Some(Self { bounds, pause_seconds: None });
        }
        let form = "a map like { lte: 2, backoff: { min_seconds: 1 } }";
        let mut fields = Fields::of(body, form, reader)?;
        let at = fields.at();
        let pause = match fields.take("backoff") {
            None => Some(None),
            Some(node) => {
                let mut inner = Fields::of(node, "a map like { min_seconds: 1 }", reader)?;
                let pause = inner.need("min_seconds", reader).and_then(|node| reader.amount(node));
                inner.finish(reader);
                pause.map(Some)
            }
        };
        let bounds = Bounds::take(&mut fields, reader);
        fields.finish(reader);
        let (bounds, pause_seconds) = (bounds?, pause?);
        if bounds.is_empty() && pause_seconds.is_none() {
            reader.problem(at, "expected bounds like `lte`, or `backoff`");
            return None;
        }
        Some(Self { bounds, pause_seconds })
    }
}

impl Assertion for Retries {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let failures = failures(view);
        if failures.is_empty() {
            let text = format!("nothing to look at: none of {} failed", view.counted());
            return vec![Finding::vacuous("retries after a failure", text)];
        }
        let mut findings = Vec::new();
        for attempts in &failures {
            let again = attempts.len().saturating_sub(1);
            let proof =
                || attempts.iter().take(5).map(|attempt| view.evidence(attempt, started(attempt)));
            if !self.bounds.is_empty() && !self.bounds.hold_count(again) {
                let expected = format!("{} retries after a failure", self.bounds);
                findings.push(Finding::failed(expected, again.to_string()).proved_by(proof()));
            }
            if let Some(limit) = self.pause_seconds
                && let Some(shortest) = shortest_pause(attempts)
                && shortest < limit
            {
                let expected = format!("at least {limit} s before each retry");
                let actual = format!("{shortest:.3} s before one of {again}");
                findings.push(Finding::failed(expected, actual).proved_by(proof()));
            }
        }
        findings
    }
}

/// Each failure with what tried it again, oldest first. A retry that fails belongs to the first failure.
fn failures<'v>(view: &'v RunView<'_>) -> Vec<Attempts<'v>> {
    let mut chains: Vec<Attempts<'v>> = Vec::new();
    for delegation in &view.delegations {
        let before = chains.iter_mut().find(|chain| {
            chain.last().is_some_and(|last| failed(last) && is_same_message(last, delegation))
        });
        match before {
            Some(chain) => chain.push(delegation),
            None if failed(delegation) => chains.push(vec![delegation]),
            None => {}
        }
    }
    chains
}

fn failed(delegation: &Delegation) -> bool {
    is_bad_end(delegation) || delegation.outcome == Outcome::AnsweredByFault
}

fn is_same_message(a: &Delegation, b: &Delegation) -> bool {
    a.agent == b.agent
        && ((a.message_id.is_some() && a.message_id == b.message_id) || a.text == b.text)
}

/// The shortest time between the end of an attempt and the start of the next.
fn shortest_pause(attempts: &Attempts<'_>) -> Option<f64> {
    let pauses = attempts.iter().zip(attempts.iter().skip(1)).map(|(before, after)| {
        let between: SignedDuration = after.started.duration_since(before.started);
        between.as_secs_f64() - before.duration_ms.unwrap_or(0.0) / 1000.0
    });
    pauses.min_by(f64::total_cmp)
}

fn started(delegation: &Delegation) -> String {
    format!("started {}", delegation.started)
}
