//! The reference page in the repository is the one that the program prints.

use std::fs;
use std::path::Path;

use meddler::assertion::reference;

#[test]
fn the_page_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/suites.md");
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == reference::page(),
        "docs/suites.md is not what the program says; write it anew: meddler suite reference > docs/suites.md"
    );
}
