//! The parts of a canonical reply, with where they stand: what `data` and `files` choose from.

use serde_json::Value;

use super::reader::{Fields, Reader};

/// One part of a reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'v> {
    source: Source,
    artifact_name: Option<&'v str>,
    /// The part itself.
    pub(super) value: &'v Value,
}

/// Where a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// In the reply message, or in the message of the task's status.
    Message,
    /// In an artifact of the task.
    Artifact,
}

/// Which parts are meant.
#[derive(Clone, Debug, Default)]
pub(super) struct PartFilter {
    source: Option<Source>,
    artifact_name: Option<String>,
    media_type: Option<String>,
}

impl PartFilter {
    /// Takes `source`, `artifact_name` and `media_type`, as far as they are there.
    pub(super) fn take(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut filter = Self::default();
        if let Some(node) = fields.take("source") {
            let known = [("artifact", Source::Artifact), ("message", Source::Message)];
            filter.source = Some(reader.word(node, &known)?);
        }
        if let Some(node) = fields.take("artifact_name") {
            filter.artifact_name = Some(reader.name(node)?);
        }
        if let Some(node) = fields.take("media_type") {
            filter.media_type = Some(reader.name(node)?);
        }
        Some(filter)
    }

    /// Whether a part is meant. Media types are compared without case and parameters.
    pub(super) fn is(&self, part: &Part<'_>) -> bool {
        let media_type = part.value.get("mediaType").and_then(Value::as_str);
        self.source.is_none_or(|source| source == part.source)
            && self.artifact_name.as_deref().is_none_or(|name| part.artifact_name == Some(name))
            && self.media_type.as_deref().is_none_or(|wanted| {
                media_type.is_some_and(|found| essence(found).eq_ignore_ascii_case(essence(wanted)))
            })
    }
}

/// ` from an artifact "receipt" of type application/json`; empty when everything is meant.
impl std::fmt::Display for PartFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.source {
            Some(Source::Message) => f.write_str(" of the message")?,
            Some(Source::Artifact) => f.write_str(" of an artifact")?,
            None => {}
        }
        if let Some(name) = &self.artifact_name {
            write!(f, " in artifact {name:?}")?;
        }
        if let Some(media_type) = &self.media_type {
            write!(f, " of type {media_type}")?;
        }
        Ok(())
    }
}

/// The parts of a reply of this kind (`text`, `data`, `file`): of a task, those of its status message, then
/// those of its artifacts; of a message, its own.
pub(super) fn of_kind<'v>(reply: &'v Value, kind: &str) -> Vec<Part<'v>> {
    let mut parts = Vec::new();
    for at in ["/parts", "/status/message/parts"] {
        let values = reply.pointer(at).and_then(Value::as_array).into_iter().flatten();
        parts.extend(values.map(|value| Part {
            source: Source::Message,
            artifact_name: None,
            value,
        }));
    }
    let artifacts = reply.get("artifacts").and_then(Value::as_array).into_iter().flatten();
    for artifact in artifacts {
        let artifact_name = artifact.get("name").and_then(Value::as_str);
        let values = artifact.get("parts").and_then(Value::as_array).into_iter().flatten();
        parts.extend(values.map(|value| Part { source: Source::Artifact, artifact_name, value }));
    }
    parts.retain(|part| part.value.get("kind").and_then(Value::as_str) == Some(kind));
    parts
}

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}
