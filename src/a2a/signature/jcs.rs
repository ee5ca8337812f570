//! RFC 8785: the one way to write a JSON value, so that two parties sign the same octets.
//!
//! Names are sorted by UTF-16 code units, numbers are written as ECMAScript writes a double, strings
//! escape nothing that need not be. So an integer beyond a double's precision has no form of its own:
//! it is written as the double it is read as, which is what the RFC asks for.

use serde_json::{Number, Value};

/// The canonical text of a value.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, to: &mut String) {
    match value {
        // serde_json escapes exactly what the RFC escapes, and in the same way.
        Value::Null | Value::Bool(_) | Value::String(_) => to.push_str(&value.to_string()),
        Value::Number(number) => to.push_str(&written_number(number)),
        Value::Array(items) => {
            to.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write(item, to);
            }
            to.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_by(|a, b| a.0.encode_utf16().cmp(b.0.encode_utf16()));
            to.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                to.push_str(&Value::from(name.as_str()).to_string());
                to.push(':');
                write(member, to);
            }
            to.push('}');
        }
    }
}

/// A number as ECMAScript's `Number::toString` writes it: the shortest digits that read back as the
/// same double, in full from 10^-6 up to 10^21, with an exponent outside.
fn written_number(number: &Number) -> String {
    let double = number.as_f64().unwrap_or_default();
    if double == 0.0 {
        return "0".to_owned();
    }
    // Rust's `{:e}` has the same shortest digits, always with an exponent: `-1.25e-7`.
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = mantissa.replace('.', "");
    let sign = if double < 0.0 { "-" } else { "" };
    format!("{sign}{}", placed(&digits, exponent))
}

/// Digits with the decimal point behind the first of them moved by `exponent`.
fn placed(digits: &str, exponent: i32) -> String {
    match usize::try_from(exponent) {
        Ok(shift) if shift < 21 => {
            let whole = shift + 1;
            match digits.split_at_checked(whole) {
                Some((digits, "")) => digits.to_owned(),
                Some((before, after)) => format!("{before}.{after}"),
                None => format!("{digits}{}", "0".repeat(whole - digits.len())),
            }
        }
        Err(_) if exponent >= -6 => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or_default();
            format!("0.{}{digits}", "0".repeat(zeros))
        }
        Ok(_) | Err(_) => {
            let sign = if exponent < 0 { "-" } else { "+" };
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical(&value), expected, "{text}");
    }

    #[test]
    fn numbers_are_written_as_ecmascript_writes_them() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("3.0", "3"),
            ("1.10", "1.1"),
            ("1E2", "100"),
            ("-1.5e3", "-1500"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123456789012345678901234567890", "1.2345678901234568e+29"),
            ("9007199254740993", "9007199254740992"),
            ("0.000001", "0.000001"),
            ("1e-6", "0.000001"),
            ("1.25e-7", "1.25e-7"),
            ("0.1", "0.1"),
            ("123.456", "123.456"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("333333333.33333329", "333333333.3333333"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000000000000000000000000001", "1e-27"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn names_are_sorted_by_utf_16_and_strings_escape_what_they_must() {
        check(
            "{\"\u{20ac}\":1,\"\\r\":2,\"\u{fb33}\":3,\"1\":4,\"\u{1f600}\":5,\"\u{80}\":6,\"\u{f6}\":7}",
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}",
        );
        check(
            r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/\b\f\t\u007f""#,
            "\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\\t\u{7f}\"",
        );
        check(r#" { "b" : [ 1 , true , null ] , "a" : { } } "#, r#"{"a":{},"b":[1,true,null]}"#);
    }
}
