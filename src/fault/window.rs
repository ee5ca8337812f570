//! Which of a rule's eligible exchanges may fire: `nth every first after`, and how often: `times`.
//!
//! All of them look at the same count, so all given ones must hold: `after: 2, first: 5` is the third
//! to the fifth. A combination that can never fire is refused, like a misspelt word.

use crate::fault::config::RuleConfig;

#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    nth: Option<u64>,
    every: Option<u64>,
    first: Option<u64>,
    after: Option<u64>,
    times: Option<u64>,
}

impl Window {
    pub(super) fn new(config: &RuleConfig) -> Result<Self, String> {
        let RuleConfig { nth, every, first, after, times, .. } = *config;
        let counts = [("nth", nth), ("every", every), ("first", first), ("times", times)];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
            return Err(format!(
                "{key}: 0 would never fire; set `enabled: false` to switch it off"
            ));
        }
        let window = Self { nth, every, first, after, times };
        match window.soonest() {
            Some(n) if window.admits(n).is_ok() => Ok(window),
            Some(_) | None => Err("nth, every, first and after exclude each other: \
                                   no exchange could ever fire"
                .to_owned()),
        }
    }

    /// Whether the count lets it fire; the error says why not.
    pub(super) fn admits(&self, n: u64) -> Result<(), String> {
        if let Some(nth) = self.nth
            && n != nth
        {
            return Err(format!("{n} is not nth: {nth}"));
        }
        if let Some(every) = self.every
            && !n.is_multiple_of(every)
        {
            return Err(format!("{n} is no multiple of every: {every}"));
        }
        if let Some(first) = self.first
            && n > first
        {
            return Err(format!("{n} is past first: {first}"));
        }
        if let Some(after) = self.after
            && n <= after
        {
            return Err(format!("{n} is not yet after: {after}"));
        }
        Ok(())
    }

    /// Whether it has not fired often enough; the error says so.
    pub(super) fn has_left(&self, fired: u64) -> Result<(), String> {
        match self.times {
            Some(times) if fired >= times => Err(format!("fired times: {times} already")),
            Some(_) | None => Ok(()),
        }
    }

    /// The lowest count that could be admitted.
    fn soonest(&self) -> Option<u64> {
        let lowest = self.after.unwrap_or(0).checked_add(1)?;
        match (self.nth, self.every) {
            (Some(nth), _) => Some(nth),
            (None, Some(every)) => lowest.div_ceil(every).checked_mul(every),
            (None, None) => Some(lowest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the first ten counts are admitted.
    #[track_caller]
    fn check(settings: &str, expected: Result<&[u64], &str>) {
        let config: RuleConfig =
            serde_json::from_str(&format!(r#"{{"inject": "error", {settings}}}"#)).unwrap();
        let actual = Window::new(&config)
            .map(|window| (1..=10).filter(|n| window.admits(*n).is_ok()).collect::<Vec<_>>());
        assert_eq!(actual, expected.map(<[u64]>::to_vec).map_err(str::to_owned), "{settings}");
    }

    #[test]
    fn each_bound_looks_at_the_same_count() {
        check(r#""nth": 3"#, Ok(&[3]));
        check(r#""every": 4"#, Ok(&[4, 8]));
        check(r#""first": 2"#, Ok(&[1, 2]));
        check(r#""after": 7"#, Ok(&[8, 9, 10]));
        check(r#""after": 0"#, Ok(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
        check(r#""after": 2, "first": 5"#, Ok(&[3, 4, 5]));
        check(r#""every": 3, "after": 4"#, Ok(&[6, 9]));
    }

    #[test]
    fn what_can_never_fire_is_refused() {
        let never = "nth, every, first and after exclude each other: no exchange could ever fire";
        check(r#""after": 5, "first": 5"#, Err(never));
        check(r#""nth": 3, "every": 2"#, Err(never));
        check(r#""every": 8, "first": 7"#, Err(never));
        check(
            r#""times": 0"#,
            Err("times: 0 would never fire; set `enabled: false` to switch it off"),
        );
    }
}
