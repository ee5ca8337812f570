//! Every recorded call of the official SDKs is understood.

use meddler::a2a::binding::{Binding, ProtocolVersion};
use meddler::a2a::call::{Answer, Call};
use meddler::a2a::model::{ErrorKind, Operation, Reply};

use super::fixture::{self, Line};

/// Problems of an answer that its sender or receiver broke off.
const OF_A_CUT: &[&str] = &["missing_trailers", "unterminated", "empty_body"];

#[test]
fn every_recorded_request_is_understood() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in fixture::lines() {
        count += 1;
        let call = line.call();
        let binding = if line.op == "card" { Binding::HttpJson } else { line.binding };
        if call.binding != Some(binding) {
            wrong.push(format!("{}: read as {:?}", line.at, call.binding));
        }
        if call.operation == Operation::Unknown || call.request.is_none() {
            wrong.push(format!("{}: {} read as {:?}", line.at, call.wire_name, call.request));
        }
        if call.operation != Operation::AgentCard && call.version != Some(version(&line)) {
            wrong.push(format!("{}: version {:?}", line.at, call.version));
        }
        for problem in call.problems.iter().filter(|problem| !is_deliberate(&line, problem)) {
            wrong.push(format!("{}: {problem}", line.at));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 1000, "only {count} lines");
}

#[test]
fn every_recorded_answer_is_understood() {
    let mut wrong = Vec::new();
    for line in fixture::lines() {
        let call = line.call();
        let Some(answer) = line.answer(&call) else { continue };
        for problem in &answer.problems {
            if line.is_complete || !OF_A_CUT.contains(&problem.name.as_str()) {
                wrong.push(format!("{}: {} {problem}", line.at, line.op));
            }
        }
        wrong.extend(
            judge(&line, &call, &answer).map(|what| format!("{}: {} {what}", line.at, line.op)),
        );
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// A server of both versions delivers to webhooks in 1.0, whatever version registered them.
fn version(line: &Line) -> ProtocolVersion {
    if line.is_push && line.at.starts_with("0.3-on-1.0") {
        ProtocolVersion::V1_0
    } else {
        line.version
    }
}

/// `err-empty` sends a message without parts, to be refused.
fn is_deliberate(line: &Line, problem: &meddler::a2a::problem::Problem) -> bool {
    line.op == "err-empty" && problem.at.ends_with("parts")
}

fn judge(line: &Line, call: &Call, answer: &Answer) -> Option<String> {
    let is_refused =
        line.op.starts_with("err-") || line.op.ends_with("noauth") || line.op.contains("crash");
    if let Some(error) = &answer.error {
        if error.message.is_empty() {
            return Some(format!("an error without words: {error:?}"));
        }
        return None;
    }
    if !line.is_complete || is_refused {
        return None;
    }
    if call.operation.is_streaming() {
        let all = answer.events.iter().all(|event| event.event.is_some());
        return (!answer.is_stream || !all || answer.events.is_empty())
            .then(|| format!("no stream: {:?}", answer.events));
    }
    let is_right = matches!(
        (call.operation, &answer.reply),
        (Operation::SendMessage, Some(Reply::Task(_) | Reply::Message(_)))
            | (Operation::GetTask | Operation::CancelTask, Some(Reply::Task(_)))
            | (Operation::ListTasks, Some(Reply::Tasks(_)))
            | (Operation::ListTaskPushNotificationConfigs, Some(Reply::PushConfigs { .. }))
            | (Operation::DeleteTaskPushNotificationConfig, Some(Reply::Empty))
            | (Operation::GetExtendedAgentCard | Operation::AgentCard, Some(Reply::Card(_)))
            | (
                Operation::CreateTaskPushNotificationConfig
                    | Operation::GetTaskPushNotificationConfig,
                Some(Reply::PushConfig(_)),
            )
    );
    (!is_right).then(|| format!("{} answered by {:?}", call.operation, answer.reply))
}

/// What each operation that must fail fails with, on every binding, version and client.
#[test]
fn errors_have_the_same_kind_on_every_binding() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in fixture::lines() {
        let call = line.call();
        let Some(answer) = line.answer(&call) else { continue };
        let Some(error) = &answer.error else { continue };
        let expected = match (line.op.as_str(), call.operation) {
            ("err-get" | "err-cancel-unknown" | "err-send-unknown", _) => ErrorKind::TaskNotFound,
            ("err-cancel-done", Operation::CancelTask) => ErrorKind::TaskNotCancelable,
            _ => continue,
        };
        count += 1;
        if error.kind != Some(expected) {
            wrong.push(format!("{}: {} {:?}, not {expected:?}", line.at, line.op, error));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} errors");
}
