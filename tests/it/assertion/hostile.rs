//! Bodies that a peer made to cost us time: deep, wide, repetitive. Every question ends, and says why
//! when it will not be answered.

use meddler::record::delegation::Delegation;
use meddler::record::exchange::Outcome;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{delegation, ended, judge, lists, shown};

fn replying(reply: Value, text: String) -> Delegation {
    let completed = ended(delegation(2, "billing", "x"), &["completed"], Outcome::Completed);
    Delegation { reply: Some(reply), reply_text: text, ..completed }
}

/// As deep as a reader follows, and wide at each level.
fn deep() -> Value {
    let wide: Vec<Value> = (0..200).map(|n| json!({ "a": n, "b": [n] })).collect();
    (0..95).fold(json!(wide), |inner, _| json!({ "a": inner, "b": wide.clone() }))
}

#[test]
fn a_path_that_would_never_end_is_not_followed() {
    let source = lists(vec![replying(deep(), String::new())]);
    for path in ["$..*..*..*", "$..a..b..a..b", "$..[?@..a]..b"] {
        let assertion = format!("json_path: {{ path: \"{path}\", count: 0 }}");
        let said = shown(&judge(&assertion, &source));
        assert!(
            said.starts_with("error: ") && said.contains("is too much for a document of"),
            "{said}"
        );
    }
    assert!(
        shown(&judge("json_path: { path: \"$..b[0]\", count: { gt: 1000 } }", &source))
            .starts_with("held")
    );
}

#[test]
fn an_expression_takes_time_in_proportion_to_the_text() {
    let text = "a".repeat(4_000_000);
    let source = lists(vec![replying(json!({}), text)]);
    for expression in ["(a+)+b", "(a|aa)*b", "(?:a?){50}a{50}b", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        let said = shown(&judge(&format!("regex: \"{expression}\""), &source));
        assert!(said.starts_with("failed"), "{expression}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_reply_makes_an_assertion_panic(text in "\\PC{0,60}", number in any::<i64>(), depth in 0_usize..60) {
        let inner = json!({ "text": text, "n": number, "parts": [{ "kind": "data", "data": text }, { "kind": "file", "raw": text }] });
        let reply = (0..depth).fold(inner, |inner, _| json!({ "status": { "message": inner }, "artifacts": [inner.clone()] , "id": 1 }).get("status").cloned().unwrap());
        let source = lists(vec![replying(reply, text)]);
        for assertion in [
            "contains: x", "regex: \"^.*$\"", "json_path: { path: \"$..n\", gt: 0 }", "data: { path: /a, exists: true }",
            "files: { count: 0, sha256: \"315d429b7714cedb6ad04ac31240145257692630457f3c88253c5beceac76027\" }",
            "similar_to: \"some words\"", "state: completed", "conforms: must", "ids_kept: true", "trace_continued: true",
        ] {
            let said = judge(assertion, &source);
            let escape = format!("{said:?}").contains('\u{1b}');
            prop_assert!(!escape);
        }
    }
}
