//! `grpc-status-details-bin`: a `google.rpc.Status` with the details of an error.

use prost_reflect::DynamicMessage;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::Any;
use serde_json::Value;

use super::{POOL, Unknown, encoded, members_of_message};
use crate::a2a::dialect::generated::rpc;
use crate::a2a::dialect::json::log::{Log, Place, Spelling};
use crate::a2a::dialect::json::values;
use crate::a2a::dialect::json::write::{Members, list};
use crate::a2a::model::GrpcCode;

const TYPES: &str = "type.googleapis.com/";

/// The status of a `grpc-status-details-bin` field as JSON: `{"code": 5, "message": "...",
/// "details": [{"@type": "...", ...}]}`. `None` when the field holds no status.
///
/// The field is base64, padded or not, or, between peers that agreed on "true binary metadata", the
/// octets after a NUL. A detail of a type that is not in `proto/` keeps its octets as base64 `value`.
pub fn status_details_to_json(field: &[u8]) -> Option<Value> {
    let decoded;
    let octets = if let Some((0, octets)) = field.split_first() {
        octets
    } else {
        decoded = values::base64_decoded(str::from_utf8(field).ok()?.trim())?;
        decoded.as_slice()
    };
    let status = rpc::Status::decode(octets).ok()?;
    let details = Members::of("code", status.code)
        .set("message", status.message.as_str())
        .set("details", list(&status.details, detail));
    Some(details.into())
}

/// The octets of a status with one `ErrorInfo`, to be sent as base64 in `grpc-status-details-bin`.
pub fn status_details(
    code: GrpcCode,
    message: &str,
    reason: &str,
    domain: &str,
    metadata: &[(String, String)],
) -> Vec<u8> {
    let info = rpc::ErrorInfo {
        reason: reason.to_owned(),
        domain: domain.to_owned(),
        metadata: metadata.iter().cloned().collect(),
    };
    let detail =
        Any { type_url: format!("{TYPES}google.rpc.ErrorInfo"), value: info.encode_to_vec() };
    let code = i32::from(code.number());
    rpc::Status { code, message: message.to_owned(), details: vec![detail] }.encode_to_vec()
}

/// The octets of a status in the form that [`status_details_to_json`] gives. The error says what the
/// schema refuses: a detail of a type that is not in `proto/` has none.
pub fn status_details_from_json(status: &Value) -> Result<Vec<u8>, String> {
    let schema = POOL
        .get_message_by_name("google.rpc.Status")
        .ok_or("the schema of google.rpc.Status is not built in")?;
    encoded(&schema, status, Unknown::Refused)
}

fn detail(detail: &Any) -> Value {
    let name = detail.type_url.rsplit('/').next().unwrap_or_default();
    let members = Members::of("@type", detail.type_url.as_str());
    // Types of `google.protobuf` have JSON forms of their own, and none of them carries an error.
    let schema = POOL
        .get_message_by_name(name)
        .filter(|schema| !schema.full_name().starts_with("google.protobuf."));
    let message = schema.and_then(|schema| DynamicMessage::decode(schema, &*detail.value).ok());
    let Some(message) = message else {
        return members.set("value", values::base64_encoded(&detail.value)).into();
    };
    let log = Log::new(Spelling::Proto);
    let content = members_of_message(&message, Place::Root, &log);
    content.into_iter().fold(members, |all, (key, value)| all.set(&key, value)).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status() -> (Vec<u8>, Value) {
        let code = GrpcCode::of_name("NOT_FOUND").unwrap();
        let metadata = [("taskId".to_owned(), "t-1".to_owned())];
        let octets =
            status_details(code, "no such task", "TASK_NOT_FOUND", "a2a-protocol.org", &metadata);
        let json = json!({
            "code": 5,
            "message": "no such task",
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "TASK_NOT_FOUND",
                "domain": "a2a-protocol.org",
                "metadata": { "taskId": "t-1" },
            }],
        });
        (octets, json)
    }

    #[test]
    fn details_are_read_from_base64_and_from_octets_after_a_nul() {
        let (octets, expected) = status();
        let base64 = values::base64_encoded(&octets);
        let binary = [&[0], octets.as_slice()].concat();
        for field in [base64.as_bytes(), base64.trim_end_matches('=').as_bytes(), &binary] {
            assert_eq!(status_details_to_json(field), Some(expected.clone()));
        }
        assert_eq!(status_details_to_json(b"\x00\xff\xff"), None);
        assert_eq!(status_details_to_json(b"not base64!"), None);
    }

    #[test]
    fn details_go_back_into_the_octets_they_came_from() {
        let (octets, json) = status();
        assert_eq!(status_details_from_json(&json), Ok(octets));
        let unknown = json!({ "details": [{ "@type": "type.googleapis.com/no.such.Type" }] });
        assert!(status_details_from_json(&unknown).is_err());
    }

    #[test]
    fn a_detail_of_an_unknown_type_keeps_its_octets() {
        let detail =
            Any { type_url: "type.googleapis.com/no.such.Type".to_owned(), value: vec![1, 2] };
        let status = rpc::Status { code: 13, message: String::new(), details: vec![detail] };
        let field = values::base64_encoded(&status.encode_to_vec());
        let json = status_details_to_json(field.as_bytes()).unwrap();
        assert_eq!(json["details"][0]["value"], "AQI=");
    }
}
