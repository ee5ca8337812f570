//! `delay`: the answer comes late, or slowly. The fault that finds missing timeouts.
//!
//! The wait is drawn here, once an exchange, so that it can be recorded and repeated; `proxy` sleeps.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::{Fault, Named, Role};
use crate::a2a::call::Call;
use crate::base::rng::Rng;
use crate::fault::made::Place;
use crate::fault::settings::{self, Rate, Span};
use crate::fault::shot::Shot;
use crate::fault::verdict::{Effect, Moment, Start};

/// The longest wait that is drawn: a Pareto tail has no end of its own.
const WAIT_MAX: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(super) struct Delay {
    how: How,
    /// As written; `None`: the request, or the event that the rule names.
    at: Option<At>,
    event: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Wait(Distribution),
    Throttle(Rate),
}

#[derive(Clone, Copy, Debug)]
enum Distribution {
    Fixed(Duration),
    Range(Duration, Duration),
    Normal(Normal),
    Pareto(Pareto),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum At {
    Request,
    FirstByte,
    Event,
    End,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Normal {
    mean: Span,
    stddev: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pareto {
    scale: Span,
    shape: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    fixed: Option<Span>,
    range: Option<(Span, Span)>,
    normal: Option<Normal>,
    pareto: Option<Pareto>,
    bandwidth: Option<Rate>,
    at: Option<At>,
}

impl Named for Delay {
    const NAME: &'static str = "delay";
    const SUMMARY: &'static str = "Let the answer come late, or slowly";
    const ROLE: Role = Role::TakesTime;

    fn parse(settings: &Value) -> Result<Self, String> {
        if let Value::String(_) | Value::Number(_) = settings {
            let fixed = Span::try_from(settings.clone())?;
            let how = How::Wait(Distribution::Fixed(fixed.0));
            return Ok(Self { how, at: None, event: None });
        }
        if !settings.is_object() {
            return Err("how long? write 500ms, or a map with fixed, range, normal, pareto or \
                        bandwidth"
                .to_owned());
        }
        let settings: Settings = settings::read(settings)?;
        let at = settings.at;
        let how = settings.how()?;
        match (how, at) {
            (How::Throttle(_), Some(_)) => Err("bandwidth has no `at`".to_owned()),
            (How::Throttle(_), None) | (How::Wait(_), _) => Ok(Self { how, at, event: None }),
        }
    }
}

impl Settings {
    fn how(self) -> Result<How, String> {
        let Self { fixed, range, normal, pareto, bandwidth, at: _ } = self;
        let mut given = Vec::new();
        given.extend(fixed.map(|span| How::Wait(Distribution::Fixed(span.0))));
        if let Some((low, high)) = range {
            if low.0 > high.0 {
                return Err("range: the first is longer than the second".to_owned());
            }
            given.push(How::Wait(Distribution::Range(low.0, high.0)));
        }
        given.extend(normal.map(|normal| How::Wait(Distribution::Normal(normal))));
        if let Some(pareto) = pareto {
            if !(pareto.shape > 0.0 && pareto.shape.is_finite()) {
                return Err(format!("pareto.shape: {} is not above 0", pareto.shape));
            }
            given.push(How::Wait(Distribution::Pareto(pareto)));
        }
        given.extend(bandwidth.map(How::Throttle));
        match given.as_slice() {
            [how] => Ok(*how),
            [] | [_, _, ..] => {
                Err("give exactly one of fixed, range, normal, pareto, bandwidth".to_owned())
            }
        }
    }
}

impl Fault for Delay {
    fn begins_at(&mut self, event: u64) -> Result<(), String> {
        self.event = Some(event);
        match (self.how, self.at) {
            (How::Throttle(_), _) => {
                Err("bandwidth holds for the whole answer; leave out when.event".to_owned())
            }
            (How::Wait(_), Some(at @ (At::Request | At::FirstByte | At::End))) => {
                Err(format!("at: {at:?} is no event; leave out `at` or when.event").to_lowercase())
            }
            (How::Wait(_), Some(At::Event) | None) => Ok(()),
        }
    }

    fn place(&self, call: &Call, _from: Start) -> Result<Option<Place>, String> {
        match self.at {
            Some(At::Event) if !call.operation.is_streaming() => {
                Err(format!("the answer to {} has no events", call.operation))
            }
            Some(At::Event | At::Request | At::FirstByte | At::End) | None => Ok(None),
        }
    }

    fn effects(&self, shot: &mut Shot<'_>) -> Vec<Effect> {
        let distribution = match self.how {
            How::Throttle(Rate(bytes_per_second)) => {
                shot.text = format!("lets {bytes_per_second} octets a second through");
                return vec![Effect::Throttle { bytes_per_second }];
            }
            How::Wait(distribution) => distribution,
        };
        let wait = distribution.draw(&mut shot.chance);
        let at = self.moment();
        let when = match at {
            Moment::Request => "before the request goes on".to_owned(),
            Moment::FirstByte => "before the answer".to_owned(),
            Moment::Event(None) => "before every event".to_owned(),
            Moment::Event(Some(event)) => format!("before event {event}"),
            Moment::End => "before the end of the answer".to_owned(),
        };
        shot.text = format!("waits {wait:?} {when}");
        vec![Effect::Delay { at, wait }]
    }
}

impl Delay {
    const fn moment(&self) -> Moment {
        match (self.at, self.event) {
            (_, Some(event)) => Moment::Event(Some(event)),
            (Some(At::Event), None) => Moment::Event(None),
            (Some(At::FirstByte), None) => Moment::FirstByte,
            (Some(At::End), None) => Moment::End,
            (Some(At::Request) | None, None) => Moment::Request,
        }
    }
}

impl Distribution {
    fn draw(self, chance: &mut Rng) -> Duration {
        let seconds = match self {
            Self::Fixed(wait) => return wait,
            Self::Range(low, high) => {
                let (low, high) = (low.as_secs_f64(), high.as_secs_f64());
                low + (high - low) * chance.next_f64()
            }
            Self::Normal(Normal { mean, stddev }) => {
                // Box and Muller's way, of two even draws; 1 - x keeps the logarithm finite.
                let radius = (-2.0 * (1.0 - chance.next_f64()).ln()).sqrt();
                let angle = std::f64::consts::TAU * chance.next_f64();
                mean.0.as_secs_f64() + stddev.0.as_secs_f64() * radius * angle.cos()
            }
            Self::Pareto(Pareto { scale, shape }) => {
                scale.0.as_secs_f64() * (1.0 - chance.next_f64()).powf(-1.0 / shape)
            }
        };
        // Whole microseconds: what is waited is what the note says.
        let wait = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(WAIT_MAX).min(WAIT_MAX);
        Duration::from_micros(u64::try_from(wait.as_micros()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::a2a::model::Operation;
    use crate::fault::testing::{does, does_at};

    #[track_caller]
    fn check(settings: &Value, operation: Operation, expected: &str) {
        assert_eq!(does(&json!({ "delay": settings }), operation), expected, "delay: {settings}");
    }

    #[test]
    fn a_delay_holds_the_request_unless_told_otherwise() {
        let send = Operation::SendMessage;
        check(&json!("500ms"), send, "wait 500ms at Request");
        check(&json!({ "fixed": "2s" }), send, "wait 2s at Request");
        check(&json!({ "fixed": "2s", "at": "first_byte" }), send, "wait 2s at FirstByte");
        check(&json!({ "fixed": "2s", "at": "end" }), send, "wait 2s at End");
        check(&json!({ "bandwidth": "16KiB/s" }), send, "16384 B/s");
    }

    #[test]
    fn events_are_held_in_streams_only() {
        let stream = Operation::SendStreamingMessage;
        let every = json!({ "fixed": "1s", "at": "event" });
        check(&every, stream, "wait 1s at Event(None)");
        check(
            &every,
            Operation::SendMessage,
            "NotApplicable: delay: the answer to SendMessage has no events",
        );
        assert_eq!(does_at(&json!({ "delay": "1s" }), stream, 3), "wait 1s at Event(Some(3))");
        assert_eq!(
            does_at(&json!({ "delay": { "fixed": "1s", "at": "end" } }), stream, 3),
            "inject.delay: at: end is no event; leave out `at` or when.event"
        );
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let wrong = |settings: &Value, expected: &str| {
            check(settings, Operation::SendMessage, &format!("inject.delay: {expected}"));
        };
        let one = "give exactly one of fixed, range, normal, pareto, bandwidth";
        wrong(&json!(5), "`5` is no duration; write `500ms`, `10s`, `5m`, `2h` or `7d`");
        wrong(
            &json!({ "fixed": 5 }),
            "`5` is no duration; write `500ms`, `10s`, `5m`, `2h` or `7d`",
        );
        wrong(&json!({}), one);
        wrong(&json!({ "fixed": "1s", "bandwidth": "1B/s" }), one);
        wrong(&json!({ "range": ["3s", "1s"] }), "range: the first is longer than the second");
        wrong(
            &json!({ "pareto": { "scale": "1s", "shape": 0 } }),
            "pareto.shape: 0 is not above 0",
        );
        wrong(&json!({ "bandwidth": "1B/s", "at": "end" }), "bandwidth has no `at`");
    }

    /// Many draws of one distribution, in seconds.
    fn draws(settings: &Value) -> Vec<f64> {
        let How::Wait(distribution) = Delay::parse(settings).unwrap().how else {
            panic!("{settings} is no wait");
        };
        let mut chance = Rng::new(1);
        (0..4000).map(|_| distribution.draw(&mut chance).as_secs_f64()).collect()
    }

    fn mean(draws: &[f64]) -> f64 {
        draws.iter().sum::<f64>() / 4000.0
    }

    #[test]
    fn distributions_have_their_shape() {
        let range = draws(&json!({ "range": ["1s", "3s"] }));
        assert!(range.iter().all(|draw| (1.0..3.0).contains(draw)));
        assert!((mean(&range) - 2.0).abs() < 0.05, "{}", mean(&range));

        let normal = draws(&json!({ "normal": { "mean": "10s", "stddev": "1s" } }));
        assert!((mean(&normal) - 10.0).abs() < 0.1, "{}", mean(&normal));
        let near = normal.iter().filter(|draw| (9.0..11.0).contains(*draw)).count();
        assert!((2600..2860).contains(&near), "{near} of 4000 within one deviation");

        let pareto = draws(&json!({ "pareto": { "scale": "1s", "shape": 3.0 } }));
        assert!(pareto.iter().all(|draw| *draw >= 1.0));
        assert!((mean(&pareto) - 1.5).abs() < 0.1, "{}", mean(&pareto));
    }

    #[test]
    fn no_draw_is_negative_or_without_end() {
        let normal = draws(&json!({ "normal": { "mean": "0s", "stddev": "1s" } }));
        assert!(normal.iter().all(|draw| *draw >= 0.0));
        let pareto = draws(&json!({ "pareto": { "scale": "1s", "shape": 0.01 } }));
        assert!(pareto.iter().all(|draw| *draw <= WAIT_MAX.as_secs_f64()));
    }
}
