//! A recording with gaps gives no verdict where the gaps are, and a verdict elsewhere.

use std::sync::Arc;

use meddler::assertion::Verdict;
use meddler::base::id::ExchangeId;
use meddler::record::store::GapRecord;

use super::world::{at, id, instance, judge, recording, run, shown};

fn gap(exchange: Option<ExchangeId>, exchanges: u64) -> GapRecord {
    let reason = "queue_full".to_owned();
    GapRecord {
        at: at("2026-11-30T12:00:30Z"),
        instance: instance(),
        exchange,
        bytes: 9,
        exchanges,
        reason,
    }
}

#[test]
fn octets_lost_of_a_delegation_that_is_looked_at_are_no_verdict() {
    let mut source = recording();
    source.gaps.push(gap(Some(id(3)), 0));
    for assertion in
        ["contains: RF-889", "metric: { name: delegations, lte: 9 }", "not: { contains: sorry }"]
    {
        let result = judge(assertion, &source);
        assert_eq!(
            shown(&result),
            "error: a recording without gaps / the recording has gaps here: octets of d-00000003 to shipping \
             were lost while the recorder's queue was full",
            "{assertion}"
        );
    }
}

#[test]
fn octets_lost_elsewhere_do_not_matter() {
    let mut source = recording();
    source.gaps.push(gap(Some(id(3)), 0));
    source.gaps.push(gap(Some(id(200)), 0));
    assert_eq!(shown(&judge("{ contains: RF-889, on: { agent: billing } }", &source)), "held");
}

#[test]
fn what_may_stand_in_the_part_that_was_not_kept_is_no_verdict() {
    let mut source = recording();
    let mut exchange = (*source.exchanges[1]).clone();
    let body = &mut exchange.response.as_mut().unwrap().body;
    (body.truncated, body.bytes, body.kept) = (true, 9_000_000, "head".into());
    source.exchanges[1] = Arc::new(exchange);
    let cut = "only the first 4 of 9000000 octets of an answer to d-00000002 to billing were kept; raise \
               `store.max_body`";
    for (assertion, expected) in [
        ("contains: RF-889", "held".to_owned()),
        ("contains: RF-000", format!("error: reply text contains \"RF-000\" / {cut}")),
        (
            "text: { not_contains: RF-000 }",
            format!("error: reply text does not contain \"RF-000\" / {cut}"),
        ),
        ("delegated_to: billing", "held".to_owned()),
    ] {
        let assertion = format!("{{ {assertion}, on: {{ agent: billing }} }}");
        assert_eq!(shown(&judge(&assertion, &source)), expected, "{assertion}");
    }
}

#[test]
fn whole_exchanges_lost_in_the_session_are_no_verdict_for_any_test() {
    let mut source = recording();
    source.gaps.push(gap(None, 3));
    let test = |select: &str| {
        format!(
            "version: 1\ntests:\n  - name: t\n    select: {select}\n    assert: [{{ delegated_to: billing }}]\n"
        )
    };
    let report = run(&test("{ agent: billing }"), &source);
    assert_eq!(report.verdict, Verdict::CouldNotRun);
    assert_eq!(
        report.tests[0].assertions[0].findings[0].actual,
        "the recording has gaps here: 3 exchanges lost (queue_full), the first at 2026-11-30T12:00:30Z"
    );
    // They were lost after what this test looks at.
    let report = run(&test("{ agent: billing, until: \"2026-11-30T12:00:10Z\" }"), &source);
    assert_eq!(report.verdict, Verdict::Held);
}
