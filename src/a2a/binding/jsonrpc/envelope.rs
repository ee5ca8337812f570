//! The JSON-RPC object around a request or an answer.

use http::StatusCode;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::a2a::binding::shared::errors;
use crate::a2a::binding::shared::json::{self, Member};
use crate::a2a::call::Call;
use crate::a2a::model::{A2aError, Operation};
use crate::a2a::problem::Problem;

/// The members that mean something to JSON-RPC.
const NAMES: &[&str] = &["error", "id", "jsonrpc", "method", "params", "result"];

/// Those of them that can be long: they are read with the object, so that its text is gone through once.
const LONG: &[&str] = &["params", "result"];

/// The members of a JSON-RPC object. A member that stands there twice counts as its last value, as most
/// parsers have it.
pub(super) struct Envelope<'t> {
    at: String,
    members: Vec<(String, Member<'t>)>,
}

impl<'t> Envelope<'t> {
    /// Reads the object. Two members of one name are a problem; a text that is no JSON object too, and
    /// gives `None`.
    pub(super) fn read(text: &'t str, at: &str, problems: &mut Vec<Problem>) -> Option<Self> {
        // What cannot be read may still be JSON to a parser that does not look into it: the rest counts.
        let written = || {
            let members = json::members(text)?.into_iter();
            Ok(members.map(|(name, value)| (name, Member::Written(value))).collect())
        };
        let members: Result<_, serde_json::Error> =
            json::members_reading(text, at, LONG).or_else(|_| written());
        let Ok(members) = members else {
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
        Some(Self { at: at.to_owned(), members })
    }

    /// Whether it means to be a JSON-RPC request, well formed or not.
    pub(super) fn is_request(&self) -> bool {
        self.has("jsonrpc") || self.has("method")
    }

    /// Whether it means to be a JSON-RPC answer, well formed or not. What comes under a status that
    /// refuses may have an `error` of another kind.
    pub(super) fn is_answer(&self, status: StatusCode) -> bool {
        self.has("jsonrpc") || self.has("result") || (self.has("error") && status.is_success())
    }

    /// The id as it is written. `None` when absent; `null` is there.
    pub(super) fn id(&self) -> Option<Box<RawValue>> {
        self.written("id").map(ToOwned::to_owned)
    }

    /// Whether it answers this call: whether it has its id.
    pub(super) fn answers(&self, call: &Call) -> bool {
        match (&call.rpc_id, self.written("id")) {
            (Some(asked), Some(answered)) => is_same_id(asked.get(), answered.get()),
            (None, _) | (_, None) => false,
        }
    }

    /// The method, if it is a string.
    pub(super) fn method(&self) -> Option<String> {
        serde_json::from_str(self.written("method")?.get()).ok()
    }

    /// What JSON-RPC wants of a request.
    pub(super) fn check_request(&self, problems: &mut Vec<Problem>) {
        self.check_version("$", problems);
        match self.written("method") {
            None => problems.push(Problem::new("missing_field", "$.method", "a request needs one")),
            Some(method) if !is_string(method) => {
                let text = format!("a method is a string, not {}", shown(method));
                problems.push(Problem::new("wrong_type", "$.method", text));
            }
            Some(_) => {}
        }
        match self.written("id") {
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
    pub(super) fn params(&mut self, problems: &mut Vec<Problem>) -> Value {
        let empty = || Value::Object(serde_json::Map::new());
        match self.take("params", problems) {
            Some(params @ Value::Object(_)) => params,
            Some(Value::Null) | None => empty(),
            Some(
                params @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)),
            ) => {
                let params = shortened(&params.to_string());
                let text = format!("parameters are an object, not {params}");
                problems.push(Problem::new("wrong_type", "$.params", text));
                empty()
            }
        }
    }

    /// What an answer to this call says: its result or its error. `None`, with a problem, when neither.
    pub(super) fn outcome(
        &mut self,
        call: &Call,
        at: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<Result<Value, A2aError>> {
        self.check_version(at, problems);
        let has_result = self.has("result");
        let error = self.written("error").filter(|error| error.get() != "null");
        self.check_id(call, error.is_some(), at, problems);
        match (has_result, error) {
            (has_result, Some(error)) => {
                if has_result {
                    let text = "an answer has a result or an error, not both";
                    problems.push(Problem::new("result_and_error", at, text));
                }
                read_error(error, at, problems).map(Err)
            }
            (true, None) => self.take("result", problems).map(Ok),
            // Servers that leave out what is null say nothing when a deletion went well.
            (false, None) if call.operation == Operation::DeleteTaskPushNotificationConfig => {
                Some(Ok(Value::Null))
            }
            (false, None) => {
                let text = "an answer has a result or an error, this has neither";
                problems.push(Problem::new("missing_result", at, text));
                None
            }
        }
    }

    fn check_version(&self, at: &str, problems: &mut Vec<Problem>) {
        let at = || format!("{at}.jsonrpc");
        match self.written("jsonrpc") {
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
        match self.written("id") {
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

    fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.0 == name)
    }

    /// A member that is not long, as it is written.
    fn written(&self, name: &str) -> Option<&'t RawValue> {
        match self.members.iter().rev().find(|member| member.0 == name)? {
            (_, Member::Written(value)) => Some(value),
            (_, Member::Read(..)) => None,
        }
    }

    /// A member, read and taken out. `None`, with a problem, when it cannot be read.
    fn take(&mut self, name: &str, problems: &mut Vec<Problem>) -> Option<Value> {
        let at = self.members.iter().rposition(|member| member.0 == name)?;
        match self.members.remove(at).1 {
            Member::Read(value, mut found) => {
                problems.append(&mut found);
                Some(value)
            }
            Member::Written(value) => {
                json::value(value.get(), &format!("{}.{name}", self.at), problems)
            }
        }
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

/// A value for a sentence.
fn shown(value: &RawValue) -> String {
    shortened(value.get())
}

/// A text for a sentence, cut short.
fn shortened(text: &str) -> String {
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
