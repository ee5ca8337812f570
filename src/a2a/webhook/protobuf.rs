//! Webhooks registered in protobuf messages.

use super::{Decide, Webhook};
use crate::a2a::binding::ProtocolVersion;
use crate::a2a::model::Operation;
use crate::a2a::splice::fields::{self, Change};

/// Where one version's request holds a config.
struct Layout {
    version: ProtocolVersion,
    operations: &'static [Operation],
    /// The way to the config: numbers and names of fields.
    path: &'static [(u32, &'static str)],
    /// In the config: its address, and the token for deliveries.
    url: u32,
    token: u32,
}

const SENDS: &[Operation] = &[Operation::SendMessage, Operation::SendStreamingMessage];
const CREATES: &[Operation] = &[Operation::CreateTaskPushNotificationConfig];

#[rustfmt::skip]
const LAYOUTS: &[Layout] = &[
    Layout { version: ProtocolVersion::V0_3, operations: SENDS, path: &[(2, "configuration"), (2, "pushNotification")], url: 2, token: 3 },
    Layout { version: ProtocolVersion::V0_3, operations: CREATES, path: &[(3, "config"), (2, "pushNotificationConfig")], url: 2, token: 3 },
    Layout { version: ProtocolVersion::V1_0, operations: SENDS, path: &[(3, "configuration"), (2, "taskPushNotificationConfig")], url: 4, token: 5 },
    Layout { version: ProtocolVersion::V1_0, operations: CREATES, path: &[], url: 4, token: 5 },
];

/// Replaces the webhooks in a request. Its other fields, unknown ones included, keep octets and order.
pub(crate) fn register_in_protobuf(
    message: &[u8],
    version: ProtocolVersion,
    operation: Operation,
    decide: Decide<'_>,
) -> Option<Vec<u8>> {
    let is_of =
        |layout: &&Layout| layout.version == version && layout.operations.contains(&operation);
    let layout = LAYOUTS.iter().find(is_of)?;
    change(message, layout.path, "$", layout, decide)
}

/// Changes the configs at the end of a path. `None` when nothing changes, or it is no protobuf.
fn change(
    octets: &[u8],
    path: &[(u32, &str)],
    at: &str,
    layout: &Layout,
    decide: Decide<'_>,
) -> Option<Vec<u8>> {
    let mut is_changed = false;
    let token =
        fields::last(octets, layout.token).and_then(|token| String::from_utf8(token.to_vec()).ok());
    let token = token.filter(|token| path.is_empty() && !token.is_empty());
    let changed = fields::map(octets, &mut |field| {
        let new = match path.split_first() {
            Some(((number, name), rest)) if *number == field.number => field
                .octets()
                .and_then(|inner| change(inner, rest, &format!("{at}.{name}"), layout, decide)),
            None if field.number == layout.url => field.text().and_then(|url| {
                let (at, url) = (format!("{at}.url"), url.to_owned());
                let webhook = Webhook { at, url, token: token.clone() };
                decide(&webhook).filter(|new| *new != webhook.url).map(String::into_bytes)
            }),
            Some(_) | None => None,
        };
        match new {
            Some(new) => {
                is_changed = true;
                Change::Replace(new)
            }
            None => Change::Keep,
        }
    })?;
    is_changed.then_some(changed)
}
