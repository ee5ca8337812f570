//! Comparing JSON values and numbers: `equals`, `gt`, `gte`, `lt`, `lte`.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::reader::{Fields, Reader};

/// Whether two values are the same. Numbers are compared by their value, so `1` is `1.0`; a boolean is
/// never a number.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => a == b,
    }
}

/// How two numbers stand. Whole numbers are compared exactly, whatever their size.
pub(super) fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// What a number must be; every bound that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds(Vec<(Bound, Number)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Equals,
    Gt,
    Gte,
    Lt,
    Lte,
}

const BOUNDS: &[(&str, Bound)] = &[
    ("equals", Bound::Equals),
    ("gt", Bound::Gt),
    ("gte", Bound::Gte),
    ("lt", Bound::Lt),
    ("lte", Bound::Lte),
];

impl Bounds {
    /// Exactly this number.
    pub(super) fn exactly(number: impl Into<Number>) -> Self {
        Self(vec![(Bound::Equals, number.into())])
    }

    /// This number or less.
    pub(super) fn at_most(number: impl Into<Number>) -> Self {
        Self(vec![(Bound::Lte, number.into())])
    }

    /// Takes `equals`, `gt`, `gte`, `lt` and `lte`, as far as they are there.
    pub(super) fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut bounds = Vec::new();
        for (name, bound) in BOUNDS {
            if let Some(node) = fields.take(name) {
                bounds.push((*bound, reader.number(node)?));
            }
        }
        Some(Self(bounds))
    }

    /// The same; at least one of them must be there.
    pub(super) fn need(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let at = fields.at();
        let bounds = Self::take(fields, reader)?;
        if bounds.is_empty() {
            reader.problem(at, "expected at least one of `equals`, `gt`, `gte`, `lt`, `lte`");
            return None;
        }
        Some(bounds)
    }

    /// Whether no bound was given.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number lies within.
    pub(super) fn hold(&self, number: &Number) -> bool {
        self.0.iter().all(|(bound, limit)| match (bound, order(number, limit)) {
            (_, None) => false,
            (Bound::Equals, Some(order)) => order == Ordering::Equal,
            (Bound::Gt, Some(order)) => order == Ordering::Greater,
            (Bound::Gte, Some(order)) => order != Ordering::Less,
            (Bound::Lt, Some(order)) => order == Ordering::Less,
            (Bound::Lte, Some(order)) => order != Ordering::Greater,
        })
    }

    /// Whether a count lies within.
    pub(super) fn hold_count(&self, count: usize) -> bool {
        self.hold(&Number::from(count))
    }
}

/// `at most 2`, `more than 1 and at most 5`.
impl std::fmt::Display for Bounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (bound, limit)) in self.0.iter().enumerate() {
            let word = match bound {
                Bound::Equals => "exactly",
                Bound::Gt => "more than",
                Bound::Gte => "at least",
                Bound::Lt => "less than",
                Bound::Lte => "at most",
            };
            write!(f, "{}{word} {limit}", if index == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_by_value_and_booleans_are_no_numbers() {
        assert!(same(&json!({ "a": [1, 2.5] }), &json!({ "a": [1.0, 2.5] })));
        assert!(!same(&json!(1), &json!(true)));
        assert!(!same(&json!(0), &json!(false)));
        assert!(!same(&json!("1"), &json!(1)));
        assert!(!same(&json!([1]), &json!([1, 1])));
        assert!(!same(&json!({ "a": null }), &json!({})));
    }

    #[test]
    fn large_whole_numbers_are_compared_exactly() {
        assert!(!same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(same(&json!(u64::MAX), &json!(u64::MAX)));
    }
}
