//! Building JSON objects member by member, leaving out what is not there.

use serde_json::Value;

use crate::a2a::model::Object;

/// An object being written, members in the order they are set.
#[derive(Default)]
pub(crate) struct Members(Object);

impl Members {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// An object that begins with this member.
    pub(crate) fn of(name: &str, value: impl Into<Value>) -> Self {
        Self::new().set(name, value)
    }

    /// Sets a member.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a member if there is a value.
    pub(crate) fn set_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// Sets a text if there is one.
    pub(crate) fn set_text(self, name: &str, text: Option<&String>) -> Self {
        self.set_some(name, text.map(String::as_str))
    }

    /// Sets an object if there is one.
    pub(crate) fn set_object(self, name: &str, object: Option<&Object>) -> Self {
        self.set_some(name, object.cloned())
    }

    /// Sets a list of texts unless it is empty.
    pub(crate) fn set_texts(self, name: &str, texts: &[String]) -> Self {
        self.set_list(name, texts, |text| Value::from(text.as_str()))
    }

    /// Sets a list unless it is empty.
    pub(crate) fn set_list<T>(self, name: &str, items: &[T], write: impl Fn(&T) -> Value) -> Self {
        if items.is_empty() { self } else { self.set(name, list(items, write)) }
    }

    /// Sets a member to true, or leaves it out.
    pub(crate) fn set_if(self, name: &str, yes: bool) -> Self {
        if yes { self.set(name, true) } else { self }
    }

    pub(crate) fn into_object(self) -> Object {
        self.0
    }
}

impl From<Members> for Value {
    fn from(members: Members) -> Self {
        Self::Object(members.0)
    }
}

/// A list, also when it is empty.
pub(crate) fn list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(write).collect())
}
