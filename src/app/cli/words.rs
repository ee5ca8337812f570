//! Recorded things in the words of the listings.

use jiff::Timestamp;

use super::output::{Lines, Tint, clean};
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::GrpcCode;
use crate::admin::word;
use crate::record::delegation::Delegation;
use crate::record::exchange::{Exchange, FaultVerdict, Outcome, RecordedResponse};

/// A time as listings show it: UTC, to the millisecond; JSON has it whole.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%m-%d %H:%M:%S%.3f").to_string()
}

/// A binding; `-` for what is not A2A.
pub(super) fn binding(binding: Option<Binding>) -> &'static str {
    binding.map_or("-", Binding::as_str)
}

/// A version; `-` when none was spoken.
pub(super) fn version(version: Option<ProtocolVersion>) -> &'static str {
    version.map_or("-", ProtocolVersion::as_str)
}

/// Milliseconds, to a tenth; `-` when there was no end.
pub(super) fn ms(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"))
}

/// Names, joined; `-` for none.
pub(super) fn list(names: &[String]) -> String {
    if names.is_empty() { "-".to_owned() } else { clean(&names.join(", "), Lines::Joined) }
}

/// The state; beside it the outcome, when that says something else: `working (cut_by_agent)`.
pub(super) fn state_and_outcome(delegation: &Delegation) -> String {
    let outcome = word(delegation.outcome);
    match &delegation.state {
        Some(state) if *state == outcome => outcome,
        Some(state) => format!("{} ({outcome})", clean(state, Lines::Joined)),
        None => outcome,
    }
}

/// The HTTP status, and the gRPC status where there is one.
pub(super) fn status(response: &RecordedResponse) -> String {
    match response.grpc_status {
        Some(code) => match GrpcCode::new(code) {
            Some(code) => format!("{} {code}", response.status),
            None => format!("{} grpc {code}", response.status),
        },
        None => response.status.to_string(),
    }
}

/// The rules that fired.
pub(super) fn fired(exchange: &Exchange) -> Vec<String> {
    let fired = |verdict| matches!(verdict, FaultVerdict::Fired);
    let faults = exchange.faults.iter().filter(|fault| fired(fault.verdict));
    faults.map(|fault| fault.rule.clone()).collect()
}

/// From the head of the request to the end of the answer, in milliseconds.
pub(super) fn duration(exchange: &Exchange) -> Option<f64> {
    exchange.timings.end_us.map(us_to_ms)
}

/// Microseconds as milliseconds.
#[expect(clippy::cast_precision_loss, reason = "exact below 285 years")]
pub(super) fn us_to_ms(us: u64) -> f64 {
    us as f64 / 1000.0
}

/// Whether an outcome is good or bad news.
pub(super) const fn tint(outcome: Outcome) -> Tint {
    match outcome {
        Outcome::Completed | Outcome::Message => Tint::Good,
        Outcome::Failed
        | Outcome::Rejected
        | Outcome::Error
        | Outcome::CutByAgent
        | Outcome::UpstreamError
        | Outcome::Malformed => Tint::Bad,
        Outcome::Canceled
        | Outcome::InputRequired
        | Outcome::AuthRequired
        | Outcome::Incomplete
        | Outcome::CutByClient
        | Outcome::AnsweredByFault
        | Outcome::OpenAtStop => Tint::Warn,
        Outcome::Working => Tint::Plain,
    }
}
