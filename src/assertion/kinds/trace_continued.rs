//! Whether traces go on: who is asked can be found in the trace of who asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::finding::Finding;
use super::super::quote::{plural, quote};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::{Node, Yaml};
use super::{Assertion, Named};
use crate::record::delegation::Delegation;
use crate::record::exchange::Exchange;
use crate::record::query::Filter;

/// Every delegation carries a trace, and one that another caused carries the same.
#[derive(Debug)]
pub(super) struct TraceContinued;

impl Named for TraceContinued {
    const NAME: &'static str = "trace_continued";
    const SUMMARY: &'static str = "every request of the delegations carries a `traceparent` (W3C Trace Context), and what a remote agent asks while it works carries the trace it was asked under";
    const EXAMPLES: &'static [&'static str] =
        &["trace_continued: true", "trace_continued: { on: { agent: billing } }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        // `on:` may have been all that its map held.
        match &body.value {
            Yaml::Map(entries) if entries.is_empty() => Some(Self),
            Yaml::Null
            | Yaml::Bool(_)
            | Yaml::Number(_)
            | Yaml::Text(_)
            | Yaml::List(_)
            | Yaml::Map(_) => super::only_true(body, Self::NAME, reader).map(|()| Self),
        }
    }
}

impl Assertion for TraceContinued {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = "every delegation goes on with the trace of what caused it";
        if view.delegations.is_empty() {
            let text = "nothing to look at: no delegation is left here";
            return vec![Finding::vacuous(expected, text)];
        }
        let everyone = Filter { session: view.filter.session.clone(), ..Filter::default() };
        let all = view.source.delegations(&everyone);
        let mut broken = Vec::new();
        for delegation in &view.delegations {
            if let Some(why) = broken_at(view, &all, delegation) {
                broken.push((delegation, why));
            }
        }
        if broken.is_empty() {
            return Vec::new();
        }
        let actual = format!("broken at {}", plural(broken.len(), "delegation"));
        vec![Finding::failed(expected, actual).proved_by(view.proof(&broken))]
    }
}

/// Why a delegation's trace is broken, if it is.
fn broken_at(
    view: &RunView<'_>,
    all: &[Arc<Delegation>],
    delegation: &Arc<Delegation>,
) -> Option<String> {
    let mut own: BTreeSet<String> = BTreeSet::new();
    for exchange in view.exchanges_of(delegation) {
        match trace(&exchange) {
            Ok(trace) => {
                own.insert(trace);
            }
            // A delivery is the agent's own request, under a trace of its own.
            Err(why) if exchange.id == delegation.id => return Some(why),
            Err(_) => {}
        }
    }
    let caused_by: Vec<&Arc<Delegation>> = match delegation.parent {
        Some(parent) => all.iter().filter(|it| it.id == parent).collect(),
        // Its sender is an agent that was being asked at that moment.
        None => all.iter().filter(|it| was_asking(it, delegation)).collect(),
    };
    let traces: BTreeSet<String> = caused_by
        .iter()
        .filter_map(|cause| view.source.exchange(cause.id).and_then(|it| trace(&it).ok()))
        .collect();
    if caused_by.is_empty() || traces.is_empty() || !own.is_disjoint(&traces) {
        return None;
    }
    let cause = caused_by.first().map_or(String::new(), |cause| view.name(cause));
    Some(format!("another trace than that of {cause}, which caused it"))
}

fn was_asking(cause: &Delegation, delegation: &Delegation) -> bool {
    let ms = cause.duration_ms.unwrap_or(0.0);
    let begun = delegation.started.duration_since(cause.started).as_secs_f64() * 1000.0;
    cause.agent == delegation.orchestrator
        && cause.id != delegation.id
        && begun >= 0.0
        && begun <= ms
}

/// The trace id of a request, or why it has none.
fn trace(exchange: &Exchange) -> Result<String, String> {
    let mut fields = exchange.request.headers.iter();
    let field = fields.find(|(name, _)| name.eq_ignore_ascii_case("traceparent"));
    let Some((_, value)) = field else { return Err("no `traceparent`".to_owned()) };
    let parts: Vec<&str> = value.trim().split('-').collect();
    let is_hex = |text: &str, len: usize| {
        text.len() == len
            && text.bytes().all(|octet| octet.is_ascii_hexdigit())
            && text.bytes().any(|octet| octet != b'0')
    };
    match parts.as_slice() {
        [version, trace, span, flags, ..]
            if version.len() == 2
                && *version != "ff"
                && flags.len() == 2
                && is_hex(trace, 32)
                && is_hex(span, 16) =>
        {
            Ok(trace.to_ascii_lowercase())
        }
        _ => Err(format!("`traceparent` is {}", quote(value))),
    }
}
