//! The flags that narrow a listing: the same words as the admin interface's query.

use clap::Args;

use super::Context;
use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::{Operation, TaskState};
use crate::admin::{moment, outcome};
use crate::app::failure::Failure;
use crate::record::exchange::Outcome;
use crate::record::query::Filter;

/// The flags.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct FilterArgs {
    /// Only of this remote agent; repeatable
    #[arg(long = "agent", value_name = "NAME", env = "MEDDLER_AGENT")]
    agents: Vec<String>,
    /// Only this operation, by any of its names; repeatable
    #[arg(long = "operation", value_name = "NAME", env = "MEDDLER_OPERATION")]
    operations: Vec<Operation>,
    /// Only over this binding: jsonrpc, http+json, grpc; repeatable
    #[arg(long = "binding", value_name = "NAME", env = "MEDDLER_BINDING")]
    bindings: Vec<Binding>,
    /// Only in this version of the protocol: 0.3, 1.0; repeatable
    #[arg(long = "protocol", value_name = "VERSION", env = "MEDDLER_PROTOCOL")]
    versions: Vec<ProtocolVersion>,
    /// Only with this last known state; repeatable
    #[arg(long = "state", value_name = "STATE", env = "MEDDLER_STATE")]
    states: Vec<TaskState>,
    /// Only with this outcome; repeatable
    #[arg(long = "outcome", value_name = "OUTCOME", env = "MEDDLER_OUTCOME", value_parser = outcome)]
    outcomes: Vec<Outcome>,
    /// Only of this session; `last` is the newest that has exchanges
    #[arg(long, value_name = "NAME", env = "MEDDLER_SESSION")]
    session: Option<String>,
    /// Only of this task
    #[arg(long, value_name = "ID", env = "MEDDLER_TASK")]
    task: Option<String>,
    /// Only of this context
    #[arg(long, value_name = "ID", env = "MEDDLER_CONTEXT")]
    context: Option<String>,
    /// Only where this rule fired
    #[arg(long, value_name = "RULE", env = "MEDDLER_FAULT")]
    fault: Option<String>,
    /// Only with these words in message or reply
    #[arg(long, value_name = "WORDS", env = "MEDDLER_TEXT")]
    text: Option<String>,
    /// Not before: RFC 3339, or an age as 10m
    #[arg(long, value_name = "WHEN", env = "MEDDLER_SINCE")]
    since: Option<String>,
    /// Before: RFC 3339, or an age as 10m
    #[arg(long, value_name = "WHEN", env = "MEDDLER_UNTIL")]
    until: Option<String>,
}

impl FilterArgs {
    /// The filter they stand for.
    pub(super) fn filter(&self, context: &Context) -> Result<Filter, Failure> {
        let now = context.clock.now();
        let when = |flag: &str, text: &Option<String>| match text {
            Some(text) => {
                moment(text, now).map(Some).map_err(|why| Failure::new(format!("{flag}: {why}")))
            }
            None => Ok(None),
        };
        Ok(Filter {
            agents: self.agents.clone(),
            operations: self.operations.clone(),
            bindings: self.bindings.clone(),
            versions: self.versions.clone(),
            states: self.states.clone(),
            outcomes: self.outcomes.clone(),
            session: self.session.clone(),
            task: self.task.clone(),
            context: self.context.clone(),
            fault: self.fault.clone(),
            text: self.text.clone(),
            since: when("--since", &self.since)?,
            until: when("--until", &self.until)?,
            limit: None,
        })
    }
}
