//! Messages and their parts (A2A 1.0, section 4.1.4 to 4.1.6).

use bytes::Bytes;
use serde_json::Value;

use super::Object;

/// One turn of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Made by whoever wrote the message; opaque to us.
    pub message_id: String,
    /// The conversation.
    pub context_id: Option<String>,
    /// The task it continues or belongs to.
    pub task_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub parts: Vec<Part>,
    /// Anything else, by the extensions' rules.
    pub metadata: Option<Object>,
    /// URIs of the extensions that shaped it.
    pub extensions: Vec<String>,
    /// Other tasks it refers to.
    pub reference_task_ids: Vec<String>,
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing, or a word that no version knows. Kept as it came; empty when absent.
    Unspecified(String),
    /// The orchestrator.
    User,
    /// The remote agent.
    Agent,
}

/// One piece of a message or artifact.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Text, data or a file.
    pub content: PartContent,
    /// Anything else.
    pub metadata: Option<Object>,
    /// A file's name (1.0 allows it on any part).
    pub filename: Option<String>,
    /// The media type of the content.
    pub media_type: Option<String>,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq)]
pub enum PartContent {
    /// Words.
    Text(String),
    /// Any JSON value (0.3: an object).
    Data(Value),
    /// A file.
    File(FileSource),
    /// Nothing a reader knows: the problem list says why.
    Empty,
}

/// Where a file's octets are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// Inline, decoded from base64 where the wire has base64.
    Raw(Bytes),
    /// Elsewhere. Never fetched by Meddler.
    Url(String),
}

impl Default for Role {
    fn default() -> Self {
        Self::Unspecified(String::new())
    }
}

impl Role {
    /// The short name of suites and output: `user`, `agent`, or the word as it came.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Unspecified(word) => word,
        }
    }
}

impl Part {
    /// A part of text and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(PartContent::Text(text.into()))
    }

    /// A part of data and nothing else.
    pub fn data(data: Value) -> Self {
        Self::of(PartContent::Data(data))
    }

    /// A part with this content and nothing else.
    pub const fn of(content: PartContent) -> Self {
        Self { content, metadata: None, filename: None, media_type: None }
    }

    /// The text, if that is what it holds.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            PartContent::Text(text) => Some(text),
            PartContent::Data(_) | PartContent::File(_) | PartContent::Empty => None,
        }
    }
}

impl Message {
    /// The text parts joined by line feeds: what `when.text` and `contains` look at.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }
}
