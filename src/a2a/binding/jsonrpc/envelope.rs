//! The JSON-RPC object around a request or an answer.

use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::a2a::binding::shared::{errors, json};
use crate::a2a::call::Call;
use crate::a2a::model::{A2aError, Operation};
use crate::a2a::problem::Problem;

/// The members that mean something to JSON-RPC.
const NAMES: &[&str] = &["error", "id", "jsonrpc", "method", "params", "result"];

/// The members of a JSON-RPC object, values as they are written. A member that stands there twice
/// counts as its last value, as most parsers have it.
pub(super) struct Envelope<'t> {
    members: Vec<(String, &'t RawValue)>,
}

impl<'t> Envelope<'t> {
    /// Reads the object. Two members of one name are a problem; a text that is no JSON object too, and
    /// gives `None`.
    pub(super) fn read(text: &'t str, at: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        let Ok(members) = json::members(text) else {
            problems.push(match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Problem::new("wrong_type", at, "not a JSON object"),
                Err(error) => Problem::new("invalid_json", at, error.to_string()),
            });
            return None;
        };
        for name in NAMES {
            if members.iter().filter(|member| member.0 == *name).count() > 1 {
                let text = format!("member `{name}` stands here more than once");
                problems.push(Problem::new("duplicate_key", format!("{at}.{name}"), text));
            }
        }
        Some(Self { members })
    }

    /// Whether it means to be a JSON-RPC request, well formed or not.
    pub(super) fn is_request(&self) -> bool {
        self.member("jsonrpc").is_some() || self.member("method").is_some()
    }

    /// Whether it means to be a JSON-RPC answer, well formed or not. What comes under a status that
    /// refuses may have an `error` of another kind.
    pub(super) fn is_answer(&self, status: StatusCode) -> bool {
        self.member("jsonrpc").is_some()
            || self.member("result").is_some()
            || (self.member("error").is_some() && status.is_success())
    }

    /// The id as it is written. `None` when absent; `null` is there.
    pub(super) fn id(&self) -> Option<Box<RawValue>> {
        self.member("id").map(ToOwned::to_owned)
    }

    /// Whether it answers this call: whether it has its id.
    pub(super) fn answers(&self, call: &Call) -> bool {
        match (&call.rpc_id, self.member("id")) {
            (Some(asked), Some(answered)) => is_same_id(asked.get(), answered.get()),
            (None, _) | (_, None) => false,
        }
    }

    /// The method, if it is a string.
    pub(super) fn method(&self) -> Option<String> {
        serde_json::from_str(self.member("method")?.get()).ok()
    }

    /// What JSON-RPC wants of a request.
    pub(super) fn check_request(&self, problems: &mut Vec<Problem>) {
        self.check_version("$", problems);
        match self.member("method") {
            None => problems.push(Problem::new("missing_field", "$.method", "a request needs one")),
            Some(method) if !is_string(method) => {
                let text = format!("a method is a string, not {}", shown(method));
                problems.push(Problem::new("wrong_type", "$.method", text));
            }
            Some(_) => {}
        }
        match self.member("id") {
            None => {
                let text = "a request without an id is a notification: nothing may answer it";
                problems.push(Problem::new("notification", "$.id", text));
            }
            Some(id) if id.get().starts_with(['{', '[', 't', 'f']) => {
                let text = format!("an id is a string, a number or null, not {}", shown(id));
                problems.push(Problem::new("wrong_type", "$.id", text));
            }
            Some(_) => {}
        }
    }

    /// The parameters; an empty object when absent or of a type that cannot be right.
    pub(super) fn params(&self, problems: &mut Vec<Problem>) -> Value {
        let empty = || Value::Object(serde_json::Map::new());
        let Some(params) = self.member("params") else { return empty() };
        match json::value(params.get(), "$.params", problems) {
            Some(value @ Value::Object(_)) => value,
            Some(Value::Null) | None => empty(),
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                let text = format!("parameters are an object, not {}", shown(params));
                problems.push(Problem::new("wrong_type", "$.params", text));
                empty()
            }
        }
    }

    /// What an answer to this call says: its result or its error. `None`, with a problem, when neither.
    pub(super) fn outcome(
        &self,
        call: &Call,
        at: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Result<Value, A2aError>> {
        self.check_version(at, problems);
        let result = self.member("result");
        let error = self.member("error").filter(|error| error.get() != "null");
        self.check_id(call, error.is_some(), at, problems);
        match (result, error) {
            (result, Some(error)) => {
                if result.is_some() {
                    let text = "an answer has a result or an error, not both";
                    problems.push(Problem::new("result_and_error", at, text));
                }
                read_error(error, at, problems).map(Err)
            }
            (Some(result), None) => {
                json::value(result.get(), &format!("{at}.result"), problems).map(Ok)
            }
            // Servers that leave out what is null say nothing when a deletion went well.
            (None, None) if call.operation == Operation::DeleteTaskPushNotificationConfig => {
                Some(Ok(Value::Null))
            }
            (None, None) => {
                let text = "an answer has a result or an error, this has neither";
                problems.push(Problem::new("missing_result", at, text));
                None
            }
        }
    }

    fn check_version(&self, at: &str, problems: &mut Vec<Problem>) {
        let at = || format!("{at}.jsonrpc");
        match self.member("jsonrpc") {
            Some(version) if version.get() == r#""2.0""# => {}
            Some(version) => {
                let text = format!(r#"must be "2.0", is {}"#, shown(version));
                problems.push(Problem::new("wrong_jsonrpc", at(), text));
            }
            None => problems.push(Problem::new("missing_field", at(), r#"must be "2.0""#)),
        }
    }

    fn check_id(&self, call: &Call, is_error: bool, at: &str, problems: &mut Vec<Problem>) {
        let Some(asked) = &call.rpc_id else { return };
        let at = || format!("{at}.id");
        match self.member("id") {
            Some(id) if is_same_id(asked.get(), id.get()) => {}
            // A server that could not read the request cannot know its id.
            Some(id) if is_error && id.get() == "null" => {}
            Some(id) => {
                let text = format!("the request has {}, the answer {}", shown(asked), shown(id));
                problems.push(Problem::new("wrong_id", at(), text));
            }
            None if is_error => {}
            None => problems.push(Problem::new("missing_field", at(), "an answer needs the id")),
        }
    }

    fn member(&self, name: &str) -> Option<&'t RawValue> {
        self.members.iter().rev().find(|member| member.0 == name).map(|member| member.1)
    }
}

fn read_error(error: &RawValue, at: &str, problems: &mut Vec<Problem>) -> Option<A2aError> {
    let at = format!("{at}.error");
    let error = json::value(error.get(), &at, problems)?;
    if !error.is_object() {
        problems.push(Problem::new("wrong_type", at, "an error is an object"));
    } else if !error.get("code").is_some_and(Value::is_i64) {
        let text = "an error has an integer as its code";
        problems.push(Problem::new("missing_field", format!("{at}.code"), text));
    }
    Some(errors::of_rpc(&error))
}

/// Whether two ids are the same to a client that compares them after parsing. Integers beyond a
/// double's precision are compared by their digits.
fn is_same_id(asked: &str, answered: &str) -> bool {
    if asked == answered {
        return true;
    }
    let parse = |text| serde_json::from_str::<Value>(text).ok();
    match (parse(asked), parse(answered)) {
        (Some(Value::Number(asked)), Some(Value::Number(answered))) => {
            let is_exact = |number: &serde_json::Number| {
                number.as_f64().is_some_and(|number| number.abs() < 9_007_199_254_740_992.0)
            };
            is_exact(&asked) && is_exact(&answered) && asked.as_f64() == answered.as_f64()
        }
        (Some(Value::String(asked)), Some(Value::String(answered))) => asked == answered,
        _ => false,
    }
}

fn is_string(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

/// A value for a sentence, cut short.
fn shown(value: &RawValue) -> String {
    let text = value.get();
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{short}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_by_value_and_kind() {
        for (asked, answered, same) in [
            ("1", "1", true),
            ("1", "1.0", true),
            ("1", "\"1\"", false),
            ("-1.5e3", "-1500", true),
            ("\"a\"", "\"\\u0061\"", true),
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993", true),
            ("null", "null", true),
            ("null", "0", false),
        ] {
            assert_eq!(is_same_id(asked, answered), same, "{asked} {answered}");
        }
    }
}
