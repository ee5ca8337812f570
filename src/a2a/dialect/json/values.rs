//! Values with more than one spelling: whole numbers, times, base64.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Number, Value};

use crate::a2a::dialect::json::log::Spelling;

/// Beyond it a double no longer tells neighbouring whole numbers apart.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ANY_PADDING: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const ANY_PADDING_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The same value with its whole numbers as integers: a protobuf `Struct` knows doubles only, so that
/// `3` comes back as `3.0`.
pub(crate) fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(whole_number(number)),
        Value::Array(items) => Value::Array(items.iter().map(whole_numbers).collect()),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

/// A double as a JSON value: an integer where it is one, text where JSON has no number for it.
pub(crate) fn number(double: f64) -> Value {
    match (whole(double), Number::from_f64(double)) {
        (Some(integer), _) => Value::from(integer),
        (None, Some(number)) => Value::Number(number),
        (None, None) => Value::String(double.to_string()),
    }
}

fn whole_number(number: &Number) -> Number {
    if !number.is_f64() {
        return number.clone();
    }
    number.as_f64().and_then(whole).map_or_else(|| number.clone(), Number::from)
}

#[expect(clippy::cast_possible_truncation, reason = "whole and within 53 bits")]
fn whole(double: f64) -> Option<i64> {
    let is_negative_zero = double == 0.0 && double.is_sign_negative();
    let is_whole = double.fract() == 0.0 && double.abs() <= WHOLE_MAX && !is_negative_zero;
    is_whole.then_some(double as i64)
}

/// Whether a version takes this text for a time. The 0.3 schema says ISO 8601, so there a time
/// without an offset is one as well.
pub(crate) fn is_timestamp(text: &str, spelling: Spelling) -> bool {
    match spelling {
        Spelling::Proto => text.parse::<Timestamp>().is_ok(),
        Spelling::Schema => text.parse::<Timestamp>().is_ok() || text.parse::<DateTime>().is_ok(),
    }
}

/// The time as RFC 3339 in UTC with no, three, six or nine decimals, as ProtoJSON writes it; a text
/// that is no time as it came.
pub(crate) fn utc(text: &str) -> String {
    text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), timestamp)
}

/// Seconds and nanoseconds since 1970 as RFC 3339; `None` outside of the years it can write.
pub(crate) fn utc_of(seconds: i64, nanos: i32) -> Option<String> {
    Timestamp::new(seconds, nanos).ok().map(timestamp)
}

fn timestamp(time: Timestamp) -> String {
    let nanos = time.subsec_nanosecond();
    let decimals = [(1_000_000_000, 0), (1_000_000, 3), (1_000, 6)]
        .into_iter()
        .find(|(unit, _)| nanos % unit == 0)
        .map_or(9, |(_, decimals)| decimals);
    format!("{time:.decimals$}")
}

/// Base64 of either alphabet, padded or not, as ProtoJSON has it. `None` when it is none.
pub(crate) fn base64_decoded(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) { &ANY_PADDING_URL } else { &ANY_PADDING };
    engine.decode(text).ok()
}

/// Base64 exactly as an encoder writes it: used to tell base64 text from a file's own octets.
pub(crate) fn base64_decoded_strictly(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Standard base64, padded.
pub(crate) fn base64_encoded(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

/// A word of a protobuf enum that the schema does not know, as it came: a number as a number, since
/// that is how protobuf carries it. Nothing, and 0.3's `unknown`, are the enum's default.
pub(crate) fn enum_word(word: &str, default: &str) -> Value {
    match word.parse::<i32>() {
        Ok(number) => number.into(),
        Err(_) if word.is_empty() || word == "unknown" => default.into(),
        Err(_) => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_become_integers_where_nothing_is_lost() {
        let value =
            json!({ "a": [1.0, 2.5, -3.0], "big": 1e300, "int": 9_007_199_254_740_993_i64 });
        let expected = json!({ "a": [1, 2.5, -3], "big": 1e300, "int": 9_007_199_254_740_993_i64 });
        assert_eq!(whole_numbers(&value), expected);
        assert_eq!(number(-0.0), json!(-0.0));
        assert_eq!(number(f64::NAN), json!("NaN"));
    }

    #[test]
    fn times_are_written_in_utc_with_the_decimals_they_need() {
        for (text, expected) in [
            ("2026-11-30T15:56:10.147531+00:00", "2026-11-30T15:56:10.147531Z"),
            ("2026-11-30T16:56:10.100+01:00", "2026-11-30T15:56:10.100Z"),
            ("2026-11-30T15:56:10Z", "2026-11-30T15:56:10Z"),
            ("2026-11-30T15:56:10.000000001Z", "2026-11-30T15:56:10.000000001Z"),
            ("yesterday", "yesterday"),
        ] {
            assert_eq!(utc(text), expected, "{text}");
        }
        assert_eq!(utc_of(0, 0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(utc_of(i64::MAX, 0), None);
    }

    #[test]
    fn base64_comes_in_two_alphabets() {
        for text in ["+/8=", "+/8", "-_8=", "-_8"] {
            assert_eq!(base64_decoded(text).as_deref(), Some(&[0xfb, 0xff][..]), "{text}");
        }
        assert_eq!(base64_decoded("not base64!"), None);
    }
}
