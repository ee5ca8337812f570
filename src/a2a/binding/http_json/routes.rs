//! The paths of HTTP+JSON: one table, for recognizing and for writing.
//!
//! 1.0 has no prefix but may have a tenant in front, 0.3 stands under `/v1`. So `/v1/tasks/t` is 0.3 or
//! the tenant "v1" of 1.0: 0.3, unless 1.0 is declared. A path of two unknown segments before a route
//! is none of ours: the base path of an agent is taken off before we are asked.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::a2a::binding::ProtocolVersion;
use crate::a2a::model::Operation;

/// Everything in an id that a path segment or query value may not hold as it is.
pub(super) const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The prefix of each version.
const PREFIXES: &[(ProtocolVersion, &str)] =
    &[(ProtocolVersion::V1_0, ""), (ProtocolVersion::V0_3, "v1")];

/// Where the public card stands, the old name last.
const CARD_NAMES: &[&str] = &["agent-card.json", "agent.json"];

/// One operation's path.
struct Route {
    operation: Operation,
    /// The methods that lead to it, the one its clients use first.
    methods: &'static [Method],
    path: &'static [Segment],
    /// The only version that has it.
    only: Option<ProtocolVersion>,
}

/// One segment of a path.
#[derive(Clone, Copy)]
enum Segment {
    Word(&'static str),
    TaskId,
    TaskVerb(&'static str),
    ConfigId,
}

use Segment::{ConfigId, TaskId, TaskVerb, Word};

const CONFIGS: Segment = Word("pushNotificationConfigs");

// Where two match, the first counts: verbs stand before ids.
#[rustfmt::skip]
const ROUTES: &[Route] = &[
    Route { operation: Operation::SendMessage, methods: &[Method::POST], path: &[Word("message:send")], only: None },
    Route { operation: Operation::SendStreamingMessage, methods: &[Method::POST], path: &[Word("message:stream")], only: None },
    Route { operation: Operation::CancelTask, methods: &[Method::POST], path: &[Word("tasks"), TaskVerb("cancel")], only: None },
    Route { operation: Operation::SubscribeToTask, methods: &[Method::POST, Method::GET], path: &[Word("tasks"), TaskVerb("subscribe")], only: Some(ProtocolVersion::V1_0) },
    Route { operation: Operation::SubscribeToTask, methods: &[Method::GET, Method::POST], path: &[Word("tasks"), TaskVerb("subscribe")], only: Some(ProtocolVersion::V0_3) },
    Route { operation: Operation::GetTask, methods: &[Method::GET], path: &[Word("tasks"), TaskId], only: None },
    Route { operation: Operation::ListTasks, methods: &[Method::GET], path: &[Word("tasks")], only: None },
    Route { operation: Operation::CreateTaskPushNotificationConfig, methods: &[Method::POST], path: &[Word("tasks"), TaskId, CONFIGS], only: None },
    Route { operation: Operation::ListTaskPushNotificationConfigs, methods: &[Method::GET], path: &[Word("tasks"), TaskId, CONFIGS], only: None },
    Route { operation: Operation::GetTaskPushNotificationConfig, methods: &[Method::GET], path: &[Word("tasks"), TaskId, CONFIGS, ConfigId], only: None },
    Route { operation: Operation::DeleteTaskPushNotificationConfig, methods: &[Method::DELETE], path: &[Word("tasks"), TaskId, CONFIGS, ConfigId], only: None },
    Route { operation: Operation::GetExtendedAgentCard, methods: &[Method::GET], path: &[Word("extendedAgentCard")], only: Some(ProtocolVersion::V1_0) },
    Route { operation: Operation::GetExtendedAgentCard, methods: &[Method::GET], path: &[Word("card")], only: Some(ProtocolVersion::V0_3) },
];

/// What a path says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) operation: Operation,
    /// `None`: the path is the same in every version.
    pub(super) version: Option<ProtocolVersion>,
    /// Method and path with the ids left out: `GET /v1/tasks/{id}`.
    pub(super) wire_name: String,
    pub(super) tenant: Option<String>,
    pub(super) task_id: Option<String>,
    pub(super) config_id: Option<String>,
}

/// The operation of a method and path, if they are one of ours.
pub(super) fn find(
    method: &Method,
    path: &str,
    declared: Option<ProtocolVersion>,
) -> Option<Match> {
    let segments: Vec<String> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| percent_decode_str(segment).decode_utf8_lossy().into_owned())
        .collect();
    if let Some(card) = card(method, &segments) {
        return Some(card);
    }
    let mut best: Option<(usize, Match)> = None;
    for route in ROUTES.iter().filter(|route| route.methods.contains(method)) {
        let Some(prefix_len) = segments.len().checked_sub(route.path.len()) else { continue };
        let (prefix, rest) = segments.split_at(prefix_len);
        let shorter = best.as_ref().is_none_or(|(len, _)| prefix_len < *len);
        if let Some(found) = shorter.then(|| route.take(method, prefix, rest, declared)).flatten() {
            best = Some((prefix_len, found));
        }
    }
    best.map(|(_, found)| found)
}

/// Method and path of an operation.
pub(super) fn path(
    operation: Operation,
    version: ProtocolVersion,
    task_id: &str,
    config_id: &str,
) -> Option<(Method, String)> {
    let route = ROUTES.iter().find(|route| {
        route.operation == operation && route.only.is_none_or(|only| only == version)
    })?;
    let encode = |id: &str| utf8_percent_encode(id, RESERVED).to_string();
    let path = route.spell(prefix(version), &encode(task_id), &encode(config_id));
    Some((route.methods.first()?.clone(), path))
}

/// The well-known path of the public card.
pub(super) fn card_path() -> String {
    format!("/.well-known/{}", CARD_NAMES.first().copied().unwrap_or_default())
}

fn prefix(version: ProtocolVersion) -> &'static str {
    PREFIXES.iter().find(|row| row.0 == version).map_or("", |row| row.1)
}

/// Card discovery, and the extended card of the older 0.3 servers, whose place was its own.
fn card(method: &Method, segments: &[String]) -> Option<Match> {
    let wire_name = || format!("{method} /{}", segments.join("/"));
    match segments {
        [.., folder, name] if folder == ".well-known" && CARD_NAMES.contains(&name.as_str()) => {
            let is_read = matches!(*method, Method::GET | Method::HEAD);
            is_read.then(|| Match {
                operation: Operation::AgentCard,
                wire_name: wire_name(),
                ..Match::default()
            })
        }
        [.., folder, name] if folder == "agent" && name == "authenticatedExtendedCard" => {
            (*method == Method::GET).then(|| Match {
                operation: Operation::GetExtendedAgentCard,
                version: Some(ProtocolVersion::V0_3),
                wire_name: wire_name(),
                ..Match::default()
            })
        }
        _ => None,
    }
}

impl Route {
    fn take(
        &self,
        method: &Method,
        prefix: &[String],
        rest: &[String],
        declared: Option<ProtocolVersion>,
    ) -> Option<Match> {
        let (version, tenant) = read_prefix(prefix, declared)?;
        if self.only.is_some_and(|only| only != version) {
            return None;
        }
        let shown = tenant.as_ref().map_or_else(|| self::prefix(version), |_| "{tenant}");
        let mut found = Match {
            operation: self.operation,
            version: Some(version),
            wire_name: format!("{method} {}", self.spell(shown, "{id}", "{configId}")),
            tenant,
            ..Match::default()
        };
        for (segment, text) in self.path.iter().zip(rest) {
            match segment {
                Word(word) if word == text => {}
                Word(_) => return None,
                TaskId => found.task_id = Some(text.clone()),
                ConfigId => found.config_id = Some(text.clone()),
                TaskVerb(verb) => {
                    let id = text.strip_suffix(verb)?.strip_suffix(':')?;
                    found.task_id = Some(id.to_owned());
                }
            }
        }
        Some(found)
    }

    fn spell(&self, prefix: &str, task_id: &str, config_id: &str) -> String {
        let mut path = String::new();
        if !prefix.is_empty() {
            path.push('/');
            path.push_str(prefix);
        }
        for segment in self.path {
            path.push('/');
            match segment {
                Word(word) => path.push_str(word),
                TaskId => path.push_str(task_id),
                ConfigId => path.push_str(config_id),
                TaskVerb(verb) => {
                    path.push_str(task_id);
                    path.push(':');
                    path.push_str(verb);
                }
            }
        }
        path
    }
}

/// What stands before a route: the version it is spoken in, and the tenant.
fn read_prefix(
    segments: &[String],
    declared: Option<ProtocolVersion>,
) -> Option<(ProtocolVersion, Option<String>)> {
    let unprefixed = PREFIXES.first().map(|row| row.0)?;
    let named = |word: &String| PREFIXES.iter().find(|row| !row.1.is_empty() && row.1 == word);
    match segments {
        [] => Some((declared.unwrap_or(unprefixed), None)),
        [.., before, last] => {
            let (version, _) = named(last).filter(|_| named(before).is_none())?;
            Some((*version, None))
        }
        [only] => match named(only) {
            Some((version, _)) => match declared.filter(|declared| prefix(*declared).is_empty()) {
                Some(declared) => Some((declared, Some(only.clone()))),
                None => Some((*version, None)),
            },
            None => Some((declared.unwrap_or(unprefixed), Some(only.clone()))),
        },
    }
}
