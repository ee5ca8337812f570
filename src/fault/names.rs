//! Names and globs, as `agent`, `session` and the like take them: one, or a list of which one must hold.

use globset::{Glob, GlobMatcher};
use serde_json::Value;

use crate::fault::settings;

/// Names that something may have.
#[derive(Clone, Debug)]
pub(super) struct Names {
    names: Vec<Name>,
    /// As written, for people.
    pub(super) text: String,
}

#[derive(Clone, Debug)]
enum Name {
    /// Nothing in it is a wildcard: the common case, and a plain comparison.
    Exact(String),
    Glob(GlobMatcher),
}

impl Names {
    /// Reads a name or glob, or a list of them.
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        let texts = settings::texts(value)?;
        let names = texts.iter().map(|text| Name::parse(text)).collect::<Result<_, _>>()?;
        Ok(Self { names, text: texts.join(", ") })
    }

    /// Every name there is.
    pub(super) fn any() -> Self {
        let everything = Name::parse("*").expect("a lone star is a glob");
        Self { names: vec![everything], text: "*".to_owned() }
    }

    /// Whether one of them holds.
    pub(super) fn is_match(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.is_match(name))
    }

    /// Those that hold for none of `known`, as written.
    pub(super) fn matching_none<'a>(
        &'a self,
        known: &'a [String],
    ) -> impl Iterator<Item = &'a str> {
        self.names
            .iter()
            .filter(|name| !known.iter().any(|known| name.is_match(known)))
            .map(Name::as_str)
    }
}

impl Name {
    fn parse(text: &str) -> Result<Self, String> {
        if !text.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self::Exact(text.to_owned()));
        }
        match Glob::new(text) {
            Ok(glob) => Ok(Self::Glob(glob.compile_matcher())),
            Err(error) => Err(format!("`{text}` is no name or glob: {}", error.kind())),
        }
    }

    fn is_match(&self, name: &str) -> bool {
        match self {
            Self::Exact(known) => known == name,
            Self::Glob(glob) => glob.is_match(name),
        }
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Exact(name) => name,
            Self::Glob(glob) => glob.glob().glob(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_a_glob_or_a_list() {
        let holds = |value: Value, name: &str| Names::parse(&value).unwrap().is_match(name);
        assert!(holds(json!("billing"), "billing"));
        assert!(!holds(json!("billing"), "billing2"));
        assert!(holds(json!("bill*"), "billing"));
        assert!(holds(json!(["shipping", "b?lling"]), "billing"));
        assert!(holds(json!(42), "42"));
        assert!(Names::any().is_match(""));
        assert!(Names::parse(&json!([])).is_err());
        assert!(Names::parse(&json!("[")).is_err());
    }
}
