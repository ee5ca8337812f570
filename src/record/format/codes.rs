//! The numbers that stand for operations, outcomes, bindings and versions. Never reused, never changed:
//! a new one goes to the end.

use crate::a2a::binding::{Binding, ProtocolVersion};
use crate::a2a::model::Operation;
use crate::record::exchange::Outcome;

const OPERATIONS: &[(u8, Operation)] = &[
    (1, Operation::SendMessage),
    (2, Operation::SendStreamingMessage),
    (3, Operation::GetTask),
    (4, Operation::ListTasks),
    (5, Operation::CancelTask),
    (6, Operation::SubscribeToTask),
    (7, Operation::CreateTaskPushNotificationConfig),
    (8, Operation::GetTaskPushNotificationConfig),
    (9, Operation::ListTaskPushNotificationConfigs),
    (10, Operation::DeleteTaskPushNotificationConfig),
    (11, Operation::GetExtendedAgentCard),
    (12, Operation::AgentCard),
    (13, Operation::PushNotification),
];

const OUTCOMES: &[(u8, Outcome)] = &[
    (1, Outcome::Completed),
    (2, Outcome::Failed),
    (3, Outcome::Rejected),
    (4, Outcome::Canceled),
    (5, Outcome::InputRequired),
    (6, Outcome::AuthRequired),
    (7, Outcome::Message),
    (8, Outcome::Working),
    (9, Outcome::Error),
    (10, Outcome::Incomplete),
    (11, Outcome::CutByAgent),
    (12, Outcome::CutByClient),
    (13, Outcome::UpstreamError),
    (14, Outcome::AnsweredByFault),
    (15, Outcome::Malformed),
    (16, Outcome::OpenAtStop),
];

const BINDINGS: &[(u8, Binding)] =
    &[(1, Binding::JsonRpc), (2, Binding::HttpJson), (3, Binding::Grpc)];

const VERSIONS: &[(u8, ProtocolVersion)] =
    &[(1, ProtocolVersion::V0_3), (2, ProtocolVersion::V1_0)];

fn code<T: PartialEq>(table: &[(u8, T)], value: &T) -> u8 {
    table.iter().find(|(_, known)| known == value).map_or(0, |(code, _)| *code)
}

fn value<T: Copy>(table: &[(u8, T)], code: u8) -> Option<T> {
    table.iter().find(|(known, _)| *known == code).map(|(_, value)| *value)
}

pub(in crate::record) fn of_operation(operation: Operation) -> u8 {
    code(OPERATIONS, &operation)
}

pub(in crate::record) fn operation(code: u8) -> Operation {
    value(OPERATIONS, code).unwrap_or(Operation::Unknown)
}

pub(in crate::record) fn of_outcome(outcome: Outcome) -> u8 {
    code(OUTCOMES, &outcome)
}

/// `None`: no exchange, or an outcome that a later program invented.
pub(in crate::record) fn outcome(code: u8) -> Option<Outcome> {
    value(OUTCOMES, code)
}

pub(in crate::record) fn of_binding(binding: Option<Binding>) -> u8 {
    binding.map_or(0, |binding| code(BINDINGS, &binding))
}

pub(in crate::record) fn binding(code: u8) -> Option<Binding> {
    value(BINDINGS, code)
}

pub(in crate::record) fn of_version(version: Option<ProtocolVersion>) -> u8 {
    version.map_or(0, |version| code(VERSIONS, &version))
}

pub(in crate::record) fn version(code: u8) -> Option<ProtocolVersion> {
    value(VERSIONS, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_number_of_its_own_and_comes_back() {
        for known in Operation::all() {
            assert_eq!(operation(of_operation(known)), known);
        }
    }

    #[test]
    fn no_number_stands_for_two_things() {
        fn check<T>(table: &[(u8, T)]) {
            let mut codes: Vec<u8> = table.iter().map(|(code, _)| *code).collect();
            codes.dedup();
            assert_eq!(codes.len(), table.len());
            assert!(codes.is_sorted() && !codes.contains(&0));
        }
        check(OPERATIONS);
        check(OUTCOMES);
        check(BINDINGS);
        check(VERSIONS);
    }

    #[test]
    fn every_outcome_has_a_number() {
        // The default is the variant that was declared last.
        assert_eq!(of_outcome(Outcome::OpenAtStop), 16);
        assert_eq!(OUTCOMES.len(), 16);
        for (code, known) in OUTCOMES {
            assert_eq!(outcome(*code), Some(*known));
        }
        assert_eq!(outcome(200), None);
    }
}
