//! The metrics: one row each in [`METRICS`], with the definition that the reference page prints.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Number;

use super::compare::Bounds;
use super::ends::is_errored;
use super::finding::Evidence;
use super::nearest::nearest;
use super::quote::plural;
use super::view::RunView;
use super::{cards, timing};
use crate::a2a::model::Operation;
use crate::record::delegation::Delegation;
use crate::record::exchange::{Exchange, FaultVerdict};

/// One metric.
pub struct MetricRow {
    /// Its name.
    pub name: &'static str,
    /// What is counted, or from which octet to which octet the time is taken.
    pub definition: &'static str,
    measure: Measure,
}

enum Measure {
    /// One number for the selection.
    Count(fn(&RunView<'_>) -> Result<usize, String>),
    /// A number for each delegation; `_p50 _p95 _p99 _max` make one of them.
    Samples(fn(&RunView<'_>) -> Samples),
}

/// The metrics, by name.
#[rustfmt::skip]
pub const METRICS: &[MetricRow] = &[
    count("a2a_pushes", "push deliveries to webhooks registered through Meddler", |view| Ok(exchanges_of(view, &[Operation::PushNotification]))),
    count("a2a_requests", "A2A requests of the orchestrator: sends, polls, subscriptions, cancels, push configs, lists; not cards fetched at well-known addresses", |view| Ok(a2a_requests(view))),
    count("a2a_resubscribes", "subscriptions to a task that already exists", |view| Ok(exchanges_of(view, &[Operation::SubscribeToTask]))),
    count("a2a_skills", "skills on the newest card that each agent gave", a2a_skills),
    count("a2a_tasks", "distinct tasks (agent and task id) that answered", |view| Ok(a2a_tasks(view))),
    samples("delegation_latency_ms", "from the head of the send to the last octet of its answer; errored delegations left out", delegation_latency),
    count("delegations", "messages the orchestrator sent", |view| Ok(view.delegations.len())),
    count("exchanges", "requests on the wire, of whatever kind", |view| Ok(view.exchanges().len())),
    count("faults_injected", "times a fault rule fired", |view| Ok(faults_injected(view))),
    count("request_bytes", "octets of the bodies of the requests, as they came", request_bytes),
    count("response_bytes", "octets of the bodies of the agents' answers, as they came", response_bytes),
    count("retries", "delegations to the same agent with the message id of an earlier one", |view| Ok(view.delegations.iter().filter(|delegation| delegation.retry_of.is_some()).count())),
    count("stream_events", "events of streams and pushes that could be read", |view| Ok(view.delegations.iter().map(|delegation| delegation.events.len()).sum())),
    samples("time_to_first_event_ms", "from the head of the send to the last octet of the first event of its stream; errored delegations and those without a stream left out", first_event),
    samples("time_to_first_token_ms", "from the head of the send to the last octet of the first event of its stream that has text; errored delegations and those without such an event left out", first_text),
    samples("turn_latency_ms", "from the head of the send to the last octet of the answer, stream, poll or push that first told the last known state; errored delegations left out", turn_latency),
    count("turns", "messages of the orchestrator in one conversation; of several conversations, in the longest", |view| Ok(view.turns().iter().map(Vec::len).max().unwrap_or(0))),
];

const fn count(
    name: &'static str,
    definition: &'static str,
    count: fn(&RunView<'_>) -> Result<usize, String>,
) -> MetricRow {
    MetricRow { name, definition, measure: Measure::Count(count) }
}

const fn samples(
    name: &'static str,
    definition: &'static str,
    samples: fn(&RunView<'_>) -> Samples,
) -> MetricRow {
    MetricRow { name, definition, measure: Measure::Samples(samples) }
}

/// A metric as a suite names it.
pub(super) struct Metric {
    row: &'static MetricRow,
    statistic: Statistic,
}

/// What is made of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    /// Nothing: each of them must lie within the bounds.
    Each,
    Percentile(f64),
    Max,
}

const STATISTICS: &[(&str, Statistic)] = &[
    ("_max", Statistic::Max),
    ("_p50", Statistic::Percentile(50.0)),
    ("_p95", Statistic::Percentile(95.0)),
    ("_p99", Statistic::Percentile(99.0)),
];

/// What may be put behind the name of a metric that is measured at each delegation.
pub(super) fn statistics() -> impl Iterator<Item = &'static str> {
    STATISTICS.iter().map(|(suffix, _)| *suffix)
}

/// What a metric amounts to.
pub(super) enum Measured {
    Count { count: usize, proof: Vec<Evidence> },
    Samples(Samples),
    Cannot(String),
}

/// Measured values, one a delegation.
pub(super) struct Samples {
    pub(super) values: Vec<Sample>,
    /// Why there are not more, in words.
    pub(super) left_out: String,
}

/// One value and where it was measured.
pub(super) struct Sample {
    /// In milliseconds.
    pub(super) value: f64,
    /// What was measured at the delegation; differs from `value` when that is made of several.
    measured: f64,
    delegation: Arc<Delegation>,
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let exact = METRICS.iter().find(|row| row.name == name);
        if let Some(row) = exact {
            return Ok(Self { row, statistic: Statistic::Each });
        }
        let of_samples = STATISTICS.iter().find_map(|(suffix, statistic)| {
            let row = METRICS.iter().find(|row| name.strip_suffix(suffix) == Some(row.name))?;
            matches!(row.measure, Measure::Samples(_))
                .then_some(Self { row, statistic: *statistic })
        });
        of_samples.ok_or_else(|| match nearest(name, known_names().iter().map(String::as_str)) {
            Some(near) => format!("unknown metric `{name}`; did you mean `{near}`?"),
            None => format!("unknown metric `{name}`; known: {}", known_names().join(", ")),
        })
    }
}

/// Every name a suite may use.
fn known_names() -> Vec<String> {
    let mut names = Vec::new();
    for row in METRICS {
        names.push(row.name.to_owned());
        match row.measure {
            Measure::Count(_) => {}
            Measure::Samples(_) => {
                names.extend(STATISTICS.iter().map(|(suffix, _)| format!("{}{suffix}", row.name)));
            }
        }
    }
    names
}

impl Metric {
    /// Measures it over what is looked at.
    pub(super) fn measure(&self, view: &RunView<'_>) -> Measured {
        match &self.row.measure {
            Measure::Count(count) => match count(view) {
                Ok(count) => Measured::Count { count, proof: view.messages(|_| true) },
                Err(why) => Measured::Cannot(why),
            },
            Measure::Samples(samples) => Measured::Samples(self.statistic.of(samples(view))),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = STATISTICS.iter().find(|(_, statistic)| *statistic == self.statistic);
        write!(f, "{}{}", self.row.name, suffix.map_or("", |(suffix, _)| *suffix))
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Statistic {
    fn of(self, samples: Samples) -> Samples {
        let Samples { values, left_out } = samples;
        let one_of = |values: Vec<Sample>, value: Option<f64>| {
            let slowest = values.into_iter().max_by(|a, b| a.value.total_cmp(&b.value));
            let one = slowest.zip(value).map(|(slowest, value)| Sample { value, ..slowest });
            one.into_iter().collect()
        };
        let plain: Vec<f64> = values.iter().map(|sample| sample.value).collect();
        let values = match self {
            Self::Each => values,
            Self::Max => one_of(values, plain.into_iter().max_by(f64::total_cmp)),
            Self::Percentile(percent) => one_of(values, percentile(&plain, percent)),
        };
        Samples { values, left_out }
    }
}

impl Sample {
    /// Whether it lies within.
    pub(super) fn within(&self, bounds: &Bounds) -> bool {
        Number::from_f64(self.value).is_some_and(|number| bounds.hold(&number))
    }

    /// For people.
    pub(super) fn shown(&self) -> String {
        format!("{:.3}", self.value)
    }

    /// The delegation it was measured at; for what is made of several, the slowest of them.
    pub(super) fn proof(&self, view: &RunView<'_>) -> Evidence {
        view.evidence(&self.delegation, format!("{:.3} ms", self.measured))
    }
}

/// The value below which `percent` of the values lie, by linear interpolation between the two nearest
/// ranks (rank = percent / 100 * (n - 1), from 0): what `NumPy` and spreadsheets call "linear", or
/// inclusive.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank is between 0 and the number of values, far below 2^52"
)]
pub(super) fn percentile(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = percent / 100.0 * sorted.len().checked_sub(1)? as f64;
    let below = *sorted.get(rank.floor() as usize)?;
    let above = *sorted.get(rank.ceil() as usize)?;
    Some(below + (above - below) * rank.fract())
}

/// `turn_latency_ms`.
pub(super) fn turn_latency(view: &RunView<'_>) -> Samples {
    sample(view, "a duration", |delegation| timing::settled_ms(view, delegation))
}

/// `time_to_first_event_ms`.
pub(super) fn first_event(view: &RunView<'_>) -> Samples {
    sample(view, "a stream", |delegation| delegation.first_event_ms)
}

fn first_text(view: &RunView<'_>) -> Samples {
    sample(view, "an event with text", |delegation| timing::first_text_ms(view, delegation))
}

fn delegation_latency(view: &RunView<'_>) -> Samples {
    sample(view, "a duration", |delegation| delegation.duration_ms)
}

fn sample(view: &RunView<'_>, what: &str, value: impl Fn(&Delegation) -> Option<f64>) -> Samples {
    let mut values = Vec::new();
    let (mut errored, mut without) = (0, 0);
    for delegation in &view.delegations {
        match value(delegation) {
            _ if is_errored(delegation.outcome) => errored += 1,
            None => without += 1,
            Some(value) => {
                values.push(Sample { value, measured: value, delegation: Arc::clone(delegation) });
            }
        }
    }
    let all = plural(view.delegations.len(), "delegation");
    let left_out = format!("of {all}, {errored} ended in an error and {without} had not {what}");
    Samples { values, left_out }
}

fn exchanges_of(view: &RunView<'_>, operations: &[Operation]) -> usize {
    let wanted = |exchange: &&Arc<Exchange>| operations.contains(&exchange.operation);
    view.exchanges().iter().filter(wanted).count()
}

fn a2a_requests(view: &RunView<'_>) -> usize {
    let asked: Vec<Operation> = Operation::all()
        .filter(|operation| {
            !matches!(
                operation,
                Operation::AgentCard | Operation::PushNotification | Operation::Unknown
            )
        })
        .collect();
    exchanges_of(view, &asked)
}

fn a2a_skills(view: &RunView<'_>) -> Result<usize, String> {
    let exchanges = view.exchanges();
    let cards = cards::newest(&exchanges);
    if cards.is_empty() {
        return Err("no card was fetched within the selection".to_owned());
    }
    Ok(cards.values().map(|card| card.skills.len()).sum())
}

fn a2a_tasks(view: &RunView<'_>) -> usize {
    let tasks: BTreeSet<_> = view
        .delegations
        .iter()
        .filter_map(|delegation| Some((&delegation.agent, delegation.task_id.as_ref()?)))
        .collect();
    tasks.len()
}

fn faults_injected(view: &RunView<'_>) -> usize {
    let exchanges = view.exchanges();
    let faults = exchanges.iter().flat_map(|exchange| &exchange.faults);
    faults.filter(|fault| fault.verdict == FaultVerdict::Fired).count()
}

fn request_bytes(view: &RunView<'_>) -> Result<usize, String> {
    sum(view, |exchange| exchange.request.body.bytes)
}

fn response_bytes(view: &RunView<'_>) -> Result<usize, String> {
    sum(view, |exchange| exchange.response.as_ref().map_or(0, |response| response.body.bytes))
}

fn sum(view: &RunView<'_>, bytes: impl Fn(&Exchange) -> u64) -> Result<usize, String> {
    let total: u64 = view.exchanges().iter().map(|exchange| bytes(exchange)).sum();
    usize::try_from(total).map_err(|_| "more octets than this machine can count".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], percent: f64, expected: f64) {
        let actual = percentile(values, percent).unwrap();
        assert!((actual - expected).abs() < 1e-9, "p{percent} of {values:?} is {actual}");
    }

    #[test]
    fn percentiles_are_interpolated_linearly() {
        check(&[7.0], 95.0, 7.0);
        check(&[20.0, 10.0], 50.0, 15.0);
        check(&[1.0, 2.0, 3.0, 4.0], 50.0, 2.5);
        check(&[10.0, 20.0, 30.0, 40.0, 50.0], 95.0, 48.0);
        check(&[10.0, 20.0, 30.0, 40.0, 50.0], 99.0, 49.6);
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn metrics_are_sorted_and_defined() {
        assert!(METRICS.is_sorted_by_key(|row| row.name));
        assert!(METRICS.iter().all(|row| !row.definition.is_empty()));
    }

    #[test]
    fn a_misspelt_metric_is_told_what_exists() {
        for (name, expected) in [
            ("delegation", "unknown metric `delegation`; did you mean `delegations`?"),
            (
                "delegation_latency_p95",
                "unknown metric `delegation_latency_p95`; did you mean `delegation_latency_ms_p95`?",
            ),
            (
                "delegation_latency_ms_p90",
                "unknown metric `delegation_latency_ms_p90`; did you mean `delegation_latency_ms_p50`?",
            ),
            ("delegations_p95", "unknown metric `delegations_p95`; did you mean `delegations`?"),
        ] {
            assert_eq!(name.parse::<Metric>().unwrap_err(), expected);
        }
        assert_eq!(
            "turn_latency_ms_max".parse::<Metric>().unwrap().to_string(),
            "turn_latency_ms_max"
        );
    }
}
