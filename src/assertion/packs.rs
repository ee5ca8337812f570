//! Packs: assertions that belong together, under one name. Each is a file a user can print and copy.

use super::nearest::suggestion;

/// One pack.
#[derive(Clone, Copy, Debug)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// The list of assertions, as a suite would hold it.
    pub text: &'static str,
    /// Settings that stand in the text as `${NAME}`, with what they are when nothing is said.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The packs, by name.
pub const PACKS: &[Pack] = &[
    Pack {
        name: "conformance",
        text: include_str!("packs/conformance.yaml"),
        settings: &[("level", "must")],
    },
    Pack {
        name: "graceful_degradation",
        text: include_str!("packs/graceful_degradation.yaml"),
        settings: &[("retries", "3")],
    },
    Pack {
        name: "no_injection_obeyed",
        text: include_str!("packs/no_injection_obeyed.yaml"),
        settings: &[],
    },
    Pack { name: "no_secret_leak", text: include_str!("packs/no_secret_leak.yaml"), settings: &[] },
    Pack {
        name: "push_idempotent",
        text: include_str!("packs/push_idempotent.yaml"),
        settings: &[],
    },
];

impl Pack {
    /// The pack of this name.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        PACKS.iter().find(|pack| pack.name == name).ok_or_else(|| {
            let known: Vec<&str> = PACKS.iter().map(|pack| pack.name).collect();
            format!("unknown pack `{name}`{}", suggestion(name, &known))
        })
    }

    /// What it holds, in words: the head of its file.
    pub fn summary(&self) -> String {
        let lines = self.text.lines().take_while(|line| line.starts_with('#'));
        let words: Vec<&str> = lines.map(|line| line.trim_start_matches('#').trim()).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_row_and_rows_are_sorted() {
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assertion/packs");
        let mut files: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        files.sort();
        let rows: Vec<&str> = PACKS.iter().map(|pack| pack.name).collect();
        assert_eq!(rows, files);
        assert!(PACKS.iter().all(|pack| !pack.summary().is_empty()));
    }
}
