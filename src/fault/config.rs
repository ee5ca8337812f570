//! One rule as it is written: the keys of `faults:` in a file, of the admin API and of `fuzz:`.
//!
//! `when` and `inject` stay JSON values here. Their readers are the tables of
//! [`matcher`](crate::fault::matcher) and [`kinds`](crate::fault::kinds), which can say what is known.

use serde::Deserialize;
use serde_json::Value;

use crate::a2a::model::Object;

/// One rule as it stands in a file (`faults:`), by the grammar of the rules' reference.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// Unique; the record, the command line and the `meddler-fault` header use it. Left out, it is
    /// `fault-N` by its place in the list.
    #[serde(default)]
    pub name: Option<String>,
    /// Name or glob of a remote agent, or a list; left out, every agent.
    #[serde(default)]
    pub agent: Value,
    /// Conditions, all of which must hold.
    #[serde(default)]
    pub when: Object,
    /// One fault, or a list that composes.
    pub inject: Value,
    /// How likely it fires, 0 to 1; left out, always.
    #[serde(default)]
    pub probability: Option<f64>,
    /// Of its draws; left out, one is made from the seed of the rule set and the rule's name.
    #[serde(default)]
    pub seed: Option<u64>,
    /// How often it fires at most.
    #[serde(default)]
    pub times: Option<u64>,
    /// Only on this eligible exchange, counted from 1.
    #[serde(default)]
    pub nth: Option<u64>,
    /// Only on every so many.
    #[serde(default)]
    pub every: Option<u64>,
    /// Only on the first so many.
    #[serde(default)]
    pub first: Option<u64>,
    /// Only after so many.
    #[serde(default)]
    pub after: Option<u64>,
    /// What counters count in.
    #[serde(default)]
    pub per: Per,
    /// Switched off it is listed, and never asked.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Whether an injected answer says so: `meddler-fault: RULE`.
    #[serde(default = "yes")]
    pub mark: bool,
}

/// What counters count in. Contexts and tasks are those of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each remote agent.
    #[default]
    Agent,
    /// Each conversation. A message that names none begins one.
    Context,
    /// Each task. A message that names none begins one.
    Task,
    /// Each session.
    Session,
    /// Each caller.
    Orchestrator,
    /// Nothing: all exchanges of the rule together.
    Rule,
}

impl RuleConfig {
    /// The rule that one entry of the short form `fuzz: { billing: error }` stands for.
    pub fn of_fuzz(agent: &str, inject: Value) -> Self {
        Self {
            name: Some(format!("fuzz {agent}")),
            agent: Value::String(agent.to_owned()),
            when: Object::new(),
            inject,
            probability: None,
            seed: None,
            times: None,
            nth: None,
            every: None,
            first: None,
            after: None,
            per: Per::Agent,
            enabled: true,
            mark: true,
        }
    }
}

const fn yes() -> bool {
    true
}
