//! Every assertion once holding and once failing, over one recording: the table is kept.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use meddler::assertion::kinds::KINDS;
use meddler::assertion::outside::{
    Baseline, CommandCall, HttpAnswer, HttpCall, Judgement, Outside, Question, Ran,
};
use meddler::assertion::{CheckResult, Options, Report, Status, Suite, evaluate};
use meddler::record::query::{Filter, Recording};

use super::world::now;

fn recording() -> Recording {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Recording::open(&here.join("fixtures/recordings/every.a2a.jsonl")).unwrap()
}

/// What the suites ask of the world: a baseline that is equal, a service that knows one order, a judge
/// who knows one reference.
#[derive(Debug)]
struct World {
    digest: String,
}

impl Outside for World {
    fn baseline(&self, file: &str, current: &str) -> Result<Baseline, String> {
        let other = current.replace("RF-889", "RF-111");
        Ok(Baseline::Kept(if file == "every.golden.txt" { current.to_owned() } else { other }))
    }

    fn digests(&self, secret: &str) -> Vec<String> {
        let known = secret == "billing-secret-1";
        vec![if known { self.digest.clone() } else { "0".repeat(64) }]
    }

    fn command(&self, call: &CommandCall<'_>) -> Result<Ran, String> {
        let code = Some(i32::from(call.run[0] != "true"));
        Ok(Ran { code, output: String::new(), complaint: String::new() })
    }

    fn http(&self, call: &HttpCall) -> Result<HttpAnswer, String> {
        let known = call.url.ends_with("ORD-1001");
        let (status, body) = if known { (200, "{\"state\": \"refunded\"}") } else { (404, "") };
        Ok(HttpAnswer { status, body: body.to_owned() })
    }

    fn judge(&self, question: &Question) -> Result<Option<Judgement>, String> {
        Ok(Some(Judgement {
            holds: !format!("{question:?}").contains("RF-111"),
            reason: "so it says".to_owned(),
            model: "test".to_owned(),
            prompt_sha256: "0".to_owned(),
        }))
    }
}

fn report(suite: &str, recording: &Recording) -> Report {
    let variables = |name: &str| (name == "BILLING_TOKEN").then(|| "billing-secret-1".to_owned());
    let suite = Suite::parse("every.yaml", suite, &variables).unwrap_or_else(|e| panic!("{e}"));
    let filter = Filter { agents: vec!["billing".to_owned()], ..Filter::default() };
    let exchanges = recording.exchanges(&filter);
    let mut rows = exchanges.iter().flat_map(|exchange| &exchange.redactions);
    let digest = rows.find(|row| row.kind == "authorization").map(|row| row.hmac.clone());
    let outside = Arc::new(World { digest: digest.unwrap_or_default() });
    let configured = ["billing", "shipping", "ledger", "probe"].map(ToOwned::to_owned).to_vec();
    let options = Options { now: now(), configured, outside, ..Options::default() };
    evaluate(&suite, recording, &options).unwrap()
}

const HOLDS: &str = include_str!("../../../fixtures/suites/every/holds.yaml");
const FAILS: &str = include_str!("../../../fixtures/suites/every/fails.yaml");

/// The results of each kind; a pack's parts are the pack's.
fn by_kind(report: &Report) -> BTreeMap<String, Vec<CheckResult>> {
    let mut found: BTreeMap<String, Vec<CheckResult>> = BTreeMap::new();
    for check in report.tests.iter().flat_map(|test| &test.assertions) {
        let is_pack = check.assertion.starts_with("pack ");
        let kind = if is_pack { "pack".to_owned() } else { check.kind.clone() };
        found.entry(kind).or_default().push(check.clone());
    }
    found
}

#[test]
fn every_assertion_holds_once_and_fails_once() {
    let recording = recording();
    let (holds, fails) = (report(HOLDS, &recording), report(FAILS, &recording));
    let (held, failed) = (by_kind(&holds), by_kind(&fails));
    let mut table = String::from("assertion | as it holds | as it fails | what it says then\n");
    let mut wrong = Vec::new();
    for kind in KINDS {
        let good = held.get(kind.name).map(Vec::as_slice).unwrap_or_default();
        let bad = failed.get(kind.name).map(Vec::as_slice).unwrap_or_default();
        let is_pack = kind.name == "pack";
        let all_good = good
            .iter()
            .all(|it| it.status == Status::Held || is_pack && it.status == Status::Skipped);
        if good.is_empty() || !all_good {
            wrong.push(format!("{} does not hold: {good:#?}", kind.name));
        }
        if bad.is_empty() || bad.iter().any(|it| it.status != Status::Failed) {
            wrong.push(format!("{} does not fail: {bad:#?}", kind.name));
        }
        if let (Some(good), Some(bad)) = (good.first(), bad.first()) {
            let finding = &bad.findings[0];
            writeln!(
                table,
                "{} | {} | {} | expected {}; actual {}",
                kind.name, good.assertion, bad.assertion, finding.expected, finding.actual
            )
            .unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // How long things took differs from recording to recording, not from run to run.
    insta::assert_snapshot!("every", table);
}

#[test]
fn without_the_exchanges_no_test_passes() {
    let recording = Recording::read("empty", &mut EMPTY.as_bytes()).unwrap();
    for suite in [HOLDS, FAILS] {
        for test in report(suite, &recording).tests {
            assert!(matches!(test.status, Status::Vacuous | Status::Error), "{test:?}");
        }
    }
}

/// What is left of the file when the exchanges are deleted.
const EMPTY: &str = r#"{"a2a_recording":1,"tool":"meddler","instance":null,"created":null}
{"type":"session","name":"good","instance":"01930000-0000-7000-8000-000000000001","started":"2026-11-30T12:00:00Z"}
{"type":"session","name":"bad","instance":"01930000-0000-7000-8000-000000000001","started":"2026-11-30T12:00:01Z"}
"#;
