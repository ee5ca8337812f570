//! What is wrong with a message: data to assert on, never a failure of ours.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing that is not as the protocol wants it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The rule's name, `missing_field`: stable, for suites and reports. Listed in [`NAMES`].
    pub name: String,
    /// Where: a JSON path into the message (`$.params.message.role`), a header, or a frame
    /// (`response event 3: $.result`).
    pub at: String,
    /// What, in words, with what was found.
    pub text: String,
}

/// Every problem's name and what it means, by name.
#[rustfmt::skip]
pub const NAMES: &[(&str, &str)] = &[
    ("batch", "A JSON-RPC batch, which A2A does not have: no rule that names an operation applies to it"),
    ("byte_order_mark", "JSON begins with a byte order mark"),
    ("duplicate_key", "A JSON object has two members of one name"),
    ("empty_body", "An answer that must say something has no body"),
    ("empty_part", "A part of a message or artifact has no content"),
    ("foreign_spelling", "A word of an enum is spelled as another version of the protocol spells it"),
    ("id_mismatch", "An id in the path is another one than in the body"),
    ("invalid_base64", "Text that must be base64 is not"),
    ("invalid_compression", "A gRPC message cannot be inflated"),
    ("invalid_json", "The octets are no JSON"),
    ("invalid_name", "A compound name of 0.3 (`tasks/ID`) does not have its form"),
    ("invalid_protobuf", "The octets are no protobuf message of the expected type"),
    ("invalid_timestamp", "A time is not as RFC 3339 writes it"),
    ("invalid_utf8", "Text is no UTF-8"),
    ("invalid_value", "A header field or query parameter has a value that it cannot have"),
    ("missing_field", "A member that the version requires is absent"),
    ("missing_message", "A gRPC body has no message where one is due"),
    ("missing_result", "A JSON-RPC answer has neither a result nor an error"),
    ("missing_trailers", "A gRPC answer ends without a status"),
    ("not_a_stream", "A streaming operation is answered by a single answer that is no error"),
    ("notification", "A JSON-RPC request has no id, so that nothing may answer it"),
    ("oversized", "A frame or message is larger than is read"),
    ("push_token_missing", "A delivery does not carry the token that its config has"),
    ("push_token_wrong", "A delivery carries another token than its config has"),
    ("result_and_error", "A JSON-RPC answer has both a result and an error"),
    ("several_members", "More than one member of a union is there"),
    ("too_deep", "JSON is nested deeper than is read"),
    ("too_many_messages", "A gRPC body has several messages where one is due"),
    ("too_many_problems", "There are more problems than are listed"),
    ("unexpected_stream", "An operation that is answered once is answered by a stream"),
    ("unknown_compression", "A gRPC message is compressed in a way that is not read"),
    ("unknown_enum", "A word or number of an enum that no version knows"),
    ("unknown_field", "A protobuf field that the schema does not know"),
    ("unknown_kind", "A `kind`, or a member of a union, that the version does not know in this place"),
    ("unterminated", "A body ends within a frame"),
    ("version_mismatch", "The version that is declared is not the one that is spoken"),
    ("wrong_content_type", "The content type is not what the binding wants"),
    ("wrong_flag", "The flag before a gRPC message is neither 0 nor 1"),
    ("wrong_id", "A JSON-RPC answer has another id than the request"),
    ("wrong_jsonrpc", "The member `jsonrpc` is not \"2.0\""),
    ("wrong_type", "A member has another JSON type than the version wants"),
];

impl Problem {
    /// A problem of this name at this place.
    pub fn new(name: &str, at: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), at: at.into(), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.name, self.at, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(NAMES.is_sorted_by(|(one, _), (next, _)| one < next), "{NAMES:?}");
    }
}
