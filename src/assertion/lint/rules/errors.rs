//! Errors: that they have the shape and the number of their binding.

use serde_json::Value;

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use crate::a2a::binding::Binding;
use crate::a2a::model::{A2aError, ErrorKind, Reply};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("error-challenge", Should, ("3.3.2", "4.4"), "an answer of 401 says by `WWW-Authenticate` what it wants", challenge),
    rule("error-code-known", Should, ("9.5", "8.2"), "codes between -32001 and -32099 are ones that A2A defines", code_known),
    rule("error-grpc-http-status", Must, ("10.6", "3.2.2"), "a gRPC error is told by the gRPC status; the HTTP status is 200", grpc_http),
    rule("error-grpc-status", Must, ("5.4", ""), "an error of A2A has its gRPC status", grpc_status),
    rule("error-http-body", Must, ("11.6", ""), "an HTTP+JSON error has a body with `error.code`, `error.status` and `error.message`", http_body),
    rule("error-http-status", Must, ("5.4", "3.2.3"), "an error of A2A has its HTTP status", http_status),
    rule("error-info", Should, ("5.4", ""), "an error of A2A carries an ErrorInfo with its reason", error_info),
    rule("error-message", Must, ("3.3.2", "8"), "an error says what is wrong in words", message),
];

/// The error that answers, as far as the agent speaks A2A.
fn error<'a>(seen: &Seen<'a>) -> Option<&'a A2aError> {
    let answer = seen.answer?;
    let of_reply = match &answer.reply {
        Some(Reply::Error(error)) => Some(error),
        Some(_) | None => None,
    };
    let of_event = answer.events.iter().find_map(|event| event.error.as_ref());
    of_reply.or(answer.error.as_ref()).or(of_event)
}

fn status(seen: &Seen<'_>) -> u16 {
    seen.exchange.response.as_ref().map_or(0, |response| response.status)
}

fn challenge(seen: &Seen<'_>, flaws: &mut Flaws) {
    if status(seen) == 401 && seen.answered_header("www-authenticate").is_none() {
        flaws.push(("answer header".to_owned(), "`WWW-Authenticate` is missing".to_owned()));
    }
}

fn code_known(seen: &Seen<'_>, flaws: &mut Flaws) {
    let code = error(seen).filter(|_| seen.is_over(Binding::JsonRpc)).and_then(|it| it.code);
    if let Some(code) = code
        && (-32099..=-32001).contains(&code)
        && ErrorKind::of_code(code).is_none()
    {
        flaws.push(("answer error.code".to_owned(), format!("A2A defines no error {code}")));
    }
}

fn grpc_http(seen: &Seen<'_>, flaws: &mut Flaws) {
    let has_status = seen.answer.is_some_and(|answer| answer.grpc_status.is_some());
    if seen.is_over(Binding::Grpc) && has_status && status(seen) != 200 {
        flaws.push(("answer".to_owned(), format!("HTTP status {}", status(seen))));
    }
}

fn grpc_status(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(error) = error(seen).filter(|_| seen.is_over(Binding::Grpc)) else { return };
    if let (Some(kind), Some(came)) = (named(error), error.grpc_status)
        && came != kind.grpc_status()
    {
        let text = format!("{came:?} for {}, expected {:?}", kind.name(), kind.grpc_status());
        flaws.push(("answer grpc-status".to_owned(), text));
    }
}

/// The error's kind where it is told by more than the status itself.
fn named(error: &A2aError) -> Option<ErrorKind> {
    let reason = reason(error.details.as_ref()?)?;
    ErrorKind::of_reason(&reason)
}

fn http_body(seen: &Seen<'_>, flaws: &mut Flaws) {
    // Below A2A (a gateway's 502, a refused credential) anything may stand.
    let is_a2a = !matches!(status(seen), 401 | 403 | 407 | 502..=504);
    if !seen.is_over(Binding::HttpJson) || status(seen) < 400 || !is_a2a || !seen.is_whole() {
        return;
    }
    let Some(body) = seen.answered_json() else {
        flaws.push(("answer".to_owned(), "the error has no JSON body".to_owned()));
        return;
    };
    for (name, is_right) in [
        ("code", Value::is_number as fn(&Value) -> bool),
        ("status", Value::is_string),
        ("message", Value::is_string),
    ] {
        let member = body.get("error").and_then(|error| error.get(name));
        if !member.is_some_and(is_right) {
            flaws.push((format!("answer error.{name}"), "missing, or of another type".to_owned()));
        }
    }
}

fn http_status(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(error) = error(seen).filter(|_| seen.is_over(Binding::HttpJson)) else { return };
    if seen.is_stream() {
        return;
    }
    let came = status(seen);
    if (200..300).contains(&came) {
        flaws.push(("answer".to_owned(), format!("an error with HTTP status {came}")));
        return;
    }
    let kind = if seen.is_v1_0() { named(error) } else { error.kind };
    if let Some(kind) = kind {
        let right = [kind.http_status(), kind.http_status_v0_3()];
        let right = if seen.is_v1_0() { right.get(..1) } else { right.get(..) };
        if !right.unwrap_or_default().contains(&came) {
            let text = format!("HTTP status {came} for {}, expected {right:?}", kind.name());
            flaws.push(("answer".to_owned(), text));
        }
    }
}

fn error_info(seen: &Seen<'_>, flaws: &mut Flaws) {
    let Some(error) = error(seen) else { return };
    let Some(kind) = error.kind.filter(|kind| (-32099..=-32001).contains(&kind.code())) else {
        return;
    };
    let reason = error.details.as_ref().and_then(reason);
    if reason.as_deref() != Some(kind.reason()) {
        let text = format!("no ErrorInfo with the reason {}", kind.reason());
        flaws.push(("answer error details".to_owned(), text));
    }
}

/// The reason of the `ErrorInfo` among an error's details.
fn reason(details: &Value) -> Option<String> {
    let one = |detail: &Value| detail.get("reason")?.as_str().map(ToOwned::to_owned);
    match details {
        Value::Array(details) => details.iter().find_map(one),
        Value::Object(_) => one(details),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn message(seen: &Seen<'_>, flaws: &mut Flaws) {
    if let Some(error) = error(seen)
        && error.message.trim().is_empty()
        && !matches!(status(seen), 401 | 403)
        && seen.is_whole()
    {
        flaws.push(("answer error.message".to_owned(), "the error says nothing".to_owned()));
    }
}
