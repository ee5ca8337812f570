//! Protobuf messages as JSON values and back, by the schemas in `proto/`.
//!
//! The way to JSON is our own walk over the decoded message rather than the library's: it has to tell
//! where a field stands that the schema does not know, to make integers of a `Struct`'s whole
//! numbers, and to give a map's members in one order (protobuf has none).

use std::sync::LazyLock;

use prost_reflect::prost::Message as _;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, FieldDescriptor, Kind, MapKey,
    MessageDescriptor, ReflectMessage, Value as Field,
};
use serde_json::Value;

use crate::a2a::binding::ProtocolVersion;
use crate::a2a::dialect::json::card::card_as_proto;
use crate::a2a::dialect::json::log::{Log, Place, Spelling};
use crate::a2a::dialect::json::values;
use crate::a2a::model::{Object, Operation};
use crate::a2a::problem::Problem;

mod status;

pub use status::{status_details, status_details_from_json, status_details_to_json};

/// Which message of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// What is asked.
    Request,
    /// What answers, once or as one event.
    Response,
}

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let descriptors = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
    DescriptorPool::decode(descriptors.as_slice()).expect("protox wrote it when this was built")
});

/// A message as the ProtoJSON value of its schema. Fields the schema does not know are problems
/// (`unknown_field`), octets that are no protobuf are a problem (`invalid_protobuf`) and give `None`.
///
/// Nesting is followed as deep as prost follows it (100 messages); beyond it a message is
/// `invalid_protobuf`. An operation that the version has no gRPC method for gives `None`.
pub fn to_json(
    version: ProtocolVersion,
    operation: Operation,
    message: Message,
    octets: &[u8],
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let schema = schema(version, operation, message)?;
    match DynamicMessage::decode(schema.clone(), octets) {
        Ok(decoded) => {
            let log = Log::new(Spelling::Proto);
            let value = value_of_message(&decoded, Place::Root, &log);
            log.into_problems(problems);
            Some(value)
        }
        Err(error) => {
            let text = format!("the octets are no {}: {error}", schema.full_name());
            problems.push(Problem::new("invalid_protobuf", "$", text));
            None
        }
    }
}

/// The message for a ProtoJSON value. The error says which member the schema refuses.
pub fn from_json(
    version: ProtocolVersion,
    operation: Operation,
    message: Message,
    value: &Value,
) -> Result<Vec<u8>, String> {
    let Some(schema) = schema(version, operation, message) else {
        return Err(format!("{version} has no gRPC message for {operation}"));
    };
    if schema.name() == "AgentCard" {
        // A card may be spelled by the JSON schema and may carry another version's members.
        return encoded(&schema, &card_as_proto(value), Unknown::Ignored);
    }
    encoded(&schema, value, Unknown::Refused)
}

/// An agent card as the ProtoJSON value of its schema.
pub(in crate::a2a) fn card_to_json(version: ProtocolVersion, octets: &[u8]) -> Option<Value> {
    let operation = Operation::GetExtendedAgentCard;
    to_json(version, operation, Message::Response, octets, &mut Vec::new())
}

/// The schema of 1.0's agent card.
pub(in crate::a2a) fn agent_card() -> Option<MessageDescriptor> {
    schema(ProtocolVersion::V1_0, Operation::GetExtendedAgentCard, Message::Response)
}

/// Whether members that the schema does not know are taken.
#[derive(Clone, Copy)]
enum Unknown {
    Ignored,
    Refused,
}

/// The schema of a method's message: the gRPC name is that of the version.
fn schema(
    version: ProtocolVersion,
    operation: Operation,
    message: Message,
) -> Option<MessageDescriptor> {
    let operation =
        if operation == Operation::AgentCard { Operation::GetExtendedAgentCard } else { operation };
    let (service, name) = match version {
        ProtocolVersion::V0_3 => ("a2a.v1.A2AService", operation.grpc_method_v0_3()),
        ProtocolVersion::V1_0 => ("lf.a2a.v1.A2AService", operation.as_str()),
    };
    let service = POOL.get_service_by_name(service)?;
    let method = service.methods().find(|method| method.name() == name)?;
    Some(match message {
        Message::Request => method.input(),
        Message::Response => method.output(),
    })
}

fn encoded(schema: &MessageDescriptor, value: &Value, unknown: Unknown) -> Result<Vec<u8>, String> {
    match deserialized(schema.clone(), value, unknown) {
        Ok(message) => Ok(message.encode_to_vec()),
        Err(_) => Err(refusal(schema, value, unknown, Place::Root)),
    }
}

fn deserialized(
    schema: MessageDescriptor,
    value: &Value,
    unknown: Unknown,
) -> Result<DynamicMessage, serde_json::Error> {
    let options =
        DeserializeOptions::new().deny_unknown_fields(matches!(unknown, Unknown::Refused));
    DynamicMessage::deserialize_with_options(schema, value, &options)
}

/// Why the schema refuses a value: the deepest message that is refused by itself, and what the
/// library says of it.
fn refusal(schema: &MessageDescriptor, value: &Value, unknown: Unknown, at: Place<'_>) -> String {
    for (name, member) in value.as_object().into_iter().flatten() {
        let field = schema.get_field_by_json_name(name).or_else(|| schema.get_field_by_name(name));
        let Some(Kind::Message(inner)) = field.as_ref().map(FieldDescriptor::kind) else {
            continue;
        };
        if inner.is_map_entry() {
            continue;
        }
        let place = Place::Member(&at, name);
        let items = member.as_array().filter(|_| field.is_some_and(|field| field.is_list()));
        for (index, item) in items.into_iter().flatten().enumerate() {
            if deserialized(inner.clone(), item, unknown).is_err() {
                return refusal(&inner, item, unknown, Place::Item(&place, index));
            }
        }
        if items.is_none() && deserialized(inner.clone(), member, unknown).is_err() {
            return refusal(&inner, member, unknown, place);
        }
    }
    match deserialized(schema.clone(), value, unknown) {
        Ok(_) => format!("{} is refused at {at}", schema.full_name()),
        Err(error) => format!("{} is refused at {at}: {error}", schema.full_name()),
    }
}

fn value_of_message(message: &DynamicMessage, at: Place<'_>, log: &Log) -> Value {
    let schema = message.descriptor();
    match schema.full_name() {
        "google.protobuf.Struct" => value_of_only(message, at, log, Value::Object(Object::new())),
        "google.protobuf.ListValue" => value_of_only(message, at, log, Value::Array(Vec::new())),
        "google.protobuf.Value" => value_of_only(message, at, log, Value::Null),
        "google.protobuf.Timestamp" => value_of_timestamp(message),
        _ => Value::Object(members_of_message(message, at, log)),
    }
}

/// The members of an ordinary message; a field in its default is absent, as in ProtoJSON.
fn members_of_message(message: &DynamicMessage, at: Place<'_>, log: &Log) -> Object {
    let mut members = Object::new();
    for (field, value) in message.fields() {
        let name = field.json_name();
        let value = value_of_field(value, &field.kind(), Place::Member(&at, name), log);
        members.insert(name.to_owned(), value);
    }
    note_unknown_fields(message, at, log);
    members
}

/// A message that is a wrapper around its only field.
fn value_of_only(message: &DynamicMessage, at: Place<'_>, log: &Log, empty: Value) -> Value {
    note_unknown_fields(message, at, log);
    let mut fields = message.fields();
    let only = fields.next().map(|(field, value)| value_of_field(value, &field.kind(), at, log));
    only.unwrap_or(empty)
}

/// A time outside of what RFC 3339 can write is written as seconds, for the reader to complain about.
fn value_of_timestamp(message: &DynamicMessage) -> Value {
    let part = |number| message.get_field_by_number(number);
    let seconds = part(1).and_then(|seconds| seconds.as_i64()).unwrap_or_default();
    let nanos = part(2).and_then(|nanos| nanos.as_i32()).unwrap_or_default();
    values::utc_of(seconds, nanos).unwrap_or_else(|| format!("{seconds} s {nanos} ns")).into()
}

fn value_of_field(field: &Field, kind: &Kind, at: Place<'_>, log: &Log) -> Value {
    match field {
        Field::Bool(value) => (*value).into(),
        Field::I32(value) => (*value).into(),
        Field::I64(value) => value.to_string().into(),
        Field::U32(value) => (*value).into(),
        Field::U64(value) => value.to_string().into(),
        Field::F32(value) => values::number(f64::from(*value)),
        Field::F64(value) => values::number(*value),
        Field::String(text) => text.as_str().into(),
        Field::Bytes(octets) => values::base64_encoded(octets).into(),
        Field::EnumNumber(number) => value_of_enum(*number, kind),
        Field::Message(message) => value_of_message(message, at, log),
        Field::List(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| value_of_field(item, kind, Place::Item(&at, index), log))
                .collect()
        }
        Field::Map(entries) => {
            let value_kind =
                kind.as_message().map_or(Kind::Bool, |entry| entry.map_entry_value_field().kind());
            let mut entries: Vec<(&MapKey, &Field)> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let members = entries.into_iter().map(|(key, value)| {
                let key = text_of_key(key);
                let value = value_of_field(value, &value_kind, Place::Member(&at, &key), log);
                (key, value)
            });
            Value::Object(members.collect())
        }
    }
}

/// The name of an enum's value, or its number where the schema has no name.
fn value_of_enum(number: i32, kind: &Kind) -> Value {
    match kind.as_enum().map(|schema| (schema.full_name().to_owned(), schema.get_value(number))) {
        Some((name, _)) if name == "google.protobuf.NullValue" => Value::Null,
        Some((_, Some(value))) => value.name().into(),
        Some((_, None)) | None => number.into(),
    }
}

fn text_of_key(key: &MapKey) -> String {
    match key {
        MapKey::Bool(key) => key.to_string(),
        MapKey::I32(key) => key.to_string(),
        MapKey::I64(key) => key.to_string(),
        MapKey::U32(key) => key.to_string(),
        MapKey::U64(key) => key.to_string(),
        MapKey::String(key) => key.clone(),
    }
}

fn note_unknown_fields(message: &DynamicMessage, at: Place<'_>, log: &Log) {
    for field in message.unknown_fields() {
        let schema = message.descriptor();
        let text = format!("field {} is not in {}", field.number(), schema.full_name());
        log.note("unknown_field", at, text);
    }
}
