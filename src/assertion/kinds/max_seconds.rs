//! How long the agents took.

use super::super::finding::Finding;
use super::super::metrics::{self, Sample};
use super::super::reader::Reader;
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// Every delegation took at most so long.
#[derive(Debug)]
pub(super) struct MaxSeconds(f64);

impl Named for MaxSeconds {
    const NAME: &'static str = "max_seconds";
    const SUMMARY: &'static str =
        "every turn took at most so many seconds, from the send to the last answer about it";
    const EXAMPLES: &'static [&'static str] =
        &["max_seconds: 10", "{ max_seconds: 2.5, on_turn: last }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.amount(body).map(Self)
    }
}

impl Assertion for MaxSeconds {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        at_most(self.0, "every turn", &metrics::turn_latency(view), view)
    }
}

/// Every sample is at most so many seconds, and there is one.
pub(super) fn at_most(
    limit: f64,
    what: &str,
    measured: &metrics::Samples,
    view: &RunView<'_>,
) -> Vec<Finding> {
    let expected = format!("{what} takes at most {limit} s");
    if measured.values.is_empty() {
        let actual = format!("nothing to measure: {}", measured.left_out);
        return vec![Finding::vacuous(expected, actual)];
    }
    let slow: Vec<&Sample> =
        measured.values.iter().filter(|sample| sample.value > limit * 1000.0).collect();
    let Some(slowest) = slow.iter().max_by(|a, b| a.value.total_cmp(&b.value)) else {
        return Vec::new();
    };
    let actual = format!(
        "{} of {} took longer, the slowest {:.3} s",
        slow.len(),
        measured.values.len(),
        slowest.value / 1000.0
    );
    let proof = slow.iter().take(5).map(|sample| sample.proof(view));
    vec![Finding::failed(expected, actual).proved_by(proof)]
}
