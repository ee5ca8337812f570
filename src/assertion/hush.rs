//! What holds a secret is shown nowhere: not by the assertion that found it, and not by another that
//! quotes the same reply.

use std::collections::BTreeSet;

use super::report::TestResult;
use super::view::RunView;

/// What stands in the place of a text that holds a secret.
const HUSHED: &str = "(not shown: a secret is in it)";

/// How a finding ends that names a secret and does not show it.
const SAID: &str = " is in it (not shown)";

/// Takes out of a result every text in which one of these values stands, whole, and every quotation of
/// a delegation that holds one: where a quotation was cut, half a secret may be left.
pub(super) fn hush(test: &mut TestResult, view: &RunView<'_>, secrets: &[String]) {
    if secrets.is_empty() {
        return;
    }
    let holds = |text: &str| secrets.iter().any(|secret| text.contains(secret.as_str()));
    let tainted: BTreeSet<String> = view
        .delegations
        .iter()
        .filter(|it| {
            let reply = it.reply.as_ref().map(ToString::to_string).unwrap_or_default();
            holds(&it.text) || holds(&it.reply_text) || holds(&reply)
        })
        .map(|it| view.source.short('d', it.id))
        .collect();
    for check in &mut test.assertions {
        check.notes.iter_mut().filter(|note| holds(note)).for_each(hide);
        for finding in &mut check.findings {
            let proofs = finding.evidence.iter_mut();
            let quoted: Vec<_> = proofs.filter(|it| tainted.contains(&it.show)).collect();
            if !quoted.is_empty() || holds(&finding.actual) {
                hide(&mut finding.actual);
            }
            for proof in quoted {
                hide(&mut proof.found);
            }
            finding.hints.iter_mut().filter(|hint| holds(hint)).for_each(hide);
        }
    }
    for turn in test.conversations.iter_mut().flat_map(|conversation| &mut conversation.turns) {
        if tainted.contains(&turn.show) {
            hide(&mut turn.said);
            hide(&mut turn.replied);
        }
    }
}

/// Quotations end with a quotation mark or a count, so no peer can write itself free of this.
fn hide(text: &mut String) {
    if !text.ends_with(SAID) {
        HUSHED.clone_into(text);
    }
}
