//! The rules of the house that a compiler cannot check.
//!
//! Each check is a function from sources to complaints, so that a test can show that it complains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Who may import whom. A module may always import itself and `base`.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("a2a", &[]),
    ("admin", &["a2a", "assertion", "fault", "net", "peer", "proxy", "record"]),
    ("app", &["a2a", "admin", "assertion", "fault", "net", "peer", "proxy", "record"]),
    ("assertion", &["a2a", "record"]),
    ("base", &[]),
    ("fault", &["a2a"]),
    ("net", &[]),
    ("peer", &["a2a", "net", "record"]),
    ("proxy", &["a2a", "fault", "net", "record"]),
    ("record", &["a2a"]),
];

/// Where a crate may be named, as path prefixes. Crates that are not here may be named anywhere.
const CRATE_HOMES: &[(&str, &[&str])] = &[
    ("axum::", &["src/admin/"]),
    ("clap::", &["src/app/"]),
    ("println!", &["src/app/"]),
    ("prost::", &["src/a2a/", "src/peer/"]),
    ("rcgen::", &["src/net/tls/ca.rs"]),
    ("ring::", &["src/net/jws.rs"]),
    ("sled::", &["src/record/store/state.rs"]),
    ("std::env::", &["src/app/", "src/main.rs"]),
    ("tokio::net::", &["src/net/"]),
    ("tonic::", &["src/a2a/", "src/peer/"]),
    ("tower::", &["src/admin/"]),
];

/// What a module must stay free of: `a2a`, `fault` and `assertion` have no I/O of their own, and the
/// proxy moves octets without parsing them.
const MUST_NOT_NAME: &[(&str, &[&str])] = &[
    ("src/a2a/", &["tokio::", "hyper::", "sled::"]),
    ("src/assertion/", &["tokio::", "hyper::"]),
    ("src/fault/", &["tokio::", "hyper::"]),
    ("src/proxy/", &["serde_json::Value", "prost::", "tonic::", "sled::"]),
    ("src/record/", &["hyper::"]),
];

/// Folders whose `mod.rs` holds a table, the table's name, and files in them that are no row.
const REGISTRIES: &[(&str, &str, &[&str])] = &[
    ("src/a2a/binding", "BINDINGS", &[]),
    ("src/a2a/dialect", "DIALECTS", &["generated.rs", "protobuf.rs"]),
    ("src/assertion/kinds", "KINDS", &[]),
    ("src/assertion/lint/rules", "GROUPS", &[]),
    ("src/assertion/report", "FORMATS", &[]),
    ("src/fault/kinds", "KINDS", &[]),
    ("src/fault/matcher", "MATCHERS", &[]),
];

/// Production lines a file may have: more is more than one idea.
const LINES_MAX: usize = 500;

struct Source {
    /// Relative to the package, with `/`.
    path: String,
    text: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(below: &str) -> Vec<Source> {
    let mut found = Vec::new();
    walk(&root().join(below), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
            found.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

/// Lines of production code with their numbers: comments cut off, `mod tests` left out.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .take_while(|line| !line.starts_with("#[cfg(test)]"))
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
}

fn top_module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    inside.contains('/').then(|| inside.split('/').next().unwrap_or_default())
}

fn check_imports(sources: &[Source]) -> Vec<String> {
    let allowed: BTreeMap<_, _> = MAY_IMPORT.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources {
        let Some(module) = top_module(&source.path) else { continue };
        let Some(below) = allowed.get(module) else {
            wrong.push(format!("{}: `{module}` has no row in MAY_IMPORT", source.path));
            continue;
        };
        for (number, code) in code_lines(&source.text) {
            if code.contains("crate::{") {
                wrong.push(format!(
                    "{}:{number}: no braces at the root of a `use`: they hide what is imported",
                    source.path
                ));
            }
            for part in code.split("crate::").skip(1) {
                let target: String =
                    part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = allowed.contains_key(target.as_str());
                if known && target != module && target != "base" && !below.contains(&&*target) {
                    wrong.push(format!(
                        "{}:{number}: {module} must not import {target}",
                        source.path
                    ));
                }
            }
        }
    }
    wrong
}

fn check_crate_homes(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        for (number, code) in code_lines(&source.text) {
            for (name, homes) in CRATE_HOMES {
                if names(code, name) && !homes.iter().any(|home| source.path.starts_with(home)) {
                    wrong.push(format!(
                        "{}:{number}: `{name}` belongs in {}",
                        source.path,
                        homes.join(", ")
                    ));
                }
            }
            for (place, banned) in MUST_NOT_NAME {
                for name in *banned {
                    if source.path.starts_with(place) && names(code, name) {
                        wrong.push(format!(
                            "{}:{number}: {place} must stay free of `{name}`",
                            source.path
                        ));
                    }
                }
            }
        }
    }
    wrong
}

/// Whether code names a crate or macro, and not one whose name merely ends alike (`eprintln!`).
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code.get(..at).and_then(|text| text.chars().last());
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

fn check_files(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in sources {
        if !source.text.starts_with("//!") {
            wrong.push(format!("{}:1: a file begins with `//!`: why it exists", source.path));
        }
        let lines =
            source.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
        if lines > LINES_MAX && source.path.starts_with("src/") {
            wrong.push(format!("{}: {lines} lines, {LINES_MAX} at most", source.path));
        }
    }
    wrong
}

fn check_registries(sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (folder, table, apart) in REGISTRIES {
        let home = format!("{folder}/mod.rs");
        let Some(index) = sources.iter().find(|source| source.path == home) else {
            wrong.push(format!("{home}: missing, but REGISTRIES names it"));
            continue;
        };
        let Some((_, rows)) = index.text.split_once(&format!("const {table}:")) else {
            wrong.push(format!("{home}: no `const {table}`"));
            continue;
        };
        let rows = rows.split("];").next().unwrap_or_default();
        for source in sources {
            let Some(file) = source.path.strip_prefix(&format!("{folder}/")) else { continue };
            let module = file.trim_end_matches(".rs");
            if file == "mod.rs" || file.contains('/') || apart.contains(&file) {
                continue;
            }
            if !rows.contains(&format!("{module}::")) {
                wrong.push(format!("{}: is in no row of {table}", source.path));
            }
        }
    }
    wrong
}

/// Places of one machine, which mean nothing on another.
fn check_no_machine_paths(sources: &[Source]) -> Vec<String> {
    let banned = [concat!("/wo", "rk/"), concat!("../sha", "red"), concat!("/ho", "me/")];
    let mut wrong = Vec::new();
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            for name in banned {
                if line.contains(name) {
                    wrong.push(format!("{}:{}: names a machine's path", source.path, index + 1));
                }
            }
        }
    }
    wrong
}

#[track_caller]
fn assert_tidy(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn modules_import_only_what_lies_below_them() {
    assert_tidy(&check_imports(&sources("src")));
}

#[test]
fn crates_are_named_only_in_their_home() {
    assert_tidy(&check_crate_homes(&sources("src")));
}

#[test]
fn every_file_says_why_it_exists_and_holds_one_idea() {
    assert_tidy(&check_files(&sources("src")));
    assert_tidy(&check_files(&sources("tests")));
}

#[test]
fn every_file_of_a_registry_has_its_row() {
    assert_tidy(&check_registries(&sources("src")));
}

#[test]
fn nothing_names_a_path_of_one_machine() {
    assert_tidy(&check_no_machine_paths(&sources("src")));
    assert_tidy(&check_no_machine_paths(&sources("tests")));
}

#[test]
fn every_fixture_folder_is_read_by_some_test() {
    let tests: String =
        sources("tests").into_iter().chain(sources("src")).map(|s| s.text).collect();
    let mut unread = Vec::new();
    for entry in fs::read_dir(root().join("fixtures")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !tests.contains(&format!("fixtures/{name}")) {
            unread.push(format!("fixtures/{name}: no test names it"));
        }
    }
    assert_tidy(&unread);
}

/// Each check complains about a source that breaks its rule.
#[test]
fn the_checks_complain() {
    let bad = |path: &str, text: &str| [Source { path: path.to_owned(), text: text.to_owned() }];
    let complaints = [
        check_imports(&bad("src/a2a/mod.rs", "//! x\nuse crate::proxy::serve;\n")),
        check_imports(&bad("src/a2a/mod.rs", "//! x\nuse crate::{base, net};\n")),
        check_imports(&bad("src/extra/mod.rs", "//! x\n")),
        check_crate_homes(&bad("src/fault/mod.rs", "//! x\nuse sled::Db;\n")),
        check_crate_homes(&bad("src/proxy/peek.rs", "//! x\nfn f(v: &serde_json::Value) {}\n")),
        check_files(&bad("src/net/mod.rs", "use std::io;\n")),
        check_files(&bad("src/net/mod.rs", &format!("//! x\n{}", "\n".repeat(LINES_MAX)))),
        check_no_machine_paths(&bad("src/net/mod.rs", concat!("//! see /wo", "rk/main"))),
    ];
    for (index, complaint) in complaints.iter().enumerate() {
        assert!(!complaint.is_empty(), "check {index} said nothing");
    }
    assert_eq!(complaints[0], ["src/a2a/mod.rs:2: a2a must not import proxy"]);
    let fine = bad("src/app/log.rs", "//! x\nfn f() { eprintln!(); println!() }\n");
    assert_eq!(check_crate_homes(&fine), Vec::<String>::new());
}

#[test]
fn a_stray_file_in_a_registry_is_found() {
    let sources = [
        Source {
            path: "src/fault/kinds/mod.rs".to_owned(),
            text: "const KINDS: &[Kind] = &[Kind::of::<delay::Delay>()];".to_owned(),
        },
        Source { path: "src/fault/kinds/delay.rs".to_owned(), text: String::new() },
        Source { path: "src/fault/kinds/stray.rs".to_owned(), text: String::new() },
    ];
    let wrong = check_registries(&sources);
    assert!(wrong.contains(&"src/fault/kinds/stray.rs: is in no row of KINDS".to_owned()));
    assert!(!wrong.iter().any(|line| line.contains("delay.rs")), "{wrong:?}");
}
