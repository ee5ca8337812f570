//! Exchanges for tests, from the octets that a test writes: what is derived is derived as a reader does.
#![expect(clippy::needless_pass_by_value, reason = "a test writes its values in place")]

use jiff::SignedDuration;
use meddler::record::decode::understand;
use meddler::record::exchange::{
    Exchange, Outcome, Payload, RecordedRequest, RecordedResponse, Timings,
};
use meddler::record::query::Recording;
use serde_json::{Value, json};

use super::world::{at, delegation, exchange};

/// One exchange that is being made.
#[derive(Clone)]
pub(super) struct Made(pub(super) Exchange);

fn body(text: String) -> Payload {
    Payload { bytes: text.len() as u64, kept: text.into(), ..Payload::default() }
}

fn fields(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A request with this target and body; 1.0, to `billing`.
pub(super) fn ask(method: &str, target: &str, asked: &str) -> Made {
    let plain = exchange(&delegation(1, "billing", ""));
    let headers = fields(&[("content-type", "application/json"), ("a2a-version", "1.0")]);
    Made(Exchange {
        request: RecordedRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body: body(asked.to_owned()),
            ..RecordedRequest::default()
        },
        response: None,
        timings: Timings { end_us: Some(1000), ..Timings::default() },
        outcome: Outcome::Completed,
        ..plain
    })
}

/// A JSON-RPC call.
pub(super) fn rpc(method: &str, params: Value) -> Made {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    ask("POST", "/", &call.to_string())
}

/// A card that is fetched.
pub(super) fn card(card: &Value) -> Made {
    ask("GET", "/.well-known/agent-card.json", "").answered(200, &card.to_string())
}

impl Made {
    /// A header field of the request, in place of what it had.
    pub(super) fn header(mut self, name: &str, value: Option<&str>) -> Self {
        let headers = &mut self.0.request.headers;
        headers.retain(|(known, _)| known != name);
        headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self
    }

    /// The answer.
    pub(super) fn answered(mut self, status: u16, text: &str) -> Self {
        self.0.response = Some(RecordedResponse {
            status,
            headers: fields(&[("content-type", "application/json")]),
            body: body(text.to_owned()),
            ..RecordedResponse::default()
        });
        self
    }

    /// A JSON-RPC result.
    pub(super) fn result(self, result: Value) -> Self {
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        self.answered(200, &answer.to_string())
    }

    /// A JSON-RPC error.
    pub(super) fn error(self, error: Value) -> Self {
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "error": error });
        self.answered(200, &answer.to_string())
    }

    /// A stream of JSON-RPC results.
    pub(super) fn stream(self, events: &[Value]) -> Self {
        let text: Vec<String> = events
            .iter()
            .map(|event| {
                let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": event });
                format!("data: {answer}\n\n")
            })
            .collect();
        let mut made = self.answered(200, &text.concat());
        made.answer_header("content-type", "text/event-stream");
        made
    }

    /// A header field of the answer.
    pub(super) fn answer_header(&mut self, name: &str, value: &str) {
        if let Some(response) = &mut self.0.response {
            response.headers.retain(|(known, _)| known != name);
            response.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// The exchange with this number: when it began, what it is called, what its octets say.
    pub(super) fn number(mut self, number: usize) -> Exchange {
        let exchange = &mut self.0;
        exchange.id = format!("01930000-0000-7000-8000-{number:012x}").parse().unwrap();
        let after = SignedDuration::from_secs(i64::try_from(number).unwrap());
        exchange.started = at("2026-11-30T12:00:00Z") + after;
        let understood = understand(exchange);
        let call = &understood.call;
        exchange.binding = call.binding;
        exchange.version = call.version;
        exchange.declared_version.clone_from(&call.declared);
        exchange.operation = call.operation;
        exchange.wire_name.clone_from(&call.wire_name);
        exchange.ids = call.ids.clone();
        if let Some(answer) = &understood.answer {
            let ids = &mut exchange.ids;
            ids.task_id = ids.task_id.clone().or(answer.ids.task_id.clone());
            ids.context_id = ids.context_id.clone().or(answer.ids.context_id.clone());
        }
        self.0
    }
}

/// These as a recording, in this order.
pub(super) fn recording(made: Vec<Made>) -> Recording {
    Recording::of_exchanges((1..).zip(made).map(|(n, made)| made.number(n)).collect())
}

/// A message of the orchestrator, 1.0.
pub(super) fn message(id: &str, text: &str) -> Value {
    json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] })
}

/// A task, 1.0.
pub(super) fn task(id: &str, state: &str) -> Value {
    json!({ "id": id, "contextId": "c1", "status": { "state": format!("TASK_STATE_{state}") } })
}

/// A status update, 1.0.
pub(super) fn status(task: &str, state: &str) -> Value {
    json!({ "statusUpdate": { "taskId": task, "contextId": "c1", "status": { "state": format!("TASK_STATE_{state}") } } })
}
