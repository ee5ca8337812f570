//! Durations and sizes as people write them in a file: `10s`, `8MiB`, `16KiB/s`.
//!
//! One reader for the whole crate, so that a unit means the same in every key, and a number without a
//! unit is refused where it could be misread (`10` seconds or milliseconds?) and taken where it could
//! not (octets).

use std::time::Duration;

/// Units of time, longest name first where one ends with another.
const TIME: &[(&str, u64)] = &[
    ("ms", 1_000),
    ("us", 1),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// Units of size.
const SIZE: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// Reads `500ms`, `10s`, `1.5m`, `2h`, `7d`; several may stand together: `1m30s`. A bare `0` is no time.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration; write `500ms`, `10s`, `5m`, `2h` or `7d`");
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.trim();
    let mut total_us = 0_u64;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest).ok_or_else(wrong)?;
        let (unit, after) = split_unit(after);
        let (_, scale) = TIME.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let us = scaled(number, *scale).ok_or_else(wrong)?;
        total_us = total_us.checked_add(us).ok_or_else(wrong)?;
        rest = after;
    }
    Ok(Duration::from_micros(total_us))
}

/// Reads `512`, `16KiB`, `8 MiB`, `1.5GB`: octets.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no size; write octets, `16KiB`, `8MiB` or `10GiB`");
    let (number, rest) = split_number(text.trim()).ok_or_else(wrong)?;
    let unit = rest.trim();
    if unit.is_empty() {
        return scaled(number, 1).ok_or_else(wrong);
    }
    let (_, scale) = SIZE.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    scaled(number, *scale).ok_or_else(wrong)
}

/// Reads a rate: a size and `/s`.
pub fn bytes_per_second(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no rate; write `16KiB/s`");
    let size = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
    match bytes(size).map_err(|_| wrong())? {
        0 => Err(wrong()),
        rate => Ok(rate),
    }
}

/// A whole or decimal number at the start of `text`, and what follows it.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    (!number.is_empty()).then_some((number, rest))
}

fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// `number * scale`, exactly: a decimal fraction that does not come out even is cut off.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 =
        if whole.is_empty() && !fraction.is_empty() { 0 } else { whole.parse().ok()? };
    let mut total = whole.checked_mul(scale)?;
    if !fraction.is_empty() {
        let digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= 9)?;
        let part: u64 = fraction.parse().ok()?;
        total = total.checked_add(part.checked_mul(scale)? / 10_u64.pow(digits))?;
    }
    Some(total)
}

/// For `#[serde(with = "units::as_duration")]`.
pub mod as_duration {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    /// Reads a [`duration`](super::duration).
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        super::duration(&Cow::<'de, str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// For `#[serde(default, with = "units::as_optional_duration")]`.
pub mod as_optional_duration {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    /// Reads a [`duration`](super::duration), or nothing.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| super::duration(&text)).transpose().map_err(D::Error::custom)
    }
}

/// For `#[serde(with = "units::as_bytes")]`: a number of octets, or text with a unit.
pub mod as_bytes {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }

    /// Reads a size in [`bytes`](super::bytes()).
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        match Written::deserialize(from)? {
            Written::Number(octets) => Ok(octets),
            Written::Text(text) => super::bytes(&text).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_duration(text: &str, expected_us: Option<u64>) {
        assert_eq!(duration(text).ok(), expected_us.map(Duration::from_micros), "{text:?}");
    }

    #[test]
    fn durations_need_a_unit() {
        check_duration("500ms", Some(500_000));
        check_duration("10s", Some(10_000_000));
        check_duration("1.5m", Some(90_000_000));
        check_duration("1m30s", Some(90_000_000));
        check_duration("2h", Some(7_200_000_000));
        check_duration("7d", Some(604_800_000_000));
        check_duration("0", Some(0));
        for wrong in ["", "10", "s", "10 s 5", "-1s", "1.2.3s", "99999999999999d", "10sec"] {
            check_duration(wrong, None);
        }
        assert_eq!(
            duration("10").unwrap_err(),
            "`10` is no duration; write `500ms`, `10s`, `5m`, `2h` or `7d`"
        );
    }

    #[test]
    fn sizes_are_octets_unless_they_say_otherwise() {
        for (text, expected) in [
            ("512", Some(512)),
            ("16KiB", Some(16_384)),
            ("8 MiB", Some(8 << 20)),
            ("1.5GB", Some(1_500_000_000)),
            ("10GiB", Some(10 << 30)),
            ("8MIB", None),
            ("", None),
            ("MiB", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text:?}");
        }
        assert_eq!(bytes_per_second("16KiB/s"), Ok(16_384));
        assert_eq!(bytes_per_second("0B/s").unwrap_err(), "`0B/s` is no rate; write `16KiB/s`");
    }
}
