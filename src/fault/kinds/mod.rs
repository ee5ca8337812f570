//! What a rule can do: one file a family, one row in [`KINDS`].
//!
//! A family reads its settings once, when the rules load, and then turns calls into effects. It never
//! touches a socket, a clock or a random number of its own: chance and names come from the
//! `Shot`.

mod custom;
mod delay;
mod empty;
mod error;
mod hostile;

use std::fmt;

use serde_json::Value;

use crate::a2a::call::Call;
use crate::fault::facts::Needs;
use crate::fault::made::Place;
use crate::fault::matcher::Operations;
use crate::fault::settings;
use crate::fault::shot::Shot;
use crate::fault::verdict::{Effect, Start};

/// One fault, its settings read.
pub(super) trait Fault: fmt::Debug + Send + Sync {
    /// The operations it is for when the rule names none.
    fn scope(&self) -> Operations {
        Operations::SENDS
    }

    /// Checks it against the event of a stream that the rule names, once, when the rules load.
    fn begins_at(&mut self, _event: u64) -> Result<(), String> {
        Ok(())
    }

    /// What must be read of the request before an answer of its making can carry the request's ids.
    fn needs(&self, _from: Start) -> Needs {
        Needs::default()
    }

    /// What it takes hold of in the answer to this call. The error says why it cannot be applied.
    fn place(&self, call: &Call, from: Start) -> Result<Option<Place>, String>;

    /// What is to be done. Asked only after [`place`](Self::place) said that it can.
    fn effects(&self, shot: &mut Shot<'_>) -> Vec<Effect>;
}

/// A fault's name and how its settings are read.
trait Named: Fault + Sized + 'static {
    const NAME: &'static str;
    const SUMMARY: &'static str;
    const ROLE: Role;

    /// Reads the settings. The error does not repeat the fault's name.
    fn parse(settings: &Value) -> Result<Self, String>;
}

/// What a family does to an exchange: a rule can compose several, of which one may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It changes or replaces the answer.
    Answers,
    /// It only takes time: it adds up with everything.
    TakesTime,
}

/// One family of faults.
#[derive(Debug)]
pub struct Kind {
    /// Its name under `inject:`.
    pub name: &'static str,
    /// What it does, for the documentation.
    pub summary: &'static str,
    /// What it does to an exchange.
    pub role: Role,
    parse: fn(&Value) -> Result<Box<dyn Fault>, String>,
}

/// All families, sorted by name.
pub const KINDS: &[Kind] = &[
    Kind::of::<custom::Custom>(),
    Kind::of::<delay::Delay>(),
    Kind::of::<empty::Empty>(),
    Kind::of::<error::Error>(),
    Kind::of::<hostile::Hostile>(),
];

impl Kind {
    const fn of<F: Named>() -> Self {
        Self {
            name: F::NAME,
            summary: F::SUMMARY,
            role: F::ROLE,
            parse: |settings| Ok(Box::new(F::parse(settings)?)),
        }
    }
}

/// Faults of one rule, in the order written, with their families.
pub(super) type Faults = Vec<(&'static Kind, Box<dyn Fault>)>;

/// Reads `inject:`: the name of a family, a map of families to their settings, or a list of these. The
/// error begins with the path to the key.
pub(super) fn parse(inject: &Value) -> Result<Faults, String> {
    let mut faults = Faults::new();
    match inject {
        Value::Array(list) => {
            for one in list {
                parse_into(one, &mut faults)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            parse_into(inject, &mut faults)?;
        }
    }
    let answering: Vec<&str> = faults
        .iter()
        .filter(|(kind, _)| kind.role == Role::Answers)
        .map(|(kind, _)| kind.name)
        .collect();
    match answering.as_slice() {
        _ if faults.is_empty() => Err(format!("inject: no fault; known: {}", known().join(", "))),
        [first, second, ..] => Err(format!(
            "inject: `{first}` and `{second}` both answer; a rule can do one of them, write two rules"
        )),
        [] | [_] => Ok(faults),
    }
}

fn parse_into(inject: &Value, faults: &mut Faults) -> Result<(), String> {
    let nothing = Value::Null;
    match inject {
        Value::String(name) => faults.push(parse_one(name, &nothing)?),
        Value::Object(families) => {
            for (name, settings) in families {
                faults.push(parse_one(name, settings)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(format!("inject: {inject} is no fault; known: {}", known().join(", ")));
        }
    }
    Ok(())
}

fn parse_one(name: &str, value: &Value) -> Result<(&'static Kind, Box<dyn Fault>), String> {
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        return Err(format!("inject: {}", settings::unknown("fault", name, &known())));
    };
    let fault = (kind.parse)(value).map_err(|error| format!("inject.{name}: {error}"))?;
    Ok((kind, fault))
}

fn known() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}
