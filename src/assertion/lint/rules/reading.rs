//! What the readers of `a2a` find: octets and members that are not as the version and binding want them.

use super::super::Level::{Must, Should};
use super::super::{Rule, reading};

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    reading("base64", Must, ("4.1.6", "6.6.1"), "inline octets in JSON are base64", &["invalid_base64"]),
    reading("body-present", Must, ("3.1", "7"), "an answer that must say something has a body", &["empty_body"]),
    reading("content-type", Must, ("9.1, 11.1", "3.2"), "the content type is the binding's", &["wrong_content_type"]),
    reading("enum-known", Must, ("4.1.3, 4.1.5", "6.3"), "words of an enum are ones that the version knows", &["unknown_enum"]),
    reading("enum-spelling", Must, ("5.5", "6.3"), "words of an enum are spelled as the version spells them", &["foreign_spelling"]),
    reading("field-type", Must, ("5.6", "6"), "members have the JSON types of the version", &["wrong_type"]),
    reading("grpc-framing", Must, ("10.1", "3.2.2"), "gRPC messages are framed and compressed as gRPC says", &["invalid_compression", "unknown_compression", "wrong_flag"]),
    reading("grpc-one-message", Must, ("10.3", "3.2.2"), "a plain gRPC call carries one message each way", &["missing_message", "too_many_messages"]),
    reading("grpc-status", Must, ("10.6", "3.2.2"), "a gRPC answer ends with a status", &["missing_trailers"]),
    reading("json-duplicate-key", Should, ("5.5", "3.2.1"), "a JSON object has no two members of one name", &["duplicate_key"]),
    reading("json-valid", Must, ("9.1, 11.1", "3.2.1"), "what is declared as JSON is JSON, without a byte order mark", &["invalid_json", "byte_order_mark"]),
    reading("jsonrpc-batch", Must, ("9.3", "6.11.1"), "A2A has no JSON-RPC batches", &["batch"]),
    reading("jsonrpc-id", Must, ("9.3", "6.11.2"), "a JSON-RPC answer carries the id of its request", &["wrong_id"]),
    reading("jsonrpc-notification", Must, ("9.3", "6.11.1"), "a JSON-RPC request has an id", &["notification"]),
    reading("jsonrpc-one-outcome", Must, ("9.3", "6.11.2"), "a JSON-RPC answer has a result or an error, not both", &["missing_result", "result_and_error"]),
    reading("jsonrpc-version", Must, ("9.3", "6.11.1"), "`jsonrpc` is \"2.0\"", &["wrong_jsonrpc"]),
    reading("member-of-union", Must, ("4.1.6, 3.2.3", "6.5"), "of a union one member is there, and one that the version knows", &["several_members", "unknown_kind"]),
    reading("part-content", Must, ("4.1.6", "6.5"), "a part has content", &["empty_part"]),
    reading("protobuf-known", Should, ("10.1", "3.2.2"), "protobuf messages have only fields of the schema", &["unknown_field"]),
    reading("protobuf-valid", Must, ("10.1", "3.2.2"), "the octets are a protobuf message of the expected type", &["invalid_protobuf"]),
    reading("push-token-shown", Must, ("4.3.3", "9.5"), "a delivery carries the token that its config has", &["push_token_missing", "push_token_wrong"]),
    reading("readable-size", Should, ("13", "4"), "messages are not deeper or larger than a reader follows", &["oversized", "too_deep"]),
    reading("required-field", Must, ("5.7", "6"), "members that the version requires are there", &["missing_field"]),
    reading("resource-name", Must, ("11.3", "3.2.2"), "names of resources have their form, and path and body agree", &["id_mismatch", "invalid_name"]),
    reading("service-parameter", Must, ("3.2.6, 11.5", "3.2"), "header fields and query parameters have values that they can have", &["invalid_value"]),
    reading("stream-framing", Must, ("9.4.2, 11.7", "3.3"), "a body does not end within an event", &["unterminated"]),
    reading("stream-where-due", Must, ("3.1.2, 3.1.6", "7.2"), "streaming operations answer by a stream, others once", &["not_a_stream", "unexpected_stream"]),
    reading("timestamp", Must, ("5.6.1", "6.2"), "times are as RFC 3339 writes them", &["invalid_timestamp"]),
    reading("utf8", Must, ("9.1, 11.1", "3.2.1"), "text is UTF-8", &["invalid_utf8"]),
    reading("version-spoken", Must, ("3.6.1", "3.4"), "the version that is declared is the one that is spoken", &["version_mismatch"]),
];
