//! Assertions that ask the world outside: baselines, digests, commands, requests, judges.

use std::sync::{Arc, Mutex};

use meddler::assertion::outside::{
    Baseline, CommandCall, HttpAnswer, HttpCall, Judgement, Outside, Question, Ran,
};
use meddler::assertion::report::FORMATS;
use meddler::assertion::{Explain, Options, Report, Status, Style, Suite, evaluate};
use meddler::record::exchange::{Outcome, Redaction};
use serde_json::json;

use super::world::{delegation, ended, lists, now, recording, replied, variables};

/// A world that answers from what a test put there, and remembers what it was asked.
#[derive(Debug, Default)]
struct World {
    baseline: Option<String>,
    exit: Option<i32>,
    answer: Option<HttpAnswer>,
    judgement: Option<bool>,
    digest: Option<String>,
    asked: Mutex<Vec<String>>,
}

impl Outside for World {
    fn baseline(&self, file: &str, current: &str) -> Result<Baseline, String> {
        self.asked.lock().unwrap().push(current.to_owned());
        self.baseline.clone().map(Baseline::Kept).ok_or_else(|| format!("no baseline {file}"))
    }

    fn digests(&self, secret: &str) -> Vec<String> {
        self.digest.iter().map(|digest| format!("{digest}:{secret}")).collect()
    }

    fn command(&self, call: &CommandCall<'_>) -> Result<Ran, String> {
        self.asked.lock().unwrap().push(call.input.to_owned());
        let complaint = "no refund found".to_owned();
        Ok(Ran { code: self.exit, output: String::new(), complaint })
    }

    fn http(&self, call: &HttpCall) -> Result<HttpAnswer, String> {
        self.asked.lock().unwrap().push(format!("{} {} {}", call.method, call.url, call.body));
        self.answer.clone().ok_or_else(|| "nobody listens there".to_owned())
    }

    fn judge(&self, question: &Question) -> Result<Option<Judgement>, String> {
        self.asked.lock().unwrap().push(format!("{}\n{}", question.claim, question.evidence));
        Ok(self.judgement.map(|holds| Judgement {
            holds,
            reason: "the reference is named".to_owned(),
            model: "small".to_owned(),
            prompt_sha256: "ab12".to_owned(),
        }))
    }
}

fn report(assertion: &str, world: &Arc<World>, explain: Explain) -> Report {
    let text = format!(
        "tests:\n  - name: t\n    select: {{ agent: billing }}\n    assert:\n      - {assertion}\n"
    );
    let suite = Suite::parse("s.yaml", &text, &variables).unwrap_or_else(|e| panic!("{e}"));
    let outside: Arc<dyn Outside> = Arc::<World>::clone(world);
    let options = Options { now: now(), outside, explain, ..Options::default() };
    evaluate(&suite, &recording(), &options).unwrap()
}

#[track_caller]
fn check(assertion: &str, world: World, status: Status, actual: &str) -> Vec<String> {
    let world = Arc::new(world);
    let report = report(assertion, &world, Explain::Failures);
    let result = &report.tests[0].assertions[0];
    assert_eq!(result.status, status, "{assertion}: {result:?}");
    let shown: Vec<&str> = result.findings.iter().map(|it| it.actual.as_str()).collect();
    assert!(shown.concat().contains(actual), "{assertion}: {shown:?}");
    world.asked.lock().unwrap().clone()
}

#[test]
fn a_baseline_is_compared_line_by_line() {
    let asked = check("golden: g.txt", World::default(), Status::Error, "no baseline g.txt");
    let current = asked.concat();
    assert!(current.contains("billing SendMessage") && !current.contains("t-2"), "{current}");
    let same = World { baseline: Some(current.clone()), ..World::default() };
    check("golden: g.txt", same, Status::Held, "");
    let other = World { baseline: Some(current.replace("RF-889", "RF-1")), ..World::default() };
    check("golden: g.txt", other, Status::Failed, "RF-889");
    let near = || World {
        baseline: Some(current.replace("the reference", "your reference")),
        ..World::default()
    };
    check("golden: { file: g.txt, mode: similar }", near(), Status::Held, "");
    check(
        "golden: { file: g.txt, mode: similar, threshold: 1 }",
        near(),
        Status::Failed,
        "your reference",
    );
    let short = World { baseline: Some(String::new()), ..World::default() };
    check("golden: { file: g.txt, mode: similar }", short, Status::Failed, "was nothing");
}

#[test]
fn a_command_judges_by_its_exit_code() {
    let world = |exit| World { exit, ..World::default() };
    let asked = check("command: [check, --all]", world(Some(0)), Status::Held, "");
    assert!(
        asked[0].starts_with("{\"delegations\":[{") && asked[0].contains("RF-889"),
        "{asked:?}"
    );
    check(
        "command: { run: [check] }",
        world(Some(3)),
        Status::Failed,
        "exited with 3: \"no refund found\"",
    );
    check("command: { run: [check], timeout: 2s }", world(None), Status::Error, "limit of 2 s");
}

#[test]
fn a_request_is_answered_as_expected() {
    let world = |status, body: &str| {
        let answer = Some(HttpAnswer { status, body: body.to_owned() });
        World { answer, ..World::default() }
    };
    let plain = "http: { url: \"http://a.test/x?${ORDER}\", method: post, body: { a: 1 } }";
    let asked = check(plain, world(200, ""), Status::Held, "");
    assert_eq!(asked, ["POST http://a.test/x?ORD-1001 {\"a\":1}"]);
    check(plain, world(500, "oops"), Status::Failed, "500: \"oops\"");
    check(plain, World::default(), Status::Error, "nobody listens");
    let json = "http: { url: \"http://a.test/\", expect: { status: { lt: 300 }, json_path: { path: $.state, equals: done }, text: { not_contains: error } } }";
    check(json, world(204, "{\"state\": \"done\"}"), Status::Held, "");
    check(json, world(200, "{\"state\": \"error\"}"), Status::Failed, "error");
    check(json, world(200, "<html>"), Status::Failed, "no JSON");
}

#[test]
fn a_judge_is_asked_about_what_was_said() {
    let world = |judgement| World { judgement, ..World::default() };
    let asked = check("judge: \"A reference is named\"", world(Some(true)), Status::Held, "");
    assert!(
        asked[0].starts_with("A reference is named\nplanner to billing: Please refund"),
        "{asked:?}"
    );
    check("judge: \"A reference is named\"", world(Some(false)), Status::Failed, "small disagrees");
    check(
        "judge: \"A reference is named\"",
        world(None),
        Status::Skipped,
        "no judge is configured",
    );
    let grounded =
        "grounded: { context: { json_path: \"$.artifacts[*].parts[?@.kind == 'data'].data\" } }";
    let asked = check(grounded, world(Some(true)), Status::Held, "");
    assert!(asked[0].contains("\"currency\":\"EUR\""), "{asked:?}");
    check(
        "grounded: { context: { json_path: \"$.nothing\" } }",
        world(Some(true)),
        Status::Vacuous,
        "finds no context",
    );
}

#[test]
fn who_judged_is_in_the_report_and_so_is_what_was_looked_at() {
    let world = Arc::new(World { judgement: Some(true), ..World::default() });
    let report = report("judge: \"A reference is named\"", &world, Explain::Everything);
    let result = &report.tests[0].assertions[0];
    assert_eq!(result.notes, ["small agrees: \"the reference is named\" (prompt ab12)"]);
    assert_eq!(result.looked_at.as_deref(), Some("1 delegation to billing: d-00000002"));
}

#[test]
fn a_secret_stays_where_it_belongs() {
    let judge = |assertion: &str, place: &str, agent: &str, digest: Option<&str>| {
        let mut source = recording();
        source.exchanges = source
            .exchanges
            .iter()
            .map(|exchange| {
                let mut exchange = (**exchange).clone();
                if exchange.agent == agent {
                    exchange.redactions.push(Redaction {
                        place: place.to_owned(),
                        at: "authorization".to_owned(),
                        bytes: 10,
                        kind: "authorization".to_owned(),
                        hmac: "k:tok-123456".to_owned(),
                    });
                }
                Arc::new(exchange)
            })
            .collect();
        let text =
            format!("tests: [{{ name: t, allow_failed: true, assert: [{{ {assertion} }}] }}]");
        let suite = Suite::parse("s.yaml", &text, &variables).unwrap();
        let world = World { digest: digest.map(ToOwned::to_owned), ..World::default() };
        let options = Options { now: now(), outside: Arc::new(world), ..Options::default() };
        let report = evaluate(&suite, &source, &options).unwrap();
        let result = report.tests[0].assertions[0].clone();
        assert!(!format!("{result:?}").contains("tok-123456"), "a secret is named by its variable");
        (result.status, result.findings.first().map(|it| it.evidence.clone()).unwrap_or_default())
    };
    let only_billing = "secret_stays: { env: BILLING_TOKEN, only: [billing] }";
    assert_eq!(judge(only_billing, "request.header", "billing", Some("k")).0, Status::Held);
    assert_eq!(judge(only_billing, "response.body", "shipping", Some("k")).0, Status::Held);
    let (status, proof) = judge(only_billing, "request.header", "shipping", Some("k"));
    assert_eq!(status, Status::Failed);
    assert_eq!(proof[0].agent, "shipping");
    assert_eq!(proof[0].found, "in request.header authorization");
    assert_eq!(
        judge("secret_stays: { env: BILLING_TOKEN }", "request.body", "billing", Some("k")).0,
        Status::Failed
    );
    // Without the key nobody can say.
    assert_eq!(judge(only_billing, "request.header", "billing", None).0, Status::Error);
}

#[test]
fn a_reply_that_holds_a_secret_is_quoted_nowhere() {
    // Cut where a report cuts, only half of it would be left.
    let reply = format!("{}tok-123456", "x".repeat(155));
    let leaking = replied(
        ended(delegation(2, "billing", "refund"), &["completed"], Outcome::Completed),
        &reply,
        &json!([]),
    );
    let text = "tests: [{ name: t, assert: [{ contains: RF-1 }, { text: { not_contains_env: BILLING_TOKEN } }, { state: rejected }] }]";
    let suite = Suite::parse("s.yaml", text, &variables).unwrap();
    let options = Options { now: now(), ..Options::default() };
    let report = evaluate(&suite, &lists(vec![leaking]), &options).unwrap();
    assert_eq!(report.tests[0].status, Status::Failed);
    for format in FORMATS {
        let mut octets = Vec::new();
        format.write(&report, Style::Plain, &mut octets).unwrap();
        let written = String::from_utf8(octets).unwrap();
        assert!(
            !written.contains("tok-1") && !written.contains("xxxx"),
            "{}: {written}",
            format.name
        );
    }
}
