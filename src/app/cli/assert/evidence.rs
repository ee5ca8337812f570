//! `--evidence DIR`: what a run was about and what failed, bound together by digests.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::recording::Source;
use super::hex;
use crate::app::failure::{Explain, Failure};
use crate::assertion::Suite;
use crate::assertion::report::Report;
use crate::record::query::{Filter, Recording};

/// Failures that are written; beyond them they are counted.
const FAILURES_MAX: usize = 100;
/// Characters of one text in a failure.
const CHARS_MAX: usize = 100_000;

/// What one suite came to, for its part of the evidence.
pub(super) struct Part<'a> {
    pub(super) suite: &'a Suite,
    pub(super) sources: &'a [Source],
    pub(super) recording: &'a Recording,
    pub(super) report: &'a Report,
}

#[derive(Serialize)]
struct Card {
    agent: String,
    exchange: String,
    sha256: String,
}

/// That the directory is new; asked before anything is judged.
pub(super) fn refuse_existing(directory: &Path) -> Result<(), Failure> {
    if directory.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("{} exists already", directory.display()))
            .with_hint("evidence is never overwritten: name a new directory"));
    }
    Ok(())
}

/// Writes the directory, whole or not at all.
pub(super) fn write(directory: &Path, created: &str, parts: &[Part<'_>]) -> Result<(), Failure> {
    let doing = || format!("cannot write the evidence {}", directory.display());
    refuse_existing(directory)?;
    let fresh = beside(directory);
    if let Some(parent) = fresh.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).doing(doing)?;
    }
    fs::create_dir(&fresh).doing(doing)?;
    let written =
        fill(&fresh, created, parts).and_then(|()| fs::rename(&fresh, directory).doing(doing));
    if written.is_err() {
        let removed = fs::remove_dir_all(&fresh);
        drop(removed);
    }
    written
}

/// A name beside it, for what is not whole yet.
fn beside(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    directory.with_file_name(name)
}

fn fill(directory: &Path, created: &str, parts: &[Part<'_>]) -> Result<(), Failure> {
    let suites: Vec<Value> = parts.iter().map(manifest).collect::<Result<_, _>>()?;
    let manifest = json!({
        "evidence": 1,
        "tool": concat!("meddler ", env!("CARGO_PKG_VERSION")),
        "created": created,
        "suites": suites,
    });
    let text = serde_json::to_string_pretty(&manifest)?;
    fs::write(directory.join("manifest.json"), text + "\n")?;
    let mut lines = String::new();
    for part in parts {
        for line in failures(part) {
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    fs::write(directory.join("failures.jsonl"), lines)?;
    Ok(())
}

fn manifest(part: &Part<'_>) -> Result<Value, Failure> {
    let Part { suite, sources, recording, report } = part;
    let path = Path::new(&suite.file);
    let text = fs::read(path).doing(|| format!("cannot read the suite {}", suite.file))?;
    let mut recordings = Vec::new();
    for source in *sources {
        recordings.push(match source {
            Source::File(path) if path.as_os_str() != "-" => {
                let doing = || format!("cannot read {}", path.display());
                json!({ "file": path.display().to_string(), "sha256": sha256(&fs::read(path).doing(doing)?) })
            }
            Source::File(_) => json!({ "file": "-", "sha256": of_exchanges(recording) }),
            Source::Store(path) => {
                json!({ "store": path.display().to_string(), "sha256": of_exchanges(recording) })
            }
            Source::Daemon(url) => {
                json!({ "daemon": url.origin().ascii_serialization(), "sha256": of_exchanges(recording) })
            }
        });
    }
    Ok(json!({
        "suite": suite.file,
        "sha256": sha256(&text),
        "recordings": recordings,
        "cards": cards(recording),
        "verdict": report.verdict,
        "totals": report.totals,
        "failures_left_out": all_failures(report).count().saturating_sub(FAILURES_MAX),
    }))
}

/// A store is written to while it is read, so its digest is that of what was read: each exchange by its
/// id and the digests of its bodies.
fn of_exchanges(recording: &Recording) -> String {
    let mut digest = Sha256::new();
    for exchange in recording.exchanges(&Filter::default()) {
        digest.update(exchange.id.to_string());
        digest.update(exchange.request.body.sha256);
        if let Some(response) = &exchange.response {
            digest.update(response.body.sha256);
        }
    }
    hex(&digest.finalize())
}

fn cards(recording: &Recording) -> Vec<Card> {
    use crate::a2a::model::Operation;
    let filter = Filter { operations: vec![Operation::AgentCard], ..Filter::default() };
    let fetched = recording.exchanges(&filter);
    let mut cards: Vec<Card> = Vec::new();
    for exchange in fetched {
        let Some(response) = exchange.response.as_ref().filter(|it| it.status == 200) else {
            continue;
        };
        let sha256 = sha256(&response.body.kept);
        if cards.iter().all(|card| card.agent != exchange.agent || card.sha256 != sha256) {
            let (agent, id) = (exchange.agent.clone(), exchange.id.to_string());
            cards.push(Card { agent, exchange: id, sha256 });
        }
    }
    cards
}

fn all_failures(report: &Report) -> impl Iterator<Item = Value> + '_ {
    report.tests.iter().flat_map(move |test| {
        test.assertions.iter().flat_map(move |check| {
            check.findings.iter().map(move |finding| {
                json!({
                    "suite": report.suite, "test": test.name, "assertion": check.assertion,
                    "line": check.line, "status": finding.status, "expected": finding.expected,
                    "actual": finding.actual, "hints": finding.hints, "evidence": finding.evidence,
                })
            })
        })
    })
}

/// One line each. What a variable of the suite holds is masked first and only then cut, so that no half
/// of a secret is left at the end.
fn failures(part: &Part<'_>) -> Vec<String> {
    let shown = all_failures(part.report).take(FAILURES_MAX);
    shown.map(|failure| cleaned(&failure, &part.suite.secrets).to_string()).collect()
}

fn cleaned(value: &Value, secrets: &[String]) -> Value {
    match value {
        Value::String(text) => {
            let masked = secrets.iter().fold(text.clone(), |text, it| text.replace(it, "***"));
            Value::String(masked.chars().take(CHARS_MAX).collect())
        }
        Value::Array(items) => items.iter().map(|item| cleaned(item, secrets)).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, value)| (name.clone(), cleaned(value, secrets))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn sha256(octets: &[u8]) -> String {
    hex(&Sha256::digest(octets))
}
