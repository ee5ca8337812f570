//! Numbers about the selection.

use super::super::compare::Bounds;
use super::super::finding::Finding;
use super::super::metrics::{Measured, Metric, Samples};
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// A metric lies within bounds.
#[derive(Debug)]
pub(super) struct MetricIs {
    metric: Metric,
    bounds: Bounds,
}

impl Named for MetricIs {
    const NAME: &'static str = "metric";
    const SUMMARY: &'static str = "a number about the selection lies within bounds";
    const EXAMPLES: &'static [&'static str] = &[
        "metric: { name: delegations, lte: 2 }",
        "metric: { name: delegation_latency_ms_p95, lte: 2000, on: { agent: billing } }",
        "metric: { name: time_to_first_event_ms, lt: 500 }",
    ];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(body, "a map like { name: delegations, lte: 2 }", reader)?;
        let metric = fields.need("name", reader).and_then(|node| reader.parsed(node));
        let bounds = Bounds::need(&mut fields, reader);
        fields.finish(reader);
        Some(Self { metric: metric?, bounds: bounds? })
    }
}

impl Assertion for MetricIs {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let expected = format!("{} {}", self.metric, self.bounds);
        match self.metric.measure(view) {
            Measured::Count { count, proof } => {
                if self.bounds.hold_count(count) {
                    return Vec::new();
                }
                vec![Finding::failed(expected, count.to_string()).proved_by(proof)]
            }
            Measured::Samples(Samples { values, left_out }) => {
                let wrong: Vec<_> =
                    values.iter().filter(|sample| !sample.within(&self.bounds)).collect();
                if values.is_empty() {
                    let actual = format!("nothing to measure: {left_out}");
                    return vec![Finding::vacuous(expected, actual)];
                }
                let Some(worst) = wrong.first() else { return Vec::new() };
                let actual = match wrong.len() {
                    1 => worst.shown(),
                    count => format!(
                        "{count} of {} are not, the first is {}",
                        values.len(),
                        worst.shown()
                    ),
                };
                let proof = wrong.iter().take(5).map(|sample| sample.proof(view));
                vec![Finding::failed(expected, actual).proved_by(proof)]
            }
            Measured::Cannot(why) => vec![Finding::vacuous(expected, why)],
        }
    }
}
