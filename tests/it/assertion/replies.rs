//! Data, files and wording of the replies.

use super::world::{judge, recording, shown};

#[track_caller]
fn check(assertion: &str, expected: &str) {
    assert_eq!(shown(&judge(assertion, &recording())), expected, "{assertion}");
}

#[test]
fn data_is_asked_part_by_part() {
    check("data: { path: /amount, gte: 49, lt: 50 }", "held");
    check(
        "data: { path: /currency, equals: EUR, source: artifact, artifact_name: receipt, media_type: Application/JSON }",
        "held",
    );
    check("data: [{ path: /paid, equals: true }, { path: /currency, matches: \"^E\" }]", "held");
    check(
        "data: { path: \"\", json_schema: { type: object, required: [amount], properties: { items: { type: integer } } } }",
        "held",
    );
    check(
        "data: { path: /paid, equals: 1, on: { agent: billing } }",
        "failed: data: /paid equals 1 / /paid is true",
    );
    check(
        "data: { path: /amount, equals: 49.5, source: message, on: { agent: billing } }",
        "failed: data of the message: /amount equals 49.5 / there is no such data part",
    );
    check(
        "data: { path: /amount, json_schema: { type: string }, on: { agent: billing } }",
        "failed: data: /amount fits the schema / the value is 49.5, not of type \"string\"",
    );
    check(
        "data: { path: /nope, exists: true, on: { agent: billing } }",
        "failed: data: /nope exists / nothing is there",
    );
}

#[test]
fn files_are_told_by_metadata_and_inline_octets() {
    check(
        "files: { filename: receipt.pdf, media_type: application/pdf, kind: raw, count: 1 }",
        "held",
    );
    check("files: { size_bytes: 4, min_size_bytes: 1, max_size_bytes: 4 }", "held");
    // The octets are `%PDF`.
    check(
        "files: { sha256: 315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027 }",
        "held",
    );
    let other = "0000000000000000000000000000000000000000000000000000000000000000";
    check(
        &format!("files: {{ sha256: \"{other}\", on: {{ agent: billing }} }}"),
        &format!(
            "failed: a file, SHA-256 {other} / 0 of 1 file: \"receipt.pdf\" (4 octets, \"application/pdf\")"
        ),
    );
    check(
        "files: { kind: url, on: { agent: billing } }",
        "failed: a file, by URL / 0 of 1 file: \"receipt.pdf\" (4 octets, \"application/pdf\")",
    );
    check(
        "files: { artifact_name: summary, count: { gte: 1 }, on: { agent: billing } }",
        "failed: at least 1 files in artifact \"summary\" / 0 of 1 file: \"receipt.pdf\" (4 octets, \"application/pdf\")",
    );
    check("files: { count: 0, on: { agent: shipping, delegation: every } }", "held");
}

#[test]
fn similar_wording_is_measured_by_common_words() {
    check("similar_to: \"refunded, the reference is rf 889\"", "held");
    check("similar_to: { text: \"the reference is here\", threshold: 0.5 }", "held");
    check(
        "similar_to: { text: \"no way\", threshold: 0.5, on: { agent: billing } }",
        "failed: reply text at least 0.5 like \"no way\" / 0.00: \"Refunded, the reference is RF-889.\"",
    );
}

#[test]
fn a_sentence_without_a_judge_is_skipped_and_not_held() {
    check(
        "judge: \"The reply is polite\"",
        "skipped: a judge agrees: \"The reply is polite\" / no judge is configured",
    );
    check(
        "not: { judge: \"The reply is rude\" }",
        "skipped: a judge agrees: \"The reply is rude\" / no judge is configured",
    );
}
