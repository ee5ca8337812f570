//! How long the agents took, by percentile.

use super::super::finding::Finding;
use super::super::metrics::{self, percentile};
use super::super::quote::plural;
use super::super::reader::{Fields, Reader};
use super::super::view::RunView;
use super::super::yaml::Node;
use super::{Assertion, Named};

/// Percentiles of the turns' durations are at most these.
#[derive(Debug)]
pub(super) struct Latency(Vec<(&'static str, f64, f64)>);

const KEYS: &[(&str, f64)] = &[("p50_seconds", 50.0), ("p95_seconds", 95.0), ("p99_seconds", 99.0)];

impl Named for Latency {
    const NAME: &'static str = "latency";
    const SUMMARY: &'static str =
        "percentiles of the turns' durations, by linear interpolation, are at most these";
    const EXAMPLES: &'static [&'static str] =
        &["latency: { p50_seconds: 5, p95_seconds: 10, p99_seconds: 12.5 }"];

    fn parse(body: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut fields = Fields::of(body, "a map like { p95_seconds: 10 }", reader)?;
        let at = fields.at();
        let mut limits = Vec::new();
        for (name, percent) in KEYS {
            if let Some(node) = fields.take(name) {
                limits.push((*name, *percent, reader.amount(node)?));
            }
        }
        fields.finish(reader);
        if limits.is_empty() {
            reader.problem(
                at,
                "expected at least one of `p50_seconds`, `p95_seconds`, `p99_seconds`",
            );
            return None;
        }
        Some(Self(limits))
    }
}

impl Assertion for Latency {
    fn check(&self, view: &RunView<'_>) -> Vec<Finding> {
        let measured = metrics::turn_latency(view);
        let values: Vec<f64> = measured.values.iter().map(|sample| sample.value).collect();
        let mut findings = Vec::new();
        for (name, percent, limit) in &self.0 {
            let expected = format!("{name} at most {limit}");
            match percentile(&values, *percent) {
                None => {
                    let actual = format!("nothing to measure: {}", measured.left_out);
                    findings.push(Finding::vacuous(expected, actual));
                }
                Some(value) if value <= limit * 1000.0 => {}
                Some(value) => {
                    let of = plural(values.len(), "turn");
                    let actual = format!("{:.3} over {of}", value / 1000.0);
                    findings.push(Finding::failed(expected, actual));
                }
            }
        }
        findings
    }
}
