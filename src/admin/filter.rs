//! One filter, two spellings: the query of a URL and the flags of `meddler log` mean the same.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use url::form_urlencoded;

use crate::a2a::model::TaskState;
use crate::record::exchange::Outcome;
use crate::record::query::Filter;

/// The names a query may use, with what they mean. Lists are separated by commas or repeated.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("agent", "names of agents"),
    ("operation", "operations, by any of their names"),
    ("binding", "jsonrpc, http+json, grpc"),
    ("version", "0.3, 1.0"),
    ("state", "last known states"),
    ("outcome", "outcomes"),
    ("session", "a session, or `last`"),
    ("task", "a task's id"),
    ("context", "a context's id"),
    ("fault", "a rule that fired"),
    ("text", "words in message or reply, any case"),
    ("since", "not before: RFC 3339, or an age as `10m`"),
    ("until", "before: RFC 3339, or an age as `10m`"),
    ("limit", "the newest so many"),
    ("offset", "leave out the newest so many"),
];

/// What is wrong with a query.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A name that means nothing here.
    #[error("unknown parameter `{0}`")]
    Unknown(String),
    /// A value that cannot be read.
    #[error("{name}: {why}")]
    Value {
        /// The parameter.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads the query of a URL into a filter, and how many of the newest to leave out. `now` is what ages
/// are counted from.
pub fn from_query(query: &str, now: Timestamp) -> Result<(Filter, usize), FilterError> {
    let mut filter = Filter::default();
    let mut offset = 0;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let wrong = |why: String| FilterError::Value { name: name.clone().into_owned(), why };
        let whole = || Some(value.clone().into_owned());
        match name.as_ref() {
            "agent" => filter.agents.extend(list(&value).map(ToOwned::to_owned)),
            "operation" => extend(&mut filter.operations, &value).map_err(wrong)?,
            "binding" => extend(&mut filter.bindings, &value).map_err(wrong)?,
            "version" => extend(&mut filter.versions, &value).map_err(wrong)?,
            "state" => extend::<TaskState>(&mut filter.states, &value).map_err(wrong)?,
            "outcome" => {
                for word in list(&value) {
                    filter.outcomes.push(outcome(word).map_err(wrong)?);
                }
            }
            "session" => filter.session = whole(),
            "task" => filter.task = whole(),
            "context" => filter.context = whole(),
            "fault" => filter.fault = whole(),
            "text" => filter.text = whole(),
            "since" => filter.since = Some(moment(&value, now).map_err(wrong)?),
            "until" => filter.until = Some(moment(&value, now).map_err(wrong)?),
            "limit" => filter.limit = Some(count(&value).map_err(wrong)?),
            "offset" => offset = count(&value).map_err(wrong)?,
            _ => return Err(FilterError::Unknown(name.into_owned())),
        }
    }
    Ok((filter, offset))
}

/// Writes a filter as the query of a URL; empty when nothing is narrowed.
pub fn to_query(filter: &Filter) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for agent in &filter.agents {
        query.append_pair("agent", agent);
    }
    for operation in &filter.operations {
        query.append_pair("operation", operation.as_str());
    }
    for binding in &filter.bindings {
        query.append_pair("binding", binding.as_str());
    }
    for version in &filter.versions {
        query.append_pair("version", version.as_str());
    }
    for state in &filter.states {
        query.append_pair("state", state.as_str());
    }
    for outcome in &filter.outcomes {
        query.append_pair("outcome", &word(*outcome));
    }
    let words = [
        ("session", &filter.session),
        ("task", &filter.task),
        ("context", &filter.context),
        ("fault", &filter.fault),
        ("text", &filter.text),
    ];
    for (name, value) in words {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    for (name, value) in [("since", filter.since), ("until", filter.until)] {
        if let Some(value) = value {
            query.append_pair(name, &value.to_string());
        }
    }
    if let Some(limit) = filter.limit {
        query.append_pair("limit", &limit.to_string());
    }
    query.finish()
}

/// A moment: RFC 3339, or how long before `now` (`90s`, `10m`, `2h`, `7d`).
pub fn moment(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let wrong = || format!("`{text}` is no time; write RFC 3339, or an age as `10m`");
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(end);
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let age = number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(wrong)?;
    now.checked_sub(age).map_err(|_| wrong())
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|word| !word.is_empty())
}

fn extend<T: std::str::FromStr<Err = String>>(
    into: &mut Vec<T>,
    value: &str,
) -> Result<(), String> {
    for word in list(value) {
        into.push(word.parse()?);
    }
    Ok(())
}

fn count(value: &str) -> Result<usize, String> {
    value.parse().map_err(|_| format!("`{value}` is no number"))
}

/// An outcome by its word, `cut_by_agent`.
pub fn outcome(word: &str) -> Result<Outcome, String> {
    let reader: StrDeserializer<'_, ValueError> = word.into_deserializer();
    Outcome::deserialize(reader).map_err(|error| error.to_string())
}

/// The word of an outcome, `cut_by_agent`.
pub fn word(outcome: Outcome) -> String {
    match serde_json::to_value(outcome) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::binding::{Binding, ProtocolVersion};
    use crate::a2a::model::Operation;

    fn now() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_filter_survives_being_written_and_read() {
        let filter = Filter {
            agents: vec!["billing".to_owned(), "a b&c".to_owned()],
            operations: vec![Operation::SendMessage],
            bindings: vec![Binding::HttpJson],
            versions: vec![ProtocolVersion::V0_3],
            states: vec![TaskState::InputRequired],
            outcomes: vec![Outcome::CutByAgent],
            session: Some("last".to_owned()),
            task: Some("t".to_owned()),
            context: Some("c".to_owned()),
            fault: Some("refunds fail".to_owned()),
            text: Some("100 %".to_owned()),
            since: Some(now()),
            until: Some(now()),
            limit: Some(3),
        };
        let (read, offset) = from_query(&to_query(&filter), now()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{filter:?}"));
        assert_eq!(offset, 0);
        assert_eq!(to_query(&Filter::default()), "");
    }

    #[track_caller]
    fn check_error(query: &str, expected: &str) {
        assert_eq!(from_query(query, now()).unwrap_err().to_string(), expected, "{query}");
    }

    #[test]
    fn a_query_that_cannot_be_read_is_told_why() {
        check_error("agnet=x", "unknown parameter `agnet`");
        check_error(
            "binding=soap",
            "binding: unknown binding `soap`; known: jsonrpc, http+json, grpc",
        );
        check_error("limit=many", "limit: `many` is no number");
        check_error("since=later", "since: `later` is no time; write RFC 3339, or an age as `10m`");
    }

    #[test]
    fn an_age_is_counted_from_now() {
        assert_eq!(moment("10m", now()).unwrap().to_string(), "2026-11-30T11:50:00Z");
        assert_eq!(moment("7d", now()).unwrap().to_string(), "2026-11-23T12:00:00Z");
        assert!(moment("99999999999999d", now()).is_err());
    }

    #[test]
    fn every_parameter_is_read_under_its_name() {
        for (name, _) in PARAMETERS {
            let unknown = FilterError::Unknown((*name).to_owned());
            assert_ne!(from_query(&format!("{name}=x"), now()).err(), Some(unknown));
        }
    }
}
