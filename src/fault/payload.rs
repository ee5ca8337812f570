//! The library of hostile texts: data files, one a family, read once.
//!
//! `{{canary}}` and `{{canary_url}}` stand for what is unique to one injection. `{{tags:...}}` is written
//! as Unicode tag characters, which no screen shows: spelt out here so that a reviewer can read the file.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::fault::settings;

/// Texts of one kind of attack.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    #[serde(rename = "family")]
    pub(super) name: String,
    /// What the attack is, for people.
    #[expect(dead_code, reason = "for those who read the file; shown when faults can be listed")]
    about: String,
    pub(super) payloads: Vec<Payload>,
}

/// One text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payload {
    pub(super) name: String,
    pub(super) text: String,
}

/// The files, sorted by family.
const FILES: &[&str] = &[
    include_str!("../../fixtures/hostile/exfiltration_image.json"),
    include_str!("../../fixtures/hostile/exfiltration_link.json"),
    include_str!("../../fixtures/hostile/hidden_unicode.json"),
    include_str!("../../fixtures/hostile/injection.json"),
    include_str!("../../fixtures/hostile/markup.json"),
    include_str!("../../fixtures/hostile/role_spoofing.json"),
    include_str!("../../fixtures/hostile/terminal_escapes.json"),
    include_str!("../../fixtures/hostile/tool_spoofing.json"),
];

static LIBRARY: LazyLock<Vec<Family>> = LazyLock::new(|| {
    let read = |text: &&str| serde_json::from_str(text).expect("a test reads every file of FILES");
    FILES.iter().map(read).collect()
});

/// The family of this name, hyphens or underscores.
pub(super) fn family(name: &str) -> Result<&'static Family, String> {
    let plain = name.replace('-', "_");
    LIBRARY.iter().find(|family| family.name == plain).ok_or_else(|| {
        let known: Vec<&str> = LIBRARY.iter().map(|family| family.name.as_str()).collect();
        settings::unknown("family", name, &known)
    })
}

impl Family {
    /// The index of the payload of this name.
    pub(super) fn index(&self, name: &str) -> Result<usize, String> {
        self.payloads.iter().position(|payload| payload.name == name).ok_or_else(|| {
            let known: Vec<&str> =
                self.payloads.iter().map(|payload| payload.name.as_str()).collect();
            settings::unknown("payload", name, &known)
        })
    }
}

impl Payload {
    /// The text of one injection.
    pub(super) fn render(&self, canary: &str, canary_url: &str) -> String {
        let text = self.text.replace("{{canary}}", canary).replace("{{canary_url}}", canary_url);
        hide_tags(&text)
    }
}

/// Writes what stands in `{{tags:...}}` as tag characters, U+E0000 above ASCII.
fn hide_tags(text: &str) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{tags:") {
        let (inside, after) = after.split_once("}}").unwrap_or((after, ""));
        hidden.push_str(before);
        hidden.extend(inside.chars().map(|c| {
            let tag = c.is_ascii().then(|| char::from_u32(0xE_0000 + u32::from(c))).flatten();
            tag.unwrap_or(c)
        }));
        rest = after;
    }
    hidden.push_str(rest);
    hidden
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_payload_has_a_canary_and_no_placeholder_is_left() {
        for family in LIBRARY.iter() {
            let names: HashSet<&str> = family.payloads.iter().map(|p| p.name.as_str()).collect();
            assert_eq!(names.len(), family.payloads.len(), "names of {} repeat", family.name);
            assert!(family.payloads.len() >= 3, "{} has few payloads", family.name);
            for payload in &family.payloads {
                let at = format!("{}/{}", family.name, payload.name);
                let text = payload.render("mdl-1", "http://c.test/mdl-1");
                assert!(text.contains("mdl-1"), "{at} has no canary");
                assert!(!text.contains("{{"), "{at} keeps a placeholder");
            }
        }
    }

    #[test]
    fn files_are_named_for_their_family_and_each_is_in_the_library() {
        let mut names: Vec<String> = std::fs::read_dir("fixtures/hostile")
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .collect();
        names.sort();
        let library: Vec<&str> = LIBRARY.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(library, names);
    }

    #[test]
    fn hidden_text_is_there_and_not_to_be_seen() {
        assert_eq!(hide_tags("a{{tags:Hi}}b"), "a\u{E0048}\u{E0069}b");
        assert_eq!(hide_tags("{{tags:é"), "é");
        assert_eq!(hide_tags("plain"), "plain");
    }

    #[test]
    fn a_misspelt_name_is_told_the_nearest() {
        assert!(family("role-spoofing").is_ok());
        let error = family("injektion").unwrap_err();
        assert!(error.contains("did you mean `injection`?"), "{error}");
    }
}
