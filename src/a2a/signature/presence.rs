//! Which members of a card are part of what is signed (A2A 1.0, section 8.4.1).
//!
//! A member that the schema does not know is none of the card's content to whoever reads it by the
//! schema. A member in its default value is left out, unless the schema marks it REQUIRED or
//! `optional`: then what the card says explicitly stays.

use prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value};

use crate::a2a::dialect::protobuf;

/// The members that the specification's schema marks REQUIRED, by message. Our copy of the schema has no
/// such marks: they are of no use to a reader that refuses nothing.
const REQUIRED: &[(&str, &[&str])] = &[
    (
        "AgentCard",
        &[
            "name",
            "description",
            "supportedInterfaces",
            "version",
            "capabilities",
            "defaultInputModes",
            "defaultOutputModes",
            "skills",
        ],
    ),
    ("AgentInterface", &["url", "protocolBinding", "protocolVersion"]),
    ("AgentProvider", &["url", "organization"]),
    ("AgentSkill", &["id", "name", "description", "tags"]),
    ("APIKeySecurityScheme", &["location", "name"]),
    ("HTTPAuthSecurityScheme", &["scheme"]),
    ("OAuth2SecurityScheme", &["flows"]),
    ("OpenIdConnectSecurityScheme", &["openIdConnectUrl"]),
    ("AuthorizationCodeOAuthFlow", &["authorizationUrl", "tokenUrl", "scopes"]),
    ("ClientCredentialsOAuthFlow", &["tokenUrl", "scopes"]),
    ("DeviceCodeOAuthFlow", &["deviceAuthorizationUrl", "tokenUrl", "scopes"]),
];

/// Whose view of the card it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The specification's.
    Specification,
    /// The one of the official SDKs: nothing that is empty, REQUIRED or not.
    Sdk,
}

/// Whether members that are absent may stand for defaults: they do in a protobuf message, which has no
/// other way to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    IsAbsent,
    IsDefault,
}

/// The signed part of a 1.0 card.
pub(super) fn signed(card: &Value, view: View, absent: Absent) -> Option<Value> {
    let schema = protobuf::agent_card()?;
    let signed = of_message(card, &schema, view, absent);
    match view {
        View::Specification => Some(signed),
        View::Sdk => Some(without_empty(&signed).unwrap_or_else(|| Value::Object(Map::new()))),
    }
}

/// A value without what is empty in it; `None` when nothing is left.
pub(super) fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Array(items) => {
            let left: Vec<Value> = items.iter().filter_map(without_empty).collect();
            (!left.is_empty()).then_some(Value::Array(left))
        }
        Value::Object(members) => {
            let left: Map<String, Value> = members
                .iter()
                .filter_map(|(name, member)| Some((name.clone(), without_empty(member)?)))
                .collect();
            (!left.is_empty()).then_some(Value::Object(left))
        }
        Value::Bool(_) | Value::Number(_) => Some(value.clone()),
    }
}

fn of_message(value: &Value, schema: &MessageDescriptor, view: View, absent: Absent) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    if schema.full_name() == "google.protobuf.Struct" {
        return value.clone();
    }
    let required = REQUIRED.iter().find(|row| row.0 == schema.name()).map_or(&[][..], |row| row.1);
    let mut signed = Map::new();
    for field in schema.fields() {
        let name = field.json_name();
        if name == "signatures" && schema.name() == "AgentCard" {
            continue;
        }
        let is_required = view == View::Specification && required.contains(&name);
        let written = members.get(name).or_else(|| members.get(field.name()));
        let member = match written.filter(|member| !member.is_null()) {
            Some(member) => of_field(member, &field, view, absent),
            None if is_required && absent == Absent::IsDefault => match default_of(&field) {
                Some(default) => default,
                None => continue,
            },
            None => continue,
        };
        if is_required || field.supports_presence() || !is_default(&member) {
            signed.insert(name.to_owned(), member);
        }
    }
    Value::Object(signed)
}

fn of_field(value: &Value, field: &FieldDescriptor, view: View, absent: Absent) -> Value {
    let Kind::Message(inner) = field.kind() else { return value.clone() };
    if field.is_map() {
        let Kind::Message(inner) = inner.map_entry_value_field().kind() else {
            return value.clone();
        };
        let Value::Object(entries) = value else { return value.clone() };
        let entries = entries
            .iter()
            .map(|(key, entry)| (key.clone(), of_message(entry, &inner, view, absent)));
        return Value::Object(entries.collect());
    }
    match (field.cardinality(), value) {
        (Cardinality::Repeated, Value::Array(items)) => {
            items.iter().map(|item| of_message(item, &inner, view, absent)).collect()
        }
        _ => of_message(value, &inner, view, absent),
    }
}

/// What an absent field means. A message that is absent is absent.
fn default_of(field: &FieldDescriptor) -> Option<Value> {
    if field.is_map() {
        return Some(Value::Object(Map::new()));
    }
    match (field.cardinality(), field.kind()) {
        (Cardinality::Repeated, _) => Some(Value::Array(Vec::new())),
        (_, Kind::String) => Some(Value::from("")),
        (_, Kind::Bool) => Some(Value::from(false)),
        _ => None,
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::jcs::canonical;
    use super::*;

    #[track_caller]
    fn check(card: &Value, view: View, absent: Absent, expected: &str) {
        let signed = signed(card, view, absent).unwrap();
        assert_eq!(canonical(&signed), expected, "{card} {view:?} {absent:?}");
    }

    #[test]
    fn the_example_of_the_specification_is_canonical_as_it_says() {
        let card = json!({
            "name": "Example Agent", "description": "",
            "capabilities": { "streaming": false, "pushNotifications": false, "extensions": [] },
            "skills": [], "signatures": [{ "protected": "x", "signature": "y" }],
        });
        let of_the_specification = "{\"capabilities\":{\"pushNotifications\":false,\"streaming\":false},\
             \"description\":\"\",\"name\":\"Example Agent\",\"skills\":[]}";
        check(&card, View::Specification, Absent::IsAbsent, of_the_specification);
        let of_the_sdks = "{\"capabilities\":{\"pushNotifications\":false,\"streaming\":false},\
             \"name\":\"Example Agent\"}";
        check(&card, View::Sdk, Absent::IsAbsent, of_the_sdks);
    }

    #[test]
    fn what_the_schema_does_not_know_and_what_is_in_its_default_is_left_out() {
        let card = json!({
            "name": "a", "url": "http://a.test/", "x-vendor": 1, "documentationUrl": "", "iconUrl": null,
            "supported_interfaces": [{ "url": "u", "protocolBinding": "GRPC", "tenant": "", "x": 1 }],
            "capabilities": { "extensions": [{ "uri": "e", "required": false, "params": { "n": 0, "s": "" } }] },
            "securitySchemes": {
                "k": { "apiKeySecurityScheme": { "description": "", "location": "header", "name": "" } },
                "m": { "mtlsSecurityScheme": {} },
            },
            "securityRequirements": [{ "schemes": { "k": { "list": [] } } }],
            "skills": [{ "id": "s", "name": "", "description": "d", "tags": [], "examples": [] }],
        });
        check(
            &card,
            View::Specification,
            Absent::IsAbsent,
            "{\"capabilities\":{\"extensions\":[{\"params\":{\"n\":0,\"s\":\"\"},\"uri\":\"e\"}]},\
             \"documentationUrl\":\"\",\"name\":\"a\",\"securityRequirements\":[{\"schemes\":{\"k\":{}}}],\
             \"securitySchemes\":{\"k\":{\"apiKeySecurityScheme\":{\"location\":\"header\",\"name\":\"\"}},\
             \"m\":{\"mtlsSecurityScheme\":{}}},\"skills\":[{\"description\":\"d\",\"id\":\"s\",\"name\":\"\",\"tags\":[]}],\
             \"supportedInterfaces\":[{\"protocolBinding\":\"GRPC\",\"url\":\"u\"}]}",
        );
    }

    #[test]
    fn in_a_protobuf_message_a_required_field_that_is_absent_is_in_its_default() {
        check(
            &json!({ "name": "a", "capabilities": {} }),
            View::Specification,
            Absent::IsDefault,
            "{\"capabilities\":{},\"defaultInputModes\":[],\"defaultOutputModes\":[],\"description\":\"\",\
             \"name\":\"a\",\"skills\":[],\"supportedInterfaces\":[],\"version\":\"\"}",
        );
    }

    #[test]
    fn every_required_member_is_one_of_the_schema() {
        fn messages(schema: &MessageDescriptor, found: &mut Vec<MessageDescriptor>) {
            if found.contains(schema) {
                return;
            }
            found.push(schema.clone());
            for field in schema.fields() {
                if let Kind::Message(inner) = field.kind() {
                    messages(&inner, found);
                }
            }
        }
        let mut all = Vec::new();
        messages(&protobuf::agent_card().unwrap(), &mut all);
        for (message, members) in REQUIRED {
            let schema = all.iter().find(|schema| schema.name() == *message).expect(message);
            for member in *members {
                assert!(schema.get_field_by_json_name(member).is_some(), "{message}.{member}");
            }
        }
    }
}
