//! What the bindings share: errors and their numbers, ids, JSON as peers send it, bodies over HTTP.

pub(crate) mod body;
pub(crate) mod errors;
pub(crate) mod ids;
pub(crate) mod json;

use http::HeaderName;

use super::ProtocolVersion;
use crate::a2a::call::{Answer, Call};
use crate::a2a::problem::Problem;
use crate::base::limits::Limits;

/// The header field (gRPC: metadata) and query parameter that declares the version.
pub(crate) const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// The header fields (gRPC: metadata) that name extensions: 1.0's, then 0.3's.
pub(crate) const EXTENSIONS: &[&str] = &["a2a-extensions", "x-a2a-extensions"];

/// How the clients of a version declare it. 0.3 is what is spoken where nothing is declared.
const DECLARATIONS: &[(ProtocolVersion, Option<&str>)] =
    &[(ProtocolVersion::V0_3, None), (ProtocolVersion::V1_0, Some("1.0"))];

pub(crate) fn declaration(version: ProtocolVersion) -> Option<&'static str> {
    DECLARATIONS.iter().find(|row| row.0 == version).and_then(|row| row.1)
}

/// The version that a call declares; nothing, and an empty text, declare the one without a declaration.
pub(crate) fn declared_or_default(call: &Call) -> Option<ProtocolVersion> {
    match call.declared.as_deref().map(str::trim) {
        None | Some("") => DECLARATIONS.iter().find(|row| row.1.is_none()).map(|row| row.0),
        Some(declared) => ProtocolVersion::parse(declared),
    }
}

/// The version to answer in: the one that is spoken, else the one that is declared, else the newest.
pub(crate) fn spoken(call: &Call) -> ProtocolVersion {
    call.version
        .or_else(|| call.declared.as_deref().and_then(ProtocolVersion::parse))
        .unwrap_or(ProtocolVersion::V1_0)
}

/// How many problems of one answer are listed: a stream of nonsense has one an event.
const PROBLEMS_MAX: usize = 1000;

/// Adds problems to an answer's, and says in which part of it they are: `response event 3: $.result`.
pub(crate) fn add(answer: &mut Answer, part: &str, problems: Vec<Problem>) {
    for mut problem in problems {
        if answer.problems.len() > PROBLEMS_MAX {
            return;
        }
        problem.at = format!("{part}: {}", problem.at);
        if answer.problems.len() == PROBLEMS_MAX {
            let text = format!("more than {PROBLEMS_MAX} problems; the rest is not listed");
            problem = Problem::new("too_many_problems", part, text);
        }
        answer.problems.push(problem);
    }
}

/// The problem of a frame that was not looked at.
pub(crate) fn oversized(at: &str) -> Problem {
    let limit = Limits::default().frame_bytes;
    Problem::new("oversized", at, format!("more than {limit} octets in one frame; not read"))
}

/// The problem of a declared version that is not the one spoken, if so.
pub(crate) fn mismatch(call: &Call) -> Option<Problem> {
    let declared = call.declared.as_deref()?;
    let spoken = call.version?;
    if declared.trim().is_empty() || ProtocolVersion::parse(declared) == Some(spoken) {
        return None;
    }
    let text = format!("`{declared}` is declared, {spoken} is spoken");
    Some(Problem::new("version_mismatch", "a2a-version", text))
}

/// Fills in what an answer's events tell of the whole: its ids, and the error that ended it.
pub(crate) fn sum_up(answer: &mut Answer) {
    for event in answer.events.iter().filter_map(|event| event.event.as_ref()) {
        ids::fill(&mut answer.ids, event.task_id(), event.context_id());
    }
    if answer.error.is_none() {
        answer.error = answer.events.last().and_then(|event| event.error.clone());
    }
}
