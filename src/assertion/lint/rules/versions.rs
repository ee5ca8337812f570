//! Versions and extensions, as requests declare them.

use super::super::Level::{Must, Should};
use super::super::seen::Seen;
use super::super::{Flaws, Rule, rule};
use super::cards::is_major_minor;
use crate::a2a::model::Operation;

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("extensions-header", Should, ("3.2.6", ""), "extensions are named in `A2A-Extensions`, not in the header of 0.3", extensions_header),
    rule("version-declared", Must, ("3.6.1", ""), "a request says its version in `A2A-Version`", declared),
    rule("version-form", Should, ("3.6", "3.4"), "a version is written Major.Minor, without the patch", form),
];

fn is_operation(seen: &Seen<'_>) -> bool {
    !matches!(
        seen.exchange.operation,
        Operation::AgentCard | Operation::PushNotification | Operation::Unknown
    )
}

fn declared(seen: &Seen<'_>, flaws: &mut Flaws) {
    if is_operation(seen) && seen.call.declared.is_none() {
        flaws.push(("request header".to_owned(), "`A2A-Version` is missing".to_owned()));
    }
}

fn extensions_header(seen: &Seen<'_>, flaws: &mut Flaws) {
    let (old, new) = (seen.asked_header("x-a2a-extensions"), seen.asked_header("a2a-extensions"));
    if is_operation(seen) && old.is_some() && new.is_none() {
        flaws.push(("request header".to_owned(), "only `X-A2A-Extensions` is there".to_owned()));
    }
}

fn form(seen: &Seen<'_>, flaws: &mut Flaws) {
    if let Some(version) = &seen.call.declared
        && !version.is_empty()
        && !is_major_minor(version)
    {
        flaws.push(("request header a2a-version".to_owned(), format!("{version:?}")));
    }
}
