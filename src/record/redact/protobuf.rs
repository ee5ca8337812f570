//! Where secrets stand in protobuf messages, by field numbers.
//!
//! The octets must stay where they are, so a schema library that decodes and encodes is no help. These
//! shapes name only the fields on the way to a secret; everything else is skipped.

use std::ops::Range;

use super::structs::Root;
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::dialect::protobuf::Message;
use crate::a2a::model::Operation;

/// Nesting that is followed.
const DEPTH_MAX: usize = 100;

/// What stands at a field.
enum Field {
    /// A secret of this kind.
    Secret(&'static str),
    /// An address that may carry secrets.
    Url,
    /// Words that a reader sees.
    Text,
    /// The id of an artifact, before its parts.
    Artifact,
    /// A message.
    In(Shape),
    /// JSON as protobuf has it.
    Json(Root),
}

type Shape = &'static [(u64, Field)];

/// What was found.
pub(super) enum Hit {
    /// A secret of this kind.
    Secret(&'static str),
    /// An address that may carry secrets.
    Url,
    /// Words that a reader sees.
    Text,
    /// The id of the artifact that the texts to come are of.
    Artifact,
    /// JSON as protobuf has it.
    Json(Root),
}

mod v1_0 {
    use super::Field::{self, Artifact, In, Json, Secret, Text, Url};
    use super::Root;

    const METADATA: Field = Json(Root::Metadata);

    const AUTHENTICATION: &[(u64, Field)] = &[(2, Secret("credentials"))];
    pub(super) const PUSH_CONFIG: &[(u64, Field)] =
        &[(4, Url), (5, Secret("push_token")), (6, In(AUTHENTICATION))];
    pub(super) const PUSH_CONFIGS: &[(u64, Field)] = &[(1, In(PUSH_CONFIG))];
    const CONFIGURATION: &[(u64, Field)] = &[(2, In(PUSH_CONFIG))];
    const PART: &[(u64, Field)] = &[(1, Text), (3, Url), (4, Json(Root::Value)), (5, METADATA)];
    const MESSAGE: &[(u64, Field)] = &[(5, In(PART)), (6, METADATA)];
    pub(super) const SEND: &[(u64, Field)] =
        &[(2, In(MESSAGE)), (3, In(CONFIGURATION)), (4, METADATA)];
    const STATUS: &[(u64, Field)] = &[(2, In(MESSAGE))];
    const ARTIFACT: &[(u64, Field)] = &[(1, Artifact), (4, In(PART)), (5, METADATA)];
    pub(super) const TASK: &[(u64, Field)] =
        &[(3, In(STATUS)), (4, In(ARTIFACT)), (5, In(MESSAGE)), (6, METADATA)];
    pub(super) const TASKS: &[(u64, Field)] = &[(1, In(TASK))];
    pub(super) const CANCEL: &[(u64, Field)] = &[(3, METADATA)];
    const STATUS_UPDATE: &[(u64, Field)] = &[(3, In(STATUS)), (4, METADATA)];
    const ARTIFACT_UPDATE: &[(u64, Field)] = &[(3, In(ARTIFACT)), (6, METADATA)];
    pub(super) const EVENT: &[(u64, Field)] =
        &[(1, In(TASK)), (2, In(MESSAGE)), (3, In(STATUS_UPDATE)), (4, In(ARTIFACT_UPDATE))];
}

mod v0_3 {
    use super::Field::{self, Artifact, In, Json, Secret, Text, Url};
    use super::Root;

    const METADATA: Field = Json(Root::Metadata);

    const AUTHENTICATION: &[(u64, Field)] = &[(2, Secret("credentials"))];
    const INNER_CONFIG: &[(u64, Field)] =
        &[(2, Url), (3, Secret("push_token")), (4, In(AUTHENTICATION))];
    pub(super) const PUSH_CONFIG: &[(u64, Field)] = &[(2, In(INNER_CONFIG))];
    pub(super) const PUSH_CONFIGS: &[(u64, Field)] = &[(1, In(PUSH_CONFIG))];
    pub(super) const CREATE: &[(u64, Field)] = &[(3, In(PUSH_CONFIG))];
    const CONFIGURATION: &[(u64, Field)] = &[(2, In(INNER_CONFIG))];
    const FILE: &[(u64, Field)] = &[(1, Url)];
    const DATA: &[(u64, Field)] = &[(1, Json(Root::Data))];
    const PART: &[(u64, Field)] = &[(1, Text), (2, In(FILE)), (3, In(DATA)), (4, METADATA)];
    const MESSAGE: &[(u64, Field)] = &[(5, In(PART)), (6, METADATA)];
    pub(super) const SEND: &[(u64, Field)] =
        &[(1, In(MESSAGE)), (2, In(CONFIGURATION)), (3, METADATA)];
    const STATUS: &[(u64, Field)] = &[(2, In(MESSAGE))];
    const ARTIFACT: &[(u64, Field)] = &[(1, Artifact), (5, In(PART)), (6, METADATA)];
    pub(super) const TASK: &[(u64, Field)] =
        &[(3, In(STATUS)), (4, In(ARTIFACT)), (5, In(MESSAGE)), (6, METADATA)];
    const STATUS_UPDATE: &[(u64, Field)] = &[(3, In(STATUS)), (5, METADATA)];
    const ARTIFACT_UPDATE: &[(u64, Field)] = &[(3, In(ARTIFACT)), (6, METADATA)];
    pub(super) const EVENT: &[(u64, Field)] =
        &[(1, In(TASK)), (2, In(MESSAGE)), (3, In(STATUS_UPDATE)), (4, In(ARTIFACT_UPDATE))];
}

/// Version, operation, what is asked, what answers. A message that is not named holds no secret.
#[rustfmt::skip]
const SHAPES: &[(ProtocolVersion, Operation, Shape, Shape)] = &[
    (ProtocolVersion::V1_0, Operation::SendMessage, v1_0::SEND, v1_0::EVENT),
    (ProtocolVersion::V1_0, Operation::SendStreamingMessage, v1_0::SEND, v1_0::EVENT),
    (ProtocolVersion::V1_0, Operation::GetTask, &[], v1_0::TASK),
    (ProtocolVersion::V1_0, Operation::ListTasks, &[], v1_0::TASKS),
    (ProtocolVersion::V1_0, Operation::CancelTask, v1_0::CANCEL, v1_0::TASK),
    (ProtocolVersion::V1_0, Operation::SubscribeToTask, &[], v1_0::EVENT),
    (ProtocolVersion::V1_0, Operation::CreateTaskPushNotificationConfig, v1_0::PUSH_CONFIG, v1_0::PUSH_CONFIG),
    (ProtocolVersion::V1_0, Operation::GetTaskPushNotificationConfig, &[], v1_0::PUSH_CONFIG),
    (ProtocolVersion::V1_0, Operation::ListTaskPushNotificationConfigs, &[], v1_0::PUSH_CONFIGS),
    (ProtocolVersion::V0_3, Operation::SendMessage, v0_3::SEND, v0_3::EVENT),
    (ProtocolVersion::V0_3, Operation::SendStreamingMessage, v0_3::SEND, v0_3::EVENT),
    (ProtocolVersion::V0_3, Operation::GetTask, &[], v0_3::TASK),
    (ProtocolVersion::V0_3, Operation::CancelTask, &[], v0_3::TASK),
    (ProtocolVersion::V0_3, Operation::SubscribeToTask, &[], v0_3::EVENT),
    (ProtocolVersion::V0_3, Operation::CreateTaskPushNotificationConfig, v0_3::CREATE, v0_3::PUSH_CONFIG),
    (ProtocolVersion::V0_3, Operation::GetTaskPushNotificationConfig, &[], v0_3::PUSH_CONFIG),
    (ProtocolVersion::V0_3, Operation::ListTaskPushNotificationConfigs, &[], v0_3::PUSH_CONFIGS),
];

/// Visits the secrets of a body of gRPC frames, compression undone. Without a version (or with one that
/// names another package than it speaks) the shapes of all versions are tried.
pub(super) fn secrets(
    body: &[u8],
    version: Option<ProtocolVersion>,
    operation: Operation,
    message: Message,
    visit: &mut dyn FnMut(Range<usize>, Hit),
) {
    let rows = SHAPES
        .iter()
        .filter(|row| row.1 == operation && version.is_none_or(|version| version == row.0));
    for row in rows {
        let shape = match message {
            Message::Request => row.2,
            Message::Response => row.3,
        };
        let mut start = 0;
        while let Some(prefix) = body.get(start..).and_then(|rest| rest.first_chunk::<5>()) {
            let [_, a, b, c, d] = *prefix;
            let len = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
            let end = (start + 5).saturating_add(len).min(body.len());
            walk(body, start + 5..end, shape, DEPTH_MAX, visit);
            start = end;
        }
    }
}

fn walk(
    body: &[u8],
    within: Range<usize>,
    shape: Shape,
    depth: usize,
    visit: &mut dyn FnMut(Range<usize>, Hit),
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for (number, range) in Fields::of(body, &within) {
        match shape.iter().find(|(known, _)| *known == number).map(|(_, field)| field) {
            Some(Field::Secret(kind)) => visit(range, Hit::Secret(kind)),
            Some(Field::Url) => visit(range, Hit::Url),
            Some(Field::Text) => visit(range, Hit::Text),
            Some(Field::Artifact) => visit(range, Hit::Artifact),
            Some(Field::In(inner)) => walk(body, range, inner, depth, visit),
            Some(Field::Json(root)) => visit(range, Hit::Json(*root)),
            None => {}
        }
    }
}

/// The length-delimited fields of a message. Ends at the first octet that is no protobuf; a field that
/// goes beyond the end (the body was cut) ends with it.
pub(super) struct Fields<'a> {
    body: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Fields<'a> {
    pub(super) const fn of(body: &'a [u8], within: &Range<usize>) -> Self {
        Self { body, at: within.start, end: within.end }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let octet = *self.body.get(self.at).filter(|_| self.at < self.end)?;
            self.at += 1;
            value |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Iterator for Fields<'_> {
    type Item = (u64, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let key = self.varint()?;
            match key & 7 {
                0 => {
                    self.varint()?;
                }
                1 => self.at += 8,
                2 => {
                    let len = usize::try_from(self.varint()?).ok()?;
                    let start = self.at;
                    self.at = start.saturating_add(len).min(self.end);
                    return Some((key >> 3, start..self.at));
                }
                5 => self.at += 4,
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A length-delimited field.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn frame(message: &[u8]) -> Vec<u8> {
        let len = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0], len.as_slice(), message].concat()
    }

    #[track_caller]
    fn check(
        version: ProtocolVersion,
        operation: Operation,
        message: Message,
        body: &[u8],
        expected: &[&str],
    ) {
        let mut found = Vec::new();
        secrets(body, Some(version), operation, message, &mut |range, hit| {
            let text = String::from_utf8_lossy(&body[range]).into_owned();
            match hit {
                Hit::Secret(kind) => found.push(format!("{kind}={text}")),
                Hit::Url => found.push(format!("url={text}")),
                Hit::Text => found.push(format!("text={text}")),
                Hit::Artifact => found.push(format!("artifact={text}")),
                Hit::Json(root) => found.push(format!("{root:?}={text}")),
            }
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn push_configs_are_found_in_sends_of_both_versions() {
        let authentication = field(2, b"cred-91bb");
        let config =
            [field(4, b"http://h"), field(5, b"tok-7f3a"), field(6, &authentication)].concat();
        let send = frame(&field(3, &field(2, &config)));
        let expected = ["url=http://h", "push_token=tok-7f3a", "credentials=cred-91bb"];
        check(ProtocolVersion::V1_0, Operation::SendMessage, Message::Request, &send, &expected);

        let config =
            [field(2, b"http://h"), field(3, b"tok-7f3a"), field(4, &authentication)].concat();
        let send = frame(&field(2, &field(2, &config)));
        check(ProtocolVersion::V0_3, Operation::SendMessage, Message::Request, &send, &expected);
    }

    #[test]
    fn a_message_that_was_cut_is_read_as_far_as_it_goes() {
        let mut body = frame(&field(5, b"tok-7f3a"));
        body.truncate(body.len() - 3);
        let create = Operation::CreateTaskPushNotificationConfig;
        check(ProtocolVersion::V1_0, create, Message::Request, &body, &["push_token=tok-7"]);
        check(ProtocolVersion::V1_0, create, Message::Request, &[0, 0, 0, 0, 9, 0xff], &[]);
    }
}
