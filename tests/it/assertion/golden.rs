//! The suites of `fixtures/suites` against the small recording, in every format, and the example suites.

use std::fs;
use std::path::{Path, PathBuf};

use meddler::assertion::report::{FORMATS, FormatRow};
use meddler::assertion::{Options, Report, Style, Suite, evaluate};

use super::world::{now, recording, variables};

fn files(folder: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(here)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no suites in {folder}");
    files
}

fn read(path: &Path) -> Suite {
    let name = path.file_name().unwrap().to_str().unwrap();
    match Suite::parse(name, &fs::read_to_string(path).unwrap(), &variables) {
        Ok(suite) => suite,
        Err(error) => panic!("{error}"),
    }
}

fn report(path: &Path) -> Report {
    let options = Options { now: now(), ..Options::default() };
    evaluate(&read(path), &recording(), &options).unwrap()
}

fn written(format: &FormatRow, report: &Report, style: Style) -> String {
    let mut octets = Vec::new();
    format.write(report, style, &mut octets).unwrap();
    String::from_utf8(octets).unwrap()
}

#[test]
fn every_suite_gives_its_report_in_every_format() {
    for path in files("fixtures/suites") {
        let report = report(&path);
        let stem = path.file_stem().unwrap().to_str().unwrap();
        for format in FORMATS {
            let name = format!("{stem}.{}", format.extension);
            insta::assert_snapshot!(name, written(format, &report, Style::Plain));
        }
    }
}

#[test]
fn the_verdict_is_in_the_name_of_the_suite() {
    for path in files("fixtures/suites") {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let exit: u8 = stem.rsplit('-').next().unwrap().parse().unwrap();
        assert_eq!(report(&path).verdict.exit_code(), exit, "{stem}");
    }
}

#[test]
fn colour_changes_nothing_but_the_colour() {
    let text = FormatRow::named("text").unwrap();
    for path in files("fixtures/suites") {
        let report = report(&path);
        let mut coloured = written(text, &report, Style::Colour);
        for code in ["0", "1", "31", "32", "33"] {
            coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(coloured, written(text, &report, Style::Plain));
    }
}

#[test]
fn every_example_suite_is_read() {
    for path in files("config/suites") {
        let suite = read(&path);
        assert!(!suite.tests.is_empty(), "{}", path.display());
    }
}
