//! Configurations and suites as files: every example loads, every mistake is told at its place.

use std::fs;
use std::path::{Path, PathBuf};

use super::program::Desk;

fn yaml_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(yaml_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_example_configuration_loads() {
    let desk = Desk::new();
    let examples = yaml_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("config"));
    assert!(examples.len() >= 7, "{examples:?}");
    for example in examples {
        let path = example.to_str().unwrap();
        let said = desk.run(&["config", "check", path]).ended(0);
        assert!(said.err.contains(": ok, "), "{}", said.err);
        if fs::read_to_string(&example).unwrap().contains("\ntests:") {
            desk.run(&["suite", "check", path]).ended(0);
        }
    }
}

#[test]
fn every_mistake_in_a_configuration_is_told_at_its_place() {
    let desk = Desk::new();
    let mut told = String::new();
    for broken in yaml_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config/broken"))
    {
        let name = broken.file_name().unwrap().to_str().unwrap();
        fs::copy(&broken, desk.path().join(name)).unwrap();
        let said = desk.run(&["config", "check", name]).ended(1);
        assert_eq!(said.out, "", "{name}");
        told.push_str(&said.err);
        told.push_str("----\n");
        // Nothing starts half configured.
        desk.run(&["serve", "-c", name]).ended(2);
    }
    insta::assert_snapshot!("broken_configurations", told);
    assert!(!desk.path().join("recordings").exists());
}

#[test]
fn a_configuration_that_is_not_there_is_no_finding() {
    let said = Desk::new().run(&["config", "check"]).ended(2);
    assert!(said.err.contains("cannot read the configuration meddler.yaml"), "{}", said.err);
    assert!(said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn variables_come_from_the_environment() {
    let desk = Desk::new();
    desk.write(
        "meddler.yaml",
        "version: 1\nremote_agents:\n  a: { listen: '127.0.0.1:0', forward: 'http://a', headers: { X-Key: \
         \"${AGENT_KEY}\" } }\n",
    );
    let said = desk.run(&["config", "check"]).ended(1);
    assert!(said.err.contains("the environment variable `AGENT_KEY` is not set"), "{}", said.err);
    let output = desk.command(&["config", "check"]).env("AGENT_KEY", "k3y").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn a_broken_suite_is_told_at_its_place() {
    let desk = Desk::new();
    desk.write("suite.yaml", "version: 1\ntests:\n  - name: a\n    asert: []\n");
    let said = desk.run(&["suite", "check", "suite.yaml"]).ended(1);
    assert!(said.err.contains("suite.yaml:4:5:") && said.err.contains("`assert`"), "{}", said.err);
    desk.run(&["assert", "suite.yaml"]).ended(2);
}

/// The blocks of README.md in this language.
fn readme(language: &str) -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(readme).unwrap();
    let (open, close) = (format!("```{language}\n"), "\n```");
    let blocks = text.split(open.as_str()).skip(1);
    blocks.map(|rest| rest.split(close).next().unwrap().to_owned()).collect()
}

#[test]
fn what_the_readme_shows_is_right_as_it_is_printed() {
    let desk = Desk::new();
    let blocks = readme("yaml");
    let [config, compose, suite] = blocks.as_slice() else { panic!("{blocks:?}") };
    desk.write("meddler.yaml", config);
    let checked = desk.command(&["config", "check"]).env("BILLING_TOKEN", "t0ken-t0ken").output();
    assert!(checked.as_ref().unwrap().status.success(), "{checked:?}");

    desk.write("refund.yaml", suite);
    let said = desk.run(&["suite", "check", "refund.yaml"]).ended(0);
    assert_eq!(said.err.trim_end(), "refund.yaml: ok, 1 test, 4 assertions");

    // The image is the one that the Dockerfile makes, and its health check is a command there is.
    assert_eq!(readme("dockerfile").len(), 1);
    assert!(compose.contains("image: meddler\n"), "{compose}");
    assert!(compose.contains("test: [CMD, meddler, healthcheck]"), "{compose}");
    desk.run(&["healthcheck", "--help"]).ended(0);
}
